"""Contour points -> the sketch descriptor V, its one-byte code, its norms.

V = sum_p w_p Psi(x) (x) Psi(y) (x) Psi(angle) (equation `imgrepre`), on the database side of the asymmetric
maps (`map_asym2`): no kernel in it. A vector has D = Dx * Dx * Do components in C order of (x, y,
orientation); along each of the three the components are [1, cos w1, sin w1, cos w2, sin w2, ...]. The
x-projection is the sub-vector whose y component is the constant, V[:, 0, :]; the y-projection is V[0, :,
:].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contours.points import Points
from ..maps.components import components, is_sine
from .settings import RADIANS, Codes, Floats, Settings, X

_BLOCK = 8192  # vectors whose norms are taken at once


def describe(points: Points, settings: Settings) -> Floats:
    """V of some contour points: float32 (D,). No points give the zero vector, whose every score is 0."""
    x, y = (components(a * np.float32(RADIANS), settings.frequencies) for a in (points.x, points.y))
    o = components(2 * points.angle, settings.orientation_frequencies) * points.weight
    yo = y[:, None] * o
    return (x @ yo.reshape(len(y) * len(o), len(points)).T).ravel()


def norms(vectors: ArrayLike, settings: Settings) -> Floats:
    """Norms under each kernel of vectors and of their projections: (..., D) -> float32 (..., S, 3).

    One-byte codes (int8) have the norms of what they decode to, and those of any multiple serve as well.
    In float64: how a product is summed depends on how many there are, and a vector's norms must not.
    """
    vectors = np.asarray(vectors)
    rows = vectors.reshape(-1, settings.dimensions)
    weights = settings.norm_weights.reshape(settings.dimensions, -1).astype(np.float64)
    out = np.empty((len(rows), weights.shape[1]), np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        if block.dtype == np.int8:
            block = decode(block, settings)
        out[start : start + _BLOCK] = np.sqrt(np.square(block, dtype=np.float64) @ weights)
    return out.reshape(*vectors.shape[:-1], len(settings.scales), 3)


def encode(vectors: ArrayLike, settings: Settings) -> Codes:
    """One byte a component: (..., D) -> int8 (..., D).

    Each vector is stretched by a factor of its own until its largest code is 127. The factor cancels in the
    cosine and is not kept: norms are to be taken from the codes.
    """
    steps = np.asarray(vectors, np.float32) / settings.component_scales
    peak = np.abs(steps).max(axis=-1, keepdims=True)
    factor = np.divide(127.0, peak, out=np.zeros_like(peak), where=peak > 0)
    codes: Codes = np.rint(steps * factor).astype(np.int8)
    return codes


def decode(codes: ArrayLike, settings: Settings) -> Floats:
    """What `encode` kept, up to a factor of its own for each vector."""
    return np.asarray(codes, np.float32) * settings.component_scales


def projection(vectors: ArrayLike, axis: int, settings: Settings) -> NDArray[Any]:
    """The sub-vectors (..., Dx * Do) of the x-projection (axis `X`) or the y-projection (axis `Y`)."""
    vectors = np.asarray(vectors)
    cube = vectors.reshape(*vectors.shape[:-1], *settings.shape)
    part = cube[..., :, 0, :] if axis == X else cube[..., 0, :, :]
    return part.reshape(*vectors.shape[:-1], settings.shape[0] * settings.shape[2])


def mirror_signs(settings: Settings) -> Floats:
    """(D,) of +1 and -1: mirroring is (x, angle) -> (-x, -angle), so that sines of either change sign."""
    sign_x, sign_o = (np.where(is_sine(settings.shape[i]), -1.0, 1.0) for i in (0, 2))
    signs: Floats = np.einsum("i,j,k->ijk", sign_x, np.ones(settings.shape[1]), sign_o).astype(np.float32)
    return signs.ravel()
