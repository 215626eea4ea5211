"""The search in C++, here and as in browsers, against `search_by_steps`: the same hits and chances."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sketchseek import Sketch
from sketchseek.contours.made_up import random_curves, random_shape
from sketchseek.contours.outline import weighed
from sketchseek.contours.points import FRAME, Points
from sketchseek.demo import drawings
from sketchseek.search.hit import Hits, Place
from sketchseek.search.layout import Layout
from sketchseek.search.search import Options, search, search_by_steps
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


def places_of(hits: Hits, numbers: dict[str, int]) -> np.ndarray:
    """Hits as the engine's rows."""
    rows = []
    for i, hit in enumerate(hits):
        for p in (Place(hit.score, hit.pose, hit.box), *hit.also):
            pose = (p.pose.scale, p.pose.mirrored, p.pose.rotation, p.pose.dx, p.pose.dy)
            rows.append([i, numbers[hit.id], p.score, hit.confidence, *pose, *p.box])
    return np.array(rows).reshape(-1, 13)


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
    published, numbers = collection(view), {view.id(i): i for i in range(len(view))}
    shapes = {name: strokes_of(path) for name, path in drawings().items()}
    for seed in range(3):
        corners = random_shape(np.random.default_rng(seed))
        shapes[f"made up {seed}"] = [np.concatenate([corners, corners[:1]]), corners[::7] * 0.3 + 40]
    for number, strokes in enumerate(shapes.values()):
        options = Options(k=20, offset=number % 3 * 10, mirror=number % 4 > 0, expand=0, blend=0)
        hits = search_by_steps(view, Sketch.from_strokes(strokes), options)
        check(view, hits, *asked(published, strokes, options))
        native = search(view, Sketch.from_strokes(strokes), options)
        assert [hit.rank for hit in native] == [hit.rank for hit in hits]
        check(view, hits, native.present, places_of(native, numbers))


@pytest.mark.parametrize("turn", [10.0, 180.0])
def test_turned(view: View, turn: float) -> None:
    published, numbers = collection(view), {view.id(i): i for i in range(len(view))}
    for name in ("heart", "fish"):
        strokes, options = strokes_of(drawings()[name]), Options(k=8, turn=turn, expand=0, blend=0)
        hits = search_by_steps(view, Sketch.from_strokes(strokes), options)
        assert turn < 180 or any(hit.rotation for hit in hits)
        check(view, hits, *asked(published, strokes, options))
        native = search(view, Sketch.from_strokes(strokes), options)
        check(view, hits, native.present, places_of(native, numbers))


def test_what_the_engine_does_not_know_goes_step_by_step(view: View) -> None:
    drawing = Sketch.from_strokes(strokes_of(drawings()["heart"]))

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the engine was asked")

    other = replace(view)
    other.__dict__["searcher"] = refuse
    with pytest.raises(AssertionError, match="asked"):
        search(other, drawing, Options(rejected=[]))
    for options in (
        Options(5, method="projections"),
        Options(5, folder="/"),
        Options(5, rejected=[view.id(0)]),
        Options(5, clutter=0.0),
        Options(5, evenness=0.0),
    ):
        assert search(other, drawing, options) == search_by_steps(view, drawing, options)
    blank = replace(drawing, points=drawing.points.take(np.arange(0)))
    assert len(search(other, blank, Options(5))) == 5


def test_rows_of_floats_go_step_by_step() -> None:
    floats = view_of([picture(seed) for seed in range(30)], Settings.preset("compact"), "float32")
    drawing = Sketch.from_strokes(strokes_of(drawings()["heart"]))
    assert floats.searcher is None
    assert search(floats, drawing, Options(5)) == search_by_steps(floats, drawing, Options(5))


def test_threads_change_nothing(view: View) -> None:
    drawing = Sketch.from_strokes(strokes_of(drawings()["fish"]))
    one, two = (search(view, drawing, Options(30, threads=threads)) for threads in (1, 2))
    assert one == two
    assert one.present == two.present
    with pytest.raises(ValueError, match="threads must be positive"):
        search(view, drawing, Options(threads=0))


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
    view = view_of([picture(1), picture(2)], Settings.preset("compact"), smallest=0.6)
    layout = Layout.of(view)

    def opened(**other: np.ndarray) -> None:
        names = ("settings", "model", "pictures", "frames", "codes", "made_up")
        _engine.PublishedCollection(*(other.get(name, getattr(layout, name)) for name in names))

    def changed(name: str, at: int | tuple[int, int], value: float) -> dict[str, np.ndarray]:
        array = getattr(layout, name).copy()
        array[at] = value
        return {name: array}

    def native(**other: np.ndarray) -> None:
        names = ("settings", "model", "pictures", "frames", "made_up")
        own = {"shares": view.collection.shares, "prior": None}
        given = {name: getattr(layout, name) for name in names} | own | other
        view.collection.engine.searcher(**given)

    opened()
    native()
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
        with pytest.raises(ValueError, match=said):
            native(**other)
    ones = np.ones(2, np.float32)
    for other in (
        {"frames": layout.frames[1:]},
        {"pictures": layout.pictures[:, :3].copy()},
        {"shares": ones[:1]},
        {"shares": 0 * ones},
        {"prior": ones[:1]},
        {"prior": 2 * ones},
    ):
        with pytest.raises(ValueError, match="must be"):
            native(**other)
    with pytest.raises(ValueError, match="one-byte codes of these settings"):
        native(settings=Layout.of(view_of([picture(1)], Settings.preset("precise"))).settings)
    searcher = view.searcher
    points = Sketch.from_strokes(strokes_of(drawings()["fish"])).points
    usual = {"k": 3, "offset": 0, "mirror": True, "turn": 0.0}
    with pytest.raises(ValueError, match="finite"):
        searcher(replace(points, x=points.x * np.nan), **usual)
    with pytest.raises(ValueError, match="at least one"):
        searcher(points.take(np.arange(0)), **usual)
    for name, value in (("k", 0), ("offset", -1), ("turn", 200.0), ("turn", np.nan)):
        with pytest.raises(ValueError, match=name):
            searcher(points, **{**usual, name: value})
