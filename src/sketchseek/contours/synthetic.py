"""Synthetic contours: for tests, for planting, and to say what a drawing finds amid nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .points import FRAME, Points, tangent_angle


def random_shape(rng: np.random.Generator) -> NDArray[np.float64]:
    """(n, 2) corners of a closed shape, tight in a box centred at 0 whose longer side is 400.

    A star-shaped polygon with lobes of its own, stretched and turned: shapes differ from each other and from
    their mirror images.
    """
    t = np.linspace(0, 2 * np.pi, 240, endpoint=False)
    radius = np.ones_like(t)
    for k in range(1, 7):
        radius += rng.normal(0, 0.55 / k) * np.cos(k * t + rng.uniform(0, 2 * np.pi))
    radius = np.maximum(radius, 0.18)
    if rng.random() < 0.5:  # straight sides
        keep = np.sort(rng.choice(len(t), rng.integers(5, 12), replace=False))
        t, radius = t[keep], radius[keep]
    corners = np.stack([radius * np.cos(t), radius * rng.uniform(0.6, 1.4) * np.sin(t)], axis=1)
    corners -= (corners.max(axis=0) + corners.min(axis=0)) / 2
    tight: NDArray[np.float64] = corners * (FRAME / np.ptp(corners, axis=0).max())
    return tight


def outline_points(corners: NDArray[np.float64], spacing: float = 1.0) -> Points:
    """Points along a closed polygon, one per pixel, with the angles of its sides."""
    following = np.roll(corners, -1, axis=0)
    lengths = np.hypot(*(following - corners).T)
    counts = np.maximum(1, np.round(lengths / spacing)).astype(int)
    side = np.repeat(np.arange(len(corners)), counts)
    along = (np.arange(len(side)) - np.repeat(np.cumsum(counts) - counts, counts) + 0.5) / counts[side]
    x, y = (corners[side] + along[:, None] * (following - corners)[side]).T
    angle = tangent_angle(*(following - corners)[side].T)
    width, height = np.ptp(corners, axis=0)
    weight = np.ones(len(side), np.float32)
    return Points(x.astype(np.float32), y.astype(np.float32), angle, weight, float(width), float(height))


def random_curves(seed: int, closed: int = 6) -> Points:
    """Contours of nothing in particular: outlines of some shapes, of any size and place."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(closed):
        points = outline_points(random_shape(rng))
        if closed > 1:
            points = points.scaled(rng.uniform(0.1, 0.8)).translated(*rng.uniform(-120, 120, 2))
        parts.append(points)
    x, y, angle, weight = (
        np.concatenate([getattr(p, name) for p in parts]) for name in ("x", "y", "angle", "weight")
    )
    return Points(x, y, angle, weight, FRAME, FRAME)
