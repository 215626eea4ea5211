"""Cross-dimensional weighting and pooling of a feature map (CroW).

References
----------
Kalantidis, Mellina and Osindero, "Cross-dimensional weighting for aggregated deep convolutional features",
ECCV Workshops 2016.
"""

import numpy as np
from numpy.typing import NDArray

# Section 4 of the paper: a = 2 and b = 2 in the power normalisation of the spatial weights.
_SPATIAL_NORM = 2.0
_SPATIAL_ROOT = 2.0
_EPSILON = 1e-6


def spatial_weights(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Where in the picture something is: the channels' sum, normalised and rooted.

    Parameters
    ----------
    features : ndarray of shape (channels, height, width), none negative

    Returns
    -------
    ndarray of shape (height, width)
    """
    total = features.sum(axis=0)
    norm = float((total**_SPATIAL_NORM).sum()) ** (1 / _SPATIAL_NORM)
    return np.asarray((total / max(norm, _EPSILON)) ** (1 / _SPATIAL_ROOT), np.float32)


def channel_weights(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """How much a channel tells: rare ones more, like words in the inverse document frequency.

    Parameters
    ----------
    features : ndarray of shape (channels, height, width), none negative

    Returns
    -------
    ndarray of shape (channels,)
    """
    filled = np.mean(features > 0, axis=(1, 2))
    return np.asarray(np.log((len(filled) * _EPSILON + filled.sum()) / (_EPSILON + filled)), np.float32)


def crow(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Pool a feature map into one vector of length 1.

    Parameters
    ----------
    features : ndarray of shape (channels, height, width), none negative

    Returns
    -------
    ndarray of shape (channels,)
    """
    pooled = np.einsum("chw,hw->c", features, spatial_weights(features)) * channel_weights(features)
    return np.asarray(pooled / max(float(np.linalg.norm(pooled)), _EPSILON), np.float32)
