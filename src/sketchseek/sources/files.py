"""Bytes of a stranger's file: the one place where pictures and drawings are opened."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

from .. import system
from ..errors import SketchseekError
from .limits import MAX_BYTES
from .objects import fetch, is_object
from .volumes import PAGED, read_page, suffix, volume_and_page

Source = str | Path | bytes


def source_name(source: Source) -> str:
    """What a sentence about `source` begins with: the file's name, or "The file" for bytes."""
    if isinstance(source, bytes | bytearray | memoryview):
        return "The file"
    return os.path.basename(os.fspath(source)).encode("utf-8", "replace").decode() or "The file"


def as_text(name: str) -> str:
    """A file name in UTF-8: bytes that are not become U+FFFD."""
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")


def printable(text: str) -> str:
    """A file name that is safe to print: control characters and bytes that are not text are escaped."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


def read_source(source: Source, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a file, or `source` itself if it is bytes; an error if none or too many.

    Of a page of a volume, those of a picture of it; of a volume, of its first page.
    """
    name = source_name(source)
    if not isinstance(source, bytes | bytearray | memoryview):
        volume, page = volume_and_page(os.fsencode(source))
        if page is not None or suffix(volume) in PAGED:
            return read_page(volume, page or 1)
    if isinstance(source, bytes | bytearray | memoryview):
        data = bytes(source)
    else:
        try:
            with open_regular(source, name, limit) as file:
                data = file.read(limit + 1)
        except (OSError, ValueError) as error:  # ValueError: a null byte in the path
            reason = getattr(error, "strerror", None) or str(error)
            raise SketchseekError(f"{name} could not be read: {reason}.") from error
    if len(data) > limit:
        raise SketchseekError(_too_large(name, limit))
    if not data:
        raise SketchseekError(f"{name} is empty.")
    return data


def open_regular(
    path: str | bytes | Path, name: str = "The file", limit: int = MAX_BYTES
) -> io.BufferedReader:
    """A regular file, or an object of a store, of at most `limit` bytes, open for reading.

    Whatever stands at a path when it is looked at, a named pipe or a device may stand there when it is
    opened. Neither must hang the reader or be read without end: what counts is what was opened.

    Raises OSError as `open` does, and SketchseekError for what is no regular file or too large.
    """

    def check(found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise SketchseekError(f"{name} is not a regular file.")
        if found.st_size > limit:
            raise SketchseekError(_too_large(name, limit))

    if is_object(path):
        return io.BufferedReader(io.BytesIO(fetch(path, limit)[1]))
    check(os.stat(path))  # a device is best not opened at all: some do things then
    # O_NONBLOCK: opening a named pipe without a writer must not hang.
    descriptor = os.open(path, system.READ | system.NO_WAITING)
    try:
        check(os.fstat(descriptor))
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _too_large(name: str, limit: int) -> str:
    return f"{name} is larger than {limit // 2**20} MB."
