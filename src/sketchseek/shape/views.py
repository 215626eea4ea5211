"""A picture's points -> its views: all of them, and those inside windows, each in a frame of its own.

A drawing is tried at .6 to 1 times the frame's longer side. A window of share f of that side, described as if
it were a picture, shows what is .6 f to f of the picture as large as a search looks for it, and without what
lies around. Levels of windows carry on where the one above ends, neighbours of a level overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contours.points import FRAME, Box, Points
from .settings import Floats


@dataclass(frozen=True)
class Level:
    """Windows of one size.

    share : a window's side, of the picture's longer side. step : how far neighbouring windows lie apart at
    most, of a window's side.
    """

    share: float
    step: float


SMALLEST = 0.3
"""The default: a third of a picture's longer side, for a dozen views."""
WHOLE = 0.6
"""Pictures as wholes, and nothing else: what the paper does."""
LEVELS: dict[float, tuple[Level, ...]] = {
    WHOLE: (),
    0.3: (Level(0.75, 1 / 3), Level(0.5, 1 / 2)),
    0.2: (Level(0.75, 1 / 3), Level(0.5, 1 / 2), Level(0.36, 1 / 2)),
}
"""By the smallest share of a picture's longer side at which a thing shall be found."""
MOST = {WHOLE: 1, 0.3: 12, 0.2: 48}
"""Views of a picture, at most; those with the most contours stay."""
FEWEST = 20
"""A window with fewer points is empty."""


@dataclass(frozen=True)
class PictureView:
    """A part of a picture, described like a picture.

    points : those inside, in a frame of 400 pixels of their own.
    frame : x0, y0, x1, y1 of that frame in the picture, in the pixels of whoever asked. A window is square,
        and may reach over the border of a long picture.
    """

    points: Points
    frame: Box


def views(points: Points, frame: Box, smallest: float = SMALLEST) -> list[PictureView]:
    """The views of a picture whose points lie in `frame`; the first is all of it."""
    whole = PictureView(points, frame)
    if smallest not in LEVELS:
        raise ValueError(f"smallest must be one of {', '.join(map(str, LEVELS))}, got {smallest}")
    windows = [
        w for level in LEVELS[smallest] for w in _windows(points, frame, level) if len(w.points) >= FEWEST
    ]
    most = MOST[smallest] - 1
    if len(windows) > most:
        mass = [float(w.points.weight.sum()) for w in windows]
        kept = sorted(np.argsort(mass, kind="stable")[::-1][:most])
        windows = [windows[i] for i in kept]
    return [whole, *windows]


def shares(frames: NDArray[np.floating[Any]], pictures: NDArray[np.integer[Any]]) -> Floats:
    """(n,) the size of each view beside the first of its picture, all of it.

    frames : (n, 4). pictures : (n,) ascending, the picture of each.
    """
    side = np.maximum(frames[:, 2] - frames[:, 0], frames[:, 3] - frames[:, 1]).astype(np.float32)
    whole = side[np.searchsorted(pictures, pictures)]
    return np.clip(np.divide(side, whole, out=np.ones_like(side), where=whole > 0), 0.01, 1)


def _windows(points: Points, frame: Box, level: Level) -> Iterator[PictureView]:
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
            yield PictureView(part, (middle_x - half, middle_y - half, middle_x + half, middle_y + half))


def _centres(extent: float, side: float, step: float) -> list[float]:
    """Centres of windows along an axis of the frame, evenly spread from border to border."""
    free = extent - side
    if free <= 0:
        return [0.0]
    count = int(np.ceil(free / (step * side) - 1e-6)) + 1
    return [float(c) for c in np.linspace(-free / 2, free / 2, count)]
