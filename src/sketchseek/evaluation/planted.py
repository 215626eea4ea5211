"""Shapes planted in photos: a picture, and where in it a drawing's outline truly is.

A random solid shape is pasted at a known place, scale and mirror into a background; its outline alone is the
query. Nothing is learned from it, and no data set has truth as exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..contours.drawing import Sketch
from ..contours.synthetic import outline_points, random_shape

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Planted:
    """A planted shape.

    pixels : uint8 (h, w, 3), the background with the shape in it, longer side 400.
    sketch : the query: the shape's outline.
    scale, mirrored, dx, dy : where it is, as a `Ranking` says it.
    box : x0, y0, x1, y1 of the shape in the picture, in pixels.
    """

    pixels: Pixels
    sketch: Sketch
    scale: float
    mirrored: bool
    dx: float
    dy: float
    box: tuple[float, float, float, float]


def random_background(rng: np.random.Generator, width: int = 400, height: int = 300) -> Pixels:
    """Blobs of colour under a slope of light, for where there are no photos."""
    import cv2

    coarse = rng.uniform(40, 215, (height // 25, width // 25, 3)).astype(np.float32)
    blobs = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    fine = cv2.GaussianBlur(rng.normal(0, 40, (height, width, 3)).astype(np.float32), (0, 0), 3.0)
    pixels: Pixels = np.clip(blobs + fine, 0, 255).astype(np.uint8)
    return pixels


def plant(background: Pixels, rng: np.random.Generator, blur: float = 0.0) -> Planted:
    """A new shape in a background whose longer side is 400 pixels, blurred beforehand by `blur` pixels."""
    import cv2

    height, width = background.shape[:2]
    room = np.array([width, height]) - 8
    largest = 0.0
    while largest < 0.6:  # no smaller than a query's smallest scale
        corners = random_shape(rng)
        largest = min(1.0, float((room / np.ptp(corners, axis=0)).min()))
    scale = float(rng.uniform(0.6, largest))
    mirrored = bool(rng.random() < 0.5)
    size = np.ptp(corners, axis=0) * scale
    free = np.minimum((np.array([width, height]) - size) / 2 - 2, 80.0 / scale)
    dx, dy = (float(v) for v in rng.uniform(-1, 1, 2) * np.maximum(free, 0))

    placed = corners * (-1 if mirrored else 1, 1) * scale + (dx + (width - 1) / 2, dy + (height - 1) / 2)
    ground = cv2.GaussianBlur(background, (0, 0), blur) if blur > 0 else background
    mask = np.zeros((height, width), np.uint8)
    cv2.fillPoly(mask, [np.round(placed * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
    inside = ground[mask > 127].mean(axis=0) if (mask > 127).any() else np.full(3, 128.0)
    colour = np.where(inside > 127, inside - 100, inside + 100)  # an invisible shape proves nothing
    share = mask[..., None].astype(np.float32) / 255
    pixels = np.round(ground * (1 - share) + colour * share).astype(np.uint8)
    (x0, y0), (x1, y1) = placed.min(axis=0), placed.max(axis=0)
    # From pixels' middles to a picture's own coordinates, in which the first pixel begins at 0.
    box = (float(x0) + 0.5, float(y0) + 0.5, float(x1) + 0.5, float(y1) + 0.5)
    outline = np.vstack([corners, corners[:1]]).astype(np.float32)
    sketch = Sketch(outline_points(corners), [outline], "a planted shape")
    return Planted(pixels, sketch, scale, mirrored, dx, dy, box)
