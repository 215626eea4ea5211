"""What speaks for the hits of a search, and against them: a row of features a hit.

A score means little alone. What means something is how it stands out from what this collection gives for this
drawing, how evenly the drawing is there, whether shape and network agree, and how much there was to find in
the first place (docs/explanation/confidence.md).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchseek.contours.synthetic import random_curves
from sketchseek.search.collection import Collection
from sketchseek.search.core import EVIDENCE
from sketchseek.search.network_evidence import NetworkEvidence
from sketchseek.search.ranking import Ranking
from sketchseek.shape.engine import Ids
from sketchseek.shape.query import Query
from sketchseek.shape.settings import FULL, Settings

from .coverage import coverage

Floats = NDArray[np.float64]

USUAL = 256
"""Pictures, from all over a collection, that say what an ordinary score is."""
HASHED = 64
"""Components of a picture's vector that choose these."""
FEW = 24
"""A collection of fewer pictures says little about what is ordinary: synthetic ones fill up the number."""
SAME = 0.85
"""From this match on a picture begins to look the same as the drawing."""
JUDGED = 50
"""First hits that are looked at whatever is asked for, so that what is said of them does not depend on it."""
LOOKED_AT = 20
"""Hits whose coverage is looked at; those further down have that of the last of these."""


def features(
    collection: Collection,
    query: Query,
    ranking: Ranking,
    *,
    order: NDArray[np.floating[Any]],
    is_line_art: NDArray[np.bool_],
    network_evidence: NetworkEvidence | None = None,
    resemblance: tuple[Floats, Floats] | None = None,
) -> Floats:
    """(k, len(EVIDENCE)) for the k first hits of a ranking.

    order : (k,) what orders the hits. is_line_art : (k,). network_evidence : None where there is no network.
    resemblance : (n,) of all pictures, cosines of the icon network and their z-scores; None where it has no
        say.
    """
    k = len(ranking)
    background = background_scores(collection, query)
    if len(background) < FEW:
        blanks = synthetic(query.settings).engine.scores(query)
        background = np.concatenate([background, blanks[len(background) :]])
    mean, width = _moments(background)
    as_good = _share_above(background, 0.9 * ranking.score)
    shape = (ranking.score - mean) / width
    best_shape = np.sort(shape[:JUDGED])[::-1]
    some = ranking.take(slice(LOOKED_AT))
    even = np.zeros(k)
    even[: len(some)] = coverage(collection, query, some)
    even[len(some) :] = even[len(some) - 1] if len(some) else 0.0
    match = ranking.score * even
    best = np.sort(match[:LOOKED_AT])[::-1] if k else np.zeros(1)
    net, net_out, near, net_as_good = (np.zeros(k) for _ in range(4))
    tail = alike = crowd = nearest = flat_art = 0.0
    if network_evidence is not None:
        mean, width = _moments(network_evidence.background, at_least=0.05)
        net = np.asarray(network_evidence.cosine, np.float64)
        net_out = (net - mean) / width
        near, net_as_good = (
            np.asarray(network_evidence.near),
            _share_above(network_evidence.background, 0.9 * net),
        )
        tail, alike, crowd = (
            _tail(network_evidence.background),
            network_evidence.alike,
            np.log10(network_evidence.crowd + 0.001),
        )
        nearest, flat_art = network_evidence.nearest, network_evidence.flat_art
    best_net = np.sort(net_out[:JUDGED])[::-1]
    drawn = float(query.points.weight.sum())
    rows = {
        "cosine": ranking.score,
        "shape z-score": shape,
        "coverage": even,
        "order score": order,
        "network cosine": net,
        "network z-score": net_out,
        "log pictures": np.full(k, np.log10(max(len(collection), 1))),
        "line art": is_line_art,
        "log length drawn": np.full(k, np.log(max(drawn, 1.0) / 400)),
        "simplicity": np.full(k, np.log(max(float(query.norms[0, FULL]), 1e-9) / max(drawn, 1e-9))),
        "best shape z-score": np.full(k, best_shape.max(initial=0.0)),
        "shape margin to the tenth": np.full(k, _beside_tenth(best_shape)),
        "best network z-score": np.full(k, best_net.max(initial=0.0)),
        "network margin to the tenth": np.full(k, _beside_tenth(best_net)),
        "agreement": np.full(k, float(np.mean(shape[:10] * net_out[:10])) if k else 0.0),
        "nearest by network": np.full(k, nearest),
        "network skewness": np.full(k, tail),
        "flat art share": np.full(k, flat_art),
        "cohesion of first hits": np.full(k, alike),
        "similarity to first hits": near,
        "background similar to first hits": np.full(k, crowd),
        "shape skewness": np.full(k, _tail(background)),
        "background above by shape": as_good,
        "background above by network": net_as_good,
        "match": match,
        "near copy": np.clip((match - SAME) / (1 - SAME), 0, 1),
        "best match": np.full(k, best[0]),
        "match margin to the second": np.full(k, best[0] - best[min(1, len(best) - 1)]),
        "log rank": np.log(np.arange(1, k + 1)),
        "icon cosine": np.zeros(k) if resemblance is None else resemblance[0][ranking.ids],
        "icon z-score": np.zeros(k) if resemblance is None else resemblance[1][ranking.ids],
        "best icon cosine": np.zeros(k),
        "icon margin to the fifth": np.zeros(k),
        "icon spread": np.zeros(k),
    }
    if resemblance is not None:
        likest, seen = np.sort(resemblance[0])[::-1], resemblance[1] != 0
        rows["best icon cosine"] += likest[0]
        rows["icon margin to the fifth"] += likest[0] - likest[min(4, len(likest) - 1)]
        rows["icon spread"] += resemblance[0][seen].std()
    return np.stack([np.asarray(rows[name], np.float64) for name in EVIDENCE], axis=1)


def ordinary(collection: Collection) -> Ids:
    """Pictures that say what an ordinary score is, by number, ascending: those of the smallest hashes, so
    that they are the same in whatever order a collection was made."""
    rows = collection.vectors[collection.whole(np.arange(len(collection)))][:, :HASHED]
    codes = (rows.astype(np.int64) + 128 if rows.dtype == np.int8 else rows.view(np.uint32)).astype(np.uint64)
    factor, mixed = 0x9E3779B97F4A7C15, np.zeros(len(codes), np.uint64)
    for column in codes.T:
        mixed += column * np.uint64(factor | 1)
        factor = (factor * 6364136223846793005 + 1442695040888963407) % 2**64
    mixed ^= mixed >> np.uint64(29)
    return np.sort(np.argsort(mixed, kind="stable")[:USUAL])


def background_scores(collection: Collection, query: Query) -> NDArray[np.float32]:
    """Those of ordinary pictures."""
    return collection.engine.scores(query, collection.whole(ordinary(collection)))


def _beside_tenth(best_first: Floats) -> float:
    return float(best_first[0] - best_first[min(9, len(best_first) - 1)]) if len(best_first) else 0.0


def _tail(values: NDArray[Any]) -> float:
    """The third moment's root: above 0 where some stand out, below where some fall behind."""
    if len(values) == 0:
        return 0.0
    away = values - values.mean(dtype=np.float64)
    return float(np.cbrt(np.mean((away / max(float(np.std(away)), 1e-6)) ** 3)))


def _share_above(background: NDArray[Any], values: NDArray[Any]) -> Floats:
    """(k,) the logarithm of the share of the background above each value, one more than there are."""
    ordered = np.sort(background)
    above = len(ordered) - np.searchsorted(ordered, values)
    return np.asarray(np.log10((above + 1) / (len(ordered) + 1)))


def _moments(values: NDArray[Any], at_least: float = 0.02) -> tuple[float, float]:
    if len(values) == 0:
        return 0.0, at_least
    return float(values.mean()), max(float(values.std()), at_least)


@lru_cache(maxsize=4)
def synthetic(settings: Settings) -> Collection:
    """Contours of nothing in particular."""
    return Collection.of((random_curves(seed) for seed in range(FEW)), settings)
