"""Hits off the grid of translations and scales."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from sketchseek.search.collection import Collection
from sketchseek.search.ranking import Ranking
from sketchseek.shape.descriptor import decode
from sketchseek.shape.query import Query, turned_fit
from sketchseek.shape.settings import Settings

from .alignment import Start, refine_pose

FINER = 4
"""Steps between one scale of the query and the next that are tried."""


def refine(collection: Collection, query: Query, ranking: Ranking) -> Ranking:
    """The same hits in the same order with the same scores, placed off the grid."""
    return replace(refined_pose(collection, query, ranking), score=ranking.score)


def refined_pose(collection: Collection, query: Query, ranking: Ranking) -> Ranking:
    """The same hits in the same order, off the grid of translations and scales, with the scores there.

    Scales between those of the query are tried around each hit's own, their kernels' weights interpolated; at
    each the translation climbs to the polynomial's maximum, at most one step of the grid away.
    """
    if len(ranking) == 0:
        return ranking
    settings = query.settings
    turns, turn = np.unique(ranking.rotation, return_inverse=True)
    ladder = Query.of(query.points, _ladder(settings), rotations=tuple(float(r) for r in turns))
    scales = np.sort(settings.scales)
    fits = np.array([turned_fit(query.points, float(r)) for r in turns])[turn]
    own = np.abs(scales[:, None] - ranking.scale / fits).argmin(axis=0)
    lowest = turn * len(ladder.settings.scales)
    start = Start(
        first=lowest + FINER * np.maximum(own - 1, 0),
        last=lowest + FINER * np.minimum(own + 1, len(scales) - 1) + 1,
        mirrored=ranking.mirrored,
        dx=ranking.dx.astype(np.float64),
        dy=ranking.dy.astype(np.float64),
        within=settings.translation_step * ranking.scale / fits,
    )
    stored = collection.vectors[ranking.rows]
    vectors = decode(stored, settings) if stored.dtype == np.int8 else stored
    found = refine_pose(vectors, ladder, start)
    known = np.isfinite(found.score)
    scale = np.where(known, ladder.scales[found.pose], ranking.scale).astype(np.float32)
    score = np.where(known, found.score, ranking.score).astype(np.float32)
    return replace(ranking, score=score, scale=scale, dx=found.dx, dy=found.dy)


@lru_cache(maxsize=8)
def _ladder(settings: Settings) -> Settings:
    """The settings' scales, ascending, in `FINER` steps from one to the next, with their kernels' weights."""
    order = np.argsort(settings.scales)
    scales, weights = np.asarray(settings.scales)[order], np.asarray(settings.weights)[order]
    positions = np.linspace(0, len(scales) - 1, FINER * (len(scales) - 1) + 1)
    sizes = np.exp(np.interp(positions, np.arange(len(scales)), np.log(scales)))
    mixed = np.transpose([np.interp(sizes, scales, column) for column in weights.T])
    return replace(settings, scales=tuple(sizes.tolist()), weights=tuple(map(tuple, mixed.tolist())))
