"""How evenly a drawing is there: a thing that was found shows all of its lines, clutter shows some of them.

The cosine is a mean over the drawing's points of how densely the picture's contours lie there, in the same
direction, so that half a drawing matched twice as well scores the same. Here the densities are looked at one
by one, from the stored vector: their evenness is the mean of their roots by the root of their mean
(docs/views.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..maps.components import columns
from ..shape.descriptor import decode
from ..shape.query import Query, posed, turned_fit
from ..shape.settings import RADIANS, Floats, Settings
from .ranking import Collection, Ranking

SAMPLES = 96
"""Points of the drawing that are looked at, evenly along its lines."""


def evenness(collection: Collection, query: Query, ranking: Ranking) -> NDArray[np.float64]:
    """(k,) in [0, 1]: 1 where all of the drawing is matched equally well, lower the more is missing."""
    if len(ranking) == 0 or len(query.points) == 0:
        return np.zeros(len(ranking))
    drawn = query.points.weight[sampled(query)].astype(np.float64)
    dense = np.maximum(densities(collection, query, ranking), 0)
    roots, mean = np.sqrt(dense) @ (drawn / drawn.sum()), np.sqrt(dense @ (drawn / drawn.sum()))
    even: NDArray[np.float64] = np.divide(roots, mean, out=np.zeros(len(ranking)), where=mean > 0)
    return even


def densities(collection: Collection, query: Query, ranking: Ranking) -> Floats:
    """(k, n): how densely the contours of each hit lie at the drawing's points, where it was placed.

    In units of each vector's own; the kernel is that of the hit's scale.
    """
    settings = query.settings
    stored = collection.vectors[ranking.rows]
    vectors = decode(stored, settings) if stored.dtype == np.int8 else stored
    centred = _moved(vectors.reshape(-1, *settings.shape), ranking, settings).reshape(len(ranking), -1)
    out = np.empty((len(ranking), len(sampled(query))), np.float32)
    poses = np.stack([ranking.scale, ranking.rotation, ranking.mirrored], axis=1)
    kinds, kind = np.unique(poses, axis=0, return_inverse=True)
    for i, (scale, rotation, mirrored) in enumerate(kinds.tolist()):
        mine = np.flatnonzero(kind.ravel() == i)
        out[mine] = centred[mine] @ _side(query, scale, rotation, bool(mirrored)).T
    return out


def sampled(query: Query) -> NDArray[np.intp]:
    """Which of the drawing's points are looked at."""
    n = len(query.points)
    return np.linspace(0, n - 1, min(n, SAMPLES)).round().astype(np.intp)


def _side(query: Query, scale: float, rotation: float, mirrored: bool) -> Floats:
    """`_points_side`, computed once for each upright pose of a query; of turned ones there are too many."""
    if rotation:
        return _points_side(query, scale, rotation, mirrored)
    key = (scale, mirrored)
    if key not in query.remembered:
        query.remembered[key] = _points_side(query, scale, rotation, mirrored)
    return query.remembered[key]


def _points_side(query: Query, scale: float, rotation: float, mirrored: bool) -> Floats:
    """(n, D): the query side of each sampled point on its own, in a pose (`map_asym1`)."""
    settings, chosen = query.settings, sampled(query)
    points = posed(query.points, scale, rotation)
    points = points.mirrored() if mirrored else points
    x, y = (columns(a[chosen] * RADIANS, settings.frequencies) for a in (points.x, points.y))
    o = columns(2 * points.angle[chosen], settings.orientation_frequencies)
    plane = (x[:, :, None] * y[:, None, :]).reshape(len(chosen), -1, 1)
    each = (plane * o[:, None, :]).reshape(len(chosen), -1)
    size = scale / turned_fit(query.points, rotation)
    kernel = int(np.abs(np.asarray(settings.scales) - size).argmin())
    weighted: Floats = (each * settings.component_weights[kernel]).astype(np.float32)
    return weighted


def _moved(vectors: NDArray[Any], ranking: Ranking, settings: Settings) -> NDArray[Any]:
    """Vectors (k, Dx, Dx, Do) of the contours as seen from where the drawing lies."""
    frequencies = np.asarray(settings.frequencies[1:])
    for axis, shift in ((1, ranking.dx), (2, ranking.dy)):
        phase = (shift[:, None] * RADIANS * frequencies).astype(np.float32)
        cos, sin = (f(phase).reshape(*phase.shape, 1, 1) for f in (np.cos, np.sin))
        lines = np.moveaxis(vectors, axis, 1)
        moved = np.empty_like(lines)
        moved[:, 0] = lines[:, 0]
        moved[:, 1::2] = cos * lines[:, 1::2] + sin * lines[:, 2::2]
        moved[:, 2::2] = cos * lines[:, 2::2] - sin * lines[:, 1::2]
        vectors = np.moveaxis(moved, 1, axis)
    return vectors
