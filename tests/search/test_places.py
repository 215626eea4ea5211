"""Things of any size: several rows are one picture, found at its best place, and at others."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from reference.coverage import coverage, densities
from reference.energy import energy_cells
from reference.local_normalization import share_inside
from reference.order import order_scores
from reference.steps import overlap
from sketchseek.contours import Sketch
from sketchseek.contours.points import Points
from sketchseek.contours.synthetic import outline_points, random_curves, random_shape
from sketchseek.search.collection import Collection
from sketchseek.search.options import Options
from sketchseek.search.ranking import METHODS, every_window, located, rank
from sketchseek.search.search import find, search
from sketchseek.search.state import PictureContours, state_of
from sketchseek.shape.query import Query, turned_fit, turns
from sketchseek.shape.settings import Settings

SETTINGS = Settings.preset("precise")


def joined(*parts):
    x, y, angle, weight = (
        np.concatenate([getattr(p, n) for p in parts]) for n in ("x", "y", "angle", "weight")
    )
    return Points(x, y, angle, weight, 400.0, 400.0)


def sketch_of(seed):
    corners = random_shape(np.random.default_rng(seed))
    return Sketch.from_strokes([np.vstack([corners, corners[:1]]).tolist()])


def contours(points):
    return PictureContours(points, 800, 800, (0.0, 0.0, 800.0, 800.0))


@pytest.fixture(scope="module")
def sketch():
    return sketch_of(5)


@pytest.fixture(scope="module")
def pictures(sketch):
    """Curves; the drawing at .35 of picture 3, and twice, at .4 and mirrored at .35, in picture 7."""
    found = [random_curves(100 + i, closed=4) for i in range(12)]
    found[3] = joined(random_curves(1, closed=2), sketch.points.scaled(0.35).translated(90, -110))
    left, right = sketch.points.scaled(0.4).translated(-100, -90), sketch.points.mirrored().scaled(0.35)
    found[7] = joined(left, right.translated(110, 90), random_curves(2, closed=1).scaled(0.2))
    return [contours(points) for points in found]


@pytest.fixture(scope="module")
def state(pictures):
    return state_of(pictures, SETTINGS)


def test_a_small_thing_is_found_and_placed_where_it_is(state, sketch):
    hits = search(state, sketch, Options(2))
    assert {hit.id for hit in hits} == {"3", "7"}
    hit = next(hit for hit in hits if hit.id == "3")
    assert hit.scale == pytest.approx(0.35, rel=0.1)
    w, h = sketch.points.width * 0.35 * 2, sketch.points.height * 0.35 * 2
    cx, cy = 400 + 90 * 2, 400 - 110 * 2
    assert overlap(hit.box, (cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2)) > 0.8


def test_whole_pictures_alone_do_not_find_it(pictures, sketch):
    alone = state_of(pictures, SETTINGS, min_object_size=0.6)
    assert not alone.collection.has_windows
    assert len(alone.collection.engine) == len(pictures)
    assert search(alone, sketch, Options(1))[0].scale >= 0.6


def test_further_places_come_with_the_hit(state, sketch):
    hit = next(hit for hit in search(state, sketch, Options(3)) if hit.id == "7")
    assert len(hit.also) == 1
    places = sorted([(hit.box[0], hit.mirrored), (hit.also[0].box[0], hit.also[0].pose.mirrored)])
    assert [mirrored for _, mirrored in places] == [False, True]
    assert overlap(hit.box, hit.also[0].box) < 0.1
    document = hit.to_dict()["also"][0]
    assert set(document) == {"box", "score", "scale", "mirrored", "rotation"}
    outline = np.concatenate(hit.outline(pose=hit.also[0].pose))
    x0, y0, x1, y1 = hit.also[0].box
    assert (outline >= np.array([x0, y0]) - 1).all()
    assert (outline <= np.array([x1, y1]) + 1).all()


def test_ids_are_pictures_and_rows_are_windows(state, sketch):
    query = Query.of(sketch.points, SETTINGS)
    for k in (None, 5):
        found = rank(state.collection, query, k=k)
        assert len(set(found.ids.tolist())) == len(found) == (len(state) if k is None else k)
        np.testing.assert_array_equal(state.collection.pictures[found.rows], found.ids)
    every = every_window(state.collection, query, np.arange(len(state)))
    weighted = state.collection.weighted(every.score, every.rows)
    best = [weighted[every.ids == i].max() for i in range(len(state))]
    all_of_them = rank(state.collection, query)
    np.testing.assert_array_equal(all_of_them.ids, np.argsort(-np.array(best), kind="stable"))
    np.testing.assert_array_equal(found.rows, all_of_them.rows[:5])
    assert len(order_scores(state.collection, query, found.take(slice(0)))) == 0
    some = np.array([7, 2, 9])
    np.testing.assert_array_equal(located(state.collection, query, some).ids, some)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_with_pictures(state, sketch, method):
    answer = find(state, sketch, Options(4, method=method))
    assert len(set(answer.pictures.tolist())) == 4
    assert answer.pictures[0] in (3, 7)
    assert (np.diff(answer.order) <= 0).all()


def test_rows_of_pictures_in_any_order(state):
    collection = state.collection
    rows = collection.rows_of(np.array([5, 0, 5]))
    np.testing.assert_array_equal(np.unique(collection.pictures[rows]), [0, 5])
    assert len(rows) == 2 * (collection.pictures == 5).sum() + (collection.pictures == 0).sum()
    assert len(collection.rows_of(np.array([], np.int64))) == 0


def test_the_weighted_mean_of_the_densities_is_the_cosine():
    shape = outline_points(random_shape(np.random.default_rng(3)), spacing=20.0)
    collection = Collection.of([random_curves(i) for i in range(8)], SETTINGS)
    query = Query.of(shape, SETTINGS, rotations=(0.0, 0.3))
    found = rank(collection, query)
    mean = densities(collection, query, found) @ shape.weight
    close = partial(np.isclose, atol=1e-6)
    pose = [
        np.flatnonzero(close(query.scales, scale) & close(query.rotations, rotation))[0]
        for scale, rotation in zip(found.scale, found.rotation, strict=True)
    ]
    from sketchseek.shape.descriptor import norms

    own = norms(collection.vectors, SETTINGS)[found.rows, query.kernels[pose], 0]
    np.testing.assert_allclose(mean / query.norms[pose, 0] / own, found.score, atol=2e-5)


def test_a_drawing_of_which_half_is_there_is_uneven():
    shape = outline_points(random_shape(np.random.default_rng(8)))
    upper = shape.y < 0
    half = Points(shape.x[upper], shape.y[upper], shape.angle[upper], shape.weight[upper], 400.0, 400.0)
    collection = Collection.of([shape, half, joined(shape, random_curves(4, 3))], SETTINGS)
    query = Query.of(shape, SETTINGS)
    found = located(collection, query, np.arange(3))
    all_of_it, part, among_others = coverage(collection, query, found)
    assert all_of_it > 0.97
    assert among_others > 0.9
    assert part < 0.9
    assert (coverage(collection, query, found) <= 1 + 1e-6).all()


def test_small_windows_have_to_be_matched_more_evenly():
    shape = outline_points(random_shape(np.random.default_rng(8)))
    upper = shape.y < 0
    half = Points(shape.x[upper], shape.y[upper], shape.angle[upper], shape.weight[upper], 400.0, 400.0)
    query = Query.of(shape, SETTINGS)
    by_share = []
    for share in (1.0, 0.5):
        collection = Collection.of([shape, half], SETTINGS, pictures=[0, 1], shares=[share, share])
        found = located(collection, query, np.arange(2))
        by_share.append(order_scores(collection, query, found))
    (whole_full, whole_half), (window_full, window_half) = by_share
    assert window_full / whole_full > window_half / whole_half


def test_a_blank_picture_is_neither_here_nor_there():
    blank = Points(*(np.zeros(0, np.float32),) * 4, 400.0, 300.0)
    collection = Collection.of([blank, random_curves(1)], SETTINGS)
    query = Query.of(outline_points(random_shape(np.random.default_rng(2))), SETTINGS)
    found = rank(collection, query)
    scores = order_scores(collection, query, found)
    assert np.isfinite(scores).all()
    assert scores[found.ids == 0] == 0


def test_turned_hits_are_looked_at_where_they_were_found():
    shape = outline_points(random_shape(np.random.default_rng(6)))
    collection = Collection.of([shape.rotated(0.5).mirrored().scaled(0.8).translated(20, -30)], SETTINGS)
    query = Query.of(shape, SETTINGS, rotations=(-0.5, 0.0, 0.5))
    found = rank(collection, query)
    assert found.rotation[0] == pytest.approx(0.5)
    right = coverage(collection, query, found)
    assert right > 0.93
    assert coverage(collection, query, replace(found, mirrored=~found.mirrored)) < right - 0.1


def test_turned_by_any_angle_it_is_found_and_drawn_turned(sketch):
    turned = sketch.points.rotated(np.deg2rad(112)).scaled(0.7).translated(30, -20)
    others = [sketch_of(50 + i).points.scaled(0.8) for i in range(12)]
    tilted = sketch.points.rotated(np.deg2rad(-11)).scaled(0.8)
    seen = [contours(joined(points)) for points in (*others, turned, tilted)]
    state = state_of(seen, SETTINGS)
    upright, little, every = (search(state, sketch, Options(2, turn=turn)) for turn in (0, 15, 180))
    assert upright[0].rotation == 0
    assert little[0].id == "13"
    assert little[0].to_dict()["rotation"] == pytest.approx(-11, abs=4)
    assert {hit.id for hit in every} == {"12", "13"}
    hit = next(hit for hit in every if hit.id == "12")
    assert not hit.mirrored
    assert hit.to_dict()["rotation"] == pytest.approx(112, abs=4)
    drawn = np.stack([turned.x, turned.y], axis=1) * 2 + 400
    assert hit.box == pytest.approx((*drawn.min(axis=0), *drawn.max(axis=0)), abs=25)
    outline = np.concatenate(hit.outline())
    near = np.abs(outline[:, None] - drawn[None]).max(axis=2).min(axis=1)
    assert np.median(near) < 12


def test_turns_are_even_and_begin_with_none():
    assert turns(0) == (0.0,)
    for most in (10, 15, 40, 180):
        degrees = np.rad2deg(turns(most))
        assert degrees[0] == 0
        assert np.diff(np.sort(degrees)).max() <= 15 + 1e-9
        assert np.abs(degrees).max() == pytest.approx(most)
    assert len(turns(180)) == 24
    with pytest.raises(ValueError, match="turn"):
        turns(181)
    with pytest.raises(ValueError, match="turn"):
        Options(turn=-1)


def test_the_box_of_a_turned_drawing_is_that_of_the_turned_lines(sketch):
    query = Query.of(sketch.points, SETTINGS, rotations=(0.0, 0.7))
    turned = sketch.points.rotated(0.7).mirrored()
    collection = Collection.of([turned.scaled(0.8 * turned_fit(sketch.points, 0.7))], SETTINGS)
    found = rank(collection, query)
    assert (found.rotation[0], found.mirrored[0]) == (pytest.approx(0.7), True)
    assert share_inside(energy_cells(collection.vectors[found.rows], SETTINGS), query, found)[0] > 0.8


def test_a_turned_drawing_may_be_larger_than_an_upright_one():
    """Along the diagonal of its box, a bar is the longer side of a smaller box when it stands upright."""
    bar = Sketch.from_strokes([[[0, 0], [400, 40], [400, 0], [0, 40], [0, 0]]])
    diagonal = bar.points.rotated(np.deg2rad(45)).scaled(1.35)
    others = [sketch_of(50 + i).points for i in range(8)]
    state = state_of([contours(joined(p)) for p in (*others, diagonal)], SETTINGS)
    (hit,) = search(state, bar, Options(1, turn=180))
    assert hit.id == "8"
    assert hit.scale == pytest.approx(1.35, rel=0.08)
