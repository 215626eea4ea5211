"""The engine's protocol by `alignment.py`, in blocks: what the others are tested against."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sketchseek.shape.descriptor import decode
from sketchseek.shape.engine import Groups, Ids, Scores, best_of_groups, check_top
from sketchseek.shape.engine.native import NativeEngine
from sketchseek.shape.placement import Placement
from sketchseek.shape.query import Query
from sketchseek.shape.settings import Settings

from .alignment import Start, align, align_near, align_projection, refine_pose
from .energy import energy_cells

_BLOCK = 2000


class ReferenceEngine:
    """Vectors (n, D), int8 or float32, and their norms (n, S, 3)."""

    def __init__(self, vectors: ArrayLike, norms: ArrayLike, settings: Settings) -> None:
        self._vectors, self._norms = np.asarray(vectors), np.asarray(norms, np.float32)
        self._settings = settings

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def host(self) -> NativeEngine:
        """For the look, which is the core's."""
        return NativeEngine(self._vectors, self._norms, self._settings)

    def scores(self, query: Query, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """See `Engine.scores`."""
        return self.locate(query, ids, threads=threads).score

    def top(
        self,
        query: Query,
        k: int,
        threads: int | None = None,
        *,
        groups: Groups | None = None,
        prior: Scores | None = None,
    ) -> tuple[Ids, Scores]:
        """See `Engine.top`."""
        groups, prior = check_top(len(self), k, groups, prior)
        return best_of_groups(self.scores(query, threads=threads), k, groups, prior)

    def project(self, query: Query, axis: int, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """See `Engine.project`."""
        parts = [align_projection(v, n, query, axis) for v, n in self._blocks(ids)]
        return np.concatenate([np.empty(0, np.float32), *parts])

    def locate(
        self,
        query: Query,
        ids: Ids | None = None,
        guide: str | None = None,
        neighborhood: int = 3,
        threads: int | None = None,
    ) -> Placement:
        """See `Engine.locate`."""
        find: Callable[..., Placement] = align
        options = {}
        if guide is not None:
            find, options = align_near, {"guide": guide, "neighborhood": neighborhood}
        parts = [find(v, n, query, **options) for v, n in self._blocks(ids)]
        parts = parts or [find(self._vectors[:0], self._norms[:0], query, **options)]
        return Placement(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Placement)))

    def refine_pose(self, query: Query, ids: Ids, start: Start, threads: int | None = None) -> Placement:
        """See `alignment.refine_pose`."""
        return refine_pose(self._decoded(ids), query, start)

    def energy(self, ids: Ids, threads: int | None = None) -> Scores:
        """See `energy.energy_cells`."""
        return energy_cells(self._decoded(ids), self._settings)

    def _decoded(self, ids: Ids) -> NDArray[Any]:
        vectors = self._vectors[ids]
        return decode(vectors, self._settings) if vectors.dtype == np.int8 else vectors

    def _blocks(self, ids: Ids | None) -> Iterator[tuple[NDArray[Any], Scores]]:
        chosen = np.arange(len(self)) if ids is None else np.asarray(ids)
        for start in range(0, len(chosen), _BLOCK):
            rows = chosen[start : start + _BLOCK]
            yield self._decoded(rows), self._norms[rows]
