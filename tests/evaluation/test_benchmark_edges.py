"""The boundary benchmark, on cases whose answer is known."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

PLACE = Path(__file__).parents[2] / "benchmarks" / "edges.py"
spec = importlib.util.spec_from_file_location("benchmark_edges", PLACE)
assert spec is not None
assert spec.loader is not None
edges = importlib.util.module_from_spec(spec)
spec.loader.exec_module(edges)

SHAPE = (160, 213)  # a diagonal of 266.4 pixels: a tolerance of 1.998


def line(column: int, rows: slice = slice(30, 130)) -> np.ndarray:
    mask = np.zeros(SHAPE, bool)
    mask[rows, column] = True
    return mask


def test_known_answer() -> None:
    """Two annotators draw a line each; detected are the first, a false one, and half of the second.

    At .5: 100 + 100 detections, 100 right; 100 of 200 boundary pixels found: P = R = .5.
    At .3 the half line comes in: P = 150 / 250, R = 150 / 200.
    """
    annotators = np.array([line(40), line(60)])
    strength = np.zeros(SHAPE, np.float32)
    strength[line(40)] = 0.8
    strength[line(120)] = 0.7
    strength[line(61, slice(30, 80))] = 0.4
    counts = edges.count_matches(strength, annotators, np.array([0.3, 0.5, 0.75, 0.9]))
    expected = [[150, 200, 150, 250], [100, 200, 100, 200], [100, 200, 100, 100], [0, 200, 0, 0]]
    np.testing.assert_array_equal(counts, expected)
    scores = edges.score(np.repeat(counts[None], 3, axis=0))
    assert scores["ods"] == pytest.approx(2 / 3, abs=2e-3)  # at .75: P = 1, R = .5; at .3: P = .6, R = .75
    assert scores["ois"] == pytest.approx(2 / 3, abs=2e-3)


def test_matches_are_one_to_one_and_within_the_tolerance() -> None:
    strength = np.zeros(SHAPE, np.float32)
    strength[line(40) | line(44)] = 0.8  # both within reach of 42 only if the tolerance were 2
    counts = edges.count_matches(strength, line(42)[None], np.array([0.5]))
    assert counts[0].tolist() == [0, 100, 0, 200]
    strength[:] = 0
    strength[line(41) | line(43)] = 0.8  # both within reach, but each boundary pixel takes one
    counts = edges.count_matches(strength, line(42)[None], np.array([0.5]))
    assert counts[0, [0, 1, 3]].tolist() == [100, 100, 200]
    assert counts[0, 2] == 100


def test_a_detection_may_be_right_for_several_annotators() -> None:
    strength = np.zeros(SHAPE, np.float32)
    strength[line(40)] = 0.8
    counts = edges.count_matches(strength, np.array([line(40), line(41)]), np.array([0.5]))
    assert counts[0].tolist() == [200, 200, 100, 100]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.3), st.floats(0.01, 0.3))
def test_as_many_pairs_as_can_be(seed: int, detected_share: float, drawn_share: float) -> None:
    """The matching kept from threshold to threshold has as many pairs as SciPy's from scratch."""
    random = np.random.default_rng(seed)
    shape, reach = (24, 24), 2.3
    detected, drawn = random.random(shape) < detected_share, random.random(shape) < drawn_share
    matching = edges.Matching(drawn, detected, reach)
    y, x = np.nonzero(detected)
    v, u = np.nonzero(drawn)
    near = np.hypot(v[:, None] - y, u[:, None] - x) <= reach
    values = random.random(len(y))
    for threshold in (0.8, 0.5, 0.6, 0.0):
        passing = values >= threshold
        most = (maximum_bipartite_matching(csr_array(near & passing)) >= 0).sum() if near.any() else 0
        taken = matching.update(passing)
        assert taken.sum() == most
        assert not (taken & ~passing).any()


def test_scores_of_perfect_and_empty_detections() -> None:
    strength = line(40).astype(np.float32)
    counts = edges.count_matches(strength, line(40)[None], edges.THRESHOLDS)
    assert edges.score(counts[None])["ods"] == 1.0
    counts = edges.count_matches(0 * strength, line(40)[None], edges.THRESHOLDS)
    assert edges.score(counts[None]) | {"ods_threshold": 0} == {
        "ods": 0,
        "ois": 0,
        "ap": 0,
        "ods_threshold": 0,
    }


def test_suppression_keeps_the_middle_of_a_ridge() -> None:
    column = np.arange(SHAPE[1])
    ridge = np.exp(-((column - 100) ** 2) / 18).astype(np.float32)
    thin = edges.suppress(np.tile(ridge, (SHAPE[0], 1)))
    assert (np.nonzero(thin[80] > 0.2)[0] == 100).all()
    assert thin[0].max() == 0  # the frame fades


def test_average_precision_of_a_known_curve() -> None:
    """Precision 1 up to recall .5, then falling straight to .5 at recall 1: .5 + .375."""
    found, right, detected = np.array([100, 50, 1]), np.array([100, 50, 1]), np.array([200, 50, 1])
    counts = np.stack([found, np.full(3, 100), right, detected], axis=1)
    assert edges.score(counts[None])["ap"] == pytest.approx(0.875, abs=0.01)
