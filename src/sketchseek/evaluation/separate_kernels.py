"""What the paper compares with at large scale (TBFJ15): harmonic maps, a descriptor for each kernel.

Tolias, Bursuc, Furon and Jegou, "Rotation and translation covariant match kernels for image retrieval", 2015.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contours.points import Points
from ..kernels import RBF
from ..maps import HarmonicMap
from ..search.collection import Collection
from ..search.ranking import Ranking, best_first
from ..shape.query import Query
from ..shape.settings import SIGMA, Settings


@dataclass(frozen=True)
class SeparateKernels:
    """What the paper compares with: a descriptor for each kernel, on frequencies of its own, all stored.

    collections : one for each scale, of settings with that scale alone.
    """

    collections: tuple[Collection, ...]

    @classmethod
    def of(cls, pictures: Iterable[Points], settings: Settings) -> SeparateKernels:
        """One-byte descriptors of the pictures, as many as the settings have scales, on harmonic maps."""
        points = list(pictures)
        return cls(tuple(Collection.of(points, alone) for alone in settings_of_kernels(settings)))

    def rank(self, drawing: Points, mirror: bool = True, threads: int | None = None) -> Ranking:
        """Every picture, by the best of its descriptors' exact scores."""
        placed = [
            (c, query, c.engine.locate(query, threads=threads))
            for c in self.collections
            for query in [Query.of(drawing, c.settings, mirror)]
        ]
        best = np.argmax([found.score for _, _, found in placed], axis=0)
        everything = np.arange(len(best))

        def chosen(values: list[NDArray[Any]]) -> NDArray[Any]:
            picked: NDArray[Any] = np.stack(values)[best, everything]
            return picked

        score = chosen([found.score for _, _, found in placed])
        order = best_first(score, len(score))
        scales = [query.scales[found.pose].astype(np.float32) for _, query, found in placed]
        return Ranking(
            ids=order,
            rows=order,
            score=score[order],
            scale=chosen(scales)[order],
            rotation=np.zeros(len(order), np.float32),
            mirrored=chosen([found.mirrored for _, _, found in placed])[order],
            dx=chosen([found.dx for _, _, found in placed])[order],
            dy=chosen([found.dy for _, _, found in placed])[order],
        )


def settings_of_kernels(settings: Settings) -> tuple[Settings, ...]:
    """Those of each scale's descriptor."""
    return tuple(_harmonic(settings, scale) for scale in settings.scales)


def _harmonic(settings: Settings, scale: float) -> Settings:
    """One scale alone: as many harmonic frequencies, Fourier's weights, the orientation as it is."""
    maps = HarmonicMap([RBF(SIGMA * scale)], len(settings.frequencies)).fit()
    return replace(
        settings,
        scales=(scale,),
        frequencies=tuple(map(float, maps.frequencies_)),
        weights=tuple(tuple(map(float, row)) for row in maps.weights_),
    )
