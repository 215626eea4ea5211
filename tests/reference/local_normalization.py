"""Local normalisation: what a picture shows beside the place where the drawing was found shouldn't count.

The cosine divides by the norm of the whole picture, so that a busy background lowers the score of a shape
that is perfectly there. The stored vector also says where in the picture its squared norm comes from
(`energy.py`, docs/explanation/clutter.md), and so, for any box, the share of the norm that lies inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchseek.search.collection import Collection
from sketchseek.search.ranking import Ranking
from sketchseek.shape.query import Query
from sketchseek.shape.settings import Floats, Settings

from .energy import CELLS, energy_cells, period

STRENGTH = 0.4
"""b: 0 divides by the whole picture's norm, 1 by that of the drawing's box alone. Chosen on the dev sets."""
MARGIN = 10.0
"""Pixels by which the drawing's box is widened: a kernel reaches beyond the line it lies on."""


def share_inside(cells: Floats, query: Query, ranking: Ranking) -> NDArray[np.float64]:
    """Share (k,) of each picture's energy inside the drawing's box where the ranking places it.

    cells : (k, CELLS, CELLS), those of the ranking's pictures.
    """
    x0, y0, x1, y1 = _extents(query, ranking) * ranking.scale
    inside_x = _covered(ranking.dx + x0 - MARGIN, ranking.dx + x1 + MARGIN, query.settings)
    inside_y = _covered(ranking.dy + y0 - MARGIN, ranking.dy + y1 + MARGIN, query.settings)
    share: NDArray[np.float64] = np.einsum("ki,kij,kj->k", inside_x, cells, inside_y)
    return np.clip(share, 0, 1)


def local_scores(
    collection: Collection,
    query: Query,
    ranking: Ranking,
    strength: float = STRENGTH,
    *,
    is_line_art: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """The ranking's scores (k,), divided by sqrt(1 - b + b share): at most 1 / sqrt(1 - b) times as large.

    is_line_art : (k,) which pictures are line art: those have no clutter, and their scores stay.
    """
    if not 0 <= strength < 1:
        raise ValueError(f"strength must be in [0, 1), got {strength}")
    share = np.ones(len(ranking))
    asked = np.arange(len(ranking)) if is_line_art is None else np.flatnonzero(~is_line_art)
    if len(asked):
        some = ranking.take(asked)
        share[asked] = share_inside(
            energy_cells(collection.vectors[some.rows], collection.settings), query, some
        )
    return ranking.score / np.sqrt(1 - strength + strength * share)


def _extents(query: Query, ranking: Ranking) -> NDArray[np.float64]:
    """(4, k) x0, y0, x1, y1 of the drawing at full size about its centre, turned and mirrored as hits are."""
    points = query.points
    boxes = np.empty((len(ranking), 4))
    for rotation in np.unique(ranking.rotation):
        half = np.array([points.width, points.height]) / 2
        box = np.concatenate([-half, half])
        if rotation and len(points):
            turned = points.rotated(float(rotation))
            box = np.array([turned.x.min(), turned.y.min(), turned.x.max(), turned.y.max()])
        boxes[ranking.rotation == rotation] = box
    mirrored = np.stack([-boxes[:, 2], boxes[:, 1], -boxes[:, 0], boxes[:, 3]], axis=1)
    return np.where(ranking.mirrored[:, None], mirrored, boxes).T


def _covered(low: NDArray[Any], high: NDArray[Any], settings: Settings) -> NDArray[np.float64]:
    """Share (k, CELLS) of each cell that the intervals (k,) cover, in pixels from the centre."""
    edges = (np.arange(CELLS + 1) / CELLS - 0.5) * period(settings)
    overlap = np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1])
    covered: NDArray[np.float64] = np.maximum(overlap, 0) / (edges[1] - edges[0])
    return covered
