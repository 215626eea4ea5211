"""A thing that lies on its side: where nothing upright fits well, the drawing is turned and looked for again.

Shape alone says by which angle, as it is exact there; the drawing turned by it is then searched for as any
other, so that what its network sees is upright, and what is said of both answers can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .core import CORE, PLACE
from .hit import Hit, Pose

if TYPE_CHECKING:
    from ..contours.drawing import Sketch
    from .options import Options
    from .rescoring import Answer
    from .state import SearchState

Find = Callable[["SearchState", "Sketch", "Options"], "Answer"]
POOR = 0.5
"""A collection that has the thing more likely than not is not asked again."""
BETTER = 0.25
"""By how much more likely the turned drawing has to be there: of many angles, one fits by chance."""
MOST_WINDOWS = 50_000
"""Turned any way a search takes 24 times as long: more windows than these are not asked again."""


@dataclass(frozen=True)
class Turned:
    """A drawing turned by `angle` (radians, clockwise), and what was found with it.

    factor, middle : of the turned drawing's frame, in the frame of the drawing before, turned.
    """

    sketch: Sketch
    answer: Answer
    angle: float
    factor: float
    middle: tuple[float, float]

    def told_of(self, sketch: Sketch, hit: Hit) -> Hit:
        """A hit of the turned drawing as one of the drawing itself."""
        best = self._pose(hit.pose)
        also = tuple(replace(place, pose=self._pose(place.pose)) for place in hit.also)
        return replace(
            hit,
            scale=round(best.scale, 4),
            rotation=best.rotation,
            dx=round(best.dx, 3),
            dy=round(best.dy, 3),
            sketch=sketch,
            also=also,
        )

    def _pose(self, pose: Pose) -> Pose:
        cos, sin = math.cos(pose.rotation), math.sin(pose.rotation)
        scale = pose.scale * self.factor
        x, y = (scale * v for v in self.middle)
        x, y = cos * x - sin * y, sin * x + cos * y
        rotation = math.remainder(pose.rotation + self.angle, 2 * math.pi)
        return Pose(scale, pose.mirrored, rotation, pose.dx - (-x if pose.mirrored else x), pose.dy - y)


def turned_to_fit(
    state: SearchState, sketch: Sketch, options: Options, upright: Answer, find: Find
) -> Turned | None:
    """The drawing turned so that it fits; None where it does upright, or turned no better."""
    asked = options.turn is not None or options.words or options.picked or sketch.picture is not None
    many = state.collection.host is None or len(state.collection.engine) > MOST_WINDOWS
    if asked or many or upright.present >= POOR:
        return None
    by_shape = replace(options, k=1, offset=0, turn=180.0, blend=0.0, expand=0)
    places = find(state, sketch, by_shape).places
    angle = float(places[0][PLACE.index("rotation")]) if len(places) else 0.0
    if abs(math.degrees(angle)) < CORE["turn step"]:
        return None
    turned, factor, middle = _turned(sketch, angle)
    answer = find(state, turned, replace(options, turn=0.0))
    if answer.present < upright.present + BETTER:
        return None
    return Turned(turned, answer, angle, factor, middle)


def _turned(sketch: Sketch, angle: float) -> tuple[Sketch, float, tuple[float, float]]:
    """A turned drawing, in a frame of its own: by what its coordinates were multiplied, from which middle."""
    cos, sin = math.cos(angle), math.sin(angle)
    strokes = [stroke.astype(np.float64) @ np.array([[cos, sin], [-sin, cos]]) for stroke in sketch.strokes]
    everything = np.concatenate(strokes)
    low, high = everything.min(axis=0), everything.max(axis=0)
    middle = (low + high) / 2
    made = type(sketch).from_strokes(strokes, sketch.name)
    before = float((high - low).max())
    after = max(made.points.width, made.points.height)
    return made, after / before, (float(middle[0]), float(middle[1]))
