"""Hits name the one before them that depicts nearly the same; their order stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from sketchseek import Index

COLOURS = {"red": (200, 30, 30), "scarlet": (205, 32, 33), "blue": (30, 30, 200), "green": (20, 180, 30)}
SQUARE = [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]


@pytest.fixture
def index(tmp_path: Path, vector_model: Callable[..., bytes]) -> Index:
    """Squares, known to a network by their colours."""
    (tmp_path / "colours.onnx").write_bytes(vector_model())
    (tmp_path / "pictures").mkdir()
    for name, colour in COLOURS.items():
        image = Image.new("RGB", (200, 200), (128, 128, 128))
        ImageDraw.Draw(image).rectangle((40, 40, 160, 160), fill=colour)
        image.save(tmp_path / "pictures" / f"{name}.png")
    made = Index.create(tmp_path / "i", detector="canny", expansion=f"onnx:{tmp_path / 'colours.onnx'}")
    made.add(tmp_path / "pictures", jobs=1)
    return made


def test_what_depicts_nearly_the_same_is_named(index: Index) -> None:
    hits = index.search(SQUARE)
    names = {hit.id: Path(hit.picture).stem for hit in hits}
    pairs = [(names[hit.id], names[hit.like]) for hit in hits if hit.like]
    assert [set(pair) for pair in pairs] == [{"red", "scarlet"}]
    order = list(names.values())
    assert order.index(pairs[0][1]) < order.index(pairs[0][0])
    assert [("like" in hit.to_dict()) for hit in hits].count(True) == 1


def test_shape_alone_asks_for_no_embedding(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sketchseek.index.with_likeness", None)
    assert all(hit.like is None for hit in index.search(SQUARE, blend=0, expand=0))
