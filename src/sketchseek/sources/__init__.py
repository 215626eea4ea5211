"""Pictures that live elsewhere: a source lists them, gets one, and says where it is shown.

A picture of a source is known as `ROOT#NAME`: the address that a person named, and the source's own name of
the picture. Others' sources come by the entry points `sketchseek.sources`, by the scheme of their addresses.
Nothing is asked of any address but those below a root that a person named.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import SketchseekError
from ..plugins import made, plugins
from .objects import Stat

GROUP = "sketchseek.sources"


@dataclass(frozen=True, slots=True)
class Item:
    """A picture of a source.

    name : the source's own, which stays. reference : what `fetch` is asked for.
    stamp : changes when the picture does. width, height : of the original, 0 where that is not known.
    label, rights, link : what people are shown of it.
    """

    name: str
    reference: str
    stamp: str
    width: int = 0
    height: int = 0
    label: str = ""
    rights: str = ""
    link: str = ""

    @property
    def stat(self) -> Stat:
        """What it is compared by."""
        import hashlib

        said = f"{self.stamp} {self.reference} {self.width} {self.height}".encode()
        number = int.from_bytes(hashlib.blake2b(said, digest_size=7).digest(), "big")
        return Stat(self.width * self.height, number)


LONGEST_NAME = 4_000
"""Characters of a name, a reference or a link: that of a file has as many."""
LONGEST_TEXT = 500
"""Characters of a label, or of what is said of rights."""
LONGEST_SIDE = 10_000_000
"""Pixels of a picture's side; what claims more says nothing."""


def fault_of(item: object) -> str | None:
    """What is wrong with a picture that a source lists; None where an index can keep it."""
    if not isinstance(item, Item):
        return f"{type(item).__name__} is no Item"
    texts = (item.name, item.reference, item.stamp, item.label, item.rights, item.link)
    if not all(isinstance(text, str) for text in texts):
        return "what it says in words is no text"
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return "what it says in words is no text"
    if not 0 < len(item.name) <= LONGEST_NAME or len(item.link) > LONGEST_NAME:
        return f"names have 1 to {LONGEST_NAME:,} characters, links as many at most"
    if max(len(item.label), len(item.rights)) > LONGEST_TEXT:
        return f"labels and rights have {LONGEST_TEXT} characters at most"
    if not all(type(side) is int and 0 <= side <= LONGEST_SIDE for side in (item.width, item.height)):
        return "widths and heights are whole numbers of pixels"
    return None


class Source(Protocol):
    """What a plug-in gives: a class without arguments.

    `items` lists the pictures at an address, `fetch` gets the bytes of one, at 1,200 pixels where that can be
    asked for. Both raise SketchseekError with a sentence. They are called from several threads.
    """

    def items(self, root: str, kept: Kept) -> Iterable[Item]:
        """The pictures at an address; `kept` remembers what was read before."""

    def fetch(self, item: Item) -> bytes:
        """The bytes of a picture file."""


class Kept(Protocol):
    """What a source remembers from one run to the next, beside the index."""

    def get(self, key: str) -> dict[str, Any] | None:
        """What was put under a key."""

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Remember it."""


_OURS = {"https": f"{__name__}.iiif:IIIF", "http": f"{__name__}.iiif:IIIF"}


def schemes() -> set[str]:
    """The schemes of addresses that something here reads."""
    return {*_OURS, *plugins(GROUP)}


def source_of(root: str) -> Source:
    """What reads an address."""
    scheme = root.partition("://")[0]
    source: Source | None = made(GROUP, scheme, _OURS)
    if source is None:
        raise SketchseekError(f"Nothing here reads {scheme}:// ({root}).")
    return source


def is_remote(path: str | bytes | os.PathLike[str]) -> bool:
    """Whether a path is the address of a source, or of a picture of one."""
    scheme, mark, _ = os.fsencode(path).partition(b"://")
    return bool(mark) and scheme != b"s3" and b"/" not in scheme and scheme.decode("latin-1") in schemes()


def root_of(path: str) -> str:
    """The address that a picture of a source was listed by."""
    return path.partition("#")[0]
