"""Which of a drawing's lines are its outline: those are drawn with more care than what is inside."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .points import Points

INSIDE = 0.6
"""Weight of a point that is not on the outline. Chosen on the dev sets: docs/results.md."""
DIRECTIONS = 16
LANE = 6.0  # width, in pixels, of the strips through which one looks at the drawing
DEPTH = 12.0  # a line this much behind the first one still belongs to it


def weighed(points: Points) -> Points:
    """The drawing's points with weight 1 where they are seen from outside, `INSIDE` where others hide them.

    One looks from `DIRECTIONS` sides, through narrow lanes; what is seen from any side is outline.
    """
    if len(points) == 0:
        return points
    seen = np.zeros(len(points), np.bool_)
    for turn in np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS):
        seen |= _seen(points, float(np.cos(turn)), float(np.sin(turn)))
    weight = np.where(seen, points.weight, np.float32(INSIDE) * points.weight).astype(np.float32)
    return Points(points.x, points.y, points.angle, weight, points.width, points.height)


def _seen(points: Points, cos: float, sin: float) -> NDArray[np.bool_]:
    """Which points are first, or nearly, when one looks against the direction (cos, sin)."""
    near = points.x * cos + points.y * sin
    lane = np.floor((points.y * cos - points.x * sin) / LANE).astype(np.intp)
    lane -= lane.min()
    first = np.full(lane.max() + 1, -np.inf)
    np.maximum.at(first, lane, near)
    seen: NDArray[np.bool_] = near >= first[lane] - DEPTH
    return seen
