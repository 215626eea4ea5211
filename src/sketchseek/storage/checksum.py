"""Checksums as fast as memory: XXH3 of 128 bits, by which every byte counts where it is.

Before, it was the digest of the sums of the 64-bit words of each page, which words that change places leave
as they are. What has such a sum is still held to it, and gets the other when it is written.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xxhash
from numpy.typing import NDArray

from .. import system

_DIGEST = 16
_PAGE = 4096
_BLOCK = 2**20
_KIND = "xxh3:"


def digest(content: bytes) -> bytes:
    """What few bytes are known by: all of them count."""
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


def checksum(content: NDArray[np.uint8], like: str = _KIND) -> str:
    """What many bytes (n,) are known by. like : a checksum of the kind that is wanted."""
    return _checksums((content[at : at + _BLOCK] for at in range(0, len(content), _BLOCK)), [like])[0]


def checksum_of_part(descriptor: int, start: int, end: int, like: str = _KIND) -> str:
    """The same, of a part of an open file; OSError when it can't be read to its end."""
    return _checksums(_blocks(descriptor, start, end), [like])[0]


def checksum_of_file(path: Path, like: str = _KIND) -> str:
    """The same, of a file, with its length."""
    return _checksums_of_file(path, [like])[0]


def renewed(path: Path, total: str) -> str:
    """The checksum of a file by the present kind, in one reading; `total`, where that is not what it has."""
    old, new = _checksums_of_file(path, [total, _KIND])
    return new if old == total else total


def is_of_old_kind(total: str) -> bool:
    """Whether a checksum is one of those that don't see words change places."""
    return _KIND not in total


def _checksums_of_file(path: Path, likes: list[str]) -> list[str]:
    descriptor = os.open(path, system.READ)
    try:
        length = os.fstat(descriptor).st_size
        return [f"{length}-{total}" for total in _checksums(_blocks(descriptor, 0, length), likes)]
    finally:
        os.close(descriptor)


def _checksums(blocks: Iterator[NDArray[np.uint8]], likes: list[str]) -> list[str]:
    kinds: list[tuple[str, _Sums]] = [
        ("", _SumsOfPages()) if is_of_old_kind(like) else (_KIND, xxhash.xxh3_128()) for like in likes
    ]
    for block in blocks:
        for _, sums in kinds:
            sums.update(block)
    return [name + sums.hexdigest() for name, sums in kinds]


def _blocks(descriptor: int, start: int, end: int) -> Iterator[NDArray[np.uint8]]:
    for at in range(start, end, _BLOCK):
        wanted = min(_BLOCK, end - at)
        block = system.read_at(descriptor, wanted, at)
        if len(block) != wanted:
            raise OSError(errno.EIO, "The file ends early")
        yield np.frombuffer(block, np.uint8)


class _Sums(Protocol):
    def update(self, block: Any, /) -> None: ...

    def hexdigest(self) -> str: ...


class _SumsOfPages:
    """The old kind."""

    def __init__(self) -> None:
        self._sums = hashlib.blake2b(digest_size=_DIGEST)

    def update(self, block: NDArray[np.uint8], /) -> None:
        whole = len(block) // _PAGE * _PAGE
        pages = block[:whole].view(np.uint64).reshape(-1, _PAGE // 8)
        self._sums.update(pages.sum(axis=1, dtype=np.uint64).tobytes())
        self._sums.update(block[whole:].tobytes())

    def hexdigest(self) -> str:
        return self._sums.hexdigest()
