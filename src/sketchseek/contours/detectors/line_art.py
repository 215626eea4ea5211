"""Pictures that are drawings: ink of one colour on plain ground. Their lines are found as a drawing's are."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ...errors import SketchseekError
from ..bitmap import bitmap_strokes

GROUND_SHARE: Final = 0.5
"""The ground has at least this share of the picture."""
SAME: Final = 24
"""Colours that differ by less, in each channel, are the same."""
CONTRAST: Final = 48
"""Ink differs at least so much from the ground."""
ODD_SHARE: Final = 0.02
"""At most this share of the pixels may be neither ground, nor ink, nor the soft border between them."""
SUBPIXEL: Final = 4
"""Binary digits of a stroke's coordinates below the pixel."""


def drawn_lines(pixels: NDArray[np.uint8]) -> NDArray[np.float32] | None:
    """Strength (h, w) along the middle of strokes; None when the (h, w, 3) pixels are no drawing."""
    if not is_line_art(pixels):
        return None
    try:
        strokes = bitmap_strokes(pixels)
    except SketchseekError:
        return None
    drawn = np.zeros(pixels.shape[:2], np.uint8)
    scaled = [((stroke - 0.5) * (1 << SUBPIXEL)).round().astype(np.int32) for stroke in strokes]
    cv2.polylines(drawn, scaled, False, 255, 1, cv2.LINE_AA, SUBPIXEL)
    peak = np.float32(255 / np.sqrt(2 * np.pi))  # of a line one pixel wide, after the Gaussian
    ridge: NDArray[np.float32] = cv2.GaussianBlur(drawn / peak, (0, 0), 1.0)
    return ridge.clip(0, 1)


def is_line_art(pixels: NDArray[np.uint8]) -> bool:
    """Whether a picture is ink of one colour on ground of one colour, and little else."""
    ground, share = _commonest(pixels.reshape(-1, 3))
    if share < GROUND_SHARE:
        return False
    away = np.abs(pixels.astype(np.int16) - ground).max(axis=2)
    other = away >= SAME
    if not (away >= CONTRAST).any():
        return False
    # The colour of the ink shows where it is farthest from the ground.
    full = away >= 0.8 * np.quantile(away[other], 0.9)
    ink, _ = _commonest(pixels[full])
    inked = np.abs(pixels.astype(np.int16) - ink).max(axis=2) < SAME
    soft = cv2.dilate((away < SAME).astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    # On the soft border colours lie between those of ground and ink.
    low, high = np.minimum(ground, ink) - SAME, np.maximum(ground, ink) + SAME
    between = ((pixels >= low) & (pixels <= high)).all(axis=2)
    odd = other & ~inked & ~(soft & between)
    return bool(odd.sum() <= ODD_SHARE * other.sum())


def _commonest(colours: NDArray[np.uint8]) -> tuple[NDArray[np.int16], float]:
    """The commonest colour of (n, 3), and the share of colours that are the same as it."""
    coarse = (colours >> 4).astype(np.int32)
    codes = coarse[:, 0] << 8 | coarse[:, 1] << 4 | coarse[:, 2]
    code = np.bincount(codes, minlength=4096).argmax()
    colour = np.median(colours[codes == code], axis=0).astype(np.int16)
    same = np.abs(colours.astype(np.int16) - colour).max(axis=1) < SAME
    return colour, float(same.mean())
