"""A picture that was found, and where in it the drawing lies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contours.points import FRAME, Box, Points
from .core import ABSENT, CLOSEST

if TYPE_CHECKING:
    from ..contours.drawing import Sketch


@dataclass(frozen=True)
class Pose:
    """How a drawing lies in a picture.

    scale : 1 where its longer side fills 400 pixels of the picture's longer side. mirrored : left and right
    exchanged, after the rotation (radians, clockwise). dx, dy : from the picture's centre to the drawing's,
    where the picture's longer side is 400 pixels.
    """

    scale: float
    mirrored: bool
    rotation: float
    dx: float
    dy: float

    def to_pixels(self, xy: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
        """Points (n, 2) of the drawing's frame -> pixels of a picture of that size (width, height)."""
        x, y = np.asarray(xy, np.float64).T
        cos, sin = np.cos(self.rotation), np.sin(self.rotation)
        x, y = self.scale * (cos * x - sin * y), self.scale * (sin * x + cos * y)
        if self.mirrored:
            x = -x
        placed = np.stack([x + self.dx, y + self.dy], axis=1) * (max(size) / FRAME) + np.array(size) / 2
        return placed.astype(np.float32)

    def box(self, points: Points, size: tuple[int, int]) -> Box:
        """Where the tight box of a drawing's points lands, in pixels; turned, that of the turned points."""
        w, h = points.width / 2, points.height / 2
        drawn = np.array([[-w, -h], [w, -h], [w, h], [-w, h]], np.float32)
        if self.rotation and len(points):
            drawn = np.stack([points.x, points.y], axis=1)
        corners = self.to_pixels(drawn, size)
        (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
        return round(float(x0), 2), round(float(y0), 2), round(float(x1), 2), round(float(y1), 2)


@dataclass(frozen=True)
class Place:
    """Where in a picture a drawing lies: its pose, the box it lands in, in pixels, and the shape's cosine."""

    score: float
    pose: Pose
    box: Box

    def to_dict(self) -> dict[str, Any]:
        """As `search --json` prints it among a hit's other places."""
        return {
            "box": list(self.box),
            "score": self.score,
            "scale": round(self.pose.scale, 4),
            "mirrored": self.pose.mirrored,
            "rotation": degrees(self.pose.rotation),
        }


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
    also : further places in the same picture, best first.
    missing : the picture is not where the index knows it; such hits come last.
    like : the id of a hit before it that depicts nearly the same; None where there is none.
    matched : the word of its name that matched the words that were looked for; None where none did.
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
    box: Box
    width: int
    height: int
    sketch: Sketch = field(repr=False, compare=False)
    thumbnail: Callable[[], bytes] = field(repr=False, compare=False)
    also: tuple[Place, ...] = ()
    missing: bool = False
    matched: str | None = None
    like: str | None = None

    def outline(self, sketch: Sketch | None = None, pose: Pose | None = None) -> list[NDArray[np.float32]]:
        """The drawing's strokes where they were found: (n, 2) polylines in pixels of the upright original.

        pose : that of another place (see `also`).
        """
        placed, size = pose or self.pose, (self.width, self.height)
        return [placed.to_pixels(stroke, size) for stroke in (sketch or self.sketch).strokes]

    def to_dict(self) -> dict[str, Any]:
        """As `search --json` prints it."""
        names = ("rank", "id", "picture", "score", "confidence", "scale", "mirrored", "dx", "dy")
        found = {name: getattr(self, name) for name in names}
        return {
            **found,
            "rotation": degrees(self.rotation),
            "box": list(self.box),
            "width": self.width,
            "height": self.height,
            "also": [place.to_dict() for place in self.also],
            "missing": self.missing,
            **({} if self.matched is None else {"matched": self.matched}),
            **({} if self.like is None else {"like": self.like}),
        }

    @property
    def pose(self) -> Pose:
        """Where the drawing lies in the picture."""
        return Pose(self.scale, self.mirrored, self.rotation, self.dx, self.dy)

    def _repr_html_(self) -> str:
        from .html import figure

        return figure(self)

    def _repr_png_(self) -> bytes:
        from .html import painted_png

        return painted_png(self)


def degrees(radians: float) -> float:
    """An angle as it is printed: clockwise, in [-180, 180]."""
    return round(float(np.rad2deg(radians)), 1)


class Hits(list[Hit]):
    """The hits of a search, best first.

    present : in [0, 1], the chance that the collection has what was drawn at all.
    first_page : in [0, 1], the chance that it is among the first ten hits.
    verdict : what is said of both, one of `core.VERDICTS`: that it is likely here, that these are the closest
        matches, or that it is probably not here, which is said where it is true in nine of ten cases.
    covered : in [0, 1], the share of the collection that was looked at: less than all where parts of it are
        on other machines, and some did not answer in time.
    note : a sentence where less was asked than the index knows; None where there is nothing to say.
    """

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        present: float = 0.0,
        first_page: float = 0.0,
        verdict: str = CLOSEST,
    ) -> None:
        super().__init__(hits)
        self.present, self.first_page = round(present, 6), round(first_page, 6)
        self.verdict = verdict
        self.covered = 1.0
        self.note: str | None = None

    @property
    def absent(self) -> bool:
        """Whether it is said that the thing is probably not here."""
        return self.verdict == ABSENT

    def others(self, hits: Iterable[Hit]) -> Hits:
        """Other hits of which the same is said."""
        made = Hits(hits, self.present, self.first_page, self.verdict)
        made.covered, made.note = self.covered, self.note
        return made

    def _repr_html_(self) -> str:
        from .html import gallery

        return gallery(self)
