"""Work on strangers' files in a process of its own, with limits of time and memory.

What crashes, fills or stalls that process ends it, and the next file gets another. A process that did well is
kept, so that a small file costs no more than its way there and back.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

from .. import system
from ..errors import SketchseekError

OK, PROBLEM, TOO_LARGE = b"\0", b"\1", b"\2"
"""First byte of a reply: what the work gave follows, or a sentence, or nothing."""
START_SECONDS = 120.0
"""For a process to be ready, on a machine with much else to do."""
START = "import sys; sys.path[:] = {path!r}; from {module} import {function}; {function}{arguments!r}"


class LimitError(Exception):
    """The work took more than one file may take: "too much time", "too much memory"."""


class Children:
    """Processes that all do the same work, one file after another. Safe to use from many threads.

    A process is started when it is needed, and there are as many as were needed at once.

    work : "module:function" of bytes -> bytes, which may raise SketchseekError.
    memory : most bytes of address space; Linux alone enforces it.
    seconds : most processor time for one file.
    patience : most seconds for one file by the clock, however busy the machine is.
    """

    def __init__(self, work: str, *, memory: int, seconds: float, patience: float) -> None:
        self._arguments = (work, memory, seconds)
        self._patience = patience
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()

    def ask(self, message: bytes) -> bytes:
        """What the work makes of `message`.

        Raises LimitError for what costs too much, SketchseekError for what the work refuses. Where the
        machine is to blame, and not the message, the cause is an OSError with a number, or a MemoryError.
        """
        child = self._take()
        self._busy.add(child)
        try:
            reply = child.ask(message, self._patience)
        except BaseException:
            child.end()
            raise
        finally:
            self._busy.discard(child)
        self._idle.append(child)
        kind, rest = reply[:1], reply[1:]
        if kind == TOO_LARGE:
            raise LimitError("too much memory")
        if kind == PROBLEM:
            raise SketchseekError(rest.decode())
        return rest

    def _take(self) -> _Child:
        while self._idle:
            child = self._idle.pop()
            if child.owner != os.getpid():  # this process is a fork: its parent still speaks to that one
                continue
            if child.process.poll() is None:
                return child
            child.end()
        try:
            try:
                return _Child(self._arguments)
            except ChildProcessError:  # a machine that is short of something just now: once more
                return _Child(self._arguments)
        except OSError as error:
            raise SketchseekError(f"A process that reads files could not be started: {error}.") from error

    def close(self) -> None:
        """End the processes, whatever they do: who waits for one is told that it ended."""
        for child in list(self._busy):
            child.process.kill()
        while self._idle:
            self._idle.pop().end()


class _Child:
    def __init__(self, arguments: tuple[object, ...]) -> None:
        self.owner = os.getpid()
        self.process, self.connection = start(__name__, "main", *arguments)
        reason = f"it did not answer within {START_SECONDS:.0f} s"
        try:
            if self.connection.poll(START_SECONDS):
                self.connection.recv_bytes()
                return
        except (EOFError, ConnectionResetError):
            reason = f"it ended at its start: {system.how_it_ended(self.process.wait())}"
        self.end()
        raise ChildProcessError(errno.ECHILD, reason)

    def ask(self, message: bytes, patience: float) -> bytes:
        try:
            self.connection.send_bytes(message)
            if not self.connection.poll(patience):
                late = TimeoutError(errno.ETIMEDOUT, "the machine is too busy")
                raise LimitError("too much time") from late
            return self.connection.recv_bytes()
        except (EOFError, BrokenPipeError, ConnectionResetError):
            status = self.process.wait()
        if system.ended_by_time(status):
            raise LimitError("too much time")
        if system.ended_by_system(status):  # it has run out of memory
            raise LimitError("too much memory") from MemoryError()
        raise SketchseekError(f"it ended the process that read it: {system.how_it_ended(status)}")

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.wait()


def machine_failed(error: BaseException) -> bool:
    """Whether there was too little time or memory, or the system refused something, behind an error.

    A decoder's own complaints may be OSErrors, too, but have no number.
    """
    behind: BaseException | None = error
    while behind is not None:
        if isinstance(behind, MemoryError) or (isinstance(behind, OSError) and behind.errno is not None):
            return True
        behind = behind.__cause__
    return False


def start(module: str, function: str, *arguments: object) -> tuple[subprocess.Popen[bytes], Connection]:
    """A fresh interpreter that calls `function(descriptor, *arguments)`, and a connection to that descriptor.

    Started from a command line of its own, so that a script that uses this need not guard its main module.
    """
    package = str(Path(__file__).resolve().parents[2])
    path = [package, *(entry for entry in sys.path if entry and entry != package)]

    def command(descriptor: int) -> list[str]:
        given = (descriptor, *arguments)
        code = START.format(path=path, module=module, function=function, arguments=given)
        return [sys.executable, "-P", "-c", code]

    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return system.start_child(command, {**os.environ, **threads})


def main(descriptor: int, work: str, memory: int, seconds: float) -> None:
    """What the process does until its parent closes the connection, or is no more."""
    limits = system.Limits(memory)
    module, _, function = work.partition(":")
    do: Callable[[bytes], bytes] = getattr(import_module(module), function)
    connection = system.connection(descriptor)
    try:
        connection.send_bytes(OK)
        while True:
            message = connection.recv_bytes()
            limits.allow(seconds)
            try:
                reply = OK + do(message)
            except SketchseekError as error:
                reply = PROBLEM + str(error).encode("utf-8", "replace")
            except (MemoryError, RecursionError):
                reply = TOO_LARGE
            limits.allow(0)
            connection.send_bytes(reply)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
