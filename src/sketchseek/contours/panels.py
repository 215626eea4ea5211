"""What the program sees in a picture or a drawing, for people to look at or to work on."""

from __future__ import annotations

import colorsys
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from ..sources.files import Source, read_source
from ..sources.picture import Picture
from .drawing import Sketch
from .extract import Contours, picture_contours
from .points import Points
from .strokes import is_strokes
from .suppression import ridge_angles

if TYPE_CHECKING:
    from .detectors import EdgeDetector

ZOOM = 2
"""Pixels of the panels per pixel of the frame."""
OVERLAY_ZOOM = 3
"""The same of an overlay."""
GAP = 8


def save_contours(source: Source, out: str | Path, detector: EdgeDetector | None) -> Contours:
    """Write what is seen in `source` to `out`: a picture (.png) or the numbers (.npz).

    The numbers are the points' `x`, `y`, `angle`, `weight` (n,) and the `strength` map (h, w).
    With no detector, or for a file of strokes, the source is read as a drawing.
    """
    data = read_source(source)
    path = Path(out)
    if path.suffix.lower() not in (".png", ".npz"):
        raise SketchseekError(f"Contours are written to .png or .npz, not to {path.name}.")
    if detector is None or is_strokes(data):
        contours = drawing_contours(Sketch.load(source))
    else:
        contours = picture_contours(source, detector)
    try:
        if path.suffix.lower() == ".npz":
            p = contours.points
            np.savez_compressed(
                path, x=p.x, y=p.y, angle=p.angle, weight=p.weight, strength=contours.strength
            )
        else:
            path.write_bytes(cv2.imencode(".png", draw_contours(contours)[..., ::-1])[1].tobytes())
    except OSError as error:
        raise SketchseekError(f"{path} could not be written: {error.strerror}.") from error
    return contours


def drawing_contours(sketch: Sketch) -> Contours:
    """A drawing, as if it were a picture: black strokes on white, strength 1 along them."""
    size = max(1, round(sketch.points.height)), max(1, round(sketch.points.width))
    canvas = np.full((*size, 3), 255, dtype=np.uint8)
    middle = np.array([size[1] / 2, size[0] / 2])
    lines = [np.round((stroke + middle) * 16).astype(np.int32) for stroke in sketch.strokes]
    cv2.polylines(canvas, lines, False, (0, 0, 0), 2, cv2.LINE_AA, shift=4)
    return Contours(sketch.points, Picture(canvas, size[1], size[0], "drawing"))


def draw_contours(contours: Contours) -> NDArray[np.uint8]:
    """Three panels (h, w, 3): the picture; edge strength; the points, as short pieces of line.

    Hue says which way a contour runs (the key is in the corner), brightness how strong it is.
    """
    strength = contours.strength
    height, width = strength.shape
    hue = hues(ridge_angles(strength))
    glow = (hue * np.clip(strength, 0, 1)[..., None]).astype(np.uint8)
    size = width * ZOOM, height * ZOOM
    shown = [cv2.resize(p, size, interpolation=cv2.INTER_CUBIC) for p in (contours.picture.pixels, glow)]
    panels = [*shown, _draw_points(contours.points, width, height)]
    _draw_key(panels[1])
    gap = np.full((panels[0].shape[0], GAP, 3), 255, dtype=np.uint8)
    return np.hstack([panels[0], gap, panels[1], gap, panels[2]])


def hues(angle: NDArray[np.floating]) -> NDArray[np.float32]:
    """Colours (..., 3) in [0, 255] that go once round the wheel as a line turns by pi."""
    wheel = np.array([colorsys.hsv_to_rgb(k / 180, 0.85, 1) for k in range(180)], dtype=np.float32) * 255
    return np.asarray(wheel[np.round(np.mod(angle, np.pi) * (180 / np.pi)).astype(int) % 180])


def _draw_points(points: Points, width: int, height: int) -> NDArray[np.uint8]:
    canvas = np.full((height * ZOOM, width * ZOOM, 3), 255, dtype=np.uint8)
    colours = hues(points.angle) * 0.8  # darker, to be seen on white
    paler = 255 - (255 - colours) * points.weight[:, None]
    for (start, end), colour in zip(_pieces(points, ZOOM, canvas.shape, 1.2), paler, strict=True):
        red, green, blue = (int(c) for c in colour)
        cv2.line(canvas, start, end, (red, green, blue), 1, cv2.LINE_AA, shift=4)
    return canvas


def contours_overlay(points: Points) -> bytes:
    """A transparent PNG in the picture's shape: pieces of line, the stronger the more opaque."""
    height, width = round(points.height * OVERLAY_ZOOM), round(points.width * OVERLAY_ZOOM)
    alpha = np.zeros((max(height, 1), max(width, 1)), np.uint8)
    pieces = _pieces(points, OVERLAY_ZOOM, (height, width), 0.7)
    for i in np.argsort(points.weight):  # the strong ones last: they stay on top
        opacity = int(40 + 215 * points.weight[i])
        start, end = pieces[i]
        cv2.line(alpha, start, end, (opacity,), 2, cv2.LINE_AA, shift=4)
    colour = np.empty((*alpha.shape, 4), np.uint8)
    colour[...] = (40, 96, 255, 0)  # a warm red, in OpenCV's order
    colour[..., 3] = alpha
    return bytes(cv2.imencode(".png", colour)[1])


Pixel = tuple[int, int]


def _pieces(points: Points, zoom: int, shape: tuple[int, ...], reach: float) -> list[tuple[Pixel, Pixel]]:
    """Both ends of a short piece of contour through each point, in sixteenths of a pixel as OpenCV counts.

    shape : (h, w, ...) of the canvas, in whose middle the frame's is.
    reach : half the length of a piece, in the frame.
    """
    x, y = points.x * zoom + shape[1] / 2, points.y * zoom + shape[0] / 2
    # The normal is (sin, cos) of the angle, so the contour runs along (cos, -sin).
    tx, ty = np.cos(points.angle) * zoom * reach, -np.sin(points.angle) * zoom * reach
    ends = np.round(np.stack([x - tx, y - ty, x + tx, y + ty], axis=1) * 16 - 8).astype(int)
    return [((x0, y0), (x1, y1)) for x0, y0, x1, y1 in ends.tolist()]


def _draw_key(panel: NDArray[np.uint8], radius: int = 22) -> None:
    """Spokes in the lower left corner, each in the colour of lines that run its way."""
    if min(panel.shape[:2]) < 4 * radius:
        return
    x, y = radius + 6, panel.shape[0] - radius - 6
    cv2.circle(panel, (x, y), radius + 4, (0, 0, 0), -1, cv2.LINE_AA)
    for angle in np.arange(12) * np.pi / 12:
        dx, dy = np.cos(angle) * radius, -np.sin(angle) * radius
        red, green, blue = (int(c) for c in hues(np.array(angle)))
        start, end = (round(x - dx), round(y - dy)), (round(x + dx), round(y + dy))
        cv2.line(panel, start, end, (red, green, blue), 2, cv2.LINE_AA)
