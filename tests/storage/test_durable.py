from __future__ import annotations

import errno
import fcntl
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from sketchseek.storage.durable import exclusive, sync_files

pytestmark = pytest.mark.filterwarnings("ignore:lance is not fork-safe")  # what is forked only waits


def test_macos_is_asked_to_empty_the_drives_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, bool]] = []
    plain: list[int] = []
    answer: OSError | None = None

    def control(descriptor: int, command: int) -> int:
        asked.append((command, os.fstat(descriptor).st_ino == (tmp_path / "file").stat().st_ino))
        if answer is not None:
            raise answer
        return 0

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", plain.append)
    (tmp_path / "file").write_bytes(b"kept")

    sync_files([tmp_path / "file"])
    assert asked == [(51, True), (51, False)], "the file, then the folder that holds its name"
    assert plain == []

    answer = OSError(errno.ENOTSUP, "not on this drive")
    sync_files([tmp_path / "file"])
    assert len(plain) == 2

    answer = OSError(errno.EIO, "the drive failed")
    with pytest.raises(OSError, match="the drive failed"):
        sync_files([tmp_path / "file"])


def is_free(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def test_a_process_forked_while_the_lock_is_held_keeps_nobody_out(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with exclusive(lock):
        child = os.fork()
        if child == 0:
            signal.pause()
            os._exit(0)
        assert not is_free(lock)
    try:
        assert is_free(lock)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_process_forked_while_the_lock_is_held_lets_nobody_in(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with exclusive(lock):
        child = -1
        try:
            with exclusive(tmp_path / "other"):
                child = os.fork()
        finally:
            if child == 0:
                os._exit(0)
        os.waitpid(child, 0)
        assert not is_free(lock)


def test_a_lock_that_somebody_took_away_is_one_lock_all_the_same(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    held, entered = threading.Event(), threading.Event()

    def wait_for_it() -> None:
        with exclusive(lock):
            entered.set()
            held.wait()

    with exclusive(lock):
        thread = threading.Thread(target=wait_for_it)
        thread.start()
        while "lock" not in "".join(os.readlink(f"/proc/self/fd/{n}") for n in _descriptors()[1:]):
            pass
        lock.unlink()
    entered.wait()
    assert not is_free(lock)  # the file that is at its place now is the one that is locked
    held.set()
    thread.join()


def _descriptors() -> list[int]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").endswith("/lock"):
                found.append(int(name))
        except FileNotFoundError:
            continue
    return found
