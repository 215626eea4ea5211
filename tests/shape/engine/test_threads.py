"""One collection asked by many threads at once, from its first use on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from test_native import BUILDS, made

from sketchseek.evaluation.planted import random_curves
from sketchseek.shape.engine.native import VARIABLE, NativeEngine
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
