"""Kernels and the double sum, against sums written out and against known values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sketchseek import kernels
from sketchseek.kernels import RBF, Kernel, Periodic, set_similarity

coordinates = st.floats(-3, 3, allow_subnormal=False)


def sets(dimensions=2, largest=7):
    return st.integers(1, largest).flatmap(
        lambda n: arrays(np.float64, (n, dimensions), elements=coordinates)
    )


def written_out(P, Q, used, p, q):
    return sum(
        pw * qw * math.prod(float(k(a - b)) for k, a, b in zip(used, x, y, strict=True))
        for x, pw in zip(P, p, strict=True)
        for y, qw in zip(Q, q, strict=True)
    )


def test_rbf_is_the_gaussian_with_two_in_the_denominator():
    assert RBF(0.12)(0.0) == 1.0
    assert RBF(0.12)(0.12) == pytest.approx(math.exp(-0.5), abs=1e-15)
    assert RBF(0.12)([[0.1, -0.1]]).shape == (1, 2)
    assert isinstance(RBF(0.12), Kernel)


def test_periodic_kernel_goes_the_shorter_way_round():
    around = Periodic(RBF(0.8), 2 * math.pi)
    assert around(3 * math.pi) == pytest.approx(float(RBF(0.8)(math.pi)))
    assert around(-2 * math.pi + 0.3) == pytest.approx(float(RBF(0.8)(0.3)))


@settings(deadline=None)
@given(sets(), sets(), st.randoms(use_true_random=False))
def test_set_similarity_is_the_sum_written_out(P, Q, random):
    p, q = [random.random() for _ in P], [random.random() for _ in Q]
    used = [RBF(0.5), Periodic(RBF(0.8), 2 * math.pi)]
    value = set_similarity(P, Q, used, p_weights=p, q_weights=q)
    assert value == pytest.approx(written_out(P, Q, used, p, q), rel=1e-12, abs=1e-14)


@settings(deadline=None)
@given(sets(), sets())
def test_normalisations(P, Q):
    used = [RBF(0.5), RBF(0.7)]
    plain = set_similarity(P, Q, used)
    assert set_similarity(P, Q, used, normalization="cardinality") == pytest.approx(plain / len(P) / len(Q))
    assert set_similarity(P, P, used, normalization="cosine") == pytest.approx(1.0)
    assert set_similarity(P, Q, used, normalization="cosine") == pytest.approx(
        plain / math.sqrt(set_similarity(P, P, used) * set_similarity(Q, Q, used))
    )


def test_blocks_do_not_change_the_sum(monkeypatch):
    rng = np.random.default_rng(0)
    P, Q = rng.normal(size=(50, 2)), rng.normal(size=(31, 2))
    whole = set_similarity(P, Q, [RBF(0.5), RBF(0.5)], normalization="cosine")
    monkeypatch.setattr(kernels, "_BLOCK", 64)
    assert set_similarity(P, Q, [RBF(0.5), RBF(0.5)], normalization="cosine") == pytest.approx(
        whole, rel=1e-13
    )


def test_sets_without_weight_resemble_nothing():
    P = [[0.0], [1.0]]
    for normalization in ("cosine", "cardinality"):
        assert set_similarity(P, P, [RBF(1.0)], p_weights=[0, 0], normalization=normalization) == 0.0


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (lambda: RBF(0.0), "sigma"),
        (lambda: RBF(-1.0), "sigma"),
        (lambda: RBF(math.nan), "sigma"),
        (lambda: RBF(math.inf), "sigma"),
        (lambda: Periodic(RBF(1.0), 0.0), "period"),
        (lambda: set_similarity([], [[0.0]], [RBF(1.0)]), "P must"),
        (lambda: set_similarity(np.empty((0, 1)), [[0.0]], [RBF(1.0)]), "P must have at least one"),
        (lambda: set_similarity([[0.0]], [[0.0, 1.0]], [RBF(1.0)]), r"Q must have shape \(n, 1\)"),
        (lambda: set_similarity([[math.nan]], [[0.0]], [RBF(1.0)]), "P must be finite"),
        (lambda: set_similarity([["a"]], [[0.0]], [RBF(1.0)]), "P must be an array of numbers"),
        (lambda: set_similarity([[0.0]], [[0.0]], [RBF(1.0)], p_weights=[1, 2]), "p_weights must have"),
        (lambda: set_similarity([[0.0]], [[0.0]], [RBF(1.0)], q_weights=[math.inf]), "q_weights must be"),
        (lambda: set_similarity([[0.0]], [[0.0]], [RBF(1.0)], q_weights=["x"]), "q_weights must be"),
        (lambda: set_similarity([[0.0]], [[0.0]], [RBF(1.0)], normalization="l2"), "normalization must"),
    ],
)
def test_bad_input_is_named(call, names):
    with pytest.raises(ValueError, match=names):
        call()
