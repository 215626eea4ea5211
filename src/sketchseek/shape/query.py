"""A drawing -> a `Query`: its weighted vectors in every pose that is tried (`map_asym1`)."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..contours.points import Points
from .descriptor import mirror_signs, norms, projection
from .engine import _engine
from .engine.native import describe_sizes
from .settings import Floats, Settings, X, Y

TURN_STEP: float = json.loads(_engine.description())["constants"]["turn step"]
"""Degrees from one rotation that is tried to the next."""


@dataclass(frozen=True)
class Query:
    """A drawing in every pose that is tried: scales and, when asked for, small rotations; each also mirrored.

    points : the drawing, longer side 400 pixels, centred.
    settings : those of the vectors it is to be compared with.
    mirror : whether the mirrored drawing is tried too.
    kernels : (P,) the kernel of each pose, an index into the norms of a picture.
    scales, rotations : (P,) the size and the rotation (radians, clockwise on a screen) of each pose; turned,
        the drawing's longer side is one of the settings' scales (`turned_fit`).
    vectors : (P, D) float32, the query side of the maps (`map_asym1`), not normalised.
    projections : (P, 2, Dx * Do) float32, the query side of the x- and of the y-projection.
    norms : (P, 3) float32, of the vector and its projections under the pose's own kernel.
    steps, reach : (P,) the translations tried along each axis are steps * (-reach ... reach) pixels.
    """

    points: Points
    settings: Settings
    mirror: bool
    kernels: NDArray[np.int32]
    scales: NDArray[np.float64]
    rotations: NDArray[np.float64]
    vectors: Floats
    projections: Floats
    norms: Floats
    steps: NDArray[np.float64]
    reach: NDArray[np.int32]

    @classmethod
    def of(
        cls, points: Points, settings: Settings, mirror: bool = True, rotations: Sequence[float] = (0.0,)
    ) -> Query:
        """The query of a drawing, at the settings' scales."""
        count = len(settings.scales)
        kernels = np.tile(np.arange(count, dtype=np.int32), len(rotations))
        sizes = np.tile(settings.scales, len(rotations))
        scales = sizes * np.repeat([turned_fit(points, r) for r in rotations], count)
        turned = [points.rotated(r) if r else points for r in rotations]
        plain = np.concatenate(
            [
                describe_sizes(one, mine, settings)
                for one, mine in zip(turned, np.split(scales, len(rotations)), strict=True)
            ]
        )
        all_norms = norms(plain, settings)
        steps = settings.translation_step * sizes
        reach = np.floor(settings.max_translation / sizes / steps + 1e-9).astype(np.int32)
        return cls(
            points=points,
            settings=settings,
            mirror=mirror,
            kernels=kernels,
            scales=scales,
            rotations=np.repeat(np.asarray(rotations, np.float64), count),
            vectors=plain * settings.component_weights[kernels],
            projections=np.stack(
                [projection(plain, axis, settings) * settings.projection_weights[kernels] for axis in (X, Y)],
                axis=1,
            ),
            norms=all_norms[np.arange(len(kernels)), kernels],
            steps=steps,
            reach=reach,
        )

    def alone(self, pose: int, mirrored: bool) -> Query:
        """One pose, or its mirror image, and nothing else."""
        signs = mirror_signs(self.settings) if mirrored else np.ones(self.settings.dimensions, np.float32)
        sides = np.stack([projection(signs, axis, self.settings) for axis in (X, Y)])
        one = slice(pose, pose + 1)
        return replace(
            self,
            points=self.points.mirrored() if mirrored else self.points,
            mirror=False,
            kernels=self.kernels[one],
            scales=self.scales[one],
            rotations=self.rotations[one],
            vectors=self.vectors[one] * signs,
            projections=self.projections[one] * sides,
            norms=self.norms[one],
            steps=self.steps[one],
            reach=self.reach[one],
        )

    def __len__(self) -> int:
        """The number of poses."""
        return len(self.kernels)

    def translations(self, pose: int) -> NDArray[np.float64]:
        """(T,) translations of a pose along each axis, in pixels, ascending and symmetric."""
        reach = int(self.reach[pose])
        return np.arange(-reach, reach + 1) * self.steps[pose]  # type: ignore[no-any-return]

    @property
    def first_projection(self) -> int:
        """`X` or `Y`: the axis along which the drawing varies more, which `dpf` scans first."""
        if len(self.points) == 0:
            return X
        return X if self.points.x.var() >= self.points.y.var() else Y


def turns(most: float, step: float = TURN_STEP) -> tuple[float, ...]:
    """Rotations in radians up to `most` degrees either way, the least first, at most `step` degrees apart."""
    if not 0 <= most <= 180:
        raise ValueError(f"turn must be from 0 to 180 degrees, got {most}")
    if most == 180:
        count = math.ceil(360 / step)
        degrees = [360 * i / count - (360 if 2 * i > count else 0) for i in range(count)]
    else:
        side = math.ceil(most / step)
        degrees = [most * i / side for i in range(-side, side + 1)] if side else [0.0]
    return tuple(math.radians(d) for d in sorted(degrees, key=lambda d: (abs(d), d)))


def turned_fit(points: Points, rotation: float) -> float:
    """What brings a turned drawing's longer side to the length it had: a picture's frame knows no angle."""
    if rotation == 0 or len(points) == 0:
        return 1.0
    turned = points.rotated(rotation)
    before, after = (max(float(np.ptp(p.x)), float(np.ptp(p.y))) for p in (points, turned))
    return before / after if after > 0 else 1.0
