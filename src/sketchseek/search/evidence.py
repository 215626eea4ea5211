"""What speaks for the hits of a search, and against them: a row of features a hit.

A score means little alone. What means something is how it stands out from what this collection gives for this
drawing, how evenly the drawing is there, whether shape and network agree, and how much there was to find in
the first place (docs/confidence.md).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contours.made_up import random_curves
from ..shape.query import Query
from ..shape.settings import FULL, Settings
from .evenness import evenness
from .ranking import Collection, Ranking

Floats = NDArray[np.float64]

USUAL = 256
"""Pictures, evenly from all over a collection, that say what a usual score is."""
FEW = 24
"""A collection of fewer pictures says little about what is usual: made-up ones fill up the number."""
LOOKED_AT = 50
"""Hits whose evenness is looked at; those further down have that of the last of these."""

NAMES = (
    "cosine",
    "shape stands out",
    "evenness",
    "what orders",
    "network",
    "network stands out",
    "pictures",
    "line art",
    "length drawn",
    "simplicity",
    "best stands out",
    "best beside the tenth",
    "network's best",
    "network's best beside the tenth",
    "agreement",
    "rank",
)
"""The columns of `features`. Those from "best stands out" on, but the last, are the same for all hits."""


def features(
    collection: Collection,
    query: Query,
    ranking: Ranking,
    *,
    order: NDArray[np.floating[Any]],
    is_line_art: NDArray[np.bool_],
    network: NDArray[np.floating[Any]] | None = None,
    usual_network: NDArray[np.floating[Any]] | None = None,
    threads: int | None = None,
) -> Floats:
    """(k, len(NAMES)) for the k first hits of a ranking.

    order : (k,) what orders the hits. is_line_art : (k,). network : (k,) cosines of the hits' descriptors
    with the drawing's; usual_network : (m,) those of usual pictures; None where there is no network.
    """
    k = len(ranking)
    spread = np.unique(np.linspace(0, len(collection) - 1, min(len(collection), USUAL)).astype(np.int64))
    usual = collection.engine.scores(query, collection.rows_of(spread)[_first(collection, spread)], threads)
    if len(usual) < FEW:
        blanks = made_up(query.settings).engine.scores(query, threads=threads)
        usual = np.concatenate([usual, blanks[len(usual) :]])
    mean, width = _moments(usual)
    shape = (ranking.score - mean) / width
    some = ranking.take(slice(LOOKED_AT))
    even = np.zeros(k)
    even[: len(some)] = evenness(collection, query, some)
    even[len(some) :] = even[len(some) - 1] if len(some) else 0.0
    if network is None or usual_network is None:
        net = net_out = np.zeros(k)
    else:
        mean, width = _moments(usual_network, at_least=0.05)
        net = np.asarray(network, np.float64)
        net_out = (net - mean) / width
    drawn = float(query.points.weight.sum())
    rows = {
        "cosine": ranking.score,
        "shape stands out": shape,
        "evenness": even,
        "what orders": order,
        "network": net,
        "network stands out": net_out,
        "pictures": np.full(k, np.log10(max(len(collection), 1))),
        "line art": is_line_art,
        "length drawn": np.full(k, np.log(max(drawn, 1.0) / 400)),
        "simplicity": np.full(k, np.log(max(float(query.norms[0, FULL]), 1e-9) / max(drawn, 1e-9))),
        "best stands out": np.full(k, shape.max(initial=0.0)),
        "best beside the tenth": np.full(k, _beside_tenth(np.sort(shape)[::-1])),
        "network's best": np.full(k, net_out.max(initial=0.0)),
        "network's best beside the tenth": np.full(k, _beside_tenth(np.sort(net_out)[::-1])),
        "agreement": np.full(k, float(np.mean(shape[:10] * net_out[:10])) if k else 0.0),
        "rank": np.log(np.arange(1, k + 1)),
    }
    return np.stack([np.asarray(rows[name], np.float64) for name in NAMES], axis=1)


def _first(collection: Collection, ids: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where in `rows_of(ids)` each picture's first row is, all of it."""
    pictures = collection.pictures[collection.rows_of(ids)]
    return np.flatnonzero(np.diff(pictures, prepend=-1))


def _beside_tenth(best_first: Floats) -> float:
    return float(best_first[0] - best_first[min(9, len(best_first) - 1)]) if len(best_first) else 0.0


def _moments(values: NDArray[Any], at_least: float = 0.02) -> tuple[float, float]:
    if len(values) == 0:
        return 0.0, at_least
    return float(values.mean()), max(float(values.std()), at_least)


@lru_cache(maxsize=4)
def made_up(settings: Settings) -> Collection:
    """Contours of nothing in particular."""
    return Collection.of((random_curves(seed) for seed in range(FEW)), settings)
