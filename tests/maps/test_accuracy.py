"""How close the maps come to their kernels; the bounds are those measured before the project began."""

import math

import numpy as np
import pytest

from sketchseek.kernels import RBF
from sketchseek.maps import HarmonicMap, JointMap, LowDimensionalMap, optimization, orientation_map, shipped
from sketchseek.maps.optimization import Targets

SIGMAS = (0.12, 0.16, 0.20)
KERNELS = tuple(RBF(sigma) for sigma in SIGMAS)
DENSE = np.linspace(0.0, math.pi, 20_001)


def worst_errors(maps):
    """On ten times the points that the fit saw."""
    return [np.abs(k(DENSE) - maps.signature(DENSE, i)).max() for i, k in enumerate(KERNELS)]


@pytest.mark.parametrize(
    ("n", "bounds"), [(5, (0.215, 0.140, 0.085)), (6, (0.158, 0.088, 0.045)), (7, (0.113, 0.053, 0.024))]
)
def test_joint_map_meets_the_bounds(n, bounds):
    assert (np.array(worst_errors(JointMap(KERNELS, n).fit())) <= bounds).all()


def test_a_fit_gives_what_is_shipped():
    frequencies, weights = optimization.fit.__wrapped__(KERNELS, 5, math.pi)
    maps = JointMap(KERNELS, 5).fit()
    np.testing.assert_allclose(maps.frequencies_, frequencies, atol=1e-5)
    np.testing.assert_allclose(maps.weights_, weights, atol=1e-5)


@pytest.mark.parametrize("n", range(1, 13))
def test_every_shipped_count_is_exact_and_at_a_minimum(n):
    maps = JointMap(KERNELS, n).fit()
    assert maps.frequencies_.shape == (n,)
    assert maps.weights_.shape == (3, n)
    assert (maps.weights_ >= 0).all()
    assert maps.frequencies_[0] == 0
    assert (np.diff(maps.frequencies_) > 0).all()
    # The weights are the best on these frequencies, and a step of any frequency does not help.
    targets = Targets(KERNELS, math.pi)
    total = maps.errors().sum()
    assert targets.best_weights(maps.frequencies_)[1].sum() == pytest.approx(total, abs=1e-7)
    for j in range(1, n, 3):
        for step in (-0.05, 0.05):
            moved = maps.frequencies_ + step * (np.arange(n) == j)
            assert targets.best_weights(moved)[1].sum() > total - 1e-7


@pytest.mark.parametrize("n", range(1, 13))
def test_every_count_is_reached_by_the_search_itself(n, monkeypatch):
    monkeypatch.setattr(optimization, "_SHORT_POLISH", 1)  # the count is settled before the polish
    monkeypatch.setattr(optimization, "_LONG_POLISH", 0)
    frequencies, weights = optimization.fit.__wrapped__((RBF(0.11), RBF(0.23)), n, 2.5)
    assert frequencies.shape == (n,)
    assert weights.shape == (2, n)
    assert (np.diff(frequencies) > 0).all()


def test_more_frequencies_are_better_and_more_kernels_are_taken():
    totals = [JointMap(KERNELS, n).fit().errors().sum() for n in range(1, 13)]
    assert (np.diff(totals) < 0).all()
    five = JointMap([RBF(s) for s in (0.09, 0.12, 0.16, 0.20, 0.25)], 4).fit()
    assert five.weights_.shape == (5, 4)
    assert (five.errors() < HarmonicMap(five.kernels, 4, weighting="best").fit().errors()).all()


@pytest.mark.parametrize(
    ("n", "fourier", "best"),
    [
        (5, (0.589, 0.471, 0.367), (0.343, 0.280, 0.224)),
        (6, (0.509, 0.378, 0.271), (0.296, 0.226, 0.166)),
        (7, (0.435, 0.298, 0.193), (0.253, 0.178, 0.119)),
    ],
)
def test_harmonic_map_reproduces_the_table(n, fourier, best):
    np.testing.assert_allclose(HarmonicMap(KERNELS, n).fit().errors(), fourier, atol=0.001)
    errors = HarmonicMap(KERNELS, n, weighting="best").fit().errors()
    np.testing.assert_allclose(errors, best, atol=0.002)
    assert (errors <= np.array(best) + 0.0005).all()


def test_fourier_weights_are_those_of_the_gaussian():
    maps = HarmonicMap(RBF(0.2), 6).fit()  # narrow enough for the integral to reach infinity
    j = np.arange(6)
    expected = 0.2 * math.sqrt(2 / math.pi) * np.exp(-((j * 0.2) ** 2) / 2)
    expected[0] /= 2
    np.testing.assert_allclose(maps.weights_[0], expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_low_dimensional_is_never_worse_than_harmonic(seed):
    rng = np.random.default_rng(seed)
    domain = rng.uniform(0.5, 10.0)
    kernel, n = RBF(domain * rng.uniform(0.02, 0.6)), int(rng.integers(1, 10))
    low = LowDimensionalMap(kernel, n, domain).fit()
    harmonic = HarmonicMap(kernel, n, domain, weighting="best").fit()
    assert low.frequencies_.shape == (n,)
    # 1e-6: the fit's own rounding, where both are all but exact
    assert low.errors()[0] <= harmonic.errors()[0] + 1e-6


def test_l1_error_is_smaller_on_average_and_larger_at_worst():
    worst, mean = (LowDimensionalMap(RBF(0.2), 5, error=e).fit() for e in ("linf", "l1"))

    def average(maps):
        return np.abs(RBF(0.2)(DENSE) - maps.signature(DENSE)).mean()

    assert average(mean) < 0.9 * average(worst)
    assert mean.errors()[0] > worst.errors()[0]


def test_shipped_maps_are_found_in_any_order_and_with_a_short_pi():
    maps = JointMap([RBF(0.2 * scale) for scale in (1.0, 0.6, 0.8)], 8, domain=3.14159).fit()
    np.testing.assert_array_equal(maps.weights_, JointMap(KERNELS, 8).fit().weights_[[2, 0, 1]])


def test_naive_frequencies_favour_the_first_kernel():
    naive, joint = LowDimensionalMap(KERNELS, 6).fit(), JointMap(KERNELS, 6).fit()
    assert naive.errors()[0] < joint.errors()[0]
    assert naive.errors().sum() > 1.15 * joint.errors().sum()


@pytest.mark.parametrize("sigma", shipped.ORIENTATION_SIGMAS)
@pytest.mark.parametrize("n", [2, 3])
def test_orientation_closes_on_the_circle(n, sigma):
    maps = orientation_map(n, sigma)
    np.testing.assert_array_equal(maps.frequencies_, np.arange(n))
    x = np.linspace(-3, 3, 50)[:, None]
    np.testing.assert_allclose(maps.transform(x + 2 * math.pi), maps.transform(x), atol=1e-12)
    solved = Targets([RBF(sigma)], math.pi).best_weights(maps.frequencies_)[0]
    np.testing.assert_allclose(maps.weights_, solved, atol=1e-6)


def test_weights_for_a_further_kernel():
    maps = JointMap(KERNELS, 6).fit()
    np.testing.assert_allclose(maps.weights_for(RBF(0.16)), maps.weights_[1], atol=1e-6)
    between = np.abs(RBF(0.14)(DENSE) - maps.signature(DENSE, RBF(0.14))).max()
    assert maps.errors()[1] < between < maps.errors()[0]
    assert (maps.weights_for(RBF(0.14)) >= 0).all()


def test_kernels_of_ones_own():
    def laplace(d):  # not hashed by value, not an RBF
        return np.exp(-np.abs(np.asarray(d, dtype=np.float64)) / 0.3)

    class Unhashable:
        __hash__ = None

        def __call__(self, d):
            return laplace(d)

    maps = JointMap([laplace, RBF(0.2)], 3).fit()
    assert (maps.errors() < HarmonicMap([laplace, RBF(0.2)], 3).fit().errors()).all()
    np.testing.assert_array_equal(maps.weights_for(Unhashable()), maps.weights_for(laplace))


def test_presets_need_no_scipy():
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['scipy'] = sys.modules['sklearn'] = None\n"
        "from sketchseek.maps import spatial_map, orientation_map\n"
        "print([spatial_map(n).weights_.shape for n in (5, 6, 8)], orientation_map(3, .5).weights_.shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[(3, 5), (3, 6), (3, 8)] (1, 3)"
