"""What orders hits: the cosine, by the norm of where the drawing lies, and by how evenly it is there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sketchseek.search.collection import Collection
from sketchseek.search.ranking import Ranking
from sketchseek.shape.query import Query

from .coverage import coverage
from .local_normalization import STRENGTH, local_scores

EVENNESS = 1.0
"""What it counts that all of the drawing is there: the power of coverage in what orders hits."""
MIRRORED = 0.99
"""What a mirrored hit's score counts, so that of two mirror images the one that was drawn comes first."""


def order_scores(
    collection: Collection,
    query: Query,
    ranking: Ranking,
    *,
    strength: float = STRENGTH,
    power: float = EVENNESS,
    is_line_art: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """(k,) what the ranking's hits are compared by: local score times coverage to the power 1 / share.

    In a window of a small share of the picture, where there are more chances to find something like the
    drawing by accident, it has to be there the more evenly.

    strength : of the local normalisation. power : 0 leaves coverage out. is_line_art : (k,) which
        hits are line art, which has no clutter.
    """
    local = local_scores(collection, query, ranking, strength, is_line_art=is_line_art)
    if power == 0:
        return np.where(ranking.mirrored, MIRRORED * local, local)
    even = coverage(collection, query, ranking) ** (power / collection.shares[ranking.rows])
    return np.where(ranking.mirrored, MIRRORED, 1.0) * local * np.where(local > 0, even, 1.0)


def reordered(ranking: Ranking, score: NDArray[np.float64]) -> tuple[Ranking, NDArray[np.float64]]:
    """The same hits by what they are compared by, best first, and that; `score` stays the cosine."""
    order = np.argsort(-score, kind="stable")
    return ranking.take(order), score[order]
