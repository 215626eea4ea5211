"""The algebra of the maps and of match kernels, which holds to rounding."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sketchseek.kernels import RBF, set_similarity
from sketchseek.maps import HarmonicMap, JointMap, MatchKernel, orientation_map, spatial_map

SPATIAL = spatial_map(5)
SKETCHES = MatchKernel([SPATIAL, SPATIAL, orientation_map(2)])  # the sketch descriptor: 9 * 9 * 3 = 243
kernel_index = st.integers(0, 2)
coordinate = st.floats(-1.6, 1.6, allow_subnormal=False)


@st.composite
def weighted_sets(draw):
    n = draw(st.integers(1, 12))
    points = draw(arrays(np.float64, (n, 3), elements=coordinate))
    weights = draw(arrays(np.float64, n, elements=st.floats(0.125, 1, allow_subnormal=False)))
    return points, weights


def choice(i):
    return (i, i, 0)


def approximated(i):
    return [lambda d: SPATIAL.signature(d, i)] * 2 + [SKETCHES.maps[2].signature]


@settings(deadline=None)
@given(
    arrays(np.float64, (4, 1), elements=st.floats(-10, 10)),
    arrays(np.float64, (3, 1), elements=st.floats(-10, 10)),
    kernel_index,
)
def test_symmetric_and_asymmetric_products_are_equal(p, q, i):
    symmetric = SPATIAL.transform_symmetric(p, i) @ SPATIAL.transform_symmetric(q, i).T
    asymmetric = SPATIAL.transform_query(p, i) @ SPATIAL.transform(q).T
    np.testing.assert_allclose(asymmetric, symmetric, rtol=0, atol=1e-12)
    np.testing.assert_allclose(asymmetric, SPATIAL.signature(p - q.T, i), rtol=0, atol=1e-12)


@settings(deadline=None)
@given(weighted_sets(), weighted_sets(), kernel_index)
def test_descriptor_products_are_the_double_sum_of_approximated_kernels(P, Q, i):
    V, W = SKETCHES.describe(*P), SKETCHES.describe(*Q)
    for normalization in ("none", "cosine", "cardinality"):
        exact = set_similarity(
            P[0], Q[0], approximated(i), p_weights=P[1], q_weights=Q[1], normalization=normalization
        )
        assert SKETCHES.similarity(V, W, choice(i), normalization) == pytest.approx(
            exact, rel=1e-9, abs=1e-12
        )


@settings(deadline=None)
@given(weighted_sets(), st.tuples(coordinate, coordinate), kernel_index)
def test_translation_by_coefficients_is_translation_of_points(P, offset, i):
    points, weights = P
    V = SKETCHES.describe(points, weights)
    moved = SKETCHES.translate(V, dict(enumerate(offset)))
    expected = SKETCHES.describe(points + np.array([*offset, 0.0]), weights)
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-12 * weights.sum())
    assert SKETCHES.norm(moved, choice(i)) == pytest.approx(SKETCHES.norm(V, choice(i)), rel=1e-12)


@settings(deadline=None)
@given(weighted_sets(), weighted_sets(), kernel_index)
def test_polynomials_in_one_and_two_dimensions(P, Q, i):
    V, W = SKETCHES.describe(*P), SKETCHES.describe(*Q)
    dx, dy = np.array([-0.6, 0.0, 0.3]), np.array([0.1, 0.8])
    moved = [[SKETCHES.translate(V, {0: x, 1: y}) for y in dy] for x in dx]
    expected = [[SKETCHES.similarity(m, W, choice(i)) for m in row] for row in moved]
    grid = SKETCHES.scores(V, W, {0: dx, 1: dy}, choice(i))
    np.testing.assert_allclose(grid, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(SKETCHES.scores(V, W, {1: dy, 0: dx}, choice(i)), grid.T, rtol=0, atol=1e-12)
    line = SKETCHES.scores(V, W, {1: dy}, choice(i), "none")
    expected = [SKETCHES.similarity(SKETCHES.translate(V, {1: y}), W, choice(i), "none") for y in dy]
    np.testing.assert_allclose(line, expected, rtol=0, atol=1e-10)


def test_polynomial_has_the_papers_number_of_coefficients():
    rng = np.random.default_rng(0)
    V, W = (SKETCHES.describe(rng.normal(size=(9, 3))) for _ in range(2))
    n = 5
    assert SKETCHES.polynomial(V, W, [0], choice(0)).size == 2 * n - 1  # N_1 = D_x
    assert SKETCHES.polynomial(V, W, [0, 1], choice(0)).size == 4 * (n - 1) ** 2 + 4 * (n - 1) + 1  # N_2


def test_the_sign_of_the_offset():
    P, Q = [[0.0, 0.0, 0.0]], [[0.5, 0.0, 0.0]]
    offsets = np.linspace(-1, 1, 81)
    scores = SKETCHES.scores(SKETCHES.describe(P), SKETCHES.describe(Q), {0: offsets}, choice(2))
    assert offsets[scores.argmax()] == pytest.approx(0.5)  # P must move right to lie on Q


def test_projection_is_a_sub_vector():
    rng = np.random.default_rng(1)
    points = rng.uniform(-1.5, 1.5, size=(20, 3))
    flat = MatchKernel([SPATIAL, SKETCHES.maps[2]]).describe(points[:, [0, 2]])
    np.testing.assert_allclose(SKETCHES.describe(points).reshape(9, 9, 3)[:, 0].ravel(), flat, atol=1e-12)


def test_sums_of_sets_are_sums_of_vectors_in_any_blocks(monkeypatch):
    rng = np.random.default_rng(2)
    points, weights = rng.normal(size=(100, 3)), rng.uniform(size=100)
    whole = SKETCHES.describe(points, weights)
    parts = SKETCHES.describe(points[:37], weights[:37]) + SKETCHES.describe(points[37:], weights[37:])
    np.testing.assert_allclose(parts, whole, atol=1e-11)
    monkeypatch.setattr("sketchseek.maps.match_kernel._BLOCK", 81 * 7)
    np.testing.assert_allclose(SKETCHES.describe(points, weights), whole, atol=1e-11)
    assert whole[0] == pytest.approx(weights.sum())


def test_many_sets_at_once():
    rng = np.random.default_rng(3)
    V, W = (np.stack([SKETCHES.describe(rng.normal(size=(5, 3))) for _ in range(m)]) for m in (3, 4))
    for normalization in ("none", "cosine", "cardinality"):
        table = SKETCHES.similarity(V, W, choice(1), normalization)
        assert table.shape == (3, 4)
        assert table[2, 1] == pytest.approx(SKETCHES.similarity(V[2], W[1], choice(1), normalization))
    assert SKETCHES.norm(V, choice(1)).shape == (3,)
    moved = SKETCHES.translate(V, {0: 0.3})
    np.testing.assert_allclose(moved[1], SKETCHES.translate(V[1], {0: 0.3}), atol=1e-12)


def test_one_and_four_dimensions():
    line = MatchKernel([JointMap().fit()])
    assert line.similarity(line.describe([[0.1]]), line.describe([[0.3]]), 2, "none") == pytest.approx(
        float(SPATIAL.signature(0.2, 2))
    )
    four = MatchKernel([HarmonicMap(RBF(0.5), 2).fit()] * 4)
    rng = np.random.default_rng(4)
    P, Q = rng.uniform(-1, 1, size=(2, 6, 4))
    exact = set_similarity(P, Q, [four.maps[0].signature] * 4)
    assert four.similarity(four.describe(P), four.describe(Q), normalization="none") == pytest.approx(exact)


def test_query_vectors_for_a_continuous_scale():
    V = SKETCHES.describe(np.random.default_rng(5).uniform(-1, 1, size=(30, 3)))
    norms = [float(SKETCHES.norm(V, (RBF(s), RBF(s), 0))) for s in (0.12, 0.14, 0.16, 0.18, 0.20)]
    assert all(a < b for a, b in pairwise(norms))  # wider kernels see more pairs
    assert norms[2] == pytest.approx(float(SKETCHES.norm(V, choice(1))), rel=1e-5)
    assert math.isfinite(norms[1])
