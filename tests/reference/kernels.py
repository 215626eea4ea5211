"""Kernels of the engine that a search calls inside, one by one, so that they can be held to the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchseek.maps.components import columns
from sketchseek.shape.engine import Ids, Scores, _engine
from sketchseek.shape.engine.native import NativeEngine, build_name, thread_count
from sketchseek.shape.placement import Placement
from sketchseek.shape.query import Query
from sketchseek.shape.settings import FULL, RADIANS, Floats, Settings

from .alignment import Start
from .energy import CELLS, SAMPLES, orientation_weights, roots, samples

_CODE_UNIT = 2.0**-24  # the kernels leave a code in the upper byte of an integer


def densities(
    vectors: NDArray[Any],
    settings: Settings,
    poses: Floats,
    *,
    kernels: NDArray[np.integer[Any]],
    pose: Ids,
    shifts: Floats,
) -> Floats:
    """How densely the contours of stored vectors (k, D) lie at a drawing's points: (k, n).

    poses : (P, 3, n), x, y and angle of the points in each pose. kernels : (P,) those that they are seen by.
    pose : (k,) that of each vector. shifts : (k, 2) where in each the points' origin lies, in pixels.
    """
    found = _engine.densities(
        np.ascontiguousarray(vectors),
        settings.component_scales,
        poses,
        np.asarray(settings.weights)[kernels],
        np.asarray(settings.orientation_weights),
        pose,
        shifts,
        np.asarray(settings.frequencies),
        np.asarray(settings.orientation_frequencies),
        build_name(),
    )
    return found.reshape(len(vectors), poses.shape[2])


class InspectedEngine(NativeEngine):
    """The engine, and what else its kernels do."""

    def refine_pose(self, query: Query, ids: Ids, start: Start, threads: int | None = None) -> Placement:
        """See `alignment.refine_pose`."""
        settings = query.settings
        starts = np.stack([start.dx, start.dy, start.within], axis=1) * RADIANS
        poses = np.stack([start.first, start.last, start.mirrored], axis=1)
        score, pose, x, y = self._collection.refine_pose(
            query.vectors,
            np.ascontiguousarray(query.norms[:, FULL]),
            settings.component_weights,
            query.kernels,
            self._steps,
            np.asarray(settings.frequencies),
            np.ascontiguousarray(ids, np.int64),
            starts,
            poses.astype(np.int32),
            thread_count(threads),
        )
        dx, dy = ((d / RADIANS).astype(np.float32) for d in (x, y))
        return Placement(score.astype(np.float32), pose, np.asarray(start.mirrored), dx, dy)

    def energy(self, ids: Ids, threads: int | None = None) -> Scores:
        """See `energy.energy_cells`."""
        settings = self._settings
        positive = samples(settings)[CELLS * SAMPLES // 2 :]
        variables = columns(positive.astype(np.float64), settings.frequencies)[:, 1:].astype(np.float32)
        cells = self._collection.energy(
            self._energy_factors,
            np.ascontiguousarray(variables.reshape(len(positive), -1, 2)),
            CELLS,
            np.ascontiguousarray(ids, np.int64),
            thread_count(threads),
        )
        return cells.reshape(len(ids), CELLS, CELLS)

    @property
    def _energy_factors(self) -> Scores:
        """(D,): what turns a stored component into one of the smoothed picture of contours."""
        root, own = (
            a.astype(np.float64) for a in (roots(self._settings), orientation_weights(self._settings))
        )
        factors: NDArray[Any] = np.einsum("i,j,k->ijk", root, root, np.sqrt(own)).ravel()
        if self._bytes:
            factors = factors * _CODE_UNIT * self._settings.component_scales
        return np.asarray(factors, np.float32)
