"""The table from words to what they may depict: weights over the 1,000 classes of ImageNet.

One file, read when a word is first asked for (training/words makes it): words in the order of their bytes,
and for each the few classes that it is nearest to.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError

_MAGIC = b"SSWORDS1"
_HEADER = struct.Struct("<8s5I")  # magic; words, pairs, classes, bytes of text; CRC-32 of what follows
_LARGEST = 64_000_000
MOST_CLASSES = 64
"""Classes that a word may have."""


class Entry(NamedTuple):
    """What a word may depict.

    classes : (m,) by number
    weights : (m,), their sum is 1
    strength : in [0, 1], how near the nearest of them is
    """

    classes: NDArray[np.int64]
    weights: NDArray[np.float32]
    strength: float


class WordTable:
    """Words -> entries.

    Parameters
    ----------
    content : bytes
        As `pack` makes it. Anything else is refused.
    """

    def __init__(self, content: bytes) -> None:
        try:
            self._read(content)
        except (ValueError, struct.error) as error:
            raise SketchseekError(f"The table of words is damaged ({error}); reinstall sketchseek.") from None

    def _read(self, content: bytes) -> None:
        magic, n, pairs, classes, letters, crc = _HEADER.unpack_from(content)
        if magic != _MAGIC:
            raise ValueError("it is something else")
        if len(content) != _HEADER.size + letters + 2 * n + 3 * pairs or len(content) > _LARGEST:
            raise ValueError("its length is wrong")
        if zlib.crc32(content[_HEADER.size :]) != crc:
            raise ValueError("its check sum is wrong")
        start = _HEADER.size + letters
        self._text = content[_HEADER.size : start]
        counts, self._strength, ids, self._weights = _split(content, start, n, pairs)
        ends = np.flatnonzero(np.frombuffer(self._text, np.uint8) == ord("\n"))
        if len(ends) != n or (letters and not self._text.endswith(b"\n")):
            raise ValueError("it has another number of words")
        if counts.sum(dtype=np.int64) != pairs or (n and (counts.min() < 1 or counts.max() > MOST_CLASSES)):
            raise ValueError("it has another number of classes")
        if pairs and (ids.max() >= classes or self._weights.min() < 1):
            raise ValueError("it names a class that there is not")
        self._classes = ids
        self._ends = np.concatenate([[-1], ends])
        self._pairs = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        self.n_classes: int = classes

    def __len__(self) -> int:
        return len(self._ends) - 1

    def word(self, i: int) -> bytes:
        """The word of a number, in UTF-8."""
        return self._text[self._ends[i] + 1 : self._ends[i + 1]]

    def words(self) -> list[str]:
        """All words, in the order of their bytes."""
        return self._text.decode().splitlines()

    def find(self, word: str) -> int | None:
        """The number of a word, if it is there."""
        wanted = word.encode(errors="replace")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.word(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self.word(low) == wanted else None

    def __getitem__(self, i: int) -> Entry:
        some = slice(self._pairs[i], self._pairs[i + 1])
        weights = self._weights[some].astype(np.float32)
        return Entry(
            self._classes[some].astype(np.int64), weights / weights.sum(), float(self._strength[i]) / 255
        )

    def __contains__(self, word: str) -> bool:
        return self.find(word) is not None


def _split(
    content: bytes, start: int, n: int, pairs: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint16], NDArray[np.uint8]]:
    counts = np.frombuffer(content, np.uint8, n, start)
    strength = np.frombuffer(content, np.uint8, n, start + n)
    ids = np.frombuffer(content, "<u2", pairs, start + 2 * n)
    return counts, strength, ids, np.frombuffer(content, np.uint8, pairs, start + 2 * n + 2 * pairs)


def pack(entries: Mapping[str, tuple[Iterable[int], Iterable[int], int]], classes: int) -> bytes:
    """Write a table: word -> its classes, their weights of 1 to 255, its strength of 0 to 255."""
    ordered = sorted((word.encode(), entry) for word, entry in entries.items())
    text = b"".join(word + b"\n" for word, _ in ordered)
    ids = [np.fromiter(entry[0], "<u2") for _, entry in ordered]
    weights = [np.fromiter(entry[1], np.uint8) for _, entry in ordered]
    nothing = np.zeros(0)
    rest = b"".join(
        [
            text,
            np.array([len(i) for i in ids], np.uint8).tobytes(),
            np.array([entry[2] for _, entry in ordered], np.uint8).tobytes(),
            np.concatenate([*ids, nothing]).astype("<u2").tobytes(),
            np.concatenate([*weights, nothing]).astype(np.uint8).tobytes(),
        ]
    )
    pairs = sum(map(len, ids))
    return _HEADER.pack(_MAGIC, len(ordered), pairs, classes, len(text), zlib.crc32(rest)) + rest


@cache
def shipped_table() -> WordTable:
    """The one in the package, read once."""
    return WordTable((resources.files("sketchseek.words") / "data" / "words.bin").read_bytes())
