"""Which of a drawing's lines are its outline: those are drawn with more care than what is inside."""

from __future__ import annotations

import numpy as np

from .points import Points

INSIDE = 0.6
"""Weight of a point that is not on the outline. Chosen on the dev sets: docs/research/results.md."""
DIRECTIONS = 16
LANE = 6.0  # width, in pixels, of the strips through which one looks at the drawing
DEPTH = 12.0  # a line this much behind the first one still belongs to it


def weighed(points: Points) -> Points:
    """The drawing's points with weight 1 where they are seen from outside, `INSIDE` where others hide them.

    One looks from `DIRECTIONS` sides, through narrow lanes; what is seen from any side is outline.
    """
    if len(points) == 0:
        return points
    turns = np.arange(DIRECTIONS) * (2 * np.pi / DIRECTIONS)  # in float64: the same on every machine
    cos, sin = (f(turns)[:, None].astype(np.float32) for f in (np.cos, np.sin))
    near = points.x * cos + points.y * sin  # (DIRECTIONS, n)
    lane = np.floor((points.y * cos - points.x * sin) / np.float32(LANE)).astype(np.intp)
    lane -= lane.min()
    lane += np.arange(DIRECTIONS)[:, None] * (lane.max() + 1)
    first = np.full(lane.max() + 1, -np.inf, np.float32)
    np.maximum.at(first, lane.ravel(), near.ravel())
    seen = (near >= first[lane] - np.float32(DEPTH)).any(axis=0)
    weight = np.where(seen, points.weight, np.float32(INSIDE) * points.weight).astype(np.float32)
    return Points(points.x, points.y, points.angle, weight, points.width, points.height)
