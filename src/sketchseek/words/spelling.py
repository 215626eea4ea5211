"""Words that are nearly spelled alike: one letter more, fewer, other, or two that changed places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .text import NAMES

SHORTEST = int(NAMES["short word"])
"""Shorter words have too many neighbours that mean something else."""
_LONG = int(NAMES["long word"])  # from so many letters on, two mistakes are forgiven
_LETTERS = 27  # a to z, and one place for all others


class Spelling:
    """The words of a vocabulary by their letters.

    A mistake changes how often letters occur by two at most, which is compared for all words at once; only
    those that it leaves over are compared letter by letter.

    Parameters
    ----------
    words : sequence of str
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._lengths = np.array([len(word) for word in words], np.int64)
        self._letters = _letters(words, self._lengths)

    def near(self, word: str, most: int = int(NAMES["near"])) -> list[tuple[int, int]]:
        """Words that this one may be meant for, by number, and how many mistakes: fewest first."""
        if len(word) < SHORTEST or not len(self._words):
            return []
        allowed = 2 if len(word) >= _LONG else 1
        some = np.flatnonzero(
            (np.abs(self._lengths - len(word)) <= allowed) & (self._lengths >= SHORTEST - 1)
        )
        own = _letters([word], np.array([len(word)]))[0]
        other = np.abs(self._letters[some].astype(np.int16) - own).sum(axis=1)
        found = []
        for i in some[other <= 2 * allowed].tolist():
            mistakes = distance(word, self._words[i], allowed)
            if mistakes <= allowed:
                # Of words as near, one with the same first letter: few mistakes are made there.
                found.append((mistakes, self._words[i][0] != word[0], i))
        return [(i, mistakes) for mistakes, _, i in sorted(found)[:most]]


def _letters(words: Sequence[str], lengths: NDArray[np.int64]) -> NDArray[np.uint8]:
    """How often each letter occurs in each word: (n, letters)."""
    codes = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32).astype(np.int64) - ord("a")
    codes[(codes < 0) | (codes >= _LETTERS - 1)] = _LETTERS - 1
    places = np.repeat(np.arange(len(words)) * _LETTERS, lengths) + codes
    counts = np.bincount(places, minlength=_LETTERS * len(words))
    return np.minimum(counts, 255).astype(np.uint8).reshape(len(words), _LETTERS)


def distance(a: str, b: str, most: int) -> int:
    """Letters to add, drop, change or swap with their neighbour; `most` + 1 stands for more than that."""
    if abs(len(a) - len(b)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, before, row = before, row, [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most and (not before or min(before) > most):
            return most + 1
    return min(row[-1], most + 1)
