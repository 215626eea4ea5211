"""The match kernel over any dimensions and the descriptor of contours are one mathematics."""

from __future__ import annotations

import numpy as np
import pytest

from sketchseek.contours.synthetic import random_curves
from sketchseek.maps import HarmonicMap, JointMap, MatchKernel
from sketchseek.maps.base import FeatureMap
from sketchseek.shape.descriptor import describe, norms
from sketchseek.shape.polynomial import evaluate_2d, polynomial_2d
from sketchseek.shape.query import Query
from sketchseek.shape.settings import FULL, RADIANS, Settings

SETTINGS = Settings.preset("compact")


def with_weights(feature_map: FeatureMap, frequencies: object, weights: object) -> FeatureMap:
    feature_map.frequencies_, feature_map.weights_ = np.array(frequencies), np.atleast_2d(weights)
    feature_map.n_features_in_ = 1
    return feature_map


@pytest.fixture(scope="module")
def kernel() -> MatchKernel:
    """Of x, y and the doubled angle, with the settings' frequencies and weights."""
    spatial = with_weights(JointMap(), SETTINGS.frequencies, SETTINGS.weights)
    orientation = with_weights(
        HarmonicMap(), SETTINGS.orientation_frequencies, [SETTINGS.orientation_weights] * 3
    )
    return MatchKernel([spatial, spatial, orientation])


def test_a_descriptor_is_a_match_kernels_vector(kernel: MatchKernel) -> None:
    picture, drawing = random_curves(1), random_curves(2, closed=1)
    V, W = (
        kernel.describe(np.stack([p.x * RADIANS, p.y * RADIANS, 2 * p.angle], axis=1), p.weight)
        for p in (drawing, picture)
    )
    v, query = describe(picture, SETTINGS), Query.of(drawing, SETTINGS)
    np.testing.assert_allclose(v, W, atol=1e-5 * np.abs(W).max())
    for k in range(len(SETTINGS.scales)):
        np.testing.assert_allclose(SETTINGS.component_weights[k], kernel.component_weights(k), rtol=1e-6)
        assert norms(v, SETTINGS)[k, FULL] == pytest.approx(kernel.norm(W, k), rel=1e-5)
    np.testing.assert_allclose(query.vectors[0], V * kernel.component_weights(0), atol=1e-5 * np.abs(V).max())
    ours = polynomial_2d(V * kernel.component_weights(0), W, SETTINGS)
    np.testing.assert_allclose(ours, kernel.polynomial(V, W, (0, 1)), atol=1e-9 * np.abs(ours).max())
    d = np.linspace(-80, 80, 9)
    cosines = kernel.scores(V, W, {0: d * RADIANS, 1: d * RADIANS})
    grid = evaluate_2d(ours, d, d, SETTINGS) / (kernel.norm(V) * kernel.norm(W))
    np.testing.assert_allclose(cosines, grid, atol=1e-12)
