"""A picture's points -> its windows: all of them, and those inside windows, each in a frame of its own.

A drawing is tried at .6 to 1 times the frame's longer side. A window of share f of that side, described as if
it were a picture, shows what is .6 f to f of the picture as large as a search looks for it, and without what
lies around. Levels of windows carry on where the one above ends, neighbours of a level overlap.

Line art says itself what belongs together: the windows of a sheet of icons are its connected parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contours.outline import weighed
from ..contours.points import FRAME, Box, Points
from .engine import _engine
from .settings import Floats


@dataclass(frozen=True)
class Level:
    """Windows of one size.

    share : a window's side, of the picture's longer side. step : how far neighbouring windows lie apart at
    most, of a window's side.
    """

    share: float
    step: float


MIN_OBJECT_SIZE = 0.3
"""The default: a third of a picture's longer side, for a dozen windows."""
WHOLE = 0.6
"""Pictures as wholes, and nothing else: what the paper does."""
LEVELS: dict[float, tuple[Level, ...]] = {
    WHOLE: (),
    0.3: (Level(0.75, 1 / 3), Level(0.5, 1 / 2)),
    0.2: (Level(0.75, 1 / 3), Level(0.5, 1 / 2), Level(0.36, 1 / 2)),
}
"""By the smallest share of a picture's longer side at which a thing shall be found."""
MOST = {WHOLE: 1, 0.3: 12, 0.2: 48}
"""Windows of a picture, at most; those with the most contours stay."""
FEWEST = 20
"""A window with fewer points is empty."""
GAPS = (5, 9, 14, 20)
"""Lines of line art that lie closer than this, in pixels of the frame, belong together; each gives parts."""
PART_SHARES = (0.03, 0.9)
"""How large a part is beside all of the ink, at least and at most."""
MOST_PARTS = 40
SAME_PART = 0.8
"""Parts whose boxes overlap by more, intersection over union, are the same."""
INTRICATE = 4000
"""Points of line art that gets windows, too: what is one part may still be a picture of many things."""


@dataclass(frozen=True)
class Window:
    """A part of a picture, described like a picture.

    points : those inside, in a frame of 400 pixels of their own.
    frame : x0, y0, x1, y1 of that frame in the picture, in the caller's pixels. A window is square,
        and may reach over the border of a long picture.
    """

    points: Points
    frame: Box


def windows_of(
    points: Points, frame: Box, min_object_size: float = MIN_OBJECT_SIZE, *, is_line_art: bool = False
) -> list[Window]:
    """The windows of a picture whose points lie in `frame`; the first is all of it."""
    whole = Window(points, frame)
    if min_object_size not in LEVELS:
        raise ValueError(
            f"min_object_size must be one of {', '.join(map(str, LEVELS))}, got {min_object_size}"
        )
    if is_line_art and min_object_size != WHOLE:
        parts = _parts(points, frame)
        if parts or len(points) < INTRICATE:
            return [whole, *parts]
    windows = [
        w
        for level in LEVELS[min_object_size]
        for w in _windows(points, frame, level)
        if len(w.points) >= FEWEST
    ]
    most = MOST[min_object_size] - 1
    if len(windows) > most:
        mass = [float(w.points.weight.sum()) for w in windows]
        kept = sorted(np.argsort(mass, kind="stable")[::-1][:most])
        windows = [windows[i] for i in kept]
    return [whole, *windows]


def shares(
    frames: NDArray[np.floating[Any]],
    pictures: NDArray[np.integer[Any]],
    is_line_art: NDArray[np.bool_] | None = None,
) -> Floats:
    """(n,) the size of each window beside the first of its picture, all of it; of parts of line art, nearly
    1.

    frames : (n, 4). pictures : (n,) ascending, the picture of each. is_line_art : by picture.
    """
    of = np.ascontiguousarray(pictures, np.int32)
    if is_line_art is None:
        is_line_art = np.zeros(int(of[-1]) + 1 if len(of) else 0, bool)
    found: Floats = _engine.window_shares(
        np.ascontiguousarray(frames, np.float32), of, np.ascontiguousarray(is_line_art)
    )
    return found


def _windows(points: Points, frame: Box, level: Level) -> Iterator[Window]:
    side = level.share * FRAME
    x0, y0, x1, y1 = frame
    pixel = max(x1 - x0, y1 - y0) / FRAME
    for cx in _centres(points.width, side, level.step):
        for cy in _centres(points.height, side, level.step):
            inside = (np.abs(points.x - cx) <= side / 2) & (np.abs(points.y - cy) <= side / 2)
            x, y = (
                ((a[inside] - c) / level.share).astype(np.float32)
                for a, c in ((points.x, cx), (points.y, cy))
            )
            part = Points(x, y, points.angle[inside], points.weight[inside], FRAME, FRAME)
            middle_x, middle_y = (x0 + x1) / 2 + cx * pixel, (y0 + y1) / 2 + cy * pixel
            half = side / 2 * pixel
            yield Window(part, (middle_x - half, middle_y - half, middle_x + half, middle_y + half))


def _parts(points: Points, frame: Box) -> list[Window]:
    """The connected parts of line art, each in its tight box, the largest first."""
    import cv2

    side = int(FRAME) + 2 * max(GAPS)
    column, row = (np.clip((a + side / 2).round().astype(np.intp), 0, side - 1) for a in (points.x, points.y))
    ink = np.zeros((side, side), np.uint8)
    ink[row, column] = 1
    x0, y0, x1, y1 = frame
    pixel, middle = max(x1 - x0, y1 - y0) / FRAME, ((x0 + x1) / 2, (y0 + y1) / 2)
    parts: list[tuple[Points, Box]] = []
    for gap in sorted(GAPS, reverse=True):  # of parts in the same box the fullest: a ring and what is in it
        pen = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (gap // 2 * 2 + 1,) * 2)
        count, labels = cv2.connectedComponents(cv2.dilate(ink, pen))
        mine = labels[row, column]
        for label in range(1, count):
            inside = mine == label
            if inside.sum() < FEWEST:
                continue
            weight = np.ones(int(inside.sum()), np.float32)
            part = Points(points.x[inside], points.y[inside], points.angle[inside], weight, FRAME, FRAME)
            tight, box = part.tight()
            share = max(box[2] - box[0], box[3] - box[1]) / FRAME
            if PART_SHARES[0] <= share <= PART_SHARES[1] and not any(_same(box, b) for _, b in parts):
                parts.append((tight, box))
    parts.sort(key=lambda part: -max(part[1][2] - part[1][0], part[1][3] - part[1][1]))
    return [
        Window(
            weighed(part),
            (
                middle[0] + box[0] * pixel,
                middle[1] + box[1] * pixel,
                middle[0] + box[2] * pixel,
                middle[1] + box[3] * pixel,
            ),
        )
        for part, box in parts[:MOST_PARTS]
    ]


def _same(a: Box, b: Box) -> bool:
    """Whether two boxes are nearly one; a line of no width counts as a pixel wide."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]) + 1, min(a[3], b[3]) - max(a[1], b[1]) + 1
    both = max(width, 0) * max(height, 0)
    areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (a, b)]
    return both > SAME_PART * (sum(areas) - both)


def _centres(extent: float, side: float, step: float) -> list[float]:
    """Centres of windows along an axis of the frame, evenly spread from border to border."""
    free = extent - side
    if free <= 0:
        return [0.0]
    count = int(np.ceil(free / (step * side) - 1e-6)) + 1
    return [float(c) for c in np.linspace(-free / 2, free / 2, count)]
