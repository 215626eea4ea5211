"""What makes a file's bytes survive: syncing to disk, and one writer at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NO_LOCKS_HERE = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}


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
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(temporary: Path, final: Path) -> None:
    """Put a finished file in its place in one step, and on disk."""
    _sync(temporary)
    os.replace(temporary, final)
    with suppress(OSError):
        _sync(final.parent)


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock at `path`, waiting for it; it goes with the process, however that ends.

    A file system that has no locks gives none; the table still merges commits there.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _NO_LOCKS_HERE:
                raise
        yield
    finally:
        os.close(descriptor)
