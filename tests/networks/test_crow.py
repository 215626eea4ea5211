import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sketchseek.networks.crow import channel_weights, crow, spatial_weights


def transcription(X):
    """Sections 3 and 4 of Kalantidis et al., by loops: S, I and F as they are written there."""
    K, H, W = X.shape
    summed = [[sum(X[k][i][j] for k in range(K)) for j in range(W)] for i in range(H)]
    norm = sum(summed[i][j] ** 2 for i in range(H) for j in range(W)) ** (1 / 2)
    S = [[(summed[i][j] / norm) ** (1 / 2) for j in range(W)] for i in range(H)]
    Q = [sum(X[k][i][j] > 0 for i in range(H) for j in range(W)) / (W * H) for k in range(K)]
    epsilon = 1e-6
    I = [math.log((K * epsilon + sum(Q)) / (epsilon + Q[k])) for k in range(K)]  # noqa: E741
    F = [I[k] * sum(S[i][j] * X[k][i][j] for i in range(H) for j in range(W)) for k in range(K)]
    return S, I, F


def sparse_map(seed, channels, height, width):
    rng = np.random.default_rng(seed)
    return np.maximum(rng.normal(size=(channels, height, width)) - 0.5, 0).astype(np.float32)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 12), st.integers(1, 7), st.integers(1, 7))
def test_is_its_definition(seed, channels, height, width):
    X = sparse_map(seed, channels, height, width)
    X[0, 0, 0] = 1  # the definition divides by the norm of the sum
    S, I, F = transcription(X.astype(float))  # noqa: E741
    np.testing.assert_allclose(spatial_weights(X), S, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(channel_weights(X), I, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(crow(X) * np.linalg.norm(F), F, rtol=1e-3, atol=1e-4)


def test_rare_channels_weigh_more():
    X = np.ones((3, 4, 4), np.float32)
    X[1, 1:] = 0
    X[2] = 0
    weights = channel_weights(X)
    assert weights[0] < weights[1] < weights[2]


def test_an_empty_map_gives_zeros():
    assert not crow(np.zeros((5, 3, 3), np.float32)).any()
