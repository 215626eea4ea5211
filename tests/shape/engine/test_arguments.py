"""What the compiled engine takes for granted is checked where it comes in; work can be interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np
import pytest
from test_native import made

from sketchseek.contours.synthetic import random_curves
from sketchseek.errors import SketchseekError
from sketchseek.shape.engine import _engine
from sketchseek.shape.engine.native import NativeEngine, build_name
from sketchseek.shape.query import Query
from sketchseek.shape.settings import Settings

COMPACT = Settings.preset("compact")
VECTORS, NORMS = made(COMPACT, 20, "int8")
QUERY = Query.of(random_curves(500, closed=1), COMPACT)
NAN = float("nan")


def collection(**changed: Any) -> _engine.Collection:
    given: dict[str, Any] = {"vectors": VECTORS, "norms": NORMS, "nx": 5, "no": 2, "build": build_name()}
    return _engine.Collection(**{**given, **changed})


def query(**changed: Any) -> _engine.PreparedQuery:
    given: dict[str, Any] = {
        "full": QUERY.vectors,
        "projections": QUERY.projections,
        "frequencies": np.asarray(COMPACT.frequencies),
        "steps": QUERY.steps,
        "reach": QUERY.reach,
        "kernels": QUERY.kernels,
        "mirror": True,
        "dual": None,
    }
    return _engine.PreparedQuery(**{**given, **changed})


def with_one(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed.flat[3] = value
    return changed


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def refine_pose(**changed: Any) -> object:
    given: dict[str, Any] = {
        "vectors": ones(3, 243),
        "norms": ones(3),
        "weights": ones(3, 243),
        "kernels": np.arange(3, dtype=np.int32),
        "steps": ones(243),
        "frequencies": np.arange(5.0),
        "ids": np.arange(4),
        "starts": np.ones((4, 3)),
        "poses": np.tile(np.array([0, 3, 1], np.int32), (4, 1)),
        "threads": 1,
    }
    return collection().refine_pose(**{**given, **changed})


def describe(**changed: Any) -> object:
    given: dict[str, Any] = {
        "points": ones(4, 9),
        "sizes": np.ones(2),
        "frequencies": np.arange(5.0),
        "orientation_frequencies": np.arange(2.0),
        "build": build_name(),
    }
    return _engine.describe(**{**given, **changed})


def densities(**changed: Any) -> object:
    given: dict[str, Any] = {
        "vectors": VECTORS,
        "steps": ones(243),
        "poses": ones(2, 3, 9),
        "weights": np.ones((2, 5)),
        "orientation_weights": np.ones(2),
        "pose": np.zeros(20, np.int64),
        "shifts": ones(20, 2),
        "frequencies": np.arange(5.0),
        "orientation_frequencies": np.arange(2.0),
        "build": build_name(),
    }
    return _engine.densities(**{**given, **changed})


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "one frequency": (lambda: collection(vectors=VECTORS[:, :3].copy(), nx=1), "2 to 10 spatial"),
    "no frequency": (lambda: collection(nx=0), "2 to 10 spatial"),
    "many frequencies": (lambda: collection(nx=11), "2 to 10 spatial"),
    "many orientations": (lambda: collection(no=6), "1 to 5 orientation"),
    "a row's NaN": (lambda: collection(vectors=with_one(ones(20, 243), NAN)), "at most 1e15"),
    "a row's infinity": (lambda: collection(vectors=with_one(ones(20, 243), np.inf)), "at most 1e15"),
    "a norm's NaN": (lambda: collection(norms=with_one(NORMS, NAN)), "norms must be numbers"),
    "a negative norm": (lambda: collection(norms=with_one(NORMS, -1)), "norms must be numbers"),
    "norms of fewer rows": (lambda: collection(norms=NORMS[1:]), "norms"),
    "norms without projections": (lambda: collection(norms=NORMS[:, :, :2].copy()), "norms"),
    "no build": (lambda: collection(build="quantum"), "cannot run the build"),
    "a query of one frequency": (lambda: query(frequencies=np.zeros(1)), "2 to 10 spatial"),
    "a query without poses": (
        lambda: query(
            full=ones(0, 243),
            projections=ones(0, 2, 27),
            steps=np.ones(0),
            reach=np.ones(0, np.int32),
            kernels=np.ones(0, np.int32),
        ),
        "1 to 32767 poses",
    ),
    "a query's NaN": (lambda: query(full=with_one(QUERY.vectors, NAN)), "vectors must be finite"),
    "a projection's NaN": (lambda: query(projections=with_one(QUERY.projections, NAN)), "must be finite"),
    "a step's NaN": (lambda: query(steps=np.full(3, NAN)), "steps must be finite"),
    "a frequency's infinity": (lambda: query(frequencies=np.full(5, np.inf)), "must be finite"),
    "a negative reach": (lambda: query(reach=QUERY.reach - 30), "0 to 1023 steps"),
    "a wide reach": (lambda: query(reach=QUERY.reach + 2000), "0 to 1023 steps"),
    "fewer steps than poses": (lambda: query(steps=QUERY.steps[1:]), "agree in the number of poses"),
    "one projection": (lambda: query(projections=QUERY.projections[:, :1].copy()), "agree in the number"),
    "a dual's NaN": (lambda: query(dual=with_one(QUERY.vectors, NAN)), "dual must be finite"),
    "a short dual": (lambda: query(dual=ones(3, 9)), "dual must be of"),
    "a negative kernel": (lambda: query(kernels=QUERY.kernels - 1), "numbers from 0"),
    "a kernel too many": (
        lambda: collection().scores(query(kernels=QUERY.kernels + 1), None, 1),
        "other settings",
    ),
    "short projections": (
        lambda: collection().project(query(projections=QUERY.projections[:, :, :9].copy()), 1, None, 1),
        "other settings",
    ),
    "a short query": (lambda: collection().scores(query(full=ones(3, 240)), None, 1), "other settings"),
    "other frequencies": (
        lambda: collection().scores(query(frequencies=np.arange(4.0)), None, 1),
        "other settings",
    ),
    "scores by no threads": (lambda: collection().scores(query(), None, 0), "threads must be positive"),
    "top by no threads": (lambda: collection().top(query(), 3, None, None, -1), "threads must be positive"),
    "energy by no threads": (
        lambda: collection().energy(ones(243), ones(4, 4, 2), 8, np.arange(3), 0),
        "threads must be positive",
    ),
    "settling by no threads": (lambda: refine_pose(threads=0), "threads must be positive"),
    "the top 0": (lambda: collection().top(query(), 0, None, None, 1), "k must be positive"),
    "the top -1": (lambda: collection().top(query(), -1, None, None, 1), "k must be positive"),
    "the largest -1": (lambda: _engine.largest(ones(5), -1), "k must not be negative"),
    "an axis between": (lambda: collection().project(query(), 0, None, 1), "axis must be"),
    "luck for a guide": (lambda: collection().locate(query(), None, "luck", 1, 1), "guide must be"),
    "a negative radius": (lambda: collection().locate(query(), None, "local-all", -1, 1), "radius must not"),
    "odd cells": (lambda: collection().energy(ones(243), ones(3, 4, 2), 3, np.arange(3), 1), "must be even"),
    "too many cells": (
        lambda: collection().energy(ones(243), ones(4000, 4, 2), 8000, np.arange(3), 1),
        "at most 64",
    ),
    "no samples": (lambda: collection().energy(ones(243), ones(0, 4, 2), 8, np.arange(3), 1), "samples"),
    "few factors": (
        lambda: collection().energy(ones(9), ones(4, 4, 2), 8, np.arange(3), 1),
        "other settings",
    ),
    "a start's NaN": (lambda: refine_pose(starts=np.full((4, 3), NAN)), "starts must be finite"),
    "a short ladder": (lambda: refine_pose(weights=ones(3, 240)), "other settings"),
    "a ladder of fewer norms": (lambda: refine_pose(norms=ones(2)), "other settings"),
    "a ladder's NaN": (lambda: refine_pose(vectors=with_one(ones(3, 243), NAN)), "ladder must be finite"),
    "starts of fewer": (lambda: refine_pose(starts=np.ones((3, 3))), r"\(hits, 3\)"),
    "points without weight": (lambda: describe(points=ones(3, 9)), "points must be"),
    "a point's NaN": (lambda: describe(points=with_one(ones(4, 9), NAN)), "points must be finite"),
    "an endless drawing": (lambda: describe(sizes=np.full(1, np.inf)), "sizes must be finite"),
    "a map of one frequency": (lambda: describe(frequencies=np.zeros(1)), "2 to 10 spatial"),
    "a map of many orientations": (
        lambda: describe(orientation_frequencies=np.ones(6)),
        "1 to 5 orientation",
    ),
    "densities of no map": (lambda: densities(frequencies=np.zeros(0)), "2 to 10 spatial"),
    "densities of other vectors": (lambda: densities(vectors=VECTORS[:, :9].copy()), "vectors must be"),
    "densities of whole numbers": (lambda: densities(vectors=np.ones((20, 243), int)), "int8 or float32"),
    "steps of fewer components": (lambda: densities(steps=ones(9)), "steps"),
    "weights of fewer poses": (lambda: densities(weights=np.ones((1, 5))), "weights for each"),
    "weights of fewer frequencies": (lambda: densities(weights=np.ones((2, 4))), "weights for each"),
    "shifts of fewer": (lambda: densities(shifts=ones(3, 2)), "shifts"),
    "a shift's NaN": (lambda: densities(shifts=with_one(ones(20, 2), NAN)), "shifts must be finite"),
    "a drawing's NaN": (lambda: densities(poses=with_one(ones(2, 3, 9), NAN)), "points must be finite"),
    "codes by no threads": (
        lambda: _engine.largest_sums(
            np.zeros((1, 2, 64), np.uint8), np.zeros((4, 16), np.uint8), 64, 3, build_name(), 0
        ),
        "threads must be positive",
    ),
    "more codes than there are": (
        lambda: _engine.largest_sums(
            np.zeros((1, 2, 64), np.uint8), np.zeros((4, 16), np.uint8), 65, 3, build_name(), 1
        ),
        "n must not exceed",
    ),
    "tables of other parts": (
        lambda: _engine.largest_sums(
            np.zeros((1, 2, 64), np.uint8), np.zeros((6, 16), np.uint8), 64, 3, build_name(), 1
        ),
        "tables",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused(case: str) -> None:
    call, sentence = WRONG[case]
    with pytest.raises(ValueError, match=sentence):
        call()


def test_rows_and_poses_must_be_there() -> None:
    for ids in ([20], [-1]):
        with pytest.raises(IndexError, match="picture numbers"):
            collection().scores(query(), np.array(ids), 1)
    for poses in ((-1, 3, 0), (0, 4, 0), (0, 3, 2)):
        with pytest.raises(IndexError, match="poses must be of the ladder"):
            refine_pose(poses=np.tile(np.array(poses, np.int32), (4, 1)))


def test_a_tiny_norm_is_none() -> None:
    """Its inverse would be no number."""
    tiny = collection(norms=np.full_like(NORMS, 1e-42))
    assert (tiny.scores(query(), None, 1) == 0).all()


def test_what_is_no_number_is_selected_last() -> None:
    scores = np.array([NAN, 1, NAN, 3, -np.inf, 2], np.float32)
    np.testing.assert_array_equal(_engine.largest(scores, 3), [1, 3, 5])
    np.testing.assert_array_equal(_engine.largest(scores, 5), [0, 1, 3, 4, 5])


def test_more_than_all_is_all() -> None:
    ids, _ = collection().top(query(), 2**62, None, None, 1)
    assert sorted(ids) == list(range(20))


@pytest.mark.parametrize("guide", ["binary-all", "local-all"])
def test_a_neighborhood_of_more_than_the_grid_is_the_grid(guide: str) -> None:
    engine = NativeEngine(VECTORS, NORMS, COMPACT)
    wide = engine.locate(QUERY, guide=guide, neighborhood=10**12 + 1)
    np.testing.assert_array_equal(wide.score, engine.scores(QUERY))
    with pytest.raises(SketchseekError, match="odd number"):
        engine.locate(QUERY, guide=guide, neighborhood=4)


def test_a_signal_ends_a_long_call() -> None:
    """Ctrl-C, say: the handler's exception comes out of the call."""

    class EnoughError(Exception):
        pass

    def handler(number: int, frame: FrameType | None) -> None:
        raise EnoughError

    engine = NativeEngine(np.repeat(VECTORS, 1000, axis=0), np.repeat(NORMS, 1000, axis=0), COMPACT)
    poses = ("kernels", "scales", "rotations", "vectors", "projections", "norms", "steps", "reach")
    many = replace(QUERY, **{name: np.concatenate([getattr(QUERY, name)] * 200) for name in poses})
    before = signal.signal(signal.SIGALRM, handler)
    try:
        engine.scores(many, np.arange(1), threads=2)  # lays the query out
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(EnoughError):
            engine.plain_scores(many, threads=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space as Linux does")
def test_threads_that_cannot_be_started_are_done_without() -> None:
    script = """
import resource
import numpy as np
from sketchseek.shape.engine import _engine
n = 200_000
codes = np.random.default_rng(0).integers(0, 256, (n // 64, 4, 64)).astype(np.uint8)
tables = np.arange(128).astype(np.uint8).reshape(8, 16)
build = _engine.supported_builds()[0]
expected = _engine.largest_sums(codes, tables, n, 100, build, 1)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + 16 * 2**20  # room for the stacks of one or two
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
assert (_engine.largest_sums(codes, tables, n, 100, build, 4000) == expected).all()
print("done")
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True, timeout=120
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
