"""The search, here and as in browsers, against the reference: the same hits and chances."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference.steps import search_by_steps
from sketchseek import Sketch
from sketchseek.contours.outline import weighed
from sketchseek.contours.points import FRAME, Points
from sketchseek.contours.synthetic import random_curves, random_shape
from sketchseek.demo import drawings
from sketchseek.embeddings.icons import DIMENSION, as_stored, embed_drawing, weights
from sketchseek.search.collection import Collection
from sketchseek.search.confidence import models
from sketchseek.search.core import PLACE
from sketchseek.search.engine_arrays import EngineArrays
from sketchseek.search.hit import Hits, Place
from sketchseek.search.options import Options
from sketchseek.search.search import search
from sketchseek.search.state import PictureContours, SearchState, state_of
from sketchseek.shape.descriptor import norms
from sketchseek.shape.engine import _engine
from sketchseek.shape.engine.native import NativeEngine
from sketchseek.shape.settings import Settings

pytestmark = pytest.mark.slow

LAYOUT = ("settings", "pictures", "frames", "codes", "synthetic")


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
def state(request: pytest.FixtureRequest) -> SearchState:
    settings = Settings.preset("compact" if request.param == "compact" else "precise")
    count = {"few": 9, "precise": 110, "compact": 520}[request.param]
    min_object_size = 0.6 if request.param == "compact" else 0.3
    return state_of([picture(seed) for seed in range(count)], settings, min_object_size=min_object_size)


def collection(state: SearchState) -> _engine.PublishedCollection:
    layout = EngineArrays.of(state)
    return _engine.PublishedCollection(
        layout.settings,
        models()["shape"].numbers,
        layout.pictures,
        layout.frames,
        layout.codes,
        layout.synthetic,
    )


def places_of(hits: Hits, numbers: dict[str, int]) -> np.ndarray:
    """Hits as the engine's rows."""
    rows = []
    for i, hit in enumerate(hits):
        for p in (Place(hit.score, hit.pose, hit.box), *hit.also):
            pose = (p.pose.scale, p.pose.mirrored, p.pose.rotation, p.pose.dx, p.pose.dy)
            rows.append([i, numbers[hit.id], p.score, hit.confidence, *pose, *p.box])
    return np.array(rows).reshape(-1, len(PLACE))


def strokes_of(path: Path) -> list[np.ndarray]:
    return [np.array(stroke, float) for stroke in json.loads(path.read_text())["strokes"]]


def asked(published: _engine.PublishedCollection, strokes: list[np.ndarray], options: Options) -> tuple:
    lengths = np.array([len(stroke) for stroke in strokes], np.int32)
    answer = published.search(
        np.concatenate(strokes), lengths, options.k, options.offset, options.mirror, options.degrees
    )
    return answer["present"], answer["places"].reshape(-1, len(PLACE))


def check(state: SearchState, hits: Hits, present: float, places: np.ndarray) -> None:
    """Equal to what was rounded; two pictures that score the same may have changed places."""
    assert present == pytest.approx(hits.present, abs=1e-5)
    assert len(np.unique(places[:, 0])) == len(hits)
    for i, hit in enumerate(hits):
        own = places[places[:, 0] == i]
        if state.id(int(own[0, 1])) != hit.id:
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


def test_the_same_as_the_reference(state: SearchState) -> None:
    published, numbers = collection(state), {state.id(i): i for i in range(len(state))}
    shapes = {name: strokes_of(path) for name, path in drawings().items()}
    for seed in range(3):
        corners = random_shape(np.random.default_rng(seed))
        shapes[f"made up {seed}"] = [np.concatenate([corners, corners[:1]]), corners[::7] * 0.3 + 40]
    for number, strokes in enumerate(shapes.values()):
        options = Options(k=20, offset=number % 3 * 10, mirror=number % 4 > 0, turn=0, expand=0, blend=0)
        hits = search_by_steps(state, Sketch.from_strokes(strokes), options)
        check(state, hits, *asked(published, strokes, options))
        native = search(state, Sketch.from_strokes(strokes), options)
        assert [hit.rank for hit in native] == [hit.rank for hit in hits]
        check(state, hits, native.present, places_of(native, numbers))


@pytest.fixture
def seen(state: SearchState) -> SearchState:
    """The same pictures, as if the icon network had seen most of them."""
    codes = np.random.default_rng(0).integers(-127, 128, (len(state), DIMENSION)).astype(np.int8)
    codes[::5] = 0
    return replace(state, icon_codes=codes)


def test_what_the_icon_network_says_is_part_of_it(state: SearchState, seen: SearchState) -> None:
    published, numbers = collection(seen), {state.id(i): i for i in range(len(state))}
    published.see(weights(), seen.icon_codes)
    moved = 0
    for name in ("heart", "fish"):
        strokes, options = strokes_of(drawings()[name]), Options(k=20)
        drawing = Sketch.from_strokes(strokes)
        hits = search_by_steps(seen, drawing, options)
        check(seen, hits, *asked(published, strokes, options))
        native = search(seen, drawing, replace(options, turn=0.0))
        check(seen, hits, native.present, places_of(native, numbers))
        moved += [hit.id for hit in hits] != [hit.id for hit in search_by_steps(state, drawing, options)]
        alone = search(seen, drawing, Options(k=20, blend=0.0, expand=0, turn=0.0))
        assert [hit.id for hit in alone] == [
            hit.id for hit in search(state, drawing, Options(k=20, turn=0.0))
        ]
    assert moved


def test_it_has_no_say_in_turned_drawings(state: SearchState, seen: SearchState) -> None:
    drawing = Sketch.from_strokes(strokes_of(drawings()["heart"]))
    published, options = collection(seen), Options(k=8, turn=10.0)
    published.see(weights(), seen.icon_codes)
    hits = search(state, drawing, options)
    check(seen, hits, *asked(published, strokes_of(drawings()["heart"]), options))
    assert search(seen, drawing, options) == hits


def test_a_copy_comes_first_whatever_the_icon_network_says(state: SearchState, seen: SearchState) -> None:
    drawing = Sketch.from_strokes(strokes_of(drawings()["heart"]))
    copy = PictureContours(drawing.points, 400, 400, (0.0, 0.0, 400.0, 400.0))
    unlike = (-as_stored(embed_drawing(drawing.strokes))).tobytes()
    others = [
        replace(picture(seed), embedding=row.tobytes()) for seed, row in enumerate(seen.icon_codes[:60])
    ]
    mixed = state_of([*others, replace(copy, embedding=unlike)], state.settings)
    number = len(others)
    resemblance = mixed.icons.resemblance(embed_drawing(drawing.strokes))
    assert resemblance.at(np.array([number]))[0] < -2
    assert search(mixed, drawing, Options(5))[0].id == mixed.id(number)


def test_what_is_no_network_and_no_embeddings_is_said(state: SearchState, seen: SearchState) -> None:
    for wrong, said in (
        ((b"", seen.icon_codes), "not the weights"),
        ((weights(), seen.icon_codes[1:]), r"\(n, 128\)"),
        ((weights(), seen.icon_codes[:, 1:].copy()), r"\(n, 128\)"),
    ):
        with pytest.raises(ValueError, match=said):
            collection(state).see(*wrong)


@pytest.mark.parametrize("turn", [10.0, 180.0])
def test_turned(state: SearchState, turn: float) -> None:
    published, numbers = collection(state), {state.id(i): i for i in range(len(state))}
    for name in ("heart", "fish"):
        strokes, options = strokes_of(drawings()[name]), Options(k=8, turn=turn, expand=0, blend=0)
        hits = search_by_steps(state, Sketch.from_strokes(strokes), options)
        assert turn < 180 or any(hit.rotation for hit in hits)
        check(state, hits, *asked(published, strokes, options))
        native = search(state, Sketch.from_strokes(strokes), options)
        check(state, hits, native.present, places_of(native, numbers))


@pytest.mark.parametrize(
    "options",
    [
        {"method": "projections"},
        {"method": "dpf", "shortlist": 5, "rerank": "binary"},
        {"folder": "/even"},
        {"rejected": ["0", "3"]},
        {"local_normalization": 0.0},
        {"coverage": 0.0},
        {"k": 10_000},
    ],
    ids=str,
)
def test_whatever_is_asked_for_it_is_the_reference(state: SearchState, options: dict[str, Any]) -> None:
    named = replace(state, path=lambda i: f"/{('even', 'odd')[i % 2]}/{i}")
    drawing = Sketch.from_strokes(strokes_of(drawings()["heart"]))
    chosen = Options(**{"k": 5, "expand": 0, "blend": 0.0, "turn": 0.0, **options})
    hits, numbers = search_by_steps(named, drawing, chosen), {state.id(i): i for i in range(len(state))}
    found = search(named, drawing, chosen)
    check(state, hits, found.present, places_of(found, numbers))


def test_rows_of_floats() -> None:
    floats = state_of([picture(seed) for seed in range(30)], Settings.preset("compact"), "float32")
    drawing = Sketch.from_strokes(strokes_of(drawings()["heart"]))
    numbers = {floats.id(i): i for i in range(len(floats))}
    found = search(floats, drawing, Options(5))
    check(floats, search_by_steps(floats, drawing, Options(5)), found.present, places_of(found, numbers))


def test_a_drawing_of_nothing_finds_nothing_in_particular(state: SearchState) -> None:
    drawing = Sketch.from_strokes(strokes_of(drawings()["heart"]))
    blank = replace(drawing, points=drawing.points.take(np.arange(0)))
    hits = search(state, blank, Options(5))
    assert len(hits) == 5
    assert all(hit.score == 0 for hit in hits)


def test_a_part_of_a_collection_is_looked_at_as_all_of_it(state: SearchState) -> None:
    """As on a cluster: the rows of the candidates are fetched, and judged beside the whole."""
    drawing, chosen = Sketch.from_strokes(strokes_of(drawings()["heart"])), Options(5)

    class Elsewhere(NativeEngine):
        host = None

    norms_ = norms(state.collection.vectors, state.settings)
    away = Collection(
        state.collection.vectors,
        norms_,
        state.settings,
        Elsewhere,
        pictures=state.collection.pictures,
        shares=state.collection.shares,
    )
    numbers = {state.id(i): i for i in range(len(state))}
    found = search(replace(state, collection=away), drawing, chosen)
    check(state, search(state, drawing, chosen), found.present, places_of(found, numbers))


def test_threads_change_nothing(state: SearchState) -> None:
    drawing = Sketch.from_strokes(strokes_of(drawings()["fish"]))
    one, two = (search(state, drawing, Options(30, threads=threads)) for threads in (1, 2))
    assert one == two
    assert one.present == two.present
    with pytest.raises(ValueError, match="threads must be positive"):
        search(state, drawing, Options(threads=0))


def test_a_drawing_that_cannot_be_searched_for(state: SearchState) -> None:
    published, options = collection(state), Options()
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
    state = state_of([picture(1), picture(2)], Settings.preset("compact"), min_object_size=0.6)
    layout, numbers = EngineArrays.of(state), models()["shape"].numbers

    def opened(**other: np.ndarray) -> None:
        given = {"model": numbers, **{name: getattr(layout, name) for name in LAYOUT}, **other}
        _engine.PublishedCollection(**given)

    def native(**other: np.ndarray) -> _engine.Search:
        given = {name: getattr(layout, name) for name in LAYOUT if name != "codes"} | other
        return _engine.Search(state.collection.engine.collection, **given)

    def changed(name: str, at: int | tuple[int, int], value: float) -> dict[str, np.ndarray]:
        array = getattr(layout, name).copy()
        array[at] = value
        return {name: array}

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
        (changed("pictures", (0, 3), 2), "windows"),
        (changed("pictures", (1, 0), 0), "without size"),
        (changed("frames", (1, 2), np.nan), "nowhere"),
        ({"frames": layout.frames[1:]}, "must be"),
        ({"pictures": layout.pictures[:, :3].copy()}, "must be"),
        ({"synthetic": layout.synthetic[:, 1:].copy()}, "must be"),
    ):
        with pytest.raises(ValueError, match=said):
            opened(**other)
        with pytest.raises(ValueError, match=said):
            native(**other)
    for wrong in (numbers[:-1], np.where(np.arange(len(numbers)) == 13, 0, numbers), numbers * np.nan):
        with pytest.raises(ValueError, match="confidence"):
            opened(model=wrong)
    other = EngineArrays.of(
        state_of([picture(1), picture(2)], Settings.preset("precise"), min_object_size=0.6)
    )
    with pytest.raises(ValueError, match="of these settings"):
        native(settings=other.settings, synthetic=other.synthetic)


def test_arguments_of_a_look_are_checked() -> None:
    state = state_of([picture(1), picture(2)], Settings.preset("compact"), min_object_size=0.6)
    points = Sketch.from_strokes(strokes_of(drawings()["fish"])).points
    drawn = np.stack([points.x, points.y, points.angle, points.weight])
    core, size = state.core, (points.width, points.height)
    with pytest.raises(ValueError, match="finite"):
        core.drawn(drawn * np.nan, *size, True, 0.0)
    with pytest.raises(ValueError, match=r"\(4, n\)"):
        core.drawn(drawn[:3], *size, True, 0.0)
    for turn in (-1.0, 200.0, np.nan):
        with pytest.raises(ValueError, match="turn"):
            core.drawn(drawn, *size, True, turn)
    drawing, two = core.drawn(drawn, *size, True, 0.0), np.arange(2)
    whole: dict[str, Any] = {
        "k": 3,
        "offset": 0,
        "count": 0,
        "normalization": 0.4,
        "coverage": 1.0,
        "place": True,
        "rows": two,
        "placed": None,
        "pictures": None,
        "order": None,
        "network_evidence": None,
        "background": None,
        "total": -1,
        "resemblance": None,
        "icon_blend": 1.0,
        "threads": 1,
    }
    model = models()["shape"].engine
    assert len(core.rescore(drawing, model, **whole)["pictures"]) == 2
    ranked = {"rows": None, "pictures": two, "order": np.zeros(2)}
    columns = [np.zeros(2), np.zeros(2), np.zeros(3), np.zeros(0), np.zeros(4)]
    for wrong, said in (
        ({"k": 0}, "k must"),
        ({"offset": -1}, "offset"),
        ({"normalization": 1.0}, r"\[0, 1\)"),
        ({"coverage": -1.0}, "coverage"),
        ({"threads": 0}, "threads"),
        ({"rows": None}, "either"),
        ({"pictures": two}, "either"),
        ({"placed": np.zeros((2, 5), np.float32)}, "placed"),
        ({"placed": np.full((2, 6), np.nan, np.float32)}, "finite"),
        ({**ranked, "order": np.zeros(1)}, "order"),
        ({**ranked, "network_evidence": columns[:4]}, "evidence"),
        ({**ranked, "network_evidence": [columns[0][:1], *columns[1:]]}, "evidence"),
        ({**ranked, "network_evidence": [columns[0] * np.nan, *columns[1:]]}, "finite"),
        ({"background": np.full(2, np.nan, np.float32)}, "finite"),
    ):
        with pytest.raises(ValueError, match=said):
            core.rescore(drawing, model, **{**whole, **wrong})
    for wrong in ({"rows": two + 1}, {**ranked, "pictures": two - 1}):
        with pytest.raises(IndexError, match="numbers below n"):
            core.rescore(drawing, model, **{**whole, **wrong})
    other = state_of([picture(1), picture(2)], Settings.preset("compact"), min_object_size=0.6)
    with pytest.raises(ValueError, match="another collection"):
        other.core.rescore(drawing, model, **whole)
