"""Strength map -> contour points: thin ridges, with their direction."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from .points import Points, normal_angle

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
    nx, ny = ridge_normals(strength)
    rows, columns = np.nonzero(strength >= THRESHOLD)
    inside = (rows >= BORDER) & (rows < height - BORDER) & (columns >= BORDER) & (columns < width - BORDER)
    rows, columns = rows[inside], columns[inside]
    nx, ny = nx[rows, columns], ny[rows, columns]
    ridge = cv2.GaussianBlur(strength, (0, 0), RIDGE_SIGMA, borderType=cv2.BORDER_REPLICATE)
    here = ridge[rows, columns]
    one, other = _sample(ridge, columns + nx, rows + ny), _sample(ridge, columns - nx, rows - ny)
    # Of two equal neighbours, as a line of two pixels has them, one stays.
    thin = (here > one * np.float32(1 + TIE)) & (here > other * np.float32(1 - TIE))
    rows, columns, nx, ny = rows[thin], columns[thin], nx[thin], ny[thin]
    return Points(
        x=(columns + 0.5 - width / 2).astype(np.float32),
        y=(rows + 0.5 - height / 2).astype(np.float32),
        angle=normal_angle(nx, ny),
        weight=np.minimum(strength[rows, columns], 1),
        width=float(width),
        height=float(height),
    )


def ridge_normals(strength: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Unit vectors (h, w) across the ridges: along the most negative curvature of the smoothed map."""
    smooth = cv2.GaussianBlur(strength, (0, 0), ORIENTATION_SIGMA, borderType=cv2.BORDER_REPLICATE)
    xx = cv2.Sobel(smooth, cv2.CV_32F, 2, 0, borderType=cv2.BORDER_REPLICATE)
    yy = cv2.Sobel(smooth, cv2.CV_32F, 0, 2, borderType=cv2.BORDER_REPLICATE)
    xy = cv2.Sobel(smooth, cv2.CV_32F, 1, 1, borderType=cv2.BORDER_REPLICATE)
    turn = 0.5 * np.arctan2(-2 * xy, yy - xx)
    nx, ny = np.cos(turn), np.sin(turn)
    # Either sign is a normal. The same one all along a contour, straight or diagonal, settles ties alike.
    sign = np.where(nx * np.float32(0.92) + ny * np.float32(0.39) < 0, np.float32(-1), np.float32(1))
    return nx * sign, ny * sign


def ridge_angles(strength: NDArray[np.floating]) -> NDArray[np.float32]:
    """Angle (h, w) of the contour through each pixel, in the convention of Points."""
    return normal_angle(*ridge_normals(np.ascontiguousarray(strength, dtype=np.float32)))


def _sample(
    image: NDArray[np.float32], x: NDArray[np.float32], y: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Bilinear values at (x, y), for points at least one pixel inside the border."""
    x, y = x.astype(np.float32), y.astype(np.float32)
    column, row = np.floor(x).astype(np.intp), np.floor(y).astype(np.intp)
    u, v = x - column, y - row
    flat, start = image.ravel(), row * image.shape[1] + column
    below = start + image.shape[1]
    top = flat[start] * (1 - u) + flat[start + 1] * u
    bottom = flat[below] * (1 - u) + flat[below + 1] * u
    return np.asarray(top * (1 - v) + bottom * v)
