"""A drawing as the networks were taught to see drawings: soft dark lines on white, in a few renderings."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..contours.points import FRAME

# As training/drawings has it, to the pixel: sharper lines of the same width cost up to two points of mAP.
_PAGE, _LONGER = 320, 280  # the page on which lines are drawn, and the longer side of the drawing there
_SHIFT = 4  # binary digits of subpixel coordinates


@dataclass(frozen=True)
class Rendering:
    """How to draw. width : of a line, in pixels of a page of 320; odd."""

    width: int
    mirrored: bool


RENDERINGS = (Rendering(3, False), Rendering(3, True), Rendering(7, False), Rendering(7, True))


def render(strokes: Sequence[NDArray[np.float32]], rendering: Rendering, side: int) -> NDArray[np.uint8]:
    """Draw strokes on a white square.

    Parameters
    ----------
    strokes : sequence of (n, 2) polylines
        In the frame of `Sketch`: longer side 400, centred.
    rendering : Rendering
    side : int
        Of the square, in pixels.

    Returns
    -------
    ndarray of shape (side, side, 3)
    """
    scale, middle = _LONGER / FRAME, (_PAGE - 1) / 2
    lines = [np.round((stroke * scale + middle) * 2**_SHIFT).astype(np.int32) for stroke in strokes]
    ink = np.zeros((_PAGE, _PAGE), np.float32)
    cv2.polylines(ink, lines, False, 1.0, 1, cv2.LINE_8, _SHIFT)
    ink = cv2.dilate(ink, np.ones((rendering.width, rendering.width), np.uint8))
    ink = (ink + cv2.blur(ink, (3, 3), borderType=cv2.BORDER_CONSTANT)) / 2
    shrunk = cv2.resize(ink, (side, side), interpolation=cv2.INTER_LINEAR)
    if rendering.mirrored:
        shrunk = shrunk[:, ::-1]
    paper = np.round((1 - shrunk) * 255).astype(np.uint8)
    return np.repeat(paper[:, :, None], 3, axis=2)
