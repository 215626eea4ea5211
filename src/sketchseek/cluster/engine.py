"""An engine made of engines: `Engine`'s protocol over the shards of a fleet, with the answers of one engine.

Rows are scored where they are, in parallel. Those that are looked at closer are fetched, and looked at here,
by the same engine: one question instead of several about the same rows.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ClusterError
from ..shape.engine import Engine, Groups, Ids, Scores, best_of_groups, check_top
from ..shape.engine.native import NativeEngine
from ..shape.placement import Placement
from ..shape.query import Query
from ..shape.settings import Settings
from .fleet import Fleet, Scope
from .sharding import Numbering, ShardLayout

FEW = 4096
"""Up to so many rows are fetched rather than scored where they are, as they are looked at closer next."""
WARY = 20
"""So many questions are asked for all that may be needed after one whose answers were not enough."""
KEPT_ROWS = 65_536
"""Rows fetched before that are kept: every search asks for the same background pictures."""

_scope: ContextVar[Scope | None] = ContextVar("scope", default=None)


@contextmanager
def searching(deadline: float) -> Iterator[Scope]:
    """One search, on this thread: its questions share a deadline, and go on without shards that are lost."""
    scope = Scope(time.monotonic() + deadline)
    token = _scope.set(scope)
    try:
        yield scope
    finally:
        _scope.reset(token)


@dataclass(frozen=True)
class _Fetched:
    """Some rows, by number, ascending."""

    rows: Ids
    codes: NDArray[Any]
    norms: Scores
    settings: Settings

    @cached_property
    def engine(self) -> NativeEngine:
        """What scores them, made when it is first needed: codes alone do without."""
        return NativeEngine(self.codes, self.norms, self.settings)

    def places(self, ids: Ids) -> Ids | None:
        """Where the rows are; None unless all of them are here."""
        at = np.searchsorted(self.rows, ids)
        at[at == len(self.rows)] = 0
        return at if len(self.rows) and np.array_equal(self.rows[at], ids) else None


class ClusterEngine:
    """The rows of a layout.

    own_groups, own_prior : (n,) the picture and the prior of each row, as the shards know them.
    """

    def __init__(
        self,
        fleet: Fleet,
        layout: ShardLayout,
        settings: Settings,
        own_groups: Groups,
        own_prior: Scores,
    ) -> None:
        self._fleet, self._layout = fleet, layout
        self._settings = settings
        self._own_groups, self._own_prior = own_groups, own_prior
        self._recognised: tuple[Any, Any] | None = None
        self._kept: OrderedDict[bytes, _Fetched] = OrderedDict()
        self._lock = threading.Lock()
        self._wary = 0

    def __len__(self) -> int:
        return len(self._layout.rows)

    @property
    def host(self) -> None:
        """There is no engine whose rows are in this process."""

    def scores(self, query: Query, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """See `Engine.scores`."""
        if ids is not None and len(ids) <= FEW:
            engine, at = self._near(ids)
            return engine.scores(query, at, threads)
        return self._everywhere("scores", query, ids)

    def top(
        self,
        query: Query,
        k: int,
        threads: int | None = None,
        *,
        groups: Groups | None = None,
        prior: Scores | None = None,
    ) -> tuple[Ids, Scores]:
        """See `Engine.top`."""
        if not self._is_own(groups, prior):
            groups, prior = check_top(len(self), k, groups, prior)
            return best_of_groups(self.scores(query), k, groups, prior)
        if k < 1:
            raise ValueError(f"k must be positive, got {k}")
        slim, layout = _slim(query), self._layout
        counts = self._counts(k)
        found = self._ask("top", {s: (layout.keys[s], slim, count) for s, count in counts.items()})
        more = _unfinished(found, counts, k)
        if more:
            self._wary = WARY
            found |= self._ask("top", {s: (layout.keys[s], slim, k) for s in more})
        rows = np.concatenate(
            [np.empty(0, np.int64), *(layout.rows.of_all(s, ids) for s, (ids, _) in found.items())]
        )
        scores = np.concatenate([np.empty(0, np.float32), *(scores for _, scores in found.values())])
        if len(scores) > k:  # most of what many shards name: a picture is named once
            some = np.flatnonzero(scores >= _kth(scores, k))
            rows, scores = rows[some], scores[some]
        order = np.lexsort((rows, -scores))
        return rows[order[:k]], scores[order[:k]]

    def _filled(self) -> list[int]:
        """The shards that have rows."""
        return [int(shard) for shard in np.flatnonzero(self._layout.rows.of_shard)]

    def _counts(self, k: int) -> dict[int, int]:
        """How many of its best each shard is asked for: the k best of all are nearly always among them.

        Fewer are found faster. Where pictures that are alike lie together that is in vain: then, for a while,
        each is asked for k.
        """
        pictures = self._layout.pictures.of_shard
        self._wary -= 1
        share = pictures / max(int(pictures.sum()), 1)
        wanted = {s: k if self._wary >= 0 else likely(k, float(share[s])) for s in self._filled()}
        return {s: k if count >= pictures[s] else count for s, count in wanted.items()}

    def project(self, query: Query, axis: int, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """See `Engine.project`."""
        if ids is not None and len(ids) <= FEW:
            engine, at = self._near(ids)
            return engine.project(query, axis, at, threads)
        return self._everywhere("project", query, ids, axis)

    def locate(
        self,
        query: Query,
        ids: Ids | None = None,
        guide: str | None = None,
        neighborhood: int = 3,
        threads: int | None = None,
    ) -> Placement:
        """See `Engine.locate`."""
        engine, at = self._near(np.arange(len(self)) if ids is None else ids)
        return engine.locate(query, at, guide, neighborhood, threads)

    def codes(self, ids: Ids) -> NDArray[Any]:
        """The stored vectors of some rows; zeros for those that can't be reached."""
        fetched, at = self._fetched(ids)
        return fetched.codes[at]

    def fetch(self, ids: Ids) -> tuple[NDArray[Any], Scores]:
        """The same with their norms."""
        fetched, at = self._fetched(ids)
        return fetched.codes[at], fetched.norms[at]

    # --- fetched rows ----------------------------------------------------------------------------------

    def _near(self, ids: Ids) -> tuple[Engine, Ids]:
        fetched, at = self._fetched(ids)
        return fetched.engine, at

    def _fetched(self, ids: Ids) -> tuple[_Fetched, Ids]:
        ids = np.asarray(ids, np.int64)
        name = ids.tobytes()
        with self._lock:
            known = self._kept.get(name)
            if known is not None:
                self._kept.move_to_end(name)
        scope = _scope.get()
        for fetched in (*([known] if known else ()), *(scope.kept if scope else ())):
            at = fetched.places(ids)
            if at is not None:
                return fetched, at
        rows = np.unique(ids)
        fetched, whole = self._fetch(rows)
        if scope is not None:
            scope.kept.append(fetched)
        if whole and len(rows) <= FEW:
            with self._lock:
                self._kept[name] = fetched
                while sum(len(f.rows) for f in self._kept.values()) > KEPT_ROWS and len(self._kept) > 1:
                    self._kept.popitem(last=False)
        return fetched, np.searchsorted(rows, ids)

    def _fetch(self, rows: Ids) -> tuple[_Fetched, bool]:
        """Rows as their shards have them, blank where a shard is lost; and whether none is."""
        settings = self._settings
        codes = np.zeros((len(rows), settings.dimensions), np.int8)
        norms = np.zeros((len(rows), len(settings.scales), 3), np.float32)
        requests, wheres = self._by_shard(rows)
        found = self._ask("rows", {s: (self._layout.keys[s], r) for s, r in requests.items()})
        for shard, (some_codes, some_norms) in found.items():
            codes[wheres[shard]], norms[wheres[shard]] = some_codes, some_norms
        return _Fetched(rows, codes, norms, settings), len(found) == len(requests)

    # --- rows where they are --------------------------------------------------------------------------

    def _everywhere(self, name: str, query: Query, ids: Ids | None, *options: Any) -> Scores:
        """A score of every row, or of many; 0 for those that can't be reached."""
        slim, layout = _slim(query), self._layout
        if ids is None:
            out = np.zeros(len(self), np.float32)
            wheres: dict[int, Any] = {
                int(s): layout.rows.of_all(int(s), np.arange(layout.rows.of_shard[s]))
                for s in np.flatnonzero(layout.rows.of_shard)
            }
            requests = {s: (layout.keys[s], slim, None, *options) for s in wheres}
        else:
            out = np.zeros(len(ids), np.float32)
            chosen, wheres = self._by_shard(np.asarray(ids, np.int64))
            requests = {s: (layout.keys[s], slim, rows, *options) for s, rows in chosen.items()}
        for shard, found in self._ask(name, requests).items():
            out[wheres[shard]] = found
        return out

    def _by_shard(self, rows: Ids) -> tuple[dict[int, Ids], dict[int, Ids]]:
        return by_shard(self._layout.rows, rows)

    def _ask(self, name: str, requests: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
        return ask(self._fleet, name, requests)

    def _is_own(self, groups: Groups | None, prior: Scores | None) -> bool:
        """Whether these are the shards' own; the same arrays, as every search brings, are compared once."""
        known = self._recognised
        if known is not None and known[0] is groups and known[1] is prior:
            return True
        numbers = np.arange(len(self), dtype=np.int32) if groups is None else groups
        factors = np.ones(len(self), np.float32) if prior is None else prior
        own = np.array_equal(numbers, self._own_groups) and np.array_equal(factors, self._own_prior)
        if own:
            self._recognised = (groups, prior)
        return own


def likely(k: int, share: float) -> int:
    """How many of the k best lie in a share of the pictures, if chance has dealt them, and some more."""
    return min(k, math.ceil(k * share + 5 * math.sqrt(k * share * (1 - share)) + 4))


def _kth(scores: Scores, k: int) -> float:
    """The k-th largest; below all where there are fewer."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if len(scores) >= k else -np.inf


def _unfinished(found: dict[int, tuple[Ids, Scores]], counts: dict[int, int], k: int) -> list[int]:
    """Shards that were asked for fewer than k and may have more of the k best: their last is among those."""
    few = [s for s, (_, own) in found.items() if len(own) == counts[s] < k]
    if not few:
        return []
    least = _kth(np.concatenate([scores for _, scores in found.values()]), k)
    return [s for s in few if found[s][1][-1] >= least]


def ask(fleet: Fleet, name: str, requests: dict[int, tuple[Any, ...]]) -> dict[int, Any]:
    """Answers by shard. Outside a search nothing may be missing; inside, the search knows what is."""
    scope = _scope.get()
    alone = scope is None
    scope = scope or Scope(time.monotonic() + fleet.options.deadline)
    found = fleet.ask(scope, name, requests)
    if alone and scope.lost:
        raise ClusterError(f"Of {fleet.shards} shards {len(scope.lost)} did not answer in time.")
    return found


def by_shard(numbering: Numbering, numbers: Ids) -> tuple[dict[int, Ids], dict[int, Ids]]:
    """For each shard that has some of the numbers: those in it, and at which positions they were given."""
    shard, local = numbering.homes(numbers)
    places = {int(s): np.flatnonzero(shard == s) for s in np.unique(shard)}
    return {s: local[at] for s, at in places.items()}, places


class RemoteRows:
    """Vectors that are elsewhere, as an array of them: `rows[ids]` fetches some."""

    def __init__(
        self, fetch: Callable[[Ids], NDArray[Any]], shape: tuple[int, int], dtype: type[np.generic]
    ) -> None:
        self._fetch, self.shape, self.dtype = fetch, shape, np.dtype(dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> NDArray[Any]:
        if isinstance(which, tuple):
            return self[which[0]][:, which[1]]
        ids = np.arange(len(self))[which] if isinstance(which, slice) else np.asarray(which)
        return self._fetch(np.flatnonzero(ids) if ids.dtype == bool else ids.astype(np.int64))


def engine_of(vectors: Any, norms: ArrayLike, settings: Settings) -> Engine:
    """The engine behind remote rows, for `Collection`."""
    engine: Engine = vectors.engine
    return engine


def _slim(query: Query) -> Query:
    """The query without what its settings have computed for themselves."""
    return replace(query, settings=replace(query.settings))
