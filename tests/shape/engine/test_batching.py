"""Questions of many threads: alone when nobody else is there, else with those that waited, each its own."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from sketchseek.shape.engine.batching import RequestBatcher


class Slow:
    """Squares numbers, in batches that it writes down; the first waits until it is told to go on."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        if len(self.batches) == 1:
            self.begun.set()
            assert self.go_on.wait(60)
        if -1 in numbers:
            raise ValueError("negative")
        return [n * n for n in numbers]


def ask_meanwhile(
    slow: Slow, together: RequestBatcher[int, int], questions: list[tuple[str, int]]
) -> list[int | str]:
    """Ask 0 first, the others while it is being answered, in that order."""
    with ThreadPoolExecutor(len(questions) + 1) as threads:
        asked = [threads.submit(together.ask, "first", 0)]
        assert slow.begun.wait(60)
        for waiting, (kind, number) in enumerate(questions):
            asked.append(threads.submit(together.ask, kind, number))
            while together.waiting <= waiting:
                threading.Event().wait(0.001)
        slow.go_on.set()
        return [str(a.exception(60)) if a.exception(60) else a.result(60) for a in asked]


def test_who_comes_to_nobody_goes_at_once() -> None:
    batches: list[list[str]] = []

    def shout(words: Sequence[str]) -> list[str]:
        batches.append(list(words))
        return [word.upper() for word in words]

    together = RequestBatcher(shout, 16)
    assert [together.ask("any", word) for word in ("a", "b")] == ["A", "B"]
    assert batches == [["a"], ["b"]]


def test_who_comes_meanwhile_goes_together() -> None:
    slow = Slow()
    together = RequestBatcher(slow, 16)
    assert ask_meanwhile(slow, together, [("x", n) for n in (3, 5, 2)]) == [0, 9, 25, 4]
    assert slow.batches == [[0], [3, 5, 2]]


def test_kinds_go_apart_and_the_first_in_line_is_next() -> None:
    slow = Slow()
    together = RequestBatcher(slow, 2)
    questions = [("x", 1), ("y", 2), ("x", 3), ("x", 4), ("y", 5)]
    assert ask_meanwhile(slow, together, questions) == [0, 1, 4, 9, 16, 25]
    assert slow.batches == [[0], [1, 3], [2, 5], [4]]


def test_a_failure_is_that_of_its_batch_alone() -> None:
    slow = Slow()
    together = RequestBatcher(slow, 2)
    questions = [("x", 1), ("x", -1), ("x", 3)]
    assert ask_meanwhile(slow, together, questions) == [0, "negative", "negative", 9]
    assert together.ask("x", 4) == 16


def test_nobody_is_forgotten() -> None:
    together = RequestBatcher(lambda numbers: [n + 1 for n in numbers], 3)
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda n: together.ask(n % 4, n), range(400), timeout=60))
    assert answers == list(range(1, 401))
    with pytest.raises(ValueError, match="shorter"):
        RequestBatcher(lambda numbers: [], 3).ask("x", 1)
