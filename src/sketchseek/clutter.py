"""Local normalisation: what a picture shows beside the place where the drawing was found shouldn't count.

The cosine divides by the norm of the whole picture, so that a busy background lowers the score of a shape
that is perfectly there. The stored vector also says where in the picture its squared norm comes from
(docs/clutter.md): under the square root of the kernel, V is a smoothed picture of its contours, and by
Parseval's theorem the norm is that picture's energy. Summed in 8 x 8 cells it gives, for any box, the share
of the norm that lies inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .contours.points import FRAME
from .descriptor import Floats, Query, Settings, decode, feature_map
from .ranking import Collection, Ranking

CELLS = 8
STRENGTH = 0.4
"""b: 0 divides by the whole picture's norm, 1 by that of the drawing's box alone. Chosen on the dev sets."""
MARGIN = 10.0
"""Pixels by which the drawing's box is widened: a kernel reaches beyond the line it lies on."""
CANDIDATES = 500
"""How many of the best by the plain score are looked at, at least."""
SAMPLES = 3
"""Samples of the energy a cell, along each axis: it has twice the frequencies of the vector."""


def energy_cells(vectors: NDArray[Any], settings: Settings) -> Floats:
    """Where the squared norm of each vector comes from: (n, D) -> (n, CELLS, CELLS) of sum 1, x first.

    The cells tile one period of the maps, centred on the picture's centre. The middle kernel stands for all.
    A blank picture has zeros.
    """
    cube = vectors.reshape(len(vectors), *settings.shape)
    if cube.dtype == np.int8:
        cube = decode(vectors, settings).reshape(cube.shape)
    weights = np.asarray(settings.weights[len(settings.weights) // 2])
    # Square root of the kernel: its coefficients' squares are the kernel's. A cosine's mean square is a half.
    root = np.sqrt(weights * np.where(np.arange(len(weights)) > 0, 2.0, 1.0))
    along = feature_map(_samples(settings), settings.frequencies) * _both(root)
    orientation = _both(np.asarray(settings.orientation_weights))
    energy = np.zeros((len(cube), len(along), len(along)), np.float32)
    for component, weight in enumerate(orientation):
        smooth = along @ cube[..., component] @ along.T
        energy += np.float32(weight) * smooth * smooth
    cells = energy.reshape(-1, CELLS, SAMPLES, CELLS, SAMPLES).sum(axis=(2, 4))
    total = cells.sum(axis=(1, 2), keepdims=True)
    shares: Floats = np.divide(cells, total, out=np.zeros_like(cells), where=total > 0)
    return shares


def share_inside(cells: Floats, query: Query, ranking: Ranking) -> NDArray[np.float64]:
    """Share (k,) of each picture's energy inside the drawing's box where the ranking places it.

    cells : (k, CELLS, CELLS), those of the ranking's pictures.
    """
    half_x = query.points.width * ranking.scale / 2 + MARGIN
    half_y = query.points.height * ranking.scale / 2 + MARGIN
    inside_x = _covered(ranking.dx - half_x, ranking.dx + half_x, query.settings)
    inside_y = _covered(ranking.dy - half_y, ranking.dy + half_y, query.settings)
    share: NDArray[np.float64] = np.einsum("ki,kij,kj->k", inside_x, cells, inside_y)
    return np.clip(share, 0, 1)


def local_scores(
    collection: Collection, query: Query, ranking: Ranking, strength: float = STRENGTH
) -> NDArray[np.float64]:
    """The ranking's scores (k,), divided by sqrt(1 - b + b share): at most 1 / sqrt(1 - b) times as large."""
    if not 0 <= strength < 1:
        raise ValueError(f"strength must be in [0, 1), got {strength}")
    share = share_inside(energy_cells(collection.vectors[ranking.ids], query.settings), query, ranking)
    return ranking.score / np.sqrt(1 - strength + strength * share)


def reordered(
    collection: Collection, query: Query, ranking: Ranking, k: int | None = None, strength: float = STRENGTH
) -> tuple[Ranking, NDArray[np.float64]]:
    """The same hits by their local scores, the best k of them, and those scores; `score` stays the cosine.

    For the k best of a collection, give a ranking that is longer: whatever scores less than sqrt(1 - b) times
    the k-th cannot come in.
    """
    local = local_scores(collection, query, ranking, strength)
    order = np.argsort(-local, kind="stable")[:k]
    return ranking.take(order), local[order]


def _period(settings: Settings) -> float:
    """Pixels after which the maps come round, nearly: the joint frequencies are close to multiples of one."""
    return 2 * FRAME / settings.frequencies[1]


def _samples(settings: Settings) -> NDArray[np.float32]:
    """Middles of CELLS * SAMPLES stretches of one period, in radians."""
    n = CELLS * SAMPLES
    middles = (np.arange(n) + 0.5) / n - 0.5
    return (middles * _period(settings) * np.pi / FRAME).astype(np.float32)


def _covered(low: NDArray[Any], high: NDArray[Any], settings: Settings) -> NDArray[np.float64]:
    """Share (k, CELLS) of each cell that the intervals (k,) cover, in pixels from the centre."""
    edges = (np.arange(CELLS + 1) / CELLS - 0.5) * _period(settings)
    overlap = np.minimum(high[:, None], edges[1:]) - np.maximum(low[:, None], edges[:-1])
    covered: NDArray[np.float64] = np.maximum(overlap, 0) / (edges[1] - edges[0])
    return covered


def _both(weights: NDArray[np.float64]) -> NDArray[np.float32]:
    """A weight for each component, constant, cosine, sine, ..., from a weight for each frequency."""
    return np.repeat(weights, 2)[1:].astype(np.float32)
