"""A picture or a drawing becomes contour points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .drawing import Sketch
from .picture import Picture, load_picture, thumbnail
from .points import FRAME, Points
from .source import Source
from .suppression import strength_to_points

if TYPE_CHECKING:
    from .detectors import EdgeDetector

__all__ = [
    "FRAME",
    "Contours",
    "Picture",
    "Points",
    "Sketch",
    "load_picture",
    "picture_contours",
    "strength_to_points",
    "thumbnail",
]


@dataclass(frozen=True, slots=True)
class Contours:
    """What the program sees in a picture.

    points : the contour points, in the 400-pixel frame.
    strength : (h, w) float32 in [0, 1], the detector's answer for `picture.pixels`.
    """

    points: Points
    strength: NDArray[np.float32]
    picture: Picture


def picture_contours(source: Source, detector: EdgeDetector) -> Contours:
    """Load a picture (path or bytes), detect its edges, and thin them to points."""
    picture = load_picture(source)
    strength = detector(picture.pixels)
    return Contours(strength_to_points(strength), strength, picture)
