"""Volumes: files whose pages are pictures of their own, each known as `VOLUME#page=N`.

A PDF, a TIFF with several pages, a comic archive, or a film, whose frames are pages for who asks for one.
They are opened in a process with limits (`volume_pages.py`), and a page comes back as a picture file.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, AnyStr

from ..errors import SketchseekError
from .limits import MAX_PAGES, PAGE_MEMORY, PAGE_PATIENCE, PAGE_SECONDS

if TYPE_CHECKING:
    from .sandbox import Children

PAGED = frozenset(b".pdf .cbz".split())
"""Suffixes of what is a volume and nothing else."""
MAYBE_PAGED = frozenset(b".tif .tiff".split())
"""Suffixes of what is a picture where it has one page, and a volume where it has several."""
NO_PDF = "Reading PDF needs the extra: pip install 'sketchseek[pdf]'."
COSTLY_PAGES = 3
"""After so many pages that took too much, the other pages of a volume are not tried."""

_PAGE = re.compile(rb"(.+\.(?:pdf|cbz|tiff?|gif|webp|png))#page=([1-9]\d{0,6})", re.IGNORECASE | re.DOTALL)
_costly: dict[bytes, int] = {}


def volume_and_page(path: AnyStr | os.PathLike[AnyStr]) -> tuple[AnyStr, int | None]:
    """The file of a picture, and the number of the page that it is of it; None where it is all of it."""
    text = os.fspath(path)
    found = _PAGE.fullmatch(os.fsencode(text))
    if found is None:
        return text, None
    volume = found[1] if isinstance(text, bytes) else os.fsdecode(found[1])
    return volume, int(found[2])


def file_of(path: AnyStr | os.PathLike[AnyStr]) -> AnyStr:
    """The file that a picture is, or is a page of."""
    return volume_and_page(path)[0]


def page_path(volume: bytes, page: int) -> bytes:
    """What a page is known as."""
    return b"%b#page=%d" % (volume, page)


def suffix(path: bytes) -> bytes:
    """The end of a file's name that says what it is, in lower case."""
    return os.path.splitext(path)[1].lower()


def can_read_pdf() -> bool:
    """Whether the extra is installed."""
    return find_spec("pypdfium2") is not None


def count_pages(volume: bytes) -> int:
    """How many pages a volume has; SketchseekError where it can't be opened or has too many."""
    count = int(_ask(b"count", volume))
    name = _name(volume)
    if count == 0:
        raise SketchseekError(f"{name} has no pages.")
    if count > MAX_PAGES:
        raise SketchseekError(f"{name} has {count:,} pages, more than {MAX_PAGES:,}: split it.")
    return count


def read_page(volume: bytes, page: int) -> bytes:
    """A page as the bytes of a picture file: an embedded scan as it is, lines as SVG, all else as pixels."""
    if _costly.get(volume, 0) >= COSTLY_PAGES:
        raise SketchseekError(f"{COSTLY_PAGES} other pages of {_name(volume)} took too much to read.")
    try:
        return _ask(b"page %d" % page, volume)
    except SketchseekError as error:
        from .sandbox import LimitError

        if isinstance(error.__cause__, LimitError) and error.__cause__.__cause__ is None:
            _costly[volume] = _costly.get(volume, 0) + 1
        raise


@cache
def _children() -> Children:
    """Made when the first volume is read: a search of pictures needs no processes."""
    from .sandbox import Children

    children = Children(
        "sketchseek.sources.volume_pages:work",
        memory=PAGE_MEMORY,
        seconds=PAGE_SECONDS,
        patience=PAGE_PATIENCE,
    )
    atexit.register(children.close)
    return children


def _ask(what: bytes, volume: bytes) -> bytes:
    if suffix(volume) == b".pdf" and not can_read_pdf():
        raise SketchseekError(NO_PDF) from OSError(
            errno.ENOENT, "no pypdfium2"
        )  # tried again once it is there
    from .sandbox import LimitError

    try:
        return _children().ask(what + b"\n" + os.path.abspath(volume))
    except LimitError as error:
        raise SketchseekError(f"{_name(volume)} takes {error} to read.") from error
    except SketchseekError as error:
        raise SketchseekError(f"{_name(volume)} {str(error).rstrip('.')}.") from error


def _name(volume: bytes) -> str:
    return os.path.basename(volume).decode("utf-8", "replace")
