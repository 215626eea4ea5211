"""The ranking methods by their names, on real descriptors and on planted shapes."""

from __future__ import annotations

import numpy as np
import pytest

from reference.engine import ReferenceEngine
from reference.placing import refine
from sketchseek.contours import strength_to_points
from sketchseek.contours.detectors import get_detector
from sketchseek.contours.synthetic import random_curves
from sketchseek.evaluation.metrics import box_iou
from sketchseek.evaluation.planted import plant, random_background
from sketchseek.evaluation.separate_kernels import SeparateKernels
from sketchseek.search.collection import Collection
from sketchseek.search.options import Options
from sketchseek.search.ranking import best_first, rank
from sketchseek.search.search import search
from sketchseek.search.state import PictureContours, state_of
from sketchseek.shape.descriptor import norms
from sketchseek.shape.query import Query, turned_fit
from sketchseek.shape.settings import Settings, X, Y

COMPACT = Settings.preset("compact")
N = 220


@pytest.fixture(scope="module")
def collection() -> Collection:
    return Collection.of((random_curves(seed) for seed in range(N)), COMPACT)


@pytest.fixture(scope="module")
def query() -> Query:
    return Query.of(random_curves(900, closed=1), COMPACT)


def test_exhaustive_is_the_reference_in_order(collection: Collection, query: Query) -> None:
    reference = ReferenceEngine(collection.vectors, norms(collection.vectors, COMPACT), COMPACT)
    expected = reference.locate(query)
    everything = rank(collection, query)
    assert sorted(everything.ids) == list(range(N))
    assert (np.diff(everything.score) <= 0).all()
    np.testing.assert_allclose(everything.score, expected.score[everything.ids], atol=1e-5)
    np.testing.assert_allclose(everything.dx, expected.dx[everything.ids], atol=1e-4)
    np.testing.assert_allclose(everything.scale, query.scales[expected.pose[everything.ids]], atol=1e-6)
    few = rank(collection, query, k=7)
    np.testing.assert_array_equal(few.ids, everything.ids[:7])
    assert len(rank(collection, query, k=N + 10)) == N


@pytest.mark.parametrize("rerank", ["exact", "binary", "local", "binary-all", "local-all"])
def test_projections_shortlist_by_the_sum_of_both(collection: Collection, query: Query, rerank: str) -> None:
    total = collection.engine.project(query, X) + collection.engine.project(query, Y)
    found = rank(collection, query, method="projections", shortlist=50, rerank=rerank)
    assert set(found.ids[:50]) == set(best_first(total, 50))
    np.testing.assert_array_equal(found.ids[50:], best_first(total, len(total))[50:])  # the rest follows
    exact = collection.engine.scores(query)[found.ids]
    assert (found.score <= exact + 1e-6).all()
    if rerank == "exact":
        np.testing.assert_array_equal(found.score, exact)


def test_dpf_takes_the_second_projection_of_three_times_the_shortlist(
    collection: Collection, query: Query
) -> None:
    first = query.first_projection
    one, other = (collection.engine.project(query, axis) for axis in (first, X + Y - first))
    kept = best_first(one, 60)
    expected = kept[best_first((one + other)[kept], 20)]
    found = rank(collection, query, method="dpf", shortlist=20)
    assert set(found.ids[:20]) == set(expected)
    assert set(found.ids[:60]) == set(kept)
    np.testing.assert_array_equal(found.ids[60:], best_first(one, N)[60:])
    assert len(rank(collection, query, method="dpf", shortlist=N, k=5)) == 5
    np.testing.assert_array_equal(
        rank(collection, query, method="dpf", shortlist=0).ids, best_first(one, N)
    )  # one projection, and no more


def test_the_more_varied_axis_goes_first() -> None:
    points = random_curves(3, closed=1)
    wide = type(points)(points.x, points.y * 0.2, points.angle, points.weight, 400, 80)
    tall = type(points)(points.x * 0.2, points.y, points.angle, points.weight, 80, 400)
    assert Query.of(wide, COMPACT).first_projection == X
    assert Query.of(tall, COMPACT).first_projection == Y


def test_ties_keep_the_pictures_order(query: Query) -> None:
    same = Collection.of([random_curves(1)] * 40, COMPACT)
    for method in ("exhaustive", "projections", "dpf"):
        np.testing.assert_array_equal(rank(same, query, method=method, k=10, shortlist=12).ids, np.arange(10))


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"method": "luck"}, "method must be one of"),
        ({"rerank": "luck", "method": "dpf"}, "rerank must be one of"),
        ({"k": 0}, "k must be positive"),
        ({"method": "dpf", "shortlist": -1}, "shortlist must not be negative"),
    ],
)
def test_wrong_arguments_are_named(
    collection: Collection, query: Query, wrong: dict[str, object], named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        rank(collection, query, **wrong)  # type: ignore[arg-type]


def test_other_settings_are_refused(collection: Collection) -> None:
    with pytest.raises(ValueError, match="same settings"):
        rank(collection, Query.of(random_curves(1, closed=1), Settings.preset("precise")))


def test_more_scales_and_rotations_search_the_same_vectors(collection: Collection) -> None:
    more = COMPACT.with_scales((1.0, 0.8, 0.6, 0.45))
    wider = collection.with_settings(more)
    assert wider.vectors is collection.vectors
    drawing = random_curves(900, closed=1)
    size = 0.45 * turned_fit(drawing, 0.15)
    alone = Collection.of([drawing.rotated(0.15).scaled(size).translated(60, 30)], COMPACT, "float32")
    background = rank(alone, Query.of(drawing, COMPACT)).score[0]
    query = Query.of(drawing, more, rotations=(-0.15, 0.0, 0.15))
    found = rank(alone.with_settings(more), query)
    assert found.score[0] > max(0.9, background + 0.1)
    assert (found.scale[0], found.rotation[0]) == pytest.approx((size, 0.15))
    assert (rank(wider, query).score >= 0).all()


def test_one_harmonic_descriptor_for_each_kernel_is_three_times_the_memory_and_scores_alike() -> None:
    full = Settings.preset("full")  # harmonic maps need many frequencies
    points = [random_curves(seed) for seed in range(40)]
    separate = SeparateKernels.of(points, full)
    assert sum(c.vectors.nbytes for c in separate.collections) == 3 * 40 * 1125
    assert all(c.settings.orientation_weights == full.orientation_weights for c in separate.collections)
    query = Query.of(random_curves(900, closed=1), full)
    found = separate.rank(query.points)
    asymmetric = rank(Collection.of(points, full), query)
    theirs = dict(zip(asymmetric.ids, asymmetric.score, strict=True))
    mine = np.array([theirs[i] for i in found.ids])
    assert np.corrcoef(mine, found.score)[0, 1] > 0.8


@pytest.mark.parametrize(("scale", "dx", "dy", "mirrored"), [(0.9, 33, -27, False), (0.7, 51, 44, True)])
def test_hits_are_placed_off_the_grid(scale: float, dx: float, dy: float, mirrored: bool) -> None:
    drawing = random_curves(901, closed=1)
    placed = (drawing.mirrored() if mirrored else drawing).scaled(scale).translated(dx, dy)
    alone = Collection.of([placed], COMPACT)
    query = Query.of(drawing, COMPACT)
    grid = rank(alone, query)
    fine = refine(alone, query, grid)
    assert fine.score[0] == grid.score[0]
    assert fine.mirrored[0] == mirrored
    assert fine.scale[0] == pytest.approx(scale, rel=0.04)
    assert (fine.dx[0], fine.dy[0]) == pytest.approx((dx, dy), abs=4)


def test_planted_shapes_come_first_and_are_placed() -> None:
    """Solid shapes in blurred backgrounds; benchmarks/planted.py does it with photos."""
    rng = np.random.default_rng(0)
    detector = get_detector("canny")
    shapes = [plant(random_background(rng), rng, blur=4.0) for _ in range(24)]
    pictures = [shape.pixels for shape in shapes] + [random_background(rng) for _ in range(24)]
    contours = [PictureContours.whole(strength_to_points(detector(p)), p) for p in pictures]
    state = state_of(contours, COMPACT)
    first, overlaps = 0, []
    for number, shape in enumerate(shapes):
        (hit,) = search(state, shape.sketch, Options(1, local_normalization=0.0))
        found = hit.id == str(number)
        first += found
        overlaps.append(float(box_iou(hit.box, [shape.box])[0]) if found else 0.0)
    assert first >= 22
    assert np.mean(np.array(overlaps) >= 0.75) >= 0.85
