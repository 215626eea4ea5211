"""The exact search on graphics processors, with the answers of the C++ engine.

A first pass over all rows multiplies in one byte and gives an upper bound of every score: the error of a
column is known, so that by Cauchy and Schwarz |<q - q', v>| <= |q - q'| |v|. The rows with the highest bounds
are scored again in float32. The k-th best of these scores is one that k pictures reach; every row whose bound
does not reach it is out, and whatever other rows there are is scored again, too. What is left, hardly more
than k pictures, the C++ engine scores, which settles ties and the last bit: the answer is its answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ....contours.points import Points
from ...placement import Placement
from ...query import Query
from ...settings import FULL, Settings
from .. import Groups, Ids, Scores, best_of_groups, check_top
from ..batching import RequestBatcher
from ..native import NativeEngine
from .columns import ColumnOrder, Columns, Grid, Tensor
from .rows import Shard

CANDIDATES: Final = 2048
"""Rows that are scored again before anything is known about how many must be."""
ROUNDING: Final = 1e-5
"""How far two float32 evaluations of a score may be apart."""
BATCH: Final = 16
"""Searches that share a pass at most: the first of them waits for the last."""
FEW: Final = 2048
"""Rows that the C++ engine scores faster with one thread than with many."""
AT_ONCE: Final = 1 << 20  # rows scored again at a time
BOUNDS: Final = 1 << 32
"""Bytes that the bounds of the queries of one pass may take."""
_LINE = np.linspace(-150, 150, 64, dtype=np.float32)
_DIAGONAL: Final = Points(
    _LINE, _LINE, np.full_like(_LINE, np.pi / 4), np.ones_like(_LINE), width=300.0, height=300.0
)
SHARE: Final = 0.8
"""Of a device's free memory, what rows may take; bounds and copies need the rest."""


class GpuEngine:
    """Vectors (n, D), int8 or float32, and their norms (n, S, 3), on one or more devices.

    devices : "cuda:0", ...; all there are unless said otherwise. Each gets its share of the rows.
    operand : what the first pass multiplies in, "int8" or "float16"; rows of float32 have one pass only.
    room : bytes a device may hold rows in; most of its free memory unless said otherwise. Rows that don't fit
        stay in host memory and are copied for each pass.
    """

    def __init__(
        self,
        vectors: NDArray[Any],
        norms: ArrayLike,
        settings: Settings,
        *,
        devices: Sequence[str] | None = None,
        operand: str = "int8",
        room: int | None = None,
    ) -> None:
        self._host = NativeEngine(vectors, norms, settings)
        self._settings = settings
        self._codes = vectors.dtype == np.int8
        self._operand = operand if self._codes else "float32"
        self._layout = ColumnOrder.of(settings)
        self._grids: dict[tuple[Any, ...], Grid] = {}
        self._windows: _Windows | None = None
        self._lock = threading.Lock()
        self._batcher: RequestBatcher[_Asked, tuple[Ids, Scores]] = RequestBatcher(self._answers, BATCH)
        names = list(devices) if devices else [f"cuda:{i}" for i in range(torch.cuda.device_count())]
        norms = np.asarray(norms, np.float32)
        ends = [len(vectors) * i // len(names) for i in range(len(names) + 1)]
        self._starts = ends[:-1]
        self.shards = [
            Shard(
                vectors[begin:end],
                norms[begin:end],
                self._layout,
                name,
                int(SHARE * torch.cuda.mem_get_info(name)[0]) if room is None else room,
            )
            for name, begin, end in zip(names, ends, ends[1:], strict=False)
        ]
        if names[0].startswith("cuda"):
            self.warm_up()

    def warm_up(self) -> None:
        """Compile and load what a search may need: the first answer is as quick as the later ones."""
        for mirror in (True, False):
            query = Query.of(_DIAGONAL, self._settings, mirror=mirror)
            self.top(query, 1)
            for shard in self.shards:
                bounds, exact = self.bounds(shard, [query])
                look = _Pass(shard, bounds[0], exact, min(1, len(shard)), None)
                look.reaching(look.wait()[2])

    def __len__(self) -> int:
        return len(self._host)

    @property
    def host(self) -> NativeEngine:
        """The engine whose rows are in this process."""
        return self._host

    @property
    def waiting(self) -> int:
        """How many searches wait for the next pass."""
        return self._batcher.waiting

    @property
    def resident(self) -> int:
        """How many rows lie in the devices' memory."""
        return sum(shard.resident for shard in self.shards)

    def scores(self, query: Query, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """See `Engine.scores`. Every row's on the devices, in float32; some rows' by the C++ engine."""
        if ids is not None:
            return self._host.scores(query, ids, threads)
        with self._lock:
            found = [shard.align(self._columns(shard, [query])("float32"))[0] for shard in self.shards]
            return np.concatenate([scores.cpu().numpy() for scores in found])

    def top(
        self,
        query: Query,
        k: int,
        threads: int | None = None,
        *,
        groups: Groups | None = None,
        prior: Scores | None = None,
    ) -> tuple[Ids, Scores]:
        """See `Engine.top`. Other threads' searches that come meanwhile share the next pass."""
        windows = self._checked(k, groups, prior)
        if not query.norms[:, FULL].all():  # with a blank one, all pictures tie
            return self._host.top(query, k, threads, groups=windows.groups, prior=windows.prior)
        alike = (
            query.vectors.shape,
            query.mirror,
            query.steps.tobytes(),
            query.reach.tobytes(),
            k,
            id(windows),
        )
        return self._batcher.ask(alike, (query, k, windows, threads))

    def tops(
        self,
        queries: Sequence[Query],
        k: int,
        threads: int | None = None,
        *,
        groups: Groups | None = None,
        prior: Scores | None = None,
    ) -> list[tuple[Ids, Scores]]:
        """`top` of several queries of as many poses, which share each reading of the rows."""
        windows = self._checked(k, groups, prior)
        if not all(query.norms[:, FULL].all() for query in queries):
            return [self.top(q, k, threads, groups=groups, prior=prior) for q in queries]
        return self._answers([(query, k, windows, threads) for query in queries])

    def _answers(self, asked: Sequence[_Asked]) -> list[tuple[Ids, Scores]]:
        """`top` of searches that are alike, in passes that there is memory for."""
        queries, (_, k, windows, _) = [query for query, *_ in asked], asked[0]
        each = max(1, BOUNDS // max(1, 4 * len(self)))
        parts = [queries[begin : begin + each] for begin in range(0, len(queries), each)]
        with self._lock:
            found = [rows for part in parts for rows in self._candidates(part, k, windows)]
        return [
            self._rescored(query, rows, k, windows, n)
            for (query, _, _, n), rows in zip(asked, found, strict=True)
        ]

    def project(self, query: Query, axis: int, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """See `Engine.project`; by the C++ engine."""
        return self._host.project(query, axis, ids, threads)

    def locate(
        self,
        query: Query,
        ids: Ids | None = None,
        guide: str | None = None,
        neighborhood: int = 3,
        threads: int | None = None,
    ) -> Placement:
        """See `Engine.locate`; by the C++ engine: only what is shown is located."""
        return self._host.locate(query, ids, guide, neighborhood, threads)

    def bounds(self, shard: Shard, queries: Sequence[Query]) -> tuple[Tensor, Columns]:
        """(queries, rows) upper bounds of the scores, on their way; the columns that give the scores."""
        columns = self._columns(shard, queries)
        return shard.align(columns(self._operand)), columns("float32")

    def _columns(self, shard: Shard, queries: Sequence[Query]) -> Callable[[str], Columns]:
        """What gives the columns of some queries, by what they multiply in."""
        first = queries[0]
        if first.vectors.shape[1] != self._settings.dimensions:
            raise ValueError("query must not have other settings than the collection")
        grid = self._grid(first, shard)
        drawings = grid.drawings(queries, self._codes)
        return partial(grid.columns, drawings, codes=self._codes, mirror=first.mirror)

    def _grid(self, query: Query, shard: Shard) -> Grid:
        """The translations of a query's poses, on a shard's device."""
        poses = len(query.settings.scales)
        key = (shard.device, *(a[:poses].tobytes() for a in (query.steps, query.reach, query.kernels)))
        if key not in self._grids:
            self._grids[key] = Grid(query, self._layout, shard.device)
        return self._grids[key]

    def _candidates(self, queries: Sequence[Query], k: int, windows: _Windows) -> list[Ids]:
        """For each query rows among which its k best pictures are, by one pass over all rows."""
        # All that the devices have to do is on its way before the first answer is waited for.
        passes = [self.bounds(shard, queries) for shard in self.shards]
        looks = []
        for shard, prior, (bounds, exact) in zip(self.shards, windows.parts, passes, strict=True):
            if prior is not None:
                bounds.mul_(prior)
            count = min(len(shard), max(CANDIDATES, 4 * k))
            looks.append([_Pass(shard, bounds[j], exact.of(j), count, prior) for j in range(len(queries))])
        return [
            np.concatenate(
                [
                    start + _reaching(look[j], start, k, windows)
                    for start, look in zip(self._starts, looks, strict=True)
                ]
            )
            for j in range(len(queries))
        ]

    def _checked(self, k: int, groups: Groups | None, prior: Scores | None) -> _Windows:
        """What `top` was told of the rows, on the devices, too. A search tells the same as the last one."""
        last = self._windows
        if last is not None and last.groups is groups and last.prior is prior and k > 0:
            return last
        groups, prior = check_top(len(self), k, groups, prior)
        parts: list[Tensor | None] = [None] * len(self.shards)
        if prior is not None:
            parts = [
                torch.from_numpy(prior[start : start + len(shard)]).to(shard.device)
                for start, shard in zip(self._starts, self.shards, strict=True)
            ]
        self._windows = windows = _Windows(groups, prior, parts)
        return windows

    def _rescored(
        self, query: Query, rows: Ids, k: int, windows: _Windows, threads: int | None
    ) -> tuple[Ids, Scores]:
        """The k best pictures of some rows, by the C++ engine's scores."""
        rows = np.sort(rows)
        groups = None if windows.groups is None else windows.groups[rows]
        prior = None if windows.prior is None else windows.prior[rows]
        # Few rows take less time than starting threads does.
        found = self._host.scores(query, rows, threads if len(rows) > FEW else 1)
        best, scores = best_of_groups(found, k, groups, prior)
        return rows[best], scores


@dataclass(frozen=True)
class _Windows:
    """Which rows are windows of one picture, and their prior; `parts` are the shards' shares of the prior."""

    groups: Groups | None
    prior: Scores | None
    parts: list[Tensor | None]


_Asked = tuple[Query, int, _Windows, int | None]
"""A search: what for, how many of which rows, and how many threads may finish it."""


class _Pass:
    """The rows of the highest bounds, scored again: on its way to the host's memory when it is made.

    bounds : (n,) of a shard's rows, times their prior. exact : what gives scores. count : of rows, at most n.
    """

    def __init__(
        self, shard: Shard, bounds: Tensor, exact: Columns, count: int, prior: Tensor | None
    ) -> None:
        self.shard, self._bounds, self._exact, self._prior = shard, bounds, exact, prior
        self.count = count
        highest, rows = torch.topk(bounds, count)
        self._found = self._again(rows)
        self._least = highest[-1:].to("cpu", non_blocking=True)

    def wait(self) -> tuple[Ids, Scores, float]:
        """(count,) rows and their scores; no other row scores more than the number."""
        ids, scores = self._arrived(*self._found)
        return ids, scores, float(self._least) if self.count < len(self.shard) else -np.inf

    def wider(self) -> _Pass:
        """At more rows."""
        count = min(len(self.shard), 4 * self.count)
        return _Pass(self.shard, self._bounds, self._exact, count, self._prior)

    def reaching(self, floor: float) -> tuple[Ids, Scores]:
        """Every row whose bound reaches a score, with its score."""
        return self._arrived(*self._again(torch.nonzero(self._bounds >= floor)[:, 0]))

    def _again(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Rows and their scores in float32, times their prior, on their way."""
        parts = []
        for some in torch.split(rows, AT_ONCE):
            scores = self.shard.align_some(some, self._exact)[0]
            parts.append(scores if self._prior is None else scores * self._prior[some])
        return rows.to("cpu", non_blocking=True), torch.cat(parts).to("cpu", non_blocking=True)

    def _arrived(self, rows: Tensor, scores: Tensor) -> tuple[Ids, Scores]:
        self.shard.wait()
        return rows.numpy(), scores.numpy()


def _reaching(look: _Pass, start: int, k: int, windows: _Windows) -> Ids:
    """Rows of a shard that show its k best pictures, and those that rounding might make so."""
    while look.count > 0:
        rows, scores, others = look.wait()
        pictures = None if windows.groups is None else windows.groups[start + rows]
        floor = _kth(scores, k, pictures) - 2 * ROUNDING
        if floor > -np.inf or look.count == len(look.shard):
            if others >= floor:
                rows, scores = look.reaching(floor)
            return rows[scores >= floor]
        look = look.wider()  # many windows of few pictures: not yet k of them
    return np.empty(0, np.int64)


def _kth(scores: Scores, k: int, pictures: Groups | None) -> float:
    """The k-th best picture's score, by its best row: -inf where there are fewer."""
    if pictures is not None:
        order = np.argsort(-scores)
        _, first = np.unique(pictures[order], return_index=True)
        scores = scores[order[first]]
    if len(scores) < k:
        return -np.inf
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
