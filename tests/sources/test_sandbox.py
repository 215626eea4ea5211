"""Processes for strangers' files: limits that hold, and whose fault it is when they are met."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sketchseek.errors import SketchseekError
from sketchseek.sources.sandbox import Children, LimitError, machine_failed

pytestmark = pytest.mark.slow


def work(message: bytes) -> bytes:
    """What the processes of these tests do."""
    what, _, rest = message.partition(b" ")
    if what == b"spin":
        while True:
            pass
    if what == b"fill":
        return bytes(int(rest))[:1]
    if what == b"crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == b"killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == b"refuse":
        raise SketchseekError(rest.decode())
    if what == b"sleep":
        signal.pause()
    return b"%d %s" % (os.getpid(), rest)


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Iterator[Children]:
    monkeypatch.setattr(sys, "path", [*sys.path, os.path.dirname(__file__)])
    made = Children(f"{__name__}:work", memory=2**29, seconds=0.3, patience=60)
    yield made
    made.close()


def test_a_process_is_kept(children: Children) -> None:
    first, second = (children.ask(b"echo " + word).split() for word in (b"one", b"two"))
    assert (first[1], second[1]) == (b"one", b"two")
    assert first[0] == second[0] != b"%d" % os.getpid()
    large = b"x" * 3_000_000
    assert children.ask(b"echo " + large).endswith(large)


@pytest.mark.parametrize(
    ("message", "error", "sentence"),
    [
        (b"spin", LimitError, "too much time"),
        (b"fill 3000000000", LimitError, "too much memory"),
        (b"crash", SketchseekError, "SIGSEGV"),
        (b"refuse It is blue.", SketchseekError, "It is blue."),
    ],
)
def test_the_files_fault(children: Children, message: bytes, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence) as caught:
        children.ask(message)
    assert caught.value.__cause__ is None
    assert children.ask(b"echo still").endswith(b" still")


def test_the_machines_fault(children: Children) -> None:
    with pytest.raises(LimitError) as caught:
        children.ask(b"killed")
    assert isinstance(caught.value.__cause__, MemoryError)
    children._patience = 0.5
    with pytest.raises(LimitError, match="time") as caught:
        children.ask(b"sleep")
    assert machine_failed(caught.value)
    assert caught.value.__cause__.errno is not None


def test_processor_time_is_counted_for_each_file(children: Children) -> None:
    pids = {children.ask(b"echo").split()[0] for _ in range(200)}
    assert len(pids) == 1


def test_one_that_ended_while_idle_is_replaced(children: Children) -> None:
    pid = int(children.ask(b"echo").split()[0])
    os.kill(pid, signal.SIGKILL)
    children._idle[0].process.wait()
    assert int(children.ask(b"echo").split()[0]) != pid


def test_a_fork_does_not_speak_to_its_parents_process(children: Children) -> None:
    pid = int(children.ask(b"echo").split()[0])
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if int(children.ask(b"echo").split()[0]) != pid else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert int(children.ask(b"echo").split()[0]) == pid


def test_a_process_that_does_not_start_is_the_machines_fault() -> None:
    broken = Children("sketchseek.contours.nowhere:work", memory=2**29, seconds=1, patience=60)
    with pytest.raises(SketchseekError, match="could not be started") as caught:
        broken.ask(b"echo")
    assert machine_failed(caught.value)
    assert "exit status 1" in str(caught.value)


def test_a_process_that_ends_at_its_start_is_started_once_more(
    children: Children, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first to come takes the file, and ends without a word."""
    (tmp_path / "fail").touch()
    (tmp_path / "unsteady.py").write_text(
        "import os, pathlib\n"
        "here = pathlib.Path(__file__).with_name('fail')\n"
        "if here.exists(): here.unlink(); os._exit(3)\n"
        "def work(message): return message\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    unsteady = Children("unsteady:work", memory=2**29, seconds=1, patience=60)
    assert unsteady.ask(b"echo") == b"echo"
    assert not (tmp_path / "fail").exists()
    unsteady.close()


def test_closing_ends_one_that_is_busy(children: Children) -> None:
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(children.ask, b"sleep")
        while not children._busy:
            time.sleep(0.01)
        children.close()
        with pytest.raises(LimitError):
            asked.result(60)
