"""Listing folders on the nodes of a cluster: the `Listings` of a walk, with Ray's workers.

The walk stays where it was started, and begins there: most are over before a worker would have begun. Where
it takes longer, folders that wait are dealt to workers, a few at a time. Ray gives those of a worker that is
lost to another. What a worker can't list, or finds empty, is looked at here as well, so that a node which
does not see everything costs time and no picture.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .. import __version__
from ..indexing.walk import LISTED_AT_ONCE, Listing, Rules, list_folder, list_local
from .connection import ray_or_sentence

ALONE_S = 1.0
"""So long a walk goes without workers."""
BATCH = 64
"""Folders that a worker is given at once; it lists `LISTED_AT_ONCE` of them side by side."""
AHEAD = 2
"""Batches that there are for each worker, so that it never waits."""
PATIENCE_S = 60.0
"""Workers that are later than that, as on a cluster that is full, are asked no more."""
TICK_S = 0.5


def list_folders(folders: list[bytes], rules: Rules) -> tuple[str, list[Listing]]:
    """What a worker does: the version of sketchseek there, and a listing of each."""
    with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:
        return __version__, list(pool.map(lambda folder: list_folder(folder, rules), folders))


@dataclass(frozen=True)
class _Asked:
    """Folders that are being listed. ref : of a worker's answer; None for those listed here."""

    folders: list[bytes]
    ref: Any
    since: float


class ClusterListings:
    """See `Listings`. workers : how many; None for one per core of the cluster."""

    def __init__(self, workers: int | None = None) -> None:
        self._ray = ray_or_sentence()
        self._workers = workers
        self._list = self._ray.remote(list_folders)

    def __call__(self, waiting: deque[bytes], rules: Rules) -> Iterator[tuple[bytes, Listing]]:
        """Every folder that waits, and a listing of it."""
        began = time.monotonic()
        alone = list_local(waiting, rules)
        for found in alone:
            yield found
            if time.monotonic() - began > ALONE_S and len(waiting) > LISTED_AT_ONCE:
                alone.close()
                yield from _Shared(self._ray, self._list, self._workers, waiting, rules).listings()


class _Shared:
    """A walk's folders, dealt to workers and to threads here."""

    def __init__(
        self, ray: Any, remote: Any, workers: int | None, waiting: deque[bytes], rules: Rules
    ) -> None:
        self._ray, self._rules = ray, rules
        self._list = remote.options(num_cpus=1, max_retries=3, scheduling_strategy="SPREAD")
        cores = int(ray.cluster_resources().get("CPU", 1))
        self._workers = min(workers or cores, max(cores, 1))
        self._waiting = waiting
        self._again: deque[bytes] = deque()  # those that workers were asked for in vain
        self._asked: dict[Future[Any], _Asked] = {}

    def listings(self) -> Iterator[tuple[bytes, Listing]]:
        """As they come."""
        with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:
            try:
                while self._waiting or self._again or self._asked:
                    self._assign(pool)
                    for future in wait(self._asked, TICK_S, FIRST_COMPLETED).done:
                        yield from self._take(future)
                    self._give_up_late()
            finally:
                pool.shutdown(cancel_futures=True)
                for asked in self._asked.values():
                    self._cancel(asked)

    def _assign(self, pool: ThreadPoolExecutor) -> None:
        """Folders to the threads here, one by one, and what is more than they take to workers."""
        elsewhere = sum(asked.ref is not None for asked in self._asked.values())
        at_once = len(self._asked) - elsewhere
        while at_once < LISTED_AT_ONCE and (self._again or self._waiting):
            folder = (self._again or self._waiting).popleft()
            self._note(pool.submit(list_folder, folder, self._rules), [folder], None)
            at_once += 1
        while elsewhere < AHEAD * self._workers and len(self._waiting) > LISTED_AT_ONCE:
            count = min(BATCH, max(1, len(self._waiting) // (AHEAD * self._workers)))
            folders = [self._waiting.popleft() for _ in range(count)]
            ref = self._list.remote(folders, self._rules)
            self._note(ref.future(), folders, ref)
            elsewhere += 1

    def _note(self, future: Future[Any], folders: list[bytes], ref: Any) -> None:
        self._asked[future] = _Asked(folders, ref, time.monotonic())

    def _take(self, future: Future[Any]) -> Iterator[tuple[bytes, Listing]]:
        asked = self._asked.pop(future)
        if asked.ref is None:
            yield asked.folders[0], future.result()
            return
        try:
            version, found = future.result()
        except Exception:
            version, found = None, []
        if version != __version__:  # what is wrong there is said where pictures are read
            self._workers = 0
            self._again.extend(asked.folders)
            return
        for folder, listing in zip(asked.folders, found, strict=True):
            if listing.unseen or not listing.entries:
                self._again.append(folder)
            else:
                yield folder, listing

    def _give_up_late(self) -> None:
        for future, asked in list(self._asked.items()):
            if asked.ref is not None and time.monotonic() - asked.since > PATIENCE_S:
                self._workers = 0
                self._again.extend(self._asked.pop(future).folders)
                self._cancel(asked)

    def _cancel(self, asked: _Asked) -> None:
        if asked.ref is not None:
            with suppress(Exception):
                self._ray.cancel(asked.ref, force=True)
