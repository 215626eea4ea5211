"""A pool of worker processes in which a picture that ends its reader costs one worker, not the run.

The processes are started afresh (`sources/sandbox.py`), as Lance must not be forked.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import deque
from collections.abc import Iterable, Iterator
from multiprocessing.connection import wait

from .. import system
from ..errors import SketchseekError
from ..sources.sandbox import start
from ..sources.volumes import file_of
from ..storage.schema import IndexConfig
from .worker import Failed, Gone, Result, Task

AHEAD = 3  # tasks sent to a worker before it answers, so that it never waits
PATIENCE_S = 120.0  # for one picture
START_S = 300.0  # for a process to be ready, on a machine with much else to do
TICK_S = 0.5


class _Worker:
    def __init__(self, config: IndexConfig, device: str) -> None:
        self.process, self.connection = start("sketchseek.indexing.worker", "main")
        self.connection.send((config, device))
        self.ready = False
        self.sent: deque[Task] = deque()
        self.since = time.monotonic()

    def give(self, task: Task) -> None:
        if not self.sent:
            self.since = time.monotonic()
        self.sent.append(task)
        self.connection.send(task)

    def take(self) -> Result | None:
        """The next answer; None for the greeting. EOFError when the process is no more."""
        message = self.connection.recv()
        if not self.ready:
            if message is not None:
                raise SketchseekError(message)
            self.ready = True
            self.since = time.monotonic()
            return None
        self.sent.popleft()
        self.since = time.monotonic()
        result: Result = message
        return result

    def is_late(self) -> bool:
        """Whether it has been at the picture in hand, or at starting, for too long."""
        patience = PATIENCE_S if self.ready else START_S
        return bool(self.sent) and time.monotonic() - self.since > patience

    def end(self) -> int:
        """Close the connection and wait; the exit status, negative for a signal."""
        self.connection.close()
        try:
            return self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Workers:
    """`jobs` processes that answer tasks in any order.

    >>> with Workers(config, jobs=2) as workers:       # doctest: +SKIP
    ...     for result in workers.results(tasks):
    ...         ...                                  # None comes now and then, when there is nothing yet
    """

    def __init__(self, config: IndexConfig, jobs: int, device: str = "cpu") -> None:
        self._config, self._device = config, device
        self._jobs = jobs
        self._workers: list[_Worker] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def results(self, tasks: Iterable[Task]) -> Iterator[Result | None]:
        """Answers as they come, one for each task; None at least every half second."""
        waiting = deque(tasks)
        again: set[bytes] = set()  # pictures in hand when a worker ended: given a second chance
        for _ in range(min(self._jobs, len(waiting)) - len(self._workers)):
            self._hire()
        while waiting or any(worker.sent for worker in self._workers):
            for worker in list(self._workers):
                while waiting and len(worker.sent) < AHEAD:
                    try:
                        worker.give(waiting.popleft())
                    except OSError:  # it has just ended; its answer below says so
                        break
            ready = wait([worker.connection for worker in self._workers], timeout=TICK_S)
            if not ready:
                yield None
            for worker in list(self._workers):
                if worker.connection in ready:
                    try:
                        result = worker.take()
                    except (EOFError, ConnectionResetError):
                        how = system.how_it_ended(worker.process.wait())
                        reason = f"Reading it ended the program that reads pictures ({how})."
                        yield from self._replace(worker, waiting, again, reason)
                    else:
                        if result is not None:
                            yield result
                elif worker.is_late():
                    worker.process.kill()
                    again.add(worker.sent[0].path)  # no second chance: it would take as long
                    reason = f"Reading it took more than {PATIENCE_S:.0f} s."
                    yield from self._replace(worker, waiting, again, reason)

    def _replace(
        self, worker: _Worker, waiting: deque[Task], again: set[bytes], reason: str
    ) -> Iterator[Result]:
        """A new worker for one that ended; the picture it had in hand gets one more chance."""
        worker.end()
        self._workers.remove(worker)
        if not worker.ready:
            raise SketchseekError(f"The programs that read pictures don't start. {reason}")
        if worker.sent:
            blamed = worker.sent.popleft()
            if blamed.path in again:
                yield unread(blamed, reason)
            else:
                again.add(blamed.path)
                worker.sent.append(blamed)
        waiting.extendleft(reversed(worker.sent))
        if waiting:
            self._hire()

    def _hire(self) -> None:
        """One more worker; where there are too many open files or processes for it, those there will do."""
        try:
            self._workers.append(_Worker(self._config, self._device))
        except OSError as error:
            if not self._workers:
                reason = error.strerror or str(error)
                raise SketchseekError(f"The programs that read pictures don't start: {reason}.") from error


def unread(task: Task, reason: str) -> Result:
    """The result for a picture whose reader did not come back; it is tried again by a later run."""
    if task.stat is not None:
        return Failed(task.path, task.stat.size, task.stat.modified, b"", reason)
    try:
        found = os.stat(file_of(task.path))
    except OSError:
        return Gone(task.path)
    return Failed(task.path, found.st_size, found.st_mtime_ns, b"", reason)
