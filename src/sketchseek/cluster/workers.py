"""Reading pictures on the nodes of a cluster: the `Workers` of an indexing run, as actors of Ray's.

The run itself, which compares and commits, stays where it was started, so that its commits are as exact as
ever. Each worker has a few batches at hand and no more: where commits are slow, reading waits for them. The
batches of a worker that is lost are done again, picture by picture, to know which one ended it.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from .. import __version__
from ..errors import ClusterError, SketchseekError
from ..indexing.worker import Gone, Reader, Result, Task, one_thread
from ..indexing.workers import PATIENCE_S, START_S, TICK_S, unread
from ..storage.schema import IndexConfig
from .connection import ray_or_sentence

BATCH = 8
AHEAD = 2
"""Batches that a worker has at hand."""
LOST = "Reading it ended the program that reads pictures (on another machine)."


class ReaderActor:
    """The actor: reads pictures, and turns them into rows."""

    def __init__(self, config: IndexConfig, device: str) -> None:
        one_thread()
        self._read = Reader(config, device)

    def hello(self) -> str:
        """The version of sketchseek here."""
        return __version__

    def read(self, tasks: list[Task]) -> list[Result]:
        """A result for each."""
        return [self._read(task) for task in tasks]


@dataclass
class _Worker:
    actor: Any
    since: float = field(default_factory=time.monotonic)
    ready: bool = False
    batches: dict[Any, list[Task]] = field(default_factory=dict)


class ClusterWorkers:
    """See `Workers`. jobs : how many; None for one per core of the cluster."""

    def __init__(self, config: IndexConfig, jobs: int | None, device: str = "cpu") -> None:
        self._ray = ray_or_sentence()
        self._config, self._device = config, device
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        self._jobs = min(jobs or cores, max(cores, 1))
        self._workers: list[_Worker] = []
        self._waiting: deque[list[Task]] = deque()
        self._suspects: dict[bytes, int] = {}  # pictures at hand when a worker was lost: how often alone
        self._lost_in_a_row = 0

    def __enter__(self) -> ClusterWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            with suppress(Exception):
                self._ray.kill(worker.actor)
        self._workers.clear()

    def results(self, tasks: Iterable[Task]) -> Iterator[Result | None]:
        """Answers as they come, one for each task; None at least every half second."""
        todo = list(tasks)
        self._waiting = deque(todo[i : i + BATCH] for i in range(0, len(todo), BATCH))
        while self._waiting or any(any(worker.batches.values()) for worker in self._workers):
            while len(self._workers) < min(self._jobs, len(self._waiting)):
                self._hire()
            self._give()
            refs = {ref: worker for worker in self._workers for ref in worker.batches}
            done, _ = self._ray.wait(list(refs), num_returns=1, timeout=TICK_S)
            if not done:
                yield None
            for ref in done:
                yield from self._take(refs[ref], ref)
            yield from self._late()

    def _hire(self) -> None:
        remote = self._ray.remote(ReaderActor)
        actor = remote.options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD").remote(
            self._config, self._device
        )
        worker = _Worker(actor)
        worker.batches[actor.hello.remote()] = []
        self._workers.append(worker)

    def _give(self) -> None:
        """Batches to those that have started: one that finds no place on a smaller cluster has none to keep.

        A suspect is given to a worker that has nothing else, and gets nothing else meanwhile.
        """
        for worker in self._workers:
            while worker.ready and self._waiting and len(worker.batches) < AHEAD:
                at_hand = [*worker.batches.values(), self._waiting[0]]
                if len(at_hand) > 1 and any(batch[0].path in self._suspects for batch in at_hand):
                    break
                batch = self._waiting.popleft()
                worker.batches[worker.actor.read.remote(batch)] = batch

    def _take(self, worker: _Worker, ref: Any) -> Iterator[Result]:
        try:
            answer = self._ray.get(ref)
        except self._ray.exceptions.RayActorError as error:
            yield from self._lose(worker, error)
            return
        except self._ray.exceptions.RayTaskError as error:  # a Reader answers whatever happens to a picture
            cause = getattr(error, "cause", None)
            raise cause if isinstance(cause, SketchseekError) else ClusterError(_said(error)) from None
        batch = worker.batches.pop(ref)
        worker.since = time.monotonic()
        self._lost_in_a_row = 0
        if not worker.ready:
            worker.ready = True
            if answer != __version__:
                raise ClusterError(
                    f"A node of the cluster has sketchseek {answer}, and here is {__version__}: they have to "
                    "be the same."
                )
        for task, result in zip(batch, answer if batch else [], strict=True):
            if isinstance(result, Gone) and os.path.lexists(task.path):
                raise ClusterError(
                    f"A node of the cluster does not see {os.fsdecode(task.path)}: pictures have to be in a "
                    "folder that all nodes share, under the same path."
                )
            yield result

    def _late(self) -> Iterator[Result]:
        for worker in list(self._workers):
            sizes = [len(batch) for batch in worker.batches.values()]
            patience = PATIENCE_S * max(sizes, default=0) if worker.ready else START_S
            if sizes and time.monotonic() - worker.since > patience:
                with suppress(Exception):
                    self._ray.kill(worker.actor)
                yield from self._lose(worker, None)

    def _lose(self, worker: _Worker, error: Exception | None) -> Iterator[Result]:
        """Its pictures are read again; one that was alone at hand twice is given up."""
        self._workers.remove(worker)
        self._lost_in_a_row += 1
        if not worker.ready:
            text = str(error or "")
            if "No module named" in text:
                raise ClusterError("A node of the cluster has no sketchseek: install it on every node.")
            cause = getattr(error, "cause", None)
            if isinstance(cause, SketchseekError):
                raise cause
            if self._lost_in_a_row > 3 * self._jobs:
                raise ClusterError(f"The programs that read pictures don't start. {_said(error)}")
        for task in reversed([task for batch in worker.batches.values() for task in batch]):
            if task.path in self._suspects:
                self._suspects[task.path] += 1
                if self._suspects[task.path] == 2:
                    yield unread(task, LOST)
                    continue
            self._suspects.setdefault(task.path, 0)
            self._waiting.appendleft([task])


def _said(error: Exception | None) -> str:
    lines = str(error or "").strip().splitlines()
    return lines[-1].strip() if lines else "They end at once."
