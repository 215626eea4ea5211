"""What the first page offers leads back to the collection, whatever it is of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sketchseek import Index, Sketch
from sketchseek.demo import chosen
from sketchseek.web.examples import EXAMPLES, clear_lines, examples, shown_pictures, spread, traced

SQUARE = [[0.0, 0.0], [90.0, 0.0], [90.0, 90.0], [0.0, 90.0], [0.0, 0.0]]


def scans(folder: Path) -> list[Path]:
    """Pages with a figure and lines of writing, as a scanner sees them."""
    rng = np.random.default_rng(4)
    paths = []
    for number in range(8):
        page = Image.new("L", (420, 594), 246)
        pen = ImageDraw.Draw(page)
        corners = [(210 + r * np.cos(a), 200 + r * np.sin(a)) for a, r in spokes(rng, number + 3)]
        pen.line([*corners, corners[0]], fill=30, width=4)
        for line in range(8):
            pen.line([(50, 400 + 20 * line), (rng.integers(250, 370), 400 + 20 * line)], fill=60, width=2)
        noisy = np.asarray(page) + rng.normal(0, 3, (594, 420))
        paths.append(folder / f"{number}.png")
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(paths[-1])
    return paths


def spokes(rng: np.random.Generator, corners: int) -> list[tuple[float, float]]:
    """Angles and lengths of a figure with so many corners."""
    return [(2 * np.pi * i / corners, rng.uniform(70, 150)) for i in range(corners)]


@pytest.mark.parametrize("kind", ["photographs", "icons", "scans"])
def test_every_example_finds_its_own_picture_first(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("skimage")
    if kind == "scans":
        files = scans(tmp_path)
    else:
        files = [p for p in chosen() if (p.suffix == ".svg") == (kind == "icons")][:40]
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    index.add(files)
    offered = examples(index, traced, expand=0, blend=0.0)
    assert len(offered) >= (EXAMPLES if kind == "icons" else 3)
    for example in offered:
        hits = index.search(Sketch.from_strokes(example["strokes"]), k=1, expand=0, blend=0.0)
        assert hits[0].id == example["id"]
        assert len(example["strokes"]) <= 8


def test_pictures_come_from_all_over_the_collection() -> None:
    is_line_art = np.arange(100) >= 5
    some = spread(is_line_art, 12)
    assert len(set(some)) == 12
    assert set(some) >= set(range(5))  # few photographs among many icons are all shown
    assert spread(is_line_art, 12) == some  # the same each time
    assert spread(np.zeros(0, bool), 12) == []


def test_clear_drawings_come_before_pieces() -> None:
    pieces = [[[x, 0.0], [x + 20.0, 15.0]] for x in (0.0, 40.0, 80.0)]
    whole, broken = clear_lines([SQUARE]), clear_lines(pieces)
    assert whole is not None
    assert broken is not None
    assert whole[0] > 0.99 > 0.01 > broken[0]
    assert whole[1] == [SQUARE]
    assert clear_lines([]) is None
    assert clear_lines([[[5.0, 5.0], [5.0, 5.0]]]) is None


def test_what_is_shown_can_be_asked_for(shape_index: Path) -> None:
    index = Index.open(shape_index)
    shown = shown_pictures(index)
    assert {one["id"] for one in shown} == {index.state.id(i) for i in range(len(index))}
    assert all(Path(one["picture"]).exists() and one["width"] > 0 < one["height"] for one in shown)
