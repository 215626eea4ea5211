"""What is kept of a network: the same answers, made again when anything about it is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

from sketchseek.embeddings import converted
from sketchseek.embeddings.converted import Weights
from sketchseek.embeddings.encoders import Network
from sketchseek.networks.graph import Graph
from sketchseek.networks.weights import Tensors


def model(tensors: Tensors) -> bytes:
    graph = Graph("colours")
    graph.convolution("picture", tensors["kernel"], np.zeros(64, np.float32))
    return graph.model()


def tensors() -> Tensors:
    kernel = np.random.default_rng(0).standard_normal((64, 3, 3, 3)).astype(np.float32)
    return {"kernel": kernel}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(converted, "cache_folder", lambda: tmp_path / "cache")
    np.savez(tmp_path / "weights.npz", **tensors())
    return tmp_path / "weights.npz"


def of_file(source: Path) -> Weights:
    return Weights.of("colours", source, {"norm": np.ones(3)})


def refuses(given: Tensors) -> bytes:
    raise AssertionError("the network is made again")


def test_a_network_is_converted_once_and_sees_the_same(source: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 255, (64, 64, 3), np.uint8)
    before = Network("colours", model(tensors()))(pixels, 64)
    first = of_file(source).model("side", model)
    again = of_file(source)
    assert isinstance(first, Path)
    assert again.model("side", refuses) == first
    assert "tensors" not in vars(again), "nothing was read"
    np.testing.assert_array_equal(Network("colours", first)(pixels, 64), before)


@pytest.mark.parametrize("harm", ["flipped", "cut", "gone", "sums"])
def test_one_that_is_damaged_is_made_again(source: Path, harm: str) -> None:
    kept = of_file(source).model("side", model)
    assert isinstance(kept, Path)
    data = kept.with_name("network.data")
    content = data.read_bytes()
    if harm == "flipped":
        data.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif harm == "cut":
        data.write_bytes(content[:-1])
    elif harm == "gone":
        data.unlink()
    else:
        kept.with_name("sums.json").write_text("[]")
    with pytest.raises(AssertionError):
        of_file(source).model("side", refuses)
    assert of_file(source).model("side", model) == kept
    assert data.read_bytes() == content


def test_other_weights_are_another_network(source: Path) -> None:
    first = of_file(source).model("side", model)
    other_side = of_file(source).model("another-side", model)
    os.utime(source, (1, 1))
    second = of_file(source).model("side", model)
    assert isinstance(first, Path)
    assert isinstance(second, Path)
    assert isinstance(other_side, Path)
    assert first != second
    assert second.exists()
    assert other_side.exists()
    assert Weights.of("colours", source, {"norm": np.zeros(3)}).model("side", model) != second


def test_a_version_is_known_without_reading(source: Path) -> None:
    assert of_file(source).version(lambda given: str(len(given))) == ("1", False)
    again = of_file(source)
    assert again.version(lambda given: "another") == ("1", True)
    assert "tensors" not in vars(again)


def test_without_a_place_to_keep_it_all_works(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converted, "cache_folder", lambda: source / "no-folder")
    assert of_file(source).model("side", model) == model(tensors())
    assert of_file(source).version(lambda given: "1") == ("1", False)
    assert Weights.of("colours", tensors(), {}).model("side", model) == model(tensors())


def test_a_noted_version_that_is_damaged_is_told_anew(source: Path) -> None:
    """Indexes are known by it: a wrong one would be refused, or worse, written into a new index."""
    assert of_file(source).version(lambda _: "0e39d0b37a2a0cf6") == ("0e39d0b37a2a0cf6", False)
    assert of_file(source).version(refuses) == ("0e39d0b37a2a0cf6", True)
    path = next((source.parent / "cache").glob("*.version"))
    whole = path.read_bytes()
    flipped = [bytes([*whole[:i], whole[i] ^ 1 << i % 8, *whole[i + 1 :]]) for i in range(len(whole))]
    for harm in (b"", b"[]", b"{}", b"null", b'"x"', b'{"version": 3}', b"[" * 5000, whole[:-3], *flipped):
        path.write_bytes(harm)
        found, _ = of_file(source).version(lambda _: "0e39d0b37a2a0cf6")
        assert found == "0e39d0b37a2a0cf6", harm


def test_a_few_installations_keep_theirs_beside_each_other(source: Path) -> None:
    made = []
    for number in range(5):
        other = source.with_name(f"other-{number}.npz")
        other.write_bytes(source.read_bytes())
        made.append(of_file(other).model("side", model))
        assert isinstance(made[-1], Path)
        os.utime(made[-1].parent, (number, number))
    assert [path.exists() for path in made if isinstance(path, Path)] == [False, False, True, True, True]
