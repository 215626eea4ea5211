"""Bytes of a file somebody else made: regular files only, and a cap before anything is read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ..errors import SketchseekError

MAX_BYTES = 256 * 2**20
"""No picture file is larger than this; a larger one is refused unread."""

Source = str | Path | bytes


def source_name(source: Source) -> str:
    """What a sentence about `source` begins with: the file's name, or "The file" for bytes."""
    if isinstance(source, bytes | bytearray | memoryview):
        return "The file"
    return os.path.basename(os.fspath(source)).encode("utf-8", "replace").decode() or "The file"


def read_source(source: Source, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file, or `source` itself if it is bytes; an error if none or too many."""
    name = source_name(source)
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
    else:
        data = _read_file(source, name, limit)
    if len(data) > limit:
        raise SketchseekError(f"{name} is larger than {limit // 2**20} MB.")
    if not data:
        raise SketchseekError(f"{name} is empty.")
    return data


def _read_file(path: str | Path, name: str, limit: int) -> bytes:
    try:
        # O_NONBLOCK: opening a named pipe that nobody writes to must not hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise SketchseekError(f"{name} is not a regular file.")
            if found.st_size > limit:
                raise SketchseekError(f"{name} is larger than {limit // 2**20} MB.")
            with open(descriptor, "rb", closefd=False) as file:
                return file.read(limit + 1)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = getattr(error, "strerror", None) or str(error)
        raise SketchseekError(f"{name} could not be read: {reason}.") from error
