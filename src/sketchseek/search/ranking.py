"""The paper's ways of ranking a collection for one query, by their names.

exhaustive : the exact two-dimensional alignment of every picture, the default.
projections : rank by the sum of the two projections' scores, then re-rank a shortlist of S.
dpf : discriminative projection first: one projection of all, the other only for the best 3 S, then as above.

The shortlist is re-ranked `exact` (the whole grid), by the `binary` polynomial or by `local` refinement of
the projections' translations, the last two in an N x N neighbourhood. As in the paper, these two refine one
pose, the best by signs or by the projections; `binary-all` and `local-all` refine every scale and mirror.
What is not on the shortlist follows in the order of the projections.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..shape.engine import Engine, Ids, Scores, best_of_groups
from ..shape.engine.ids import is_among
from ..shape.engine.native import select
from ..shape.placement import Placement
from ..shape.query import Query
from ..shape.settings import X, Y
from .collection import Collection

METHODS = ("exhaustive", "projections", "dpf")
RERANKINGS = ("exact", "binary", "local", "binary-all", "local-all")
PRE_SHORTLIST = 3
"""How many times the shortlist `dpf` keeps after its first projection."""


@dataclass(frozen=True)
class Ranking:
    """Pictures, best first, and where in them the drawing is.

    ids : (k,) picture numbers. rows : (k,) the collection's rows, the windows in which they show the drawing.
    score : (k,) cosine in [-1, 1]. scale, rotation : (k,) the drawing's pose. mirrored : (k,) bool.
    dx, dy : (k,) pixels of the window's frame of 400, from its centre to the drawing's.
    """

    ids: Ids
    rows: Ids
    score: NDArray[np.float32]
    scale: NDArray[np.float32]
    rotation: NDArray[np.float32]
    mirrored: NDArray[np.bool_]
    dx: NDArray[np.float32]
    dy: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.ids)

    def __add__(self, following: Ranking) -> Ranking:
        """These hits, then the others."""
        both = {
            field.name: np.concatenate([getattr(self, field.name), getattr(following, field.name)])
            for field in fields(self)
        }
        return Ranking(**both)

    def take(self, which: slice | NDArray[np.integer[Any]]) -> Ranking:
        """Some of the hits, by their places, in that order."""
        return Ranking(**{field.name: getattr(self, field.name)[which] for field in fields(self)})

    def best_of_pictures(self) -> Ranking:
        """Of each picture the hit that comes first."""
        _, first = np.unique(self.ids, return_index=True)
        return self if len(first) == len(self) else self.take(np.sort(first))


def rank(
    collection: Collection,
    query: Query,
    *,
    method: str = "exhaustive",
    k: int | None = None,
    shortlist: int | None = None,
    rerank: str = "exact",
    neighborhood: int = 3,
    threads: int | None = None,
) -> Ranking:
    """The k best pictures (all when k is None), ties by picture number."""
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    if rerank not in RERANKINGS:
        raise ValueError(f"rerank must be one of {', '.join(RERANKINGS)}, got {rerank!r}")
    if k is not None and k < 1:
        raise ValueError(f"k must be positive, got {k}")
    if query.settings != collection.settings:
        raise ValueError("query and collection must have the same settings")
    engine = collection.engine
    if method == "exhaustive":
        rows = np.arange(len(engine))
        if k is not None and k < len(collection):
            rows = collection.top(query, k, threads)
        return _ranking(collection, rows, engine.locate(query, rows, threads=threads), query, k)
    size = default_shortlist(len(engine)) if shortlist is None else shortlist
    if size < 0:
        raise ValueError(f"shortlist must not be negative, got {size}")
    total = _projected(collection, query, method, size, threads)
    rows = _among(total, size)
    if rerank == "exact" and k is not None and k < len(rows):  # only what is returned needs a place
        scores = collection.weighted(engine.scores(query, rows, threads), rows)
        some = select(
            scores, min(k * collection.most_windows, len(rows))
        )  # the k best pictures are among them
        rows = rows[some]
        rows = rows[best_of_groups(scores[some], k, collection.pictures[rows], None)[0]]
    if rerank == "local":
        placed = _refine_locally(engine, query, rows, neighborhood, threads)
    else:
        guide = None if rerank == "exact" else rerank
        placed = engine.locate(query, rows, guide, neighborhood, threads)
    found = _ranking(collection, rows, placed, query, k)
    wanted = len(collection) if k is None else min(k, len(collection))
    if len(found) >= wanted:
        return found
    following = collection.pictures[best_first(total, len(total))].astype(np.int64)
    following = following[np.sort(np.unique(following, return_index=True)[1])]
    tail = following[~is_among(following, found.ids)][: wanted - len(found)]
    return found + located(collection, query, tail, threads)


def default_shortlist(rows: int) -> int:
    """A tenth of a small collection; 50,000, as in the paper, of a large one."""
    return max(1000, min(rows // 10, 50_000))


def _projected(collection: Collection, query: Query, method: str, size: int, threads: int | None) -> Scores:
    """What names the shortlist, of every row: the sum of its projections' scores, times its prior.

    With `dpf` the second projection is only computed for the best 3 `size` by the first; whoever is not among
    those comes after them, by the first alone.
    """
    engine, everything = collection.engine, np.arange(len(collection.engine))
    if method == "projections":
        both = engine.project(query, X, threads=threads) + engine.project(query, Y, threads=threads)
        return collection.weighted(both, everything)
    first = query.first_projection
    one = collection.weighted(engine.project(query, first, threads=threads), everything)
    rows = _among(one, PRE_SHORTLIST * size)
    other = engine.project(query, Y if first == X else X, rows, threads)
    both = one[rows] + collection.weighted(other, rows)
    one -= 4  # cosines: below every sum of two
    one[rows] = both
    return one


def _refine_locally(
    engine: Engine, query: Query, ids: Ids, neighborhood: int, threads: int | None
) -> Placement:
    """Near the projections' translations, "only on the best scale found by the ranking method".

    The best pose of a picture is the one whose two projections' cosines have the largest sum.
    """
    poses = [(p, m) for p in range(len(query)) for m in ((False, True) if query.mirror else (False,))]
    alone = [query.alone(pose, mirrored) for pose, mirrored in poses]
    sums = [engine.project(q, X, ids, threads) + engine.project(q, Y, ids, threads) for q in alone]
    chosen = np.argmax(sums, axis=0)
    found = engine.locate(alone[0], ids, "local-all", neighborhood, threads)
    for i, (pose, mirrored) in enumerate(poses):
        rows = np.flatnonzero(chosen == i)
        part = engine.locate(alone[i], ids[rows], "local-all", neighborhood, threads)
        for name in ("score", "dx", "dy"):
            getattr(found, name)[rows] = getattr(part, name)
        found.pose[rows], found.mirrored[rows] = pose, mirrored
    return found


def _among(scores: Scores, size: int) -> Ids:
    """The numbers of the `size` largest, ascending."""
    return select(scores, size) if size else np.zeros(0, np.int64)


def best_first(scores: NDArray[np.float32], k: int) -> Ids:
    """Positions of the k largest, best first, ties by position."""
    return np.argsort(-scores, kind="stable")[:k]


def located(collection: Collection, query: Query, ids: Ids, threads: int | None = None) -> Ranking:
    """Where the drawing is in given pictures, in their order, however they were ranked."""
    found = every_window(collection, query, ids, threads)
    best = found.take(best_first(collection.weighted(found.score, found.rows), len(found)))
    known, first = np.unique(best.ids, return_index=True)
    return best.take(first[np.searchsorted(known, ids)])


def every_window(collection: Collection, query: Query, ids: Ids, threads: int | None = None) -> Ranking:
    """Where the drawing is in each window of given pictures, picture after picture."""
    rows = collection.rows_of(np.asarray(ids))
    return _placed(collection, rows, collection.engine.locate(query, rows, threads=threads), query)


def _ranking(collection: Collection, rows: Ids, found: Placement, query: Query, k: int | None) -> Ranking:
    placed = _placed(collection, rows, found, query)
    ordered = placed.take(best_first(collection.weighted(found.score, rows), len(rows)))
    return ordered.best_of_pictures().take(slice(k))


def _placed(collection: Collection, rows: Ids, found: Placement, query: Query) -> Ranking:
    return Ranking(
        ids=collection.pictures[rows].astype(np.int64),
        rows=np.asarray(rows),
        score=found.score,
        scale=query.scales[found.pose].astype(np.float32),
        rotation=query.rotations[found.pose].astype(np.float32),
        mirrored=found.mirrored,
        dx=found.dx,
        dy=found.dy,
    )
