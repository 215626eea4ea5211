"""Every build of the engine against the reference, for every method, size and number of threads."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from reference.alignment import Start
from reference.engine import ReferenceEngine
from reference.kernels import InspectedEngine as NativeEngine
from reference.kernels import densities
from sketchseek.contours.synthetic import random_curves
from sketchseek.errors import SketchseekError
from sketchseek.shape.descriptor import decode, describe, encode, norms
from sketchseek.shape.engine import _engine, best_of_groups
from sketchseek.shape.engine.native import VARIABLE, build_name, describe_sizes
from sketchseek.shape.placement import Placement
from sketchseek.shape.query import Query
from sketchseek.shape.settings import PRESETS, Settings, X, Y

BUILDS = _engine.supported_builds()
TOLERANCE = 1e-5
GUIDES = ("binary", "binary-all", "local-all")


@pytest.fixture(params=BUILDS)
def build(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(VARIABLE, request.param)
    return str(request.param)


@lru_cache
def made(settings: Settings, n: int, storage: str) -> tuple[np.ndarray, np.ndarray]:
    """Vectors and norms of n pictures; the fourth is blank."""
    vectors = np.zeros((n, settings.dimensions), np.float32)
    for seed in range(n):
        vectors[seed] = describe(random_curves(seed), settings)
    vectors[3:4] = 0
    stored = encode(vectors, settings) if storage == "int8" else vectors
    return stored, norms(stored, settings)


@lru_cache
def expected(settings: Settings, n: int, storage: str, mirror: bool) -> tuple[Query, dict[object, Any]]:
    """A query, and what the reference says to it."""
    query = Query.of(random_curves(500, closed=1), settings, mirror)
    reference = ReferenceEngine(*made(settings, n, storage), settings)
    answers: dict[object, Any] = {guide: reference.locate(query, guide=guide) for guide in (None, *GUIDES)}
    return query, answers | {axis: reference.project(query, axis) for axis in (X, Y)}


def start_of(found: Placement, query: Query, poses: int) -> Start:
    """Around where a picture was found, each with two poses of its own."""
    first = np.arange(len(found)) % (poses - 1)
    within = query.steps[found.pose]
    return Start(first, first + 2, found.mirrored, found.dx.astype(float), found.dy.astype(float), within)


def assert_refines(
    engine: NativeEngine, reference: ReferenceEngine, query: Query, atol: float = TOLERANCE
) -> None:
    """Off the grid, and where the energy is."""
    ids = np.arange(len(engine))[::-1]
    start = start_of(engine.locate(query, ids), query, len(query))
    mine, theirs = (e.refine_pose(query, ids, start) for e in (engine, reference))
    np.testing.assert_allclose(mine.score, theirs.score, atol=atol)
    same = mine.pose == theirs.pose
    assert np.mean(same) > 0.9  # two poses may come out equal
    for name in ("dx", "dy"):
        np.testing.assert_allclose(getattr(mine, name)[same], getattr(theirs, name)[same], atol=1e-3)
    np.testing.assert_allclose(engine.energy(ids), reference.energy(ids), atol=atol)


def assert_agrees(settings: Settings, n: int, storage: str, mirror: bool = True) -> None:
    """Scores, places, projections and both guesses of this build are those of the reference."""
    engine = NativeEngine(*made(settings, n, storage), settings)
    query, answers = expected(settings, n, storage, mirror)
    exact = answers[None]
    for threads in (1, 2):
        np.testing.assert_allclose(engine.scores(query, threads=threads), exact.score, atol=TOLERANCE)
    np.testing.assert_allclose(engine.plain_scores(query), exact.score, atol=TOLERANCE)
    placed = engine.locate(query)
    np.testing.assert_array_equal(placed.score, engine.scores(query))
    clear = placed.score > 0.01  # a blank picture is nowhere
    for name in ("pose", "mirrored", "dx", "dy"):
        np.testing.assert_array_equal(getattr(placed, name)[clear], getattr(exact, name)[clear])
    for axis in (X, Y):
        np.testing.assert_allclose(engine.project(query, axis), answers[axis], atol=TOLERANCE)
    for guide in GUIDES:
        np.testing.assert_allclose(
            engine.locate(query, guide=guide).score, answers[guide].score, atol=TOLERANCE
        )


@pytest.mark.parametrize("storage", ["float32", "int8"])
@pytest.mark.parametrize("preset", PRESETS)
def test_presets(build: str, preset: str, storage: str) -> None:
    settings = Settings.preset(preset)
    assert NativeEngine(*made(settings, 19, storage), settings).build == build
    assert_agrees(settings, 19, storage)
    if preset == "compact":
        assert_agrees(settings, 19, storage, mirror=False)


@pytest.mark.parametrize("storage", ["float32", "int8"])
@pytest.mark.parametrize("preset", PRESETS)
def test_places_off_the_grid_and_energy(build: str, preset: str, storage: str) -> None:
    settings = Settings.preset(preset)
    engine, reference = (e(*made(settings, 19, storage), settings) for e in (NativeEngine, ReferenceEngine))
    assert_refines(engine, reference, Query.of(random_curves(500, closed=1), settings))
    blank = np.array([3])
    assert engine.energy(blank).sum() == 0
    query = Query.of(random_curves(500, closed=1), settings)
    assert engine.refine_pose(query, blank, start_of(engine.locate(query, blank), query, 3)).score == -np.inf
    with pytest.raises(IndexError, match="picture numbers"):
        engine.energy(np.array([19]))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_drawing_is_described_as_by_the_reference(build: str, preset: str) -> None:
    settings, drawing, sizes = Settings.preset(preset), random_curves(500, closed=1), (1.0, 0.83, 0.6)
    for n in (0, 1, 3, 4, 15, 16, 17, 255, 256, 257, len(drawing)):
        some = drawing.take(np.arange(n))
        expected = np.stack([describe(some.scaled(size), settings) for size in sizes])
        found = describe_sizes(some, sizes, settings)
        np.testing.assert_allclose(found, expected, atol=4e-6 * max(n, 1))


@pytest.mark.parametrize("storage", ["float32", "int8"])
@pytest.mark.parametrize("preset", PRESETS)
def test_densities_are_products_with_single_points(build: str, preset: str, storage: str) -> None:
    settings, rng = Settings.preset(preset), np.random.default_rng(0)
    stored, _ = made(settings, 7, storage)
    drawing = random_curves(500, closed=1)
    for n in (1, 4, 15, 33):
        points = drawing.take(np.linspace(0, len(drawing) - 1, n).astype(int))
        posed = [points.scaled(0.8), points.mirrored(), points.rotated(0.3)]
        kernels, pose = np.array([1, 0, 2]), rng.integers(0, 3, len(stored))
        shifts = rng.uniform(-80, 80, (len(stored), 2)).astype(np.float32)
        poses = np.stack([[p.x, p.y, p.angle] for p in posed])
        found = densities(stored, settings, poses, kernels=kernels, pose=pose, shifts=shifts)
        vectors = decode(stored, settings) if storage == "int8" else stored
        for i, vector in enumerate(vectors):
            own, weights = posed[pose[i]], settings.component_weights[kernels[pose[i]]]
            alone = [own.take(np.array([p])).translated(*shifts[i].tolist()) for p in range(n)]
            ones = [replace(point, weight=np.ones(1, np.float32)) for point in alone]
            expected = [describe(point, settings) * weights @ vector for point in ones]
            np.testing.assert_allclose(found[i], expected, atol=1e-5 * max(np.abs(vector).sum(), 1))
        with pytest.raises(IndexError, match="one of the poses"):
            densities(stored, settings, poses, kernels=kernels, pose=pose + 3, shifts=shifts)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 15, 16, 17, 33])
def test_any_number_of_pictures(build: str, n: int) -> None:
    settings = Settings.preset("compact")
    for storage in ("float32", "int8"):
        assert_agrees(settings, n, storage)
        engine = NativeEngine(*made(settings, n, storage), settings)
        query, _ = expected(settings, n, storage, True)
        scores = engine.scores(query)
        order = np.argsort(-scores, kind="stable")
        for k in (1, max(n, 1), n + 5):
            ids, found = engine.top(query, k)
            np.testing.assert_array_equal(ids, order[:k])
            np.testing.assert_array_equal(found, scores[order[:k]])


def test_small_maps_and_large_ones(build: str) -> None:
    for nx, no in ((2, 1), (3, 4), (5, 3), (7, 2)):
        assert_agrees(_settings(nx, no), 9, "int8")


def _settings(nx: int, no: int) -> Settings:
    """Settings of any size without a fit: multiples of a base, falling weights."""
    full = Settings.preset("full")
    return replace(
        full,
        frequencies=full.frequencies[:nx],
        weights=tuple(row[:nx] for row in full.weights),
        orientation_frequencies=tuple(float(i) for i in range(no)),
        orientation_weights=tuple(1 / (1 + i) for i in range(no)),
        code_scales=tuple(tuple(tuple(1.0 for _ in range(no)) for _ in range(nx)) for _ in range(nx)),
    )


def test_a_shortlist_is_scored_as_the_whole_is(build: str) -> None:
    settings = Settings.preset("compact")
    vectors, its_norms = made(settings, 50, "int8")
    engine = NativeEngine(vectors, its_norms, settings)
    query = Query.of(random_curves(503, closed=1), settings)
    ids = np.array([49, 0, 17, 17, 3, 31])
    np.testing.assert_array_equal(engine.scores(query, ids), engine.scores(query)[ids])
    for axis in (X, Y):
        np.testing.assert_array_equal(engine.project(query, axis, ids), engine.project(query, axis)[ids])
    for guide in (None, "binary", "binary-all", "local-all"):
        some, whole = engine.locate(query, ids, guide), engine.locate(query, guide=guide)
        np.testing.assert_array_equal(some.dx, whole.dx[ids])
        np.testing.assert_array_equal(some.score, whole.score[ids])
    for wrong in (-1, 50):
        with pytest.raises(IndexError, match="picture numbers"):
            engine.scores(query, np.array([wrong]))


@lru_cache
def mixtures(settings: Settings, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes and norms of n mixtures of two pictures each; forty of them are there twice."""
    seeds, _ = made(settings, 60, "float32")
    rng = np.random.default_rng(0)
    share = 0.6 * rng.random((n, 1), np.float32)
    codes = encode(seeds[rng.integers(0, 60, n)] + share * seeds[rng.integers(0, 60, n)], settings)
    codes[5000:5040] = codes[9000:9040]
    return codes, norms(codes, settings)


@pytest.mark.parametrize("preset", ["compact", "precise"])
def test_the_pruned_top_is_the_exhaustive_one(build: str, preset: str) -> None:
    """Enough pictures for the sample that the bound is learned from, and ties among them."""
    settings = Settings.preset(preset)
    engine = NativeEngine(*mixtures(settings, 16_400), settings)
    query = Query.of(random_curves(600, closed=1), settings)
    scores = engine.scores(query)
    order = np.argsort(-scores, kind="stable")
    for k, threads in ((1, 1), (100, 2), (3000, 1)):
        ids, found = engine.top(query, k, threads)
        np.testing.assert_array_equal(ids, order[:k])
        np.testing.assert_array_equal(found, scores[order[:k]])


@pytest.mark.parametrize("preset", ["compact", "precise"])
def test_the_pruned_top_of_windows_is_the_exhaustive_one(build: str, preset: str) -> None:
    """Wholes among their parts; pictures of many windows and of one; parts that beat their wholes."""
    settings = Settings.preset(preset)
    engine = NativeEngine(*mixtures(settings, 16_400), settings)
    query = Query.of(random_curves(601, closed=1), settings)
    rng = np.random.default_rng(1)
    groups = rng.permutation(np.minimum(np.arange(16_400) // 6, 2500)).astype(np.int32)
    prior = rng.choice(np.float32([1, 0.9, 0.8]), 16_400, p=[0.15, 0.5, 0.35])
    scores = engine.scores(query)
    for k, threads in ((1, 1), (100, 2), (2600, 1)):
        ids, found = engine.top(query, k, threads, groups=groups, prior=prior)
        expected, theirs = best_of_groups(scores, k, groups, prior)
        np.testing.assert_array_equal(ids, expected)
        np.testing.assert_array_equal(found, theirs)


def test_the_largest_are_selected_with_ties_to_the_lower_number() -> None:
    rng = np.random.default_rng(0)
    for n, k in ((0, 3), (1, 1), (1000, 10), (1000, 1000), (1000, 2000), (5000, 1), (777, 0)):
        scores = np.round(rng.normal(size=n), 2).astype(np.float32)
        expected = np.sort(np.argsort(-scores, kind="stable")[:k])
        np.testing.assert_array_equal(_engine.largest(scores, k), expected)


def test_one_byte_scores_are_close_to_those_of_floats() -> None:
    for preset in PRESETS:
        settings = Settings.preset(preset)
        vectors = np.stack([describe(random_curves(seed), settings) for seed in range(400)])
        codes = encode(vectors, settings)
        floats = NativeEngine(vectors, norms(vectors, settings), settings)
        bytes_ = NativeEngine(codes, norms(codes, settings), settings)
        queries = [Query.of(random_curves(seed, closed=1), settings) for seed in range(700, 706)]
        errors = np.abs([floats.scores(q) - bytes_.scores(q) for q in queries])
        assert errors.max() < 0.005
        assert errors.mean() < 0.001


def test_an_unknown_build_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "quantum")
    with pytest.raises(SketchseekError, match="SKETCHSEEK_ENGINE=quantum is not available"):
        build_name()


def test_wrong_arrays_are_refused() -> None:
    settings = Settings.preset("compact")
    vectors, its_norms = made(settings, 5, "int8")
    with pytest.raises(ValueError, match=r"\(n, D\)"):
        NativeEngine(vectors[:, :-1], its_norms, settings)
    with pytest.raises(ValueError, match="int8 or float32"):
        NativeEngine(vectors.astype(np.float64), its_norms, settings)
    engine = NativeEngine(vectors, its_norms, settings)
    with pytest.raises(ValueError, match="other settings"):
        engine.scores(Query.of(random_curves(1, closed=1), Settings.preset("precise")))
    with pytest.raises(ValueError, match="threads must be positive"):
        engine.scores(Query.of(random_curves(1, closed=1), settings), threads=0)


def test_an_index_fits_in_its_memory() -> None:
    settings = Settings.preset("compact")
    engine = NativeEngine(np.ones((20_000, 243), np.int8), np.ones((20_000, 3, 3), np.float32), settings)
    assert engine.memory / len(engine) <= 300
    engine.project(Query.of(random_curves(1, closed=1), settings), X)
    assert engine.memory / len(engine) <= 360


@pytest.mark.parametrize("engine", [NativeEngine, ReferenceEngine])
def test_the_top_of_grouped_rows_is_one_row_a_picture(engine: Any) -> None:
    settings = Settings.preset("compact")
    vectors, its_norms = made(settings, 60, "int8")
    again = np.r_[np.arange(60), 7, 7, 31]  # rows that are equal
    collection = engine(vectors[again], its_norms[again], settings)
    query = Query.of(random_curves(500, closed=1), settings)
    rng = np.random.default_rng(0)
    groups = np.r_[rng.integers(0, 20, 60), 30, 31, 31].astype(np.int32)
    prior = np.where(rng.random(63) < 0.3, 1, 0.9).astype(np.float32)
    scores = collection.scores(query) * prior
    best = {g: min((-scores[i], i) for i in np.flatnonzero(groups == g)) for g in np.unique(groups)}
    expected = sorted(best.values())
    for k in (1, 5, len(expected), 63):
        ids, found = collection.top(query, k, groups=groups, prior=prior)
        np.testing.assert_array_equal(ids, [i for _, i in expected[:k]])
        np.testing.assert_array_equal(found, scores[ids])
    plain, _ = collection.top(query, 63)
    np.testing.assert_array_equal(collection.top(query, 63, prior=np.ones(63))[0], plain)
    for wrong in (
        {"groups": groups[1:]},
        {"groups": groups - 1},
        {"prior": prior * 2},
        {"prior": prior * np.nan},
    ):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            collection.top(query, 3, **wrong)
    with pytest.raises(ValueError, match="k must be positive"):
        collection.top(query, 0)
