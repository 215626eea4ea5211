"""Contour points: what a picture or a drawing is, to everything after this package."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..sources.limits import FRAME as FRAME  # noqa: PLC0414 (given on)

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1."""


@dataclass(frozen=True, slots=True)
class Points:
    """Contour points in a frame whose longer side is 400 pixels.

    x, y : (n,) float32. Pixels from the frame's centre, x to the right, y downwards.
    angle : (n,) float32 in (-pi/2, pi/2]. The contour's normal, measured from the vertical: 0 for a
        horizontal line, pi/2 for a vertical one. A line has no direction, so the angle is modulo pi.
    weight : (n,) float32 in [0, 1]. The strength of the edge; 1 for drawings.
    width, height : size of the frame, in the same pixels.
    """

    x: NDArray[np.float32]
    y: NDArray[np.float32]
    angle: NDArray[np.float32]
    weight: NDArray[np.float32]
    width: float
    height: float

    def __len__(self) -> int:
        return len(self.x)

    def take(self, which: NDArray[np.intp]) -> Points:
        """Some of them, in the same frame."""
        x, y, angle, weight = (a[which] for a in (self.x, self.y, self.angle, self.weight))
        return Points(x, y, angle, weight, self.width, self.height)

    def mirrored(self) -> Points:
        """Left and right exchanged: (x, angle) -> (-x, -angle)."""
        return Points(-self.x, self.y, fold(-self.angle), self.weight, self.width, self.height)

    def scaled(self, factor: float) -> Points:
        """Coordinates and frame multiplied by `factor`; angles and weights stay."""
        s = np.float32(factor)
        return Points(
            self.x * s, self.y * s, self.angle, self.weight, self.width * factor, self.height * factor
        )

    def translated(self, dx: float, dy: float) -> Points:
        """Moved by (dx, dy) pixels within the same frame."""
        x, y = self.x + np.float32(dx), self.y + np.float32(dy)
        return Points(x, y, self.angle, self.weight, self.width, self.height)

    def tight(self) -> tuple[Points, Box]:
        """The points in a frame of their own, their tight box, longer side 400; and where it was."""
        low = np.array([self.x.min(), self.y.min()], np.float64)
        high = np.array([self.x.max(), self.y.max()], np.float64)
        scale = FRAME / max(float((high - low).max()), 1.0)
        x, y = ((self.x, self.y) - ((low + high) / 2)[:, None]) * scale
        width, height = ((high - low) * scale).tolist()
        points = Points(x.astype(np.float32), y.astype(np.float32), self.angle, self.weight, width, height)
        return points, (*low.tolist(), *high.tolist())

    def rotated(self, radians: float) -> Points:
        """Turned clockwise, as seen on a screen, about the frame's centre."""
        c, s = np.float32(np.cos(radians)), np.float32(np.sin(radians))
        x, y = c * self.x - s * self.y, s * self.x + c * self.y
        return Points(x, y, fold(self.angle - radians), self.weight, self.width, self.height)


def fold(angle: ArrayLike) -> NDArray[np.float32]:
    """Angles modulo pi, into (-pi/2, pi/2]."""
    a = np.asarray(angle, dtype=np.float64)
    return (a - np.pi * np.ceil(a / np.pi - 0.5)).astype(np.float32)


def normal_angle(nx: ArrayLike, ny: ArrayLike) -> NDArray[np.float32]:
    """The angle of a normal (nx, ny) in picture coordinates (y down), measured from the vertical."""
    return fold(np.arctan2(nx, ny))


def tangent_angle(tx: ArrayLike, ty: ArrayLike) -> NDArray[np.float32]:
    """The same angle, from a tangent: its normal is (-ty, tx)."""
    return normal_angle(-np.asarray(ty), tx)
