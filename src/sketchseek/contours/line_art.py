"""Pictures that are drawings: ink of one colour on plain ground. Their lines are found as a drawing's are."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from .bitmap import bitmap_strokes

VERSION: Final = "3"
"""Part of a detector's version: what is seen in line art is part of what it sees."""
GROUND_SHARE: Final = 0.5
"""The ground has at least this share of the picture."""
SAME: Final = 24
"""Colours that differ by less, in each channel, are the same."""
CONTRAST: Final = 48
"""Ink differs at least so much from the ground."""
ODD_SHARE: Final = 0.02
"""At most this share of what is not ground may have a colour that does not lie between ground and ink."""
SHADE_SHARE: Final = 0.08
"""At most this share may lie between them, not at the soft border of a line. Hatching has up to .065 in 200
drawings, photographs on plain ground have .1 and more."""

APART: Final = 8
"""Groups of lines are apart when a square of so many pixels fits between them."""
SEVERAL: Final = 4
"""A sheet has at least so many groups."""

Pixels = NDArray[np.uint8]
Colour = NDArray[np.float64]


def drawn_strokes(pixels: Pixels) -> list[NDArray[np.float64]] | None:
    """Polylines (n, 2) along the lines of a drawing (h, w, 3), in its pixels; None when it is none."""
    if not is_line_art(pixels):
        return None
    try:
        return bitmap_strokes(pixels)
    except SketchseekError:
        return None


def is_line_art(pixels: Pixels) -> bool:
    """Whether a picture is ink of one colour on ground of one colour, and little else."""
    few = pixels[::4, ::4]  # most photographs show what they are at a glance
    if np.mean(_distance(few, _commonest(few)) < SAME) < 0.8 * GROUND_SHARE:
        return False
    ground = _commonest(pixels)
    away = _distance(pixels, ground)
    counts = np.bincount(away.ravel(), minlength=256)
    if counts[:SAME].sum() < GROUND_SHARE * away.size or not counts[CONTRAST:].any():
        return False
    # The colour of the ink shows where it is farthest from the ground.
    other = np.cumsum(np.where(np.arange(256) >= SAME, counts, 0))
    full = 0.8 * np.searchsorted(other, 0.9 * other[-1])
    ink = _commonest(pixels[away >= full][None])
    soft = cv2.dilate((away < SAME).astype(np.uint8), np.ones((5, 5), np.uint8))
    # On the soft border colours lie between those of ground and ink.
    low, high = np.minimum(ground, ink) - SAME, np.maximum(ground, ink) + SAME
    between = cv2.inRange(pixels, low, high)
    neither = (away >= SAME) & (_distance(pixels, ink) >= SAME)
    odd = np.count_nonzero(neither & (between == 0))
    shade = np.count_nonzero(neither & (between > 0) & (soft == 0))
    return bool(odd <= ODD_SHARE * other[-1] and shade <= SHADE_SHARE * other[-1])


def is_sheet(strokes: list[NDArray[np.float64]]) -> bool:
    """Whether lines, in pixels, form several groups far apart: a sheet of icons, a page of figures."""
    points = np.concatenate(strokes)
    spot = ((points - points.min(axis=0)) / APART).astype(np.intp)
    cells = np.zeros(spot.max(axis=0) + 1, np.uint8)
    cells[tuple(spot.T)] = 1
    return cv2.connectedComponents(cells)[0] - 1 >= SEVERAL


def _commonest(pixels: Pixels) -> Colour:
    """The commonest colour (3,) of (h, w, 3): the mean of those that share their upper four bits."""
    coarse = pixels >> 4
    codes = coarse[..., 0].astype(np.uint16) << 8 | coarse[..., 1] << 4 | coarse[..., 2]
    code = np.bincount(codes.ravel(), minlength=4096).argmax()
    return np.array(cv2.mean(np.ascontiguousarray(pixels), (codes == code).astype(np.uint8))[:3]).round()


def _distance(pixels: Pixels, colour: Colour) -> Pixels:
    """By how much each pixel differs from a colour, in the channel where it differs most."""
    apart = cv2.absdiff(np.ascontiguousarray(pixels), (*colour, 0.0))
    return np.asarray(cv2.max(cv2.max(apart[..., 0], apart[..., 1]), apart[..., 2]))
