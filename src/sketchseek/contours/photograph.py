"""A photograph given as a drawing: recognised by its many colours, traced along its stronger contours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..errors import SketchseekError
from ..sources.picture import on_white, scaled
from .bitmap import bitmap_strokes
from .points import FRAME

COLOURS: Final = 12
"""A picture that takes more colours than these to fill most of it is a photograph."""
SMALLEST_PART: Final = 8
"""Pixels of a picture that a part of it must have each way."""
STRONG: Final = 0.3
"""Contours weaker than this are left out when a photograph becomes a drawing."""


def photograph_strokes(image: Image.Image) -> list[NDArray[np.float64]] | None:
    """Polylines (n, 2) along the stronger contours of a photograph; None for a picture that is none."""
    if not is_photograph(on_white(scaled(image, 128))):
        return None
    from .detectors import get_detector

    strength = get_detector()(on_white(scaled(image, int(FRAME))))
    return bitmap_strokes(np.where(strength > STRONG, 0, 255).astype(np.uint8))


def part(image: Image.Image, box: Sequence[float], size: tuple[int, int]) -> Image.Image:
    """A box (x0, y0, x1, y1) out of a picture that was `size` (width, height) before it was made smaller.

    Of a box that reaches over the edge, as a hit's may, it is what lies inside.
    """
    x0, y0, x1, y1 = (float(v) for v in box)
    if not (x0 < x1 and y0 < y1):  # nor is it true of NaN
        raise SketchseekError("The box is none: X0 has to be less than X1, and Y0 less than Y1.")
    if x1 <= 0 or y1 <= 0 or x0 >= size[0] or y0 >= size[1]:
        raise SketchseekError(f"The box lies outside the picture, which has {size[0]} x {size[1]} pixels.")
    smaller = image.width / size[0]
    left, top = int(max(x0, 0) * smaller), int(max(y0, 0) * smaller)
    right, bottom = min(x1, size[0]) * smaller, min(y1, size[1]) * smaller
    if right - left < SMALLEST_PART or bottom - top < SMALLEST_PART:
        raise SketchseekError("The box is too small to see anything in it.")
    return image.crop((left, top, round(right), round(bottom)))


def is_photograph(pixels: NDArray[np.uint8]) -> bool:
    """Whether it takes many colours to fill most of a small picture (h, w, 3).

    Of 60 drawings none takes more than 2 of the 4,096 colours for 85% of its pixels; photographs take 6 to
    hundreds. Between them are drawings on photographed paper.
    """
    colours = pixels.astype(np.int64) >> 4
    counts = np.sort(np.bincount((colours @ [256, 16, 1]).ravel()))[::-1]
    return int(np.searchsorted(np.cumsum(counts), 0.85 * counts.sum())) + 1 > COLOURS
