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

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contours.points import Points
from ..shape.descriptor import describe, encode, norms
from ..shape.engine import Engine, Ids, Scores, best_of_groups
from ..shape.engine.native import NativeEngine, select
from ..shape.placement import Placement, Start
from ..shape.query import Query, turned_fit
from ..shape.settings import Settings, X, Y
from .hit import Pose

METHODS = ("exhaustive", "projections", "dpf")
RERANKINGS = ("exact", "binary", "local", "binary-all", "local-all")
PRE_SHORTLIST = 3
"""How many times the shortlist `dpf` keeps after its first projection."""
_BLOCK = 8192
_OFTEN = 4  # a search that asks for one picture in so many makes it worth to remember all
PRIOR = 0.15
"""A view of share f counts f ** PRIOR times its score: small windows give clutter more chances."""
FINER = 4
"""Steps between one scale of the query and the next that `refine` tries."""


class Collection:
    """The descriptors of many pictures, ready to be searched: a row for each view of a picture.

    Parameters
    ----------
    vectors : (n, D), one-byte codes (int8) or float32. Kept, not copied.
    norms : (n, S, 3) float32, of the vectors as stored (for codes: of the decoded ones).
    settings : what gave the vectors.
    engine : what scores them; the C++ engine unless another is given.
    pictures : (n,) ascending, the number of the picture that each row is a view of; None: a row a picture.
    shares : (n,) in (0, 1], the size of each view beside its picture's first one, which is all of it.
    """

    def __init__(
        self,
        vectors: NDArray[Any],
        norms: ArrayLike,
        settings: Settings,
        engine: Callable[[NDArray[Any], ArrayLike, Settings], Engine] = NativeEngine,
        *,
        pictures: ArrayLike | None = None,
        shares: ArrayLike | None = None,
    ) -> None:
        self.vectors, self.settings = vectors, settings
        self.engine = engine(vectors, norms, settings)
        n = len(self.engine)
        several = pictures is not None and not np.array_equal(pictures, np.arange(n))
        self.pictures = np.asarray(pictures if several else np.arange(n), np.int32)
        self.shares = np.ones(n, np.float32) if shares is None else np.asarray(shares, np.float32)
        self.prior = self.shares**PRIOR if (self.shares < 1).any() else None
        self._groups = self.pictures if several else None
        self._starts = np.searchsorted(self.pictures, np.arange(self.pictures[-1] + 2 if n else 1))
        self._energy: NDArray[np.float32] | None = None

    @classmethod
    def of(
        cls,
        views: Iterable[Points],
        settings: Settings,
        storage: str = "int8",
        *,
        pictures: ArrayLike | None = None,
        shares: ArrayLike | None = None,
    ) -> Collection:
        """The descriptors of views' contours, stored as one-byte codes or as "float32"."""
        vectors = np.stack([describe(points, settings) for points in views])
        stored = encode(vectors, settings) if storage == "int8" else vectors
        return cls(stored, norms(stored, settings), settings, pictures=pictures, shares=shares)

    def take(self, ids: Ids) -> Collection:
        """Some of the pictures, numbered anew in that order."""
        rows = self.rows_of(ids)
        counts = self._starts[ids + 1] - self._starts[ids]
        vectors = self.vectors[rows]
        return Collection(
            vectors,
            norms(vectors, self.settings),
            self.settings,
            pictures=np.repeat(np.arange(len(ids)), counts),
            shares=self.shares[rows],
        )

    def __len__(self) -> int:
        """The number of pictures."""
        return len(self._starts) - 1

    @property
    def has_windows(self) -> bool:
        """Whether some picture has several rows."""
        return self._groups is not None

    @cached_property
    def most_views(self) -> int:
        """How many rows the picture with the most of them has."""
        return int(np.diff(self._starts).max()) if len(self) else 0

    def rows_of(self, ids: Ids) -> Ids:
        """The rows of some pictures, picture after picture."""
        counts = self._starts[ids + 1] - self._starts[ids]
        before = np.cumsum(counts) - counts
        rows: Ids = np.repeat(self._starts[ids] - before, counts) + np.arange(counts.sum())
        return rows

    def whole(self, ids: Ids) -> Ids:
        """Of each of some pictures the first row, which is all of it."""
        rows: Ids = self._starts[ids]
        return rows

    def top(self, query: Query, k: int, threads: int | None = None) -> Ids:
        """The rows of the k best pictures, each by its best view, best first."""
        return self.engine.top(query, k, threads, groups=self._groups, prior=self.prior)[0]

    def weighted(self, scores: NDArray[np.float32], rows: Ids) -> NDArray[np.float32]:
        """Scores of some rows, times the prior of their views: what views are compared by."""
        return scores if self.prior is None else scores * self.prior[rows]

    def energy(self, rows: Ids, threads: int | None = None) -> NDArray[np.float32]:
        """Where each row's norm comes from (`energy.py`); kept once a good part of them is asked for.

        Not of rows that are elsewhere: some may be missing from an answer, and there again for the next.
        """
        if len(rows) * _OFTEN < len(self.engine) or not isinstance(self.vectors, np.ndarray):
            return self.engine.energy(rows, threads)
        if self._energy is None:
            self._energy = self.engine.energy(np.arange(len(self.engine)), threads)
        return self._energy[rows]

    def with_settings(self, settings: Settings) -> Collection:
        """The same vectors for other kernels (`Settings.with_scales`): only the norms are computed anew."""
        found = [norms(self.vectors[b : b + _BLOCK], settings) for b in range(0, len(self.engine), _BLOCK)]
        empty = np.empty((0, len(settings.scales), 3), np.float32)
        known = np.concatenate([empty, *found])
        return Collection(self.vectors, known, settings, pictures=self.pictures, shares=self.shares)


@dataclass(frozen=True)
class Ranking:
    """Pictures, best first, and where in them the drawing is.

    ids : (k,) picture numbers. rows : (k,) the collection's rows, the views in which they show the drawing.
    score : (k,) cosine in [-1, 1]. scale, rotation : (k,) the drawing's pose. mirrored : (k,) bool.
    dx, dy : (k,) pixels of the view's frame of 400, from its centre to the drawing's.
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

    def pose(self, i: int) -> Pose:
        """Where the drawing lies in the i-th hit."""
        return Pose(
            float(self.scale[i]),
            bool(self.mirrored[i]),
            float(self.rotation[i]),
            float(self.dx[i]),
            float(self.dy[i]),
        )

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
        some = select(scores, min(k * collection.most_views, len(rows)))  # the k best pictures are among them
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
    tail = following[~np.isin(following, found.ids)][: wanted - len(found)]
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
    """Where the drawing is in given pictures, in their order: whoever ranked them."""
    found = every_view(collection, query, ids, threads)
    best = found.take(best_first(collection.weighted(found.score, found.rows), len(found)))
    known, first = np.unique(best.ids, return_index=True)
    return best.take(first[np.searchsorted(known, ids)])


def every_view(collection: Collection, query: Query, ids: Ids, threads: int | None = None) -> Ranking:
    """Where the drawing is in each view of given pictures, picture after picture."""
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


def refine(collection: Collection, query: Query, ranking: Ranking, threads: int | None = None) -> Ranking:
    """The same hits in the same order with the same scores, placed off the grid."""
    return replace(settled(collection, query, ranking, threads), score=ranking.score)


def settled(collection: Collection, query: Query, ranking: Ranking, threads: int | None = None) -> Ranking:
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
    found = collection.engine.settle(ladder, ranking.rows, start, threads)
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
