"""What stays on the host of a large collection, and in which order."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from sketchseek import Index
from sketchseek.embeddings.icons import DIMENSION
from sketchseek.search.engine_arrays import EngineArrays
from sketchseek.web import large
from sketchseek.web.large import arranged, halved, is_large, neighbours_first
from sketchseek.web.parts import coded
from sketchseek.web.publish import ENGINES, MANIFEST, publish
from sketchseek.web.published_names import Label, labelled

ENGINE = Path(__file__).parents[2] / "src" / "sketchseek" / "web" / "engine"


@pytest.fixture
def embeddings() -> np.ndarray:
    """Forty kinds of icons, five of each, in any order; the first is nothing that the network knows."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(-100, 101, (40, DIMENSION))
    made = np.repeat(kinds, 5, axis=0) + rng.integers(-9, 10, (200, DIMENSION))
    made = made[rng.permutation(200)].clip(-127, 127).astype(np.int8)
    made[0] = 0
    return made


def test_what_is_alike_lies_together(embeddings: np.ndarray) -> None:
    order = neighbours_first(embeddings)
    assert sorted(order) == list(range(200))
    unit = embeddings / np.maximum(np.linalg.norm(embeddings.astype(float), axis=1, keepdims=True), 1)

    def beside(places: np.ndarray) -> float:
        return float((unit[places[1:]] * unit[places[:-1]]).sum(axis=1).mean())

    assert beside(order) > 0.6
    assert beside(np.arange(200)) < 0.1
    assert neighbours_first(embeddings[:0]).tolist() == []


def test_half_a_byte_says_nearly_the_same(embeddings: np.ndarray) -> None:
    small = halved(embeddings)
    assert small.shape == (200, DIMENSION // 2)
    assert not small[0].any()
    wide = np.stack([small.view(np.int8) >> 4, (small << 4).view(np.int8) >> 4], axis=2).reshape(200, -1)
    assert np.abs(wide).max(axis=1)[1:].tolist() == [7] * 199
    a, b = embeddings[1:].astype(float), wide[1:].astype(float)
    cosines = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert cosines.min() > 0.98


def test_rows_follow_their_pictures(shape_index: Path) -> None:
    state = Index.open(shape_index).state
    layout = EngineArrays.of(state)
    order = np.arange(len(state))[::-1]
    pictures, rows = arranged(layout, order)
    assert np.array_equal(pictures, layout.pictures[::-1])
    assert np.array_equal(state.collection.pictures[rows], np.repeat(order, pictures[:, 3]))
    assert sorted(rows) == list(range(len(layout.codes)))


@pytest.mark.skipif(
    not all((ENGINE / name).exists() for name in ENGINES), reason="the engine for browsers: `make wasm`"
)
def test_records_hold_what_a_search_looks_at(
    shape_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.open(shape_index)
    state = index.state
    assert not is_large(state, len(state.collection.vectors))
    monkeypatch.setattr(large, "LOADED_AT_ONCE", 0)
    monkeypatch.setattr(large, "RECORDS", 4000)
    report = publish(index, tmp_path / "site", originals=True)
    assert report["large"]
    manifest = json.loads((tmp_path / "site" / MANIFEST).read_bytes())
    names = json.loads(gzip.decompress((tmp_path / "site" / manifest["names"]["file"]).read_bytes()))
    numbers = {Path(state.path(i)).name: i for i in range(len(state))}
    data = b"".join((tmp_path / "site" / part["file"]).read_bytes() for part in manifest["records"])
    at, dimensions = 0, manifest["dimensions"]
    for name in names["picture"]:
        rows = state.collection.rows_of(np.array([numbers[name]]))
        embedding = np.frombuffer(data, np.int8, DIMENSION, at)
        codes = np.frombuffer(data, np.int8, len(rows) * dimensions, at + DIMENSION)
        frames = np.frombuffer(data, np.float32, 4 * len(rows), at + DIMENSION + codes.size)
        assert np.array_equal(embedding, state.icon_codes[numbers[name]])
        assert np.array_equal(codes.reshape(len(rows), -1), state.collection.vectors[rows])
        assert np.array_equal(frames.reshape(-1, 4), state.frames[rows])
        at += DIMENSION + codes.size + 16 * len(rows)
    assert at == len(data)
    kept = sum(part["bytes"] for part in manifest["originals"])
    own = [Path(state.path(i)) for i in range(len(state))]
    assert kept == sum(path.stat().st_size for path in own if path.suffix == ".svg")


def test_labels_by_folder_and_name() -> None:
    paths = ["/icons/tabler/bell.svg", "/icons/lucide/bell.svg", "/icons/lucide/star.svg"]
    labels = {
        "tabler/bell.svg": Label(set="Tabler", licence="MIT"),
        "lucide/star.svg": Label(set="Lucide"),
    }
    found, unused = labelled(paths, ["tabler/bell.svg", "lucide/bell.svg", "star.svg"], labels)
    assert [label.set for label in found] == ["Tabler", "", "Lucide"]
    assert unused == []
    assert coded([label.set for label in found]) == {"values": ["Lucide", "Tabler"], "of": [1, -1, 0]}
    assert coded(["", ""]) is None
