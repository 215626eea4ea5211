"""Questions of many threads, answered together: what reads everything once for all that wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


@dataclass(eq=False)
class _Waiting(Generic[Q, A]):
    kind: Hashable
    question: Q
    answer: list[A] = field(default_factory=list)
    failure: BaseException | None = None

    @property
    def done(self) -> bool:
        return bool(self.answer) or self.failure is not None


class RequestBatcher(Generic[Q, A]):
    """A question that comes while none is being answered goes at once; those that come meanwhile go together.

    There is no thread of its own: one of those who wait answers for the others.

    answer : answers at most `most` questions of one kind, in order.
    """

    def __init__(self, answer: Callable[[Sequence[Q]], Sequence[A]], most: int) -> None:
        self._answer, self._most = answer, most
        self._line: list[_Waiting[Q, A]] = []
        self._busy = False
        self._changed = threading.Condition()

    @property
    def waiting(self) -> int:
        """How many questions wait for the next answers."""
        return len(self._line)

    def ask(self, kind: Hashable, question: Q) -> A:
        """The answer to one question; questions of equal kinds may be answered together."""
        mine: _Waiting[Q, A] = _Waiting(kind, question)
        with self._changed:
            self._line.append(mine)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: mine.done or not self._busy)
                if mine.done:
                    break
                batch = self._next()
                self._busy = True
            try:
                self._serve(batch)
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
        if mine.failure is not None:
            raise mine.failure
        return mine.answer[0]

    def _next(self) -> list[_Waiting[Q, A]]:
        """The first in line, and those after it that are of its kind; they leave the line."""
        kind = self._line[0].kind
        batch = [waiting for waiting in self._line if waiting.kind == kind][: self._most]
        self._line = [waiting for waiting in self._line if waiting not in batch]
        return batch

    def _serve(self, batch: list[_Waiting[Q, A]]) -> None:
        try:
            answers = self._answer([waiting.question for waiting in batch])
            for waiting, answer in zip(batch, answers, strict=True):
                waiting.answer.append(answer)
        except BaseException as failure:
            for waiting in batch:
                waiting.failure = failure
            if not isinstance(failure, Exception):
                raise
