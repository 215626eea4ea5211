"""A picture that was found, and where in it the drawing lies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contours.points import FRAME

if TYPE_CHECKING:
    from ..contours.drawing import Sketch


@dataclass(frozen=True)
class Hit:
    """A picture that was found.

    rank : 1 is the best. id : the picture's, in this index. picture : its absolute path or URI.
    score : the shape's cosine, in [-1, 1]. confidence : in [0, 1]; orders the hits.
    scale : the drawing's size, 1 where its longer side fills 400 pixels of the picture's longer side.
    mirrored : left and right exchanged. rotation : radians, clockwise.
    dx, dy : from the picture's centre to the drawing's, where the picture's longer side is 400 pixels.
    box : (x0, y0, x1, y1) where the drawing's tight box lands, in pixels of the upright original.
    width, height : of the upright original.
    """

    rank: int
    id: str
    picture: str
    score: float
    confidence: float
    scale: float
    mirrored: bool
    rotation: float
    dx: float
    dy: float
    box: tuple[float, float, float, float]
    width: int
    height: int
    sketch: Sketch = field(repr=False, compare=False)
    thumbnail: Callable[[], bytes] = field(repr=False, compare=False)

    def outline(self, sketch: Sketch | None = None) -> list[NDArray[np.float32]]:
        """The drawing's strokes where they were found: (n, 2) polylines in pixels of the upright original."""
        return [self._place(stroke) for stroke in (sketch or self.sketch).strokes]

    def to_dict(self) -> dict[str, Any]:
        """As `search --json` prints it."""
        names = ("rank", "id", "picture", "score", "confidence", "scale", "mirrored", "dx", "dy")
        found = {name: getattr(self, name) for name in names}
        return {**found, "box": list(self.box), "width": self.width, "height": self.height}

    def _place(self, xy: NDArray[np.float32]) -> NDArray[np.float32]:
        return place(
            xy,
            scale=self.scale,
            mirrored=self.mirrored,
            rotation=self.rotation,
            translation=(self.dx, self.dy),
            size=(self.width, self.height),
        )

    def _repr_html_(self) -> str:
        from ..output.html import figure

        return figure(self)

    def _repr_png_(self) -> bytes:
        from ..output.html import painted_png

        return painted_png(self)


def place(
    xy: NDArray[np.float32],
    *,
    scale: float,
    mirrored: bool,
    rotation: float,
    translation: tuple[float, float],
    size: tuple[int, int],
) -> NDArray[np.float32]:
    """Points (n, 2) of a drawing's frame -> pixels of a picture of that size (width, height)."""
    x, y = np.asarray(xy, np.float64).T
    cos, sin = np.cos(rotation), np.sin(rotation)
    x, y = scale * (cos * x - sin * y), scale * (sin * x + cos * y)
    if mirrored:
        x = -x
    pixels = max(size) / FRAME
    placed = np.stack([x + translation[0], y + translation[1]], axis=1) * pixels + np.array(size) / 2
    return placed.astype(np.float32)


def in_picture(
    pose: tuple[float, float, float], frame: Sequence[float], size: tuple[int, int]
) -> tuple[float, float, float]:
    """Scale and translation in the 400-pixel frame of a part of a picture -> those in the picture's own."""
    scale, dx, dy = pose
    x0, y0, x1, y1 = frame
    smaller = max(x1 - x0, y1 - y0) / max(size)
    pixel = FRAME / max(size)
    return (
        scale * smaller,
        dx * smaller + ((x0 + x1) - size[0]) / 2 * pixel,
        dy * smaller + ((y0 + y1) - size[1]) / 2 * pixel,
    )


def tight_box(
    sketch: Sketch, placed: Callable[[NDArray[np.float32]], NDArray[np.float32]]
) -> tuple[float, float, float, float]:
    """The box of a drawing after `placed` has moved it; its corners decide, as its frame is tight."""
    w, h = sketch.points.width / 2, sketch.points.height / 2
    corners = placed(np.array([[-w, -h], [w, -h], [w, h], [-w, h]], np.float32))
    (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
    return round(float(x0), 2), round(float(y0), 2), round(float(x1), 2), round(float(y1), 2)
