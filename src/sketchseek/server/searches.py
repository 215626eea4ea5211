"""A bounded queue before the engine: the newest search of each page, and no more than the machine can do."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class BusyError(Exception):
    """The queue is full, or the search waited too long."""


class SupersededError(Exception):
    """The same page asked for something newer."""


class DisconnectedError(Exception):
    """The client has left."""


class Searches:
    """Runs searches on `running` threads; at most `waiting` more stand in line, for `seconds` at most."""

    def __init__(self, running: int, waiting: int, seconds: float) -> None:
        self._threads = ThreadPoolExecutor(running, thread_name_prefix="search")
        self._slots = self._free = running
        self._longest = waiting
        self._seconds = seconds
        self._line: deque[asyncio.Future[None]] = deque()
        self._newest: dict[str, asyncio.Future[None]] = {}

    @property
    def running(self) -> int:
        """Searches on a thread, or about to be."""
        return self._slots - self._free

    @property
    def waiting(self) -> int:
        """Searches in line."""
        return sum(not turn.done() for turn in self._line)

    async def run(self, page: str | None, gone: asyncio.Future[None], work: Callable[[], T]) -> T:
        """Wait for a free thread and do `work` on it.

        page : names the sender. A newer call with the same name makes an older one that still waits give up.
        gone : becomes ready when the client has left.
        """
        loop = asyncio.get_running_loop()
        if page in self._newest:
            _give_up(self._newest[page], SupersededError())
        if not self._free and self.waiting >= self._longest:
            raise BusyError
        turn: asyncio.Future[None] = loop.create_future()
        if page is not None:
            self._newest[page] = turn
        timer = loop.call_later(self._seconds, _give_up, turn, BusyError())
        gone.add_done_callback(lambda _: _give_up(turn, DisconnectedError()))
        self._line.append(turn)
        self._call_next()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was its turn, and its client has left
                self._finished()
            raise
        finally:
            timer.cancel()
            if page is not None and self._newest.get(page) is turn:
                del self._newest[page]
        running = loop.run_in_executor(self._threads, work)
        running.add_done_callback(self._finished)
        # Shielded: when the client leaves, the thread is busy all the same, and its slot stays taken.
        return await asyncio.shield(running)

    def _call_next(self) -> None:
        while self._free and self._line:
            turn = self._line.popleft()
            if not turn.done():
                self._free -= 1
                turn.set_result(None)

    def _finished(self, _: object = None) -> None:
        self._free += 1
        self._call_next()

    def close(self) -> None:
        """Finish what runs."""
        self._threads.shutdown(wait=True)


def _give_up(turn: asyncio.Future[None], reason: Exception) -> None:
    if not turn.done():
        turn.set_exception(reason)
