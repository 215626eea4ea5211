"""The queue before the engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sketchseek.server.searches import BusyError, DisconnectedError, Searches, SupersededError


class Engine:
    """Searches that take as long as the test says."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.ran: list[str] = []

    def work(self, name: str) -> Any:
        def run() -> str:
            self.go_on.wait(10)
            self.ran.append(name)
            return name

        return run


def in_a_loop(story: Coroutine[Any, Any, None]) -> None:
    """Run it in a thread of its own: in this one, the browser's driver may have left a loop running."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, story).result()


def never() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


def start(coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.get_running_loop().create_task(coroutine)


def test_a_newer_search_takes_the_place_of_a_waiting_one() -> None:
    async def story() -> None:
        engine, searches = Engine(), Searches(running=1, waiting=10, seconds=5)
        running = start(searches.run("page", never(), engine.work("first")))
        await asyncio.sleep(0.05)
        older = start(searches.run("page", never(), engine.work("second")))
        other = start(searches.run("elsewhere", never(), engine.work("other")))
        nameless = start(searches.run(None, never(), engine.work("nameless")))
        await asyncio.sleep(0.05)
        newer = start(searches.run("page", never(), engine.work("third")))
        with pytest.raises(SupersededError):
            await older
        engine.go_on.set()
        assert await asyncio.gather(running, other, nameless, newer) == [
            "first",
            "other",
            "nameless",
            "third",
        ]
        assert "second" not in engine.ran
        searches.close()

    in_a_loop(story())


def test_nobody_waits_for_one_who_left() -> None:
    async def story() -> None:
        engine, searches = Engine(), Searches(running=1, waiting=10, seconds=5)
        running = start(searches.run(None, never(), engine.work("running")))
        await asyncio.sleep(0.05)
        gone = never()
        waiting = start(searches.run(None, gone, engine.work("waiting")))
        cancelled = start(searches.run(None, never(), engine.work("cancelled")))
        await asyncio.sleep(0.05)
        assert searches.waiting == 2
        gone.set_result(None)
        cancelled.cancel()
        with pytest.raises(DisconnectedError):
            await waiting
        engine.go_on.set()
        await running
        assert await searches.run(None, never(), engine.work("last")) == "last"
        assert engine.ran == ["running", "last"]
        searches.close()

    in_a_loop(story())


def test_the_line_has_an_end_and_so_has_patience() -> None:
    async def story() -> None:
        engine, searches = Engine(), Searches(running=2, waiting=3, seconds=0.3)
        tasks = [start(searches.run(None, never(), engine.work(str(i)))) for i in range(5)]
        await asyncio.sleep(0.05)
        with pytest.raises(BusyError):
            await searches.run(None, never(), engine.work("one too many"))
        waited = await asyncio.gather(*tasks[2:], return_exceptions=True)
        assert all(isinstance(result, BusyError) for result in waited)
        engine.go_on.set()
        assert await asyncio.gather(*tasks[:2]) == ["0", "1"]
        searches.close()

    in_a_loop(story())


def test_a_failing_search_frees_its_place() -> None:
    async def story() -> None:
        searches = Searches(running=1, waiting=0, seconds=5)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await searches.run("page", never(), lambda: 1 // 0)
        abandoned = start(searches.run("page", never(), lambda: threading.Event().wait(0.2)))
        await asyncio.sleep(0.05)
        abandoned.cancel()
        await asyncio.sleep(0.4)
        assert await searches.run("page", never(), lambda: "free") == "free"
        searches.close()

    in_a_loop(story())
