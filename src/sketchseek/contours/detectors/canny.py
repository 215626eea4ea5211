"""Canny's detector, made graded: needs no weights."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..line_art import VERSION

SMOOTHING: Final = 1.4
"""Standard deviation of the Gaussian before the gradient, in pixels."""

THRESHOLDS: Final = np.geomspace(20.0, 320.0, 10)
"""Upper hysteresis thresholds, in grey levels of a Sobel gradient; the lower ones are .4 of them."""

RIDGE: Final = 1.0 / np.sqrt(2.0 * np.pi)
"""What a line one pixel wide is worth along its middle after a Gaussian of one pixel."""


class Canny:
    """Strength is the share of thresholds that keep a pixel, as a ridge one pixel across (sigma)."""

    name = "canny"
    version = f"1-{VERSION}"

    def __init__(self, file: str = "", device: str = "cpu") -> None:
        pass

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(h, w, 3) uint8 RGB -> (h, w) float32 in [0, 1]."""
        smooth = cv2.GaussianBlur(pixels, (0, 0), SMOOTHING)
        dx, dy = _strongest_gradient(smooth)
        kept = np.zeros(pixels.shape[:2], np.float32)
        for threshold in THRESHOLDS:
            edges = cv2.Canny(dx, dy, 0.4 * threshold, threshold, L2gradient=True)
            if not edges.any():
                break
            kept += edges > 0
        kept /= np.float32(len(THRESHOLDS) * RIDGE)
        ridge: NDArray[np.float32] = cv2.GaussianBlur(kept, (0, 0), 1.0)
        return ridge.clip(0.0, 1.0)


def _strongest_gradient(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Gradient of the channel that changes most, at each pixel: red on green of one lightness is an edge."""
    dx = cv2.Sobel(pixels, cv2.CV_16S, 1, 0)
    dy = cv2.Sobel(pixels, cv2.CV_16S, 0, 1)
    channel = (np.abs(dx) + np.abs(dy)).argmax(axis=2)[..., None]
    take = np.take_along_axis
    return (
        np.ascontiguousarray(take(dx, channel, 2)[..., 0]),
        np.ascontiguousarray(take(dy, channel, 2)[..., 0]),
    )
