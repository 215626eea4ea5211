"""A picture -> what the program sees in it: lines that are followed, or edges that are detected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from ..plugins import blamed
from ..sources.files import Source, read_source, source_name
from ..sources.picture import THUMBNAIL_SIDE, Picture, load_picture
from ..sources.svg import is_svg, svg_lines
from .line_art import drawn_strokes, is_sheet
from .outline import weighed
from .points import FRAME, Box, Points
from .strokes import lines_to_points
from .suppression import strength_to_points

if TYPE_CHECKING:
    from .detectors import EdgeDetector


SHEET_SIDE = 1200
"""Pixels of the longer side at which line art is read that shows several things, each of them small."""


@dataclass(frozen=True, slots=True)
class Contours:
    """What the program sees in a picture.

    points : the contour points, in the 400-pixel frame.
    picture : the pixels they were seen in. Those of an SVG that is nothing but lines, which are followed as
        they are, are only as many as a thumbnail has.
    detected : (h, w) float32 in [0, 1], the detector's answer for `picture.pixels`; None for line art, whose
        lines are followed instead.
    """

    points: Points
    picture: Picture
    detected: NDArray[np.float32] | None = None

    @property
    def is_line_art(self) -> bool:
        """Whether its lines were followed."""
        return self.detected is None

    @property
    def strength(self) -> NDArray[np.float32]:
        """(h, w) in the frame's pixels: what was detected, or 1 along the lines that were followed."""
        if self.detected is not None:
            return self.detected
        height, width = max(1, round(self.points.height)), max(1, round(self.points.width))
        drawn = np.zeros((height, width), np.float32)
        rows = np.clip(self.points.y + height / 2, 0, height - 1).astype(int)
        columns = np.clip(self.points.x + width / 2, 0, width - 1).astype(int)
        drawn[rows, columns] = self.points.weight
        return drawn

    def subject(self) -> tuple[Points, Box]:
        """What an index describes: points in a 400-pixel frame, and where in the original that frame lies.

        Of a photograph, all of it. Of line art, the tight box of its ink: plain margins say nothing, and a
        drawing small on its page would be too small for the scales that a search tries. Its points weigh
        what those of a drawing that is searched for weigh.
        """
        width, height = self.picture.width, self.picture.height
        if not self.is_line_art or len(self.points) == 0:
            return self.points, (0.0, 0.0, float(width), float(height))
        points, (x0, y0, x1, y1) = self.points.tight()
        scale = max(width, height) / FRAME
        left, top = width / 2, height / 2
        return weighed(points), (left + x0 * scale, top + y0 * scale, left + x1 * scale, top + y1 * scale)


def picture_contours(source: Source, detector: EdgeDetector, *, line_art: bool = True) -> Contours:
    """Load a picture (path or bytes), and follow its lines if it is line art, else detect its edges.

    line_art : False detects the edges of line art, too, as the paper does.
    """
    data, name = read_source(source), source_name(source)
    lines = svg_lines(data, name) if line_art and is_svg(data) else None
    if lines is not None:
        strokes, size = lines
        return Contours(lines_to_points(strokes, size), load_picture(data, THUMBNAIL_SIDE, name))
    picture = load_picture(data, name=name)
    drawn = drawn_strokes(picture.pixels) if line_art else None
    if drawn is not None:
        pixels = picture.pixels
        if max(picture.width, picture.height) > FRAME and is_sheet(drawn):
            closer = load_picture(data, min(max(picture.width, picture.height), SHEET_SIDE), name).pixels
            again = drawn_strokes(closer)
            drawn, pixels = (drawn, pixels) if again is None else (again, closer)
        height, width = pixels.shape[:2]
        return Contours(lines_to_points(drawn, (width, height)), picture)
    strength = _detected(detector, picture.pixels)
    return Contours(strength_to_points(strength), picture, strength)


def _detected(detector: EdgeDetector, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What a detector sees in pixels (h, w, 3): (h, w) numbers, whoever wrote it."""
    with blamed(f"The edge detector {detector.name}"):
        strength = np.asarray(detector(pixels), np.float32)
    if strength.shape != pixels.shape[:2] or not np.isfinite(strength).all():
        raise SketchseekError(f"The edge detector {detector.name} gives no strength for each pixel.")
    return strength
