"""Where nothing upright fits well, the drawing is turned by itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sketchseek import Index, Sketch
from sketchseek.search import rotation
from sketchseek.search import search as searching
from sketchseek.search.options import Options

HOUSE = [(0, 45), (50, 0), (100, 45), (85, 45), (85, 100), (15, 100), (15, 45), (0, 45)]


def drawn(degrees: float) -> Sketch:
    """A house, turned clockwise."""
    a = math.radians(degrees)
    turn = np.array([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
    return Sketch.from_strokes([(np.array(HOUSE, float) @ turn).tolist()])


@pytest.fixture(scope="module")
def index(shape_index: Path) -> Index:
    return Index.open(shape_index)


@pytest.mark.parametrize("degrees", [90, 180, -40])
def test_a_house_on_its_side_is_found_upright(index: Index, degrees: float) -> None:
    sketch = drawn(degrees)
    assert Path(index.search(sketch, turn=0)[0].picture).stem != "house"
    hit = index.search(sketch)[0]
    assert Path(hit.picture).stem == "house"
    off = math.remainder(math.degrees(hit.rotation) + degrees, 360)
    assert abs(off) < 8
    # The outline is the drawing's own, and lies where the upright one does.
    upright = index.search(drawn(0), turn=0)[0]
    assert hit.id == upright.id
    x, y = np.concatenate(hit.outline()).T
    placed = np.array([x.min(), y.min(), x.max(), y.max()])
    np.testing.assert_allclose(placed, hit.box, atol=2)
    np.testing.assert_allclose(placed, upright.box, atol=0.04 * max(hit.width, hit.height))


def test_what_fits_upright_costs_one_search(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Options] = []
    find = searching.find
    monkeypatch.setattr(searching, "find", lambda *a, **b: (asked.append(a[2]), find(*a, **b))[1])
    hits = index.search(drawn(0))
    assert hits.present >= rotation.POOR
    assert len(asked) == 1
    index.search(drawn(90), turn=0)
    assert len(asked) == 2
    index.search(drawn(90))
    assert [options.degrees for options in asked[2:]] == [0, 180, 0]


def test_a_turned_pose_is_told_of_the_drawing_itself(index: Index) -> None:
    """Each point of the drawing lands where that of the turned drawing does, mirrored and turned further."""
    from sketchseek.search.hit import Pose

    sketch, angle = drawn(20), math.radians(70)
    turned, factor, middle = rotation._turned(sketch, angle)
    made = rotation.Turned(turned, None, angle, factor, middle)  # type: ignore[arg-type]
    for mirrored in (False, True):
        pose = Pose(0.7, mirrored, 0.3, 25.0, -40.0)
        there = made._pose(pose).to_pixels(sketch.strokes[0], (500, 400))
        np.testing.assert_allclose(there, pose.to_pixels(turned.strokes[0], (500, 400)), atol=0.01)


def test_it_is_the_same_on_every_page_and_over_http(index: Index) -> None:
    whole: Any = index.search(drawn(90), k=6)
    pages = [*index.search(drawn(90), k=3), *index.search(drawn(90), k=3, offset=3)]
    assert [hit.to_dict() for hit in pages] == [hit.to_dict() for hit in whole]
