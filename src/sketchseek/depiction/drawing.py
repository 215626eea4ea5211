"""A drawing as a network likes to see it: dark lines of an even width on white, in a few renderings."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from ..contours.points import FRAME

_FINER = 3  # drawn this much larger, then averaged: line widths are whole pixels there
_SHIFT = 4  # binary digits of subpixel coordinates


@dataclass(frozen=True)
class Rendering:
    """How to draw. width : of a line, and margin : around the drawing, as shares of the side."""

    width: float
    margin: float
    mirrored: bool


RENDERINGS = (
    Rendering(0.010, 0.06, False),
    Rendering(0.010, 0.06, True),
    Rendering(0.022, 0.06, False),
    Rendering(0.022, 0.06, True),
)


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
    fine = side * _FINER
    scale = fine * (1 - 2 * rendering.margin) / FRAME
    flip = np.array([-1, 1]) if rendering.mirrored else np.array([1, 1])
    lines = [
        np.round((stroke * flip * scale + (fine - 1) / 2) * 2**_SHIFT).astype(np.int32) for stroke in strokes
    ]
    canvas = np.full((fine, fine), 255, np.uint8)
    thickness = max(1, round(rendering.width * fine))
    cv2.polylines(canvas, lines, False, 0, thickness, cv2.LINE_8, _SHIFT)
    shrunk = cv2.resize(canvas, (side, side), interpolation=cv2.INTER_AREA)
    return np.repeat(shrunk[:, :, None], 3, axis=2)
