"""The search of browsers, in C++, against `search.search`: the same hits, places and chances."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sketchseek import Sketch
from sketchseek.contours.made_up import random_curves, random_shape
from sketchseek.contours.outline import weighed
from sketchseek.contours.points import FRAME, Points
from sketchseek.demo import drawings
from sketchseek.publish.layout import Layout
from sketchseek.search.hit import Hits
from sketchseek.search.search import Options, search
from sketchseek.search.view import PictureContours, View, view_of
from sketchseek.shape.engine import _engine
from sketchseek.shape.settings import Settings


def picture(seed: int) -> PictureContours:
    """Clutter, sometimes as line art, sometimes around a shape."""
    rng = np.random.default_rng(seed)
    points = random_curves(1000 + seed, closed=1 + seed % 7)
    if seed % 3 == 0:  # in one corner, where a window sees it
        points = points.scaled(0.45).translated(-70 + seed % 5 * 20, 60)
        points = Points(points.x, points.y, points.angle, points.weight, FRAME, FRAME)
    width, height = int(rng.integers(200, 900)), int(rng.integers(200, 900))
    inset = 12.0 if seed % 2 else 0.0
    return PictureContours(weighed(points), width, height, (inset, inset, width - inset, height - inset))


@pytest.fixture(scope="module", params=["precise", "compact", "few"])
def view(request: pytest.FixtureRequest) -> View:
    settings = Settings.preset("compact" if request.param == "compact" else "precise")
    count = {"few": 9, "precise": 110, "compact": 520}[request.param]
    smallest = 0.6 if request.param == "compact" else 0.3
    return view_of([picture(seed) for seed in range(count)], settings, smallest=smallest)


def collection(view: View) -> _engine.PublishedCollection:
    layout = Layout.of(view)
    return _engine.PublishedCollection(
        layout.settings, layout.model, layout.pictures, layout.frames, layout.codes, layout.made_up
    )


def strokes_of(path: Path) -> list[np.ndarray]:
    return [np.array(stroke, float) for stroke in json.loads(path.read_text())["strokes"]]


def asked(published: _engine.PublishedCollection, strokes: list[np.ndarray], options: Options) -> tuple:
    lengths = np.array([len(stroke) for stroke in strokes], np.int32)
    present, places = published.search(
        np.concatenate(strokes), lengths, options.k, options.offset, options.mirror, options.turn
    )
    return present, np.reshape(places, (-1, 13))


def check(view: View, hits: Hits, present: float, places: np.ndarray) -> None:
    """Equal to what was rounded; two pictures that score the same may have changed places."""
    assert present == pytest.approx(hits.present, abs=1e-5)
    assert len(np.unique(places[:, 0])) == len(hits)
    for i, hit in enumerate(hits):
        own = places[places[:, 0] == i]
        if view.id(int(own[0, 1])) != hit.id:
            assert own[0, 2] == pytest.approx(hit.score, abs=2e-6)
            continue
        found = own[0, 2:]
        pose = [hit.score, hit.confidence, hit.scale, hit.mirrored, hit.rotation, hit.dx, hit.dy, *hit.box]
        assert found == pytest.approx(np.array(pose, float), abs=1.1e-2), hit  # a box is in hundredths
        assert found[:7] == pytest.approx(np.array(pose[:7], float), abs=2e-3), hit
        assert found[:2] == pytest.approx(np.array(pose[:2]), abs=1e-5), hit
        assert len(own) - 1 == len(hit.also)
        for other, place in zip(own[1:], hit.also, strict=True):
            expected = [place.score, place.pose.scale, place.pose.rotation, *place.box]
            assert other[[2, 4, 6, 9, 10, 11, 12]] == pytest.approx(expected, abs=2e-2)


def test_the_same_as_the_reference(view: View) -> None:
    published = collection(view)
    shapes = {name: strokes_of(path) for name, path in drawings().items()}
    for seed in range(3):
        corners = random_shape(np.random.default_rng(seed))
        shapes[f"made up {seed}"] = [np.concatenate([corners, corners[:1]]), corners[::7] * 0.3 + 40]
    for number, strokes in enumerate(shapes.values()):
        options = Options(k=20, offset=number % 3 * 10, mirror=number % 4 > 0, expand=0, blend=0)
        hits = search(view, Sketch.from_strokes(strokes), options)
        check(view, hits, *asked(published, strokes, options))


@pytest.mark.parametrize("turn", [10.0, 180.0])
def test_turned(view: View, turn: float) -> None:
    published = collection(view)
    for name in ("heart", "fish"):
        strokes, options = strokes_of(drawings()[name]), Options(k=8, turn=turn, expand=0, blend=0)
        hits = search(view, Sketch.from_strokes(strokes), options)
        assert turn < 180 or any(hit.rotation for hit in hits)
        check(view, hits, *asked(published, strokes, options))


def test_a_drawing_that_cannot_be_searched_for(view: View) -> None:
    published, options = collection(view), Options()
    scribble = np.stack([np.tile([0.0, 400.0], 60), np.linspace(0, 400, 120)], axis=1)
    for strokes, said in (
        ([np.array([[3.0, 3.0]])], "blank"),
        ([np.array([[3.0, 3.0], [3.0, 3.0]])], "blank"),
        ([scribble], "scribble"),
        ([np.array([[3.0, np.nan], [4.0, 1.0]])], "ordinary numbers"),
        ([np.array([[3.0, 1e10], [4.0, 1.0]])], "ordinary numbers"),
    ):
        with pytest.raises(ValueError, match=said):
            asked(published, strokes, options)


def test_what_does_not_hold_is_said() -> None:
    layout = Layout.of(view_of([picture(1), picture(2)], Settings.preset("compact"), smallest=0.6))

    def opened(**other: np.ndarray) -> None:
        names = ("settings", "model", "pictures", "frames", "codes", "made_up")
        _engine.PublishedCollection(*(other.get(name, getattr(layout, name)) for name in names))

    def changed(name: str, at: int | tuple[int, int], value: float) -> dict[str, np.ndarray]:
        array = getattr(layout, name).copy()
        array[at] = value
        return {name: array}

    opened()
    for other, said in (
        ({"settings": layout.settings[:-1]}, "wrong length"),
        ({"settings": np.empty(0)}, "no proper settings"),
        (changed("settings", 0, 99), "size"),
        (changed("settings", 4, 0), "translations"),
        (changed("settings", 7, np.nan), "settings"),
        (changed("settings", 7, -1), "frequencies"),
        (changed("settings", -1, 0), "codes"),
        ({"model": layout.model[:-1]}, "confidence"),
        (changed("model", 100, 0), "confidence"),
        (changed("pictures", (0, 3), 2), "views"),
        (changed("pictures", (1, 0), 0), "without size"),
        (changed("frames", (1, 2), np.nan), "nowhere"),
    ):
        with pytest.raises(ValueError, match=said):
            opened(**other)
