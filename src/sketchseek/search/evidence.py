"""What speaks for the hits of a search, and against them: a row of features a hit.

A score means little alone. What means something is how it stands out from what this collection gives for this
drawing, how evenly the drawing is there, whether shape and network agree, and how much there was to find in
the first place (docs/confidence.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contours.made_up import random_curves
from ..shape.query import Query
from ..shape.settings import FULL, Settings
from .evenness import evenness
from .ranking import Collection, Ranking

if TYPE_CHECKING:
    from ..depiction.pictures import Query as Asked
    from ..depiction.pictures import Rows
    from ..depiction.reference import Reference, Usually

Floats = NDArray[np.float64]

USUAL = 256
"""Pictures, evenly from all over a collection, that say what a usual score is."""
FEW = 24
"""A collection of fewer pictures says little about what is usual: made-up ones fill up the number."""
SAME = 0.85
"""From this match on a picture begins to look the same as the drawing."""
JUDGED = 50
"""First hits that are looked at whatever is asked for, so that what is said of them does not depend on it."""
LOOKED_AT = 20
"""Hits whose evenness is looked at; those further down have that of the last of these."""

LIKEST = 20
"""Pictures that are most like the drawing, of a tenth of a small collection."""

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
    "network's likest",
    "network's tail",
    "flat art",
    "first hits alike",
    "like the first hits",
    "others like the first hits",
    "tail",
    "as good by shape",
    "as good by network",
    "match",
    "looks the same",
    "best match",
    "best match beside the second",
    "rank",
)
"""The columns of `features`.

Of the hit itself are its "cosine", by how many deviations it "stands out" from usual pictures, its
"evenness", the product of the two ("match"), whether it all but "looks the same", "what orders" it, its
"rank", whether it is "line art", and how many usual pictures are nearly "as good by shape"; of the search,
the same for all its hits, how many "pictures" there are, the "length drawn" and its "simplicity" (how
concentrated it is), by how much the best hit stands out from usual pictures, from the tenth and from the
second, and the "tail" of usual scores. The others are 0 without a network; src/cpp/search/confidence.hpp has
the same in the same order.
"""


LIKENESS = (
    "first five",
    "best",
    "best five",
    "best twenty",
    "mean of the first",
    "three alike",
    "photographs in general",
    "their spread",
    "their best",
    "best beside them",
)
"""The columns of `likeness`: by how many deviations of unrelated drawings the drawing is more like a picture.

Of the "first five" hits, of those photographs in the whole collection that are most like it ("best", their
means), of the "mean of the first" hits' descriptors, and of the best mean of "three alike"; then what the
same drawing has with photographs of other things, elsewhere: the mean, the spread, the best ten, and how far
the best here is beyond them.
"""


@dataclass(frozen=True)
class Opinion:
    """What a network says of a search.

    name : of the network. cosine : (k,) of the hits' descriptors with the drawing's. usual : (m,) those of
    usual pictures. alike : the mean cosine of the first hits' descriptors with one another. near : (k,) the
    hits' cosines with the mean of the first ten; crowd : the share of usual pictures nearly as near to it.
    likest : the mean of the largest cosines with the drawing in the whole collection. flat_art : which share
    of its pictures are flat art. likeness : (len(LIKENESS),); None unless most of the first hits are
    photographs, of which alone it speaks.
    """

    name: str
    cosine: NDArray[np.floating[Any]]
    usual: NDArray[np.floating[Any]]
    alike: float
    near: NDArray[np.floating[Any]]
    crowd: float
    likest: float
    flat_art: float
    likeness: Floats | None

    @classmethod
    def of(
        cls,
        name: str,
        asked: Asked,
        hits: Rows,
        usual: Rows,
        others: Rows,
        *,
        pictures: int,
        flat_art: float,
        reference: Reference,
        photograph: bool = False,
    ) -> Opinion:
        """From descriptors: what was asked, (d,) or (2, d), the hits', best first, those of usual pictures,
        and of those most like it that are not among the first `LOOKED_AT` hits.

        pictures : how many there are to answer with. flat_art : see `Pictures`. reference : what the network
        sees in general. photograph : whether a photograph was asked for, rather than a drawing.
        """
        first = hits.vectors[:10]
        n, total = len(first), first.sum(axis=0)
        alike = (float(total @ total) - n) / (n * (n - 1)) if n > 1 else 0.0
        total /= max(float(np.linalg.norm(total)), 1e-9)
        near = hits.vectors @ total
        crowd = (
            float(np.mean(usual.vectors @ total > 0.7 * near[:10].mean())) if len(usual.kinds) and n else 0.0
        )
        best = hits[:LOOKED_AT] + others
        largest = np.sort(best.cosines(asked))[::-1][: min(max(pictures // 10, 1), LIKEST)]
        mean = float(largest.mean()) if len(largest) else 0.0
        said = None
        if (hits[:5].kinds == 0).sum() > (hits[:5].kinds != 0).sum():
            found = hits[:LOOKED_AT].vectors[hits[:LOOKED_AT].kinds == 0]
            said = likeness(
                asked if asked.ndim == 1 else asked[0],
                found[: min(max(pictures // 10, 1), 10)],
                found[:5],
                best.vectors[best.kinds == 0],
                usually=reference.for_photographs if photograph else reference.for_drawings,
            )
        return cls(name, hits.cosines(asked), usual.cosines(asked), alike, near, crowd, mean, flat_art, said)


def likeness(
    query: NDArray[np.float32],
    first: NDArray[np.float32],
    few: NDArray[np.float32],
    best: NDArray[np.float32],
    usually: Usually,
) -> Floats:
    """(len(LIKENESS),) of a drawing (d,), from descriptors of photographs: (n, d) each, of length 1.

    first, few : hits, one at least. best : these and the likest. usually : what is usual elsewhere.
    """
    neighbours = np.argsort(-(best @ best.T), axis=1, kind="stable")[:, :3]
    means = np.concatenate([first.mean(axis=0, keepdims=True), best[neighbours].mean(axis=1)])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    here, groups = usually.cohort.deviations(query, best), usually.cohort.deviations(query, means)
    there = usually.elsewhere(query)
    ordered, spread = np.sort(here)[::-1], max(float(there.std()), 1e-3)
    found = {
        "first five": usually.cohort.deviations(query, few).mean(),
        "best": ordered[0],
        "best five": ordered[:5].mean(),
        "best twenty": ordered[:20].mean(),
        "mean of the first": groups[0],
        "three alike": groups[1:].max(),
        "photographs in general": there.mean(),
        "their spread": spread,
        "their best": np.sort(there)[-10:].mean(),
        "best beside them": (ordered[0] - there.mean()) / spread,
    }
    return np.array([found[name] for name in LIKENESS], np.float64)


def features(
    collection: Collection,
    query: Query,
    ranking: Ranking,
    *,
    order: NDArray[np.floating[Any]],
    is_line_art: NDArray[np.bool_],
    opinion: Opinion | None = None,
    threads: int | None = None,
) -> Floats:
    """(k, len(NAMES)) for the k first hits of a ranking.

    order : (k,) what orders the hits. is_line_art : (k,). opinion : None where there is no network.
    """
    k = len(ranking)
    spread = np.unique(np.linspace(0, len(collection) - 1, min(len(collection), USUAL)).astype(np.int64))
    usual = collection.engine.scores(query, collection.whole(spread), threads)
    if len(usual) < FEW:
        blanks = made_up(query.settings).engine.scores(query, threads=threads)
        usual = np.concatenate([usual, blanks[len(usual) :]])
    mean, width = _moments(usual)
    as_good = _share_above(usual, 0.9 * ranking.score)
    shape = (ranking.score - mean) / width
    best_shape = np.sort(shape[:JUDGED])[::-1]
    some = ranking.take(slice(LOOKED_AT))
    even = np.zeros(k)
    even[: len(some)] = evenness(collection, query, some)
    even[len(some) :] = even[len(some) - 1] if len(some) else 0.0
    match = ranking.score * even
    best = np.sort(match[:LOOKED_AT])[::-1] if k else np.zeros(1)
    net, net_out, near, net_as_good = (np.zeros(k) for _ in range(4))
    tail = alike = crowd = likest = flat_art = 0.0
    if opinion is not None:
        mean, width = _moments(opinion.usual, at_least=0.05)
        net = np.asarray(opinion.cosine, np.float64)
        net_out = (net - mean) / width
        near, net_as_good = np.asarray(opinion.near), _share_above(opinion.usual, 0.9 * net)
        tail, alike, crowd = _tail(opinion.usual), opinion.alike, np.log10(opinion.crowd + 0.001)
        likest, flat_art = opinion.likest, opinion.flat_art
    best_net = np.sort(net_out[:JUDGED])[::-1]
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
        "best stands out": np.full(k, best_shape.max(initial=0.0)),
        "best beside the tenth": np.full(k, _beside_tenth(best_shape)),
        "network's best": np.full(k, best_net.max(initial=0.0)),
        "network's best beside the tenth": np.full(k, _beside_tenth(best_net)),
        "agreement": np.full(k, float(np.mean(shape[:10] * net_out[:10])) if k else 0.0),
        "network's likest": np.full(k, likest),
        "network's tail": np.full(k, tail),
        "flat art": np.full(k, flat_art),
        "first hits alike": np.full(k, alike),
        "like the first hits": near,
        "others like the first hits": np.full(k, crowd),
        "tail": np.full(k, _tail(usual)),
        "as good by shape": as_good,
        "as good by network": net_as_good,
        "match": match,
        "looks the same": np.clip((match - SAME) / (1 - SAME), 0, 1),
        "best match": np.full(k, best[0]),
        "best match beside the second": np.full(k, best[0] - best[min(1, len(best) - 1)]),
        "rank": np.log(np.arange(1, k + 1)),
    }
    return np.stack([np.asarray(rows[name], np.float64) for name in NAMES], axis=1)


def _beside_tenth(best_first: Floats) -> float:
    return float(best_first[0] - best_first[min(9, len(best_first) - 1)]) if len(best_first) else 0.0


def _tail(values: NDArray[Any]) -> float:
    """The third moment's root: above 0 where some stand out, below where some fall behind."""
    if len(values) == 0:
        return 0.0
    away = values - values.mean(dtype=np.float64)
    return float(np.cbrt(np.mean((away / max(float(np.std(away)), 1e-6)) ** 3)))


def _share_above(usual: NDArray[Any], values: NDArray[Any]) -> Floats:
    """(k,) the logarithm of the share of usual ones that are above each value, one more than there are."""
    ordered = np.sort(usual)
    above = len(ordered) - np.searchsorted(ordered, values)
    return np.asarray(np.log10((above + 1) / (len(ordered) + 1)))


def _moments(values: NDArray[Any], at_least: float = 0.02) -> tuple[float, float]:
    if len(values) == 0:
        return 0.0, at_least
    return float(values.mean()), max(float(values.std()), at_least)


@lru_cache(maxsize=4)
def made_up(settings: Settings) -> Collection:
    """Contours of nothing in particular."""
    return Collection.of((random_curves(seed) for seed in range(FEW)), settings)
