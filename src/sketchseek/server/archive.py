"""Several pictures as one zip file, sent while it is made."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from ..contours.source import open_regular
from ..errors import SketchseekError
from ..output.html import as_text

CHUNK = 1 << 18
MISSING = "missing.txt"
"""What tells of pictures whose files are gone."""


class Pipe:
    """What a zip file is written to, until it is taken away: nothing is kept."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Keep it until it is taken."""
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """There is nobody to flush to."""

    def take(self) -> bytes:
        """What came since the last time."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken


def archive(paths: Iterable[str]) -> Iterator[bytes]:
    """The files as they are, under their names; pictures are compressed already."""
    pipe = Pipe()
    taken: set[str] = set()
    gone: list[str] = []
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_STORED) as file:  # type: ignore[call-overload]
        for path in paths:
            try:
                source = open_regular(path)
            except (OSError, ValueError, SketchseekError):
                gone.append(as_text(path))
                continue
            with source, file.open(unused_name(path, taken), "w", force_zip64=True) as entry:
                while chunk := source.read(CHUNK):
                    entry.write(chunk)
                    yield pipe.take()
        if gone:
            file.writestr(MISSING, "".join(f"{path}\n" for path in gone))
    yield pipe.take()


def unused_name(path: str, taken: set[str]) -> str:
    """The file's name, with as many of its folders as it takes to be different from others; now taken."""
    parts = PurePath(as_text(path)).parts
    names = ["/".join(parts[-depth:]).lstrip("/") for depth in range(1, len(parts) + 1)]
    name = next((name for name in names if name not in taken and name != MISSING), None)
    if name is None:  # the same file twice
        name = f"{len(taken)}-{names[0]}"
    taken.add(name)
    return name
