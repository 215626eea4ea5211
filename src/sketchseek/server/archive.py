"""Several pictures as one zip file, sent while it is made."""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator
from itertools import chain, count

from ..errors import SketchseekError
from ..sources.files import as_text, open_regular, read_source
from ..sources.volumes import volume_and_page

CHUNK = 1 << 18
MISSING = "missing.txt"
"""What tells of pictures whose files are gone."""
_NOT_EVERYWHERE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')
_DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


class Pipe:
    """What a zip file is written to, until it is taken away: nothing is kept."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        """Keep it until it is taken."""
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing: there is nothing below."""

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
                source, name = _opened(path)
            except (OSError, ValueError, SketchseekError):
                gone.append(as_text(path))
                continue
            with source, file.open(unused_name(name, taken), "w", force_zip64=True) as entry:
                while chunk := source.read(CHUNK):
                    entry.write(chunk)
                    yield pipe.take()
        if gone:
            file.writestr(MISSING, "".join(f"{path}\n" for path in gone))
    yield pipe.take()


def _opened(path: str) -> tuple[io.BufferedIOBase, str]:
    """A picture's file and its name; of a page, a picture of it."""
    if volume_and_page(path)[1] is None:
        return open_regular(path), path
    from PIL import Image

    data = read_source(path)  # made by the process that opens volumes
    if data[:1] == b"<":
        return io.BytesIO(data), f"{path}.svg"
    if data[:2] != b"BM":
        is_jpeg = data[:2] == b"\xff\xd8"
        return io.BytesIO(data), f"{path}.{'jpg' if is_jpeg else 'tif'}"
    out = io.BytesIO()
    Image.open(io.BytesIO(data), formats=["BMP"]).save(out, "PNG", compress_level=1)
    return io.BytesIO(out.getvalue()), f"{path}.png"


def unused_name(path: str, taken: set[str]) -> str:
    """The file's name, with as many of its folders as it takes to be different from others; now taken."""
    parts = [harmless(part) for part in as_text(path).split("/") if part]
    names = ["/".join(parts[-depth:]) for depth in range(1, len(parts) + 1)]
    again = (f"{i}-{names[0]}" for i in count(len(taken)))  # the same file twice
    name = next(name for name in chain(names, again) if alike(name) not in {*taken, MISSING})
    taken.add(alike(name))
    return name


def harmless(part: str) -> str:
    """A name of a file or folder as every system may have it: no path, drive, device or end in a dot."""
    name = _NOT_EVERYWHERE.sub("_", part).rstrip(". ") or "_"
    return f"_{name}" if _DEVICE.match(name) else name


def alike(name: str) -> str:
    """What is the same for names that some systems take for one: case and composition don't count there."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
