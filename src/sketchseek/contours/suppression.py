"""Strength map -> contour points: thin ridges, with their direction."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .points import Points, normal_angle

Map = NDArray[np.float32]

THRESHOLD = 0.2
"""Weaker edges are dropped (section 6)."""
BORDER = 4
"""Pixels along the frame where detectors answer the frame itself."""
RIDGE_SIGMA = 1.0
ORIENTATION_SIGMA = 2.0
TIE = 1e-4
"""Strengths closer than this, relatively, are equal."""


def strength_to_points(strength: NDArray[np.floating]) -> Points:
    """Contour points of an edge strength map.

    Parameters
    ----------
    strength : (h, w) in [0, 1], max(h, w) = 400.

    Returns
    -------
    Points with weight = strength, one pixel wide across each contour, none below 0.2.
    """
    strength = np.ascontiguousarray(strength, dtype=np.float32)
    if strength.ndim != 2 or 0 in strength.shape:
        raise ValueError(f"strength must be a map (h, w), not {strength.shape}")
    height, width = strength.shape
    strong = strength >= THRESHOLD
    strong[:BORDER] = strong[-BORDER:] = strong[:, :BORDER] = strong[:, -BORDER:] = False
    xx, xy, yy = _curvatures(strength)
    # On a ridge the map bends down more than up; on its slopes the bend across is upwards, and the normal
    # of what little bends down there would run along the contour.
    strong &= xx + yy < 0
    at = np.flatnonzero(strong)
    nx, ny = _normals(xx.ravel()[at], xy.ravel()[at], yy.ravel()[at])
    ridge = cv2.GaussianBlur(strength, (0, 0), RIDGE_SIGMA, borderType=cv2.BORDER_REPLICATE)
    here = ridge.ravel()[at]
    one, other = _beside(ridge, at, nx, ny), _beside(ridge, at, -nx, -ny)
    # Of two equal neighbours, as a line of two pixels has them, one stays.
    thin = (here > one * np.float32(1 + TIE)) & (here > other * np.float32(1 - TIE))
    at, nx, ny = at[thin], nx[thin], ny[thin]
    rows, columns = np.divmod(at, width)
    return Points(
        x=(columns + 0.5 - width / 2).astype(np.float32),
        y=(rows + 0.5 - height / 2).astype(np.float32),
        angle=normal_angle(nx, ny),
        weight=np.minimum(strength.ravel()[at], 1),
        width=float(width),
        height=float(height),
    )


def ridge_angles(strength: NDArray[np.floating]) -> Map:
    """Angle (h, w) of the contour through each pixel, in the convention of Points."""
    return normal_angle(*_normals(*_curvatures(np.ascontiguousarray(strength, dtype=np.float32))))


def _curvatures(strength: Map) -> tuple[Map, Map, Map]:
    """Second derivatives (h, w) of the smoothed map: along x, mixed, along y."""
    smooth = cv2.GaussianBlur(strength, (0, 0), ORIENTATION_SIGMA, borderType=cv2.BORDER_REPLICATE)
    xx, xy, yy = (
        cv2.Sobel(smooth, cv2.CV_32F, *order, borderType=cv2.BORDER_REPLICATE)
        for order in ((2, 0), (1, 1), (0, 2))
    )
    return xx, xy, yy


def _normals(xx: Map, xy: Map, yy: Map) -> tuple[Map, Map]:
    """Unit vectors across the ridge: along the most negative curvature."""
    turn = 0.5 * np.arctan2(-2 * xy, yy - xx)
    nx, ny = np.cos(turn), np.sin(turn)
    # Either sign is a normal. The same one all along a contour, straight or diagonal, settles ties alike.
    sign = np.where(nx * np.float32(0.92) + ny * np.float32(0.39) < 0, np.float32(-1), np.float32(1))
    return nx * sign, ny * sign


def _beside(ridge: Map, at: NDArray[np.intp], dx: Map, dy: Map) -> Map:
    """Bilinear values one step (dx, dy) from the pixels numbered `at`, none of which is at the border."""
    right, down = np.floor(dx), np.floor(dy)
    u, v = dx - right, dy - down
    stride = ridge.shape[1]
    flat, start = ridge.ravel(), at + (down * stride + right).astype(np.intp)
    above = flat[start] * (1 - u) + flat[start + 1] * u
    below = flat[start + stride] * (1 - u) + flat[start + stride + 1] * u
    return np.asarray(above * (1 - v) + below * v)
