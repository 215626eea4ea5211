"""What makes a file's bytes survive: syncing to disk, and one writer at a time."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
_NO_LOCKS_HERE = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}
_NO_FULL_SYNC_HERE = {
    errno.ENOTSUP,
    errno.EINVAL,
    errno.ENOTTY,
}  # network drives, and drives of other systems


def sync_files(paths: Iterable[Path]) -> None:
    """Wait until the files and the names of the files are on disk."""
    folders = set()
    for path in paths:
        _sync(path)
        folders.add(path.parent)
    for folder in folders:
        _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def _sync_descriptor(descriptor: int) -> None:
    """On macOS `fsync` ends when the drive has the data in its cache; F_FULLFSYNC waits until it is kept."""
    thoroughly = getattr(fcntl, "F_FULLFSYNC", None)
    if thoroughly is not None:
        try:
            fcntl.fcntl(descriptor, thoroughly)
            return
        except OSError as error:
            if error.errno not in _NO_FULL_SYNC_HERE:
                raise
    os.fsync(descriptor)


def forget_what_was_read(path: Path) -> None:
    """Have the next read of a file come from its disk, where the system lets one say so."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def replace_file(temporary: Path, final: Path) -> None:
    """Put a finished file in its place in one step, and on disk."""
    _sync(temporary)
    os.replace(temporary, final)
    with suppress(OSError):
        _sync(final.parent)


def write_file(path: Path, content: bytes) -> None:
    """Write a small file in one step and on disk; what is there stays when it can't be."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        temporary.write_bytes(content)
        replace_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C and a request to end wait until the block is through. Only the main thread ever gets them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda n, _: came.append(n)) for number in _INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock at `path`, waiting for it; it goes with the process, however that ends.

    A file system that has no locks gives none; the table still merges commits there.
    """
    descriptor, process = _locked(path), os.getpid()
    try:
        yield
    finally:
        if os.getpid() == process:  # one that was forked meanwhile holds the lock as well, and may live on
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _locked(path: Path) -> int:
    """A descriptor of the file that is at `path` once the lock is held: somebody may have taken it away."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            except OSError as error:
                if error.errno not in _NO_LOCKS_HERE:
                    raise
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
