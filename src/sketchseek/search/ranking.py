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
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contours.points import Points
from ..shape.descriptor import describe, encode, norms
from ..shape.engine import Engine, Ids, Scores
from ..shape.engine.native import NativeEngine, select
from ..shape.placement import Placement, Start
from ..shape.query import Query
from ..shape.settings import Settings, X, Y
from .hit import Pose

METHODS = ("exhaustive", "projections", "dpf")
RERANKINGS = ("exact", "binary", "local", "binary-all", "local-all")
PRE_SHORTLIST = 3
"""How many times the shortlist `dpf` keeps after its first projection."""
_BLOCK = 8192
_OFTEN = 4  # a search that asks for one picture in so many makes it worth to remember all
FINER = 4
"""Steps between one scale of the query and the next that `refine` tries."""


class Collection:
    """The descriptors of many pictures, ready to be searched.

    Parameters
    ----------
    vectors : (n, D), one-byte codes (int8) or float32. Kept, not copied.
    norms : (n, S, 3) float32, of the vectors as stored (for codes: of the decoded ones).
    settings : what gave the vectors.
    engine : what scores them; the C++ engine unless another is given.
    """

    def __init__(
        self,
        vectors: NDArray[Any],
        norms: ArrayLike,
        settings: Settings,
        engine: Callable[[NDArray[Any], ArrayLike, Settings], Engine] = NativeEngine,
    ) -> None:
        self.vectors, self.settings = vectors, settings
        self.engine = engine(vectors, norms, settings)
        self._energy: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, pictures: Iterable[Points], settings: Settings, storage: str = "int8") -> Collection:
        """The descriptors of pictures' contours, stored as one-byte codes or as "float32"."""
        vectors = np.stack([describe(points, settings) for points in pictures])
        stored = encode(vectors, settings) if storage == "int8" else vectors
        return cls(stored, norms(stored, settings), settings)

    def __len__(self) -> int:
        return len(self.engine)

    def energy(self, ids: Ids, threads: int | None = None) -> NDArray[np.float32]:
        """Where each picture's norm comes from (`energy.py`); kept once a good part of them is asked for."""
        if len(ids) * _OFTEN < len(self):
            return self.engine.energy(ids, threads)
        if self._energy is None:
            self._energy = self.engine.energy(np.arange(len(self)), threads)
        return self._energy[ids]

    def with_settings(self, settings: Settings) -> Collection:
        """The same vectors for other kernels (`Settings.with_scales`): only the norms are computed anew."""
        found = [norms(self.vectors[b : b + _BLOCK], settings) for b in range(0, len(self), _BLOCK)]
        empty = np.empty((0, len(settings.scales), 3), np.float32)
        return Collection(self.vectors, np.concatenate([empty, *found]), settings)


@dataclass(frozen=True)
class Ranking:
    """Pictures, best first, and where in them the drawing is.

    ids : (k,) picture numbers. score : (k,) cosine in [-1, 1]. scale, rotation : (k,) the drawing's pose.
    mirrored : (k,) bool. dx, dy : (k,) pixels of the 400 frame, from the picture's centre to the drawing's.
    """

    ids: Ids
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
        ids = np.arange(len(engine)) if k is None or k >= len(engine) else engine.top(query, k, threads)[0]
        return _ranking(ids, engine.locate(query, ids, threads=threads), query, k)
    size = default_shortlist(len(engine)) if shortlist is None else shortlist
    if size < 0:
        raise ValueError(f"shortlist must not be negative, got {size}")
    total = _projected(engine, query, method, size, threads)
    ids = _among(total, size)
    if rerank == "exact" and k is not None and k < len(ids):
        ids = ids[select(engine.scores(query, ids, threads), k)]  # only what is returned needs a place
    if rerank == "local":
        placed = _refine_locally(engine, query, ids, neighborhood, threads)
    else:
        guide = None if rerank == "exact" else rerank
        placed = engine.locate(query, ids, guide, neighborhood, threads)
    found = _ranking(ids, placed, query, k)
    if size >= len(engine) or (k is not None and k <= size):
        return found
    tail = largest(total, len(total) if k is None else k)[len(found) :]
    return found + located(collection, query, tail, threads)


def default_shortlist(pictures: int) -> int:
    """A tenth of a small collection; 50,000, as in the paper, of a large one."""
    return max(1000, min(pictures // 10, 50_000))


def _projected(engine: Engine, query: Query, method: str, size: int, threads: int | None) -> Scores:
    """What names the shortlist, of every picture: the sum of its projections' scores.

    With `dpf` the second projection is only computed for the best 3 `size` by the first; whoever is not among
    those comes after them, by the first alone.
    """
    if method == "projections":
        return engine.project(query, X, threads=threads) + engine.project(query, Y, threads=threads)
    first = query.first_projection
    one = engine.project(query, first, threads=threads)
    ids = _among(one, PRE_SHORTLIST * size)
    both = one[ids] + engine.project(query, Y if first == X else X, ids, threads)
    one -= 4  # cosines: below every sum of two
    one[ids] = both
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


def largest(scores: NDArray[np.float32], k: int) -> Ids:
    """Positions of the k largest, best first, ties by position."""
    return np.argsort(-scores, kind="stable")[:k]


def located(collection: Collection, query: Query, ids: Ids, threads: int | None = None) -> Ranking:
    """Where the drawing is in given pictures, in their order: whoever ranked them."""
    return _placed(ids, collection.engine.locate(query, ids, threads=threads), query)


def _ranking(ids: Ids, found: Placement, query: Query, k: int | None) -> Ranking:
    order = largest(found.score, len(found) if k is None else k)
    placed = _placed(ids, found, query)
    return placed.take(order)


def _placed(ids: Ids, found: Placement, query: Query) -> Ranking:
    return Ranking(
        ids=np.asarray(ids),
        score=found.score,
        scale=query.scales[found.pose].astype(np.float32),
        rotation=query.rotations[found.pose].astype(np.float32),
        mirrored=found.mirrored,
        dx=found.dx,
        dy=found.dy,
    )


def refine(collection: Collection, query: Query, ranking: Ranking, threads: int | None = None) -> Ranking:
    """The same hits in the same order with the same scores, placed off the grid.

    Scales between those of the query are tried around each hit's own, their kernels' weights interpolated; at
    each the translation climbs to the polynomial's maximum, at most one step of the grid away.
    """
    if len(ranking) == 0:
        return ranking
    settings = query.settings
    turns, turn = np.unique(ranking.rotation, return_inverse=True)
    ladder = Query.of(query.points, _ladder(settings), rotations=tuple(float(r) for r in turns))
    scales = np.sort(settings.scales)
    own = np.abs(scales[:, None] - ranking.scale).argmin(axis=0)
    lowest = turn * len(ladder.settings.scales)
    start = Start(
        first=lowest + FINER * np.maximum(own - 1, 0),
        last=lowest + FINER * np.minimum(own + 1, len(scales) - 1) + 1,
        mirrored=ranking.mirrored,
        dx=ranking.dx.astype(np.float64),
        dy=ranking.dy.astype(np.float64),
        within=settings.translation_step * ranking.scale.astype(np.float64),
    )
    found = collection.engine.settle(ladder, ranking.ids, start, threads)
    scale = np.where(np.isfinite(found.score), ladder.scales[found.pose], ranking.scale)
    return replace(ranking, scale=scale.astype(np.float32), dx=found.dx, dy=found.dy)


@lru_cache(maxsize=8)
def _ladder(settings: Settings) -> Settings:
    """The settings' scales, ascending, in `FINER` steps from one to the next, with their kernels' weights."""
    order = np.argsort(settings.scales)
    scales, weights = np.asarray(settings.scales)[order], np.asarray(settings.weights)[order]
    positions = np.linspace(0, len(scales) - 1, FINER * (len(scales) - 1) + 1)
    sizes = np.exp(np.interp(positions, np.arange(len(scales)), np.log(scales)))
    mixed = np.transpose([np.interp(sizes, scales, column) for column in weights.T])
    return replace(settings, scales=tuple(sizes.tolist()), weights=tuple(map(tuple, mixed.tolist())))
