"""Polylines with fewer points, as near to the drawn ones as that allows: for what is kept and sent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FINEST = 0.1
"""How far, in pixels of the frame, a line may lie from the drawn one: it cannot be seen."""
COARSEST = 3.2
"""The same at most, where there are too many points otherwise."""
PIECE = 64
"""Points of a line that are looked at together: along a hostile line the work grows with their square."""

Stroke = NDArray[np.float32]


def simplified(strokes: Sequence[Stroke], most: int) -> list[Stroke]:
    """Lines (n, 2), n > 1, with at most `most` points in all, as near to the given ones as that allows.

    Of more strokes than can have two points each, the longest are kept.
    """
    lines = _longest(strokes, most // 2)  # none has less than two
    tolerance = FINEST
    while tolerance <= COARSEST:
        # Each step adds its error to those before it, together less than twice the last.
        lines = _within(lines, tolerance / 2)
        if sum(map(len, lines)) <= most:
            return lines
        tolerance *= 2
    return _thinned(lines, most)


def _within(strokes: list[Stroke], tolerance: float) -> list[Stroke]:
    """Strokes without the points that lie nearer than that to the line through the others.

    By Douglas and Peucker (1973), for all pieces of all strokes at once. A stroke that is no more than a dot
    then is left out.
    """
    points = np.concatenate(strokes).astype(np.float64)
    sizes = np.array([len(stroke) for stroke in strokes])
    ends = np.cumsum(sizes)
    number = np.arange(len(points)) - np.repeat(ends - sizes, sizes)
    kept = number % PIECE == 0
    kept[ends - 1] = True
    known = np.flatnonzero(kept)
    first, last = known[:-1], known[1:]
    inside = (number[last] > 0) & (last - first > 1)  # nothing lies between two strokes
    first, last = first[inside], last[inside]
    while len(first):
        counts = last - first - 1
        starts = np.cumsum(counts) - counts
        piece = np.repeat(np.arange(len(first)), counts)
        between = np.arange(len(piece)) - starts[piece] + first[piece] + 1
        away = _distance(points[between], points[first[piece]], points[last[piece]])
        far = np.maximum.reduceat(away, starts)
        furthest = np.full(len(first), len(points))
        np.minimum.at(furthest, piece, np.where(away == far[piece], between, len(points)))
        split = far > tolerance
        middle = furthest[split]
        kept[middle] = True
        first, last = np.concatenate([first[split], middle]), np.concatenate([middle, last[split]])
        first, last = first[last - first > 1], last[last - first > 1]
    lines = [stroke[mine] for stroke, mine in zip(strokes, np.split(kept, ends[:-1]), strict=True)]
    return [line for line in lines if np.any(line != line[0])]


def _distance(
    points: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of each point (n, 2) from the line between its own a and b."""
    along = b - a
    square = (along**2).sum(axis=1)
    share = ((points - a) * along).sum(axis=1) / np.where(square > 0, square, 1)
    offset = points - a - share.clip(0, 1)[:, None] * along
    return np.asarray(np.hypot(offset[:, 0], offset[:, 1]))


def _longest(strokes: Sequence[Stroke], most: int) -> list[Stroke]:
    """The longest strokes, in their order."""
    if len(strokes) <= most:
        return list(strokes)
    lengths = [np.hypot(*np.diff(stroke, axis=0).T).sum() for stroke in strokes]
    return [strokes[i] for i in np.sort(np.argsort(lengths)[len(strokes) - most :])]


def _thinned(strokes: list[Stroke], most: int) -> list[Stroke]:
    """Scribble: of each stroke every so-manieth point, its ends included."""
    room = most - 2 * len(strokes)
    share = max(room, 0) / sum(map(len, strokes))
    counts = [2 + int(share * (len(stroke) - 2)) for stroke in strokes]
    return [
        stroke[np.linspace(0, len(stroke) - 1, count).astype(int)]
        for stroke, count in zip(strokes, counts, strict=True)
    ]
