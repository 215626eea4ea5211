"""One collection asked by many threads at once, from its first use on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from test_native import BUILDS, made, start_of

from reference.kernels import InspectedEngine as NativeEngine
from sketchseek.contours.synthetic import random_curves
from sketchseek.shape.engine.native import VARIABLE, largest_sums, select
from sketchseek.shape.placement import Placement
from sketchseek.shape.query import Query
from sketchseek.shape.settings import Settings, X, Y

THREADS = 8


@pytest.mark.parametrize("build", BUILDS)
def test_the_first_to_ask_for_projections_may_be_eight_at_once(
    build: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The projections are laid out on first use, without the interpreter's lock."""
    monkeypatch.setenv(VARIABLE, build)
    settings = Settings.preset("compact")
    vectors, its_norms = (np.repeat(a, 100, axis=0) for a in made(settings, 33, "int8"))
    query = Query.of(random_curves(500, closed=1), settings)
    alone = NativeEngine(vectors, its_norms, settings)
    expected = {axis: alone.project(query, axis, threads=1) for axis in (X, Y)}
    together = Barrier(THREADS)

    def ask(engine: NativeEngine, axis: int) -> bool:
        together.wait()
        return np.array_equal(engine.project(query, axis, threads=1), expected[axis])

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(40):
            engine = NativeEngine(vectors, its_norms, settings)
            assert all(pool.map(ask, [engine] * THREADS, [X, Y] * (THREADS // 2)))
            assert engine.memory == alone.memory


@pytest.mark.parametrize("storage", ["int8", "float32"])
@pytest.mark.parametrize("build", BUILDS)
def test_every_entry_point_answers_many_threads_as_it_does_one(
    build: str, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, build)
    settings = Settings.preset("compact")
    vectors, its_norms = (np.repeat(a, 8, axis=0) for a in made(settings, 33, storage))
    query = Query.of(random_curves(500, closed=1), settings)
    ids = np.arange(0, len(vectors), 3)
    codes = np.random.default_rng(0).integers(0, 256, (40, 4, 64)).astype(np.uint8)
    tables = np.arange(128).astype(np.uint8).reshape(8, 16)
    groups, prior = np.arange(len(vectors)) // 3, np.where(np.arange(len(vectors)) % 3, 0.9, 1.0)

    def refined(engine: NativeEngine) -> Placement:
        found = engine.locate(query, ids)
        return engine.refine_pose(query, ids, start_of(found, query, len(query)), threads=3)

    calls: list[Callable[[NativeEngine], Any]] = [
        lambda e: e.project(query, X, threads=3),
        lambda e: e.project(query, Y, ids, threads=2),
        lambda e: e.scores(query, threads=3),
        lambda e: e.scores(query, ids, threads=2),
        lambda e: e.plain_scores(query, ids, threads=2),
        lambda e: e.top(query, 10, threads=3),
        lambda e: e.top(query, 10, threads=3, groups=groups, prior=prior),
        lambda e: vars(e.locate(query, threads=3)),
        lambda e: vars(e.locate(query, ids, "binary", threads=2)),
        lambda e: vars(e.locate(query, ids, "binary-all", threads=2)),
        lambda e: vars(e.locate(query, ids, "local-all", threads=2)),
        lambda e: vars(refined(e)),
        lambda e: e.energy(ids, threads=3),
        lambda e: largest_sums(codes, tables, 2500, 20, threads=3),
        lambda e: select(its_norms[:, 0, 0], 20),
    ]
    alone = NativeEngine(vectors, its_norms, settings)
    expected = [call(alone) for call in calls]
    together = Barrier(THREADS)

    def ask(engine: NativeEngine, first: int) -> None:
        together.wait()
        for turn in range(len(calls)):
            number = (first + turn) % len(calls)
            np.testing.assert_equal(calls[number](engine), expected[number])

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(3):
            list(pool.map(ask, [NativeEngine(vectors, its_norms, settings)] * THREADS, range(THREADS)))
