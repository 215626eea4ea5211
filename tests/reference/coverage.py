"""How evenly a drawing is there: a thing that was found shows all of its lines, clutter shows some of them.

The cosine is a mean over the drawing's points of how densely the picture's contours lie there, in the same
direction, so that half a drawing matched twice as well scores the same. Here the densities are looked at one
by one, from the stored vector: their coverage is the mean of their roots by the root of their mean
(docs/explanation/windows.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sketchseek.search.collection import Collection
from sketchseek.search.ranking import Ranking
from sketchseek.shape.query import Query, turned_fit
from sketchseek.shape.settings import Floats

from . import kernels as native

SAMPLES = 96
"""Points of the drawing that are looked at, evenly along its lines."""


def coverage(collection: Collection, query: Query, ranking: Ranking) -> NDArray[np.float64]:
    """(k,) in [0, 1]: 1 where all of the drawing is matched equally well, lower the more is missing."""
    if len(ranking) == 0 or len(query.points) == 0:
        return np.zeros(len(ranking))
    drawn = query.points.weight[sampled(query)].astype(np.float64)
    drawn /= drawn.sum()
    dense = np.maximum(densities(collection, query, ranking), 0)
    # Not a product of matrices, which gives a row more or less by where it is: equal hits stay in order.
    roots, mean = (np.sqrt(dense) * drawn).sum(axis=1), np.sqrt((dense * drawn).sum(axis=1))
    even: NDArray[np.float64] = np.divide(roots, mean, out=np.zeros(len(ranking)), where=mean > 0)
    return even


def densities(collection: Collection, query: Query, ranking: Ranking) -> Floats:
    """(k, n): how densely the contours of each hit lie at the drawing's points, where it was placed.

    In units of each vector's own; the kernel is that of the hit's scale.
    """
    settings, some = query.settings, query.points.take(sampled(query))
    # The poses that there are: a complex number each, the scale negative where it is mirrored.
    signed = np.where(ranking.mirrored, -ranking.scale, ranking.scale)
    kinds, kind = np.unique(signed + 1j * ranking.rotation, return_inverse=True)
    poses, sizes = np.empty((len(kinds), 3, len(some)), np.float32), np.empty(len(kinds))
    for i, (scale, rotation) in enumerate(zip(kinds.real.tolist(), kinds.imag.tolist(), strict=True)):
        turned = some.rotated(rotation) if rotation else some
        points = turned.scaled(abs(scale))
        points = points.mirrored() if scale < 0 else points
        poses[i] = points.x, points.y, points.angle
        sizes[i] = abs(scale) / turned_fit(query.points, rotation)
    kernels = np.abs(np.asarray(settings.scales) - sizes[:, None]).argmin(axis=1)
    shifts = np.stack([ranking.dx, ranking.dy], axis=1)
    vectors = collection.vectors[ranking.rows]
    return native.densities(vectors, settings, poses, kernels=kernels, pose=kind, shifts=shifts)


def sampled(query: Query) -> NDArray[np.intp]:
    """Which of the drawing's points are looked at."""
    n = len(query.points)
    return np.linspace(0, n - 1, min(n, SAMPLES)).round().astype(np.intp)
