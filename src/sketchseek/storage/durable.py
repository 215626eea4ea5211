"""What makes a file's bytes survive: syncing to disk, and one writer at a time."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .. import system


def sync_files(paths: Iterable[Path]) -> None:
    """Wait until the files and the names of the files are on disk."""
    folders = set()
    for path in paths:
        system.sync(path)
        folders.add(path.parent)
    for folder in folders:
        system.sync(folder)


def replace_file(temporary: Path, final: Path) -> None:
    """Put a finished file in its place in one step, and on disk."""
    system.sync(temporary)
    os.replace(temporary, final)
    with suppress(OSError):
        system.sync(final.parent)


def write_file(path: Path, content: bytes) -> None:
    """Write a small file in one step and on disk; what is there stays when it can't be."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        temporary.write_bytes(content)
        replace_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_note(path: Path, value: Any) -> None:
    """Write what fits JSON in one step and on disk, behind its checksum."""
    from .checksum import digest

    text = json.dumps(value).encode()
    write_file(path, digest(text).hex().encode() + b"\n" + text)


def read_note(path: Path) -> Any:
    """What was written; ValueError where it is something else now. Older ones have no checksum."""
    from .checksum import digest

    content = path.read_bytes()
    total, mark, text = content.partition(b"\n")
    if content[:1] in (b"{", b"["):
        return json.loads(content)
    if not mark or total != digest(text).hex().encode():
        raise ValueError(f"{path} is not what was written")
    return json.loads(text)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C and a request to end wait until the block is through. Only the main thread ever gets them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda n, _: came.append(n)) for number in system.INTERRUPTS}
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
            system.unlock(descriptor)
        os.close(descriptor)


def _locked(path: Path) -> int:
    """A descriptor of the file that is at `path` once the lock is held: another may have been there."""
    while True:
        descriptor = os.open(path, system.WRITE, 0o644)
        try:
            system.lock(descriptor)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
