"""Words matched with names: files, folders, titles, keywords.

An inverted index over the words of all names. An icon that is called umbrella-2.svg is an umbrella, whatever
a network sees in it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .spelling import SHORTEST, Spelling
from .text import NAMES, folded, stem, tokens

MOST_WORDS = int(NAMES["words"])
"""Words of a query that are looked at."""
Ids = NDArray[np.int64]
_NAME, _TITLE = NAMES["name"], NAMES["title"]
# Of the folders above a picture, the nearest first.
_FOLDER = (NAMES["folder"], NAMES["second folder"], NAMES["third folder"])
_STEM, _INSIDE = NAMES["other ending"], NAMES["inside"]  # the same without an ending; a part of a longer word
_MISSPELLED = {1: NAMES["one mistake"], 2: NAMES["two mistakes"]}
_CROWD = NAMES[
    "crowd"
]  # what the words beside the one that matched cost: umbrella.svg before umbrella-off.svg
_END = 0  # the number of the sign between names, which is no word
_WORD = re.compile(r"[^\W\d_]+|\d+|\n")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Named(NamedTuple):
    """Pictures whose names match.

    ids : (m,) by number, ascending
    scores : (m,) in (0, 1]
    matched : (m,) which of `words` matched best in each
    words : the words of names that matched, as they are spelled there
    """

    ids: NDArray[np.int64]
    scores: NDArray[np.float32]
    matched: NDArray[np.int64]
    words: tuple[str, ...]


class NameIndex:
    """The names of a collection's pictures.

    Parameters
    ----------
    paths : sequence of str
        Paths or URIs; of each, its last part and the folders above it are names.
    titles : sequence of str, optional
        What else is known of each picture, keywords or a title, in one text; "" for nothing.
    """

    def __init__(self, paths: Sequence[str], titles: Sequence[str] | None = None) -> None:
        self._n = len(paths)
        numbers: defaultdict[str, int] = defaultdict(count(_END + 1).__next__, {"\n": _END})
        split = [path.rpartition("/") for path in paths]
        folders: defaultdict[str, int] = defaultdict(count().__next__)
        self._folder_of = np.fromiter((folders[part[0]] for part in split), np.int64, len(split))
        names = [part[2].rpartition(".")[0] or part[2] for part in split]
        named = _found_in(names, numbers)
        self._crowd = np.bincount(named[0], minlength=self._n)
        texts = [(named, _NAME)] if titles is None else [(_found_in(titles, numbers), _TITLE), (named, _NAME)]
        above = [folder.split("/")[: -len(_FOLDER) - 1 : -1] for folder in folders]
        levels = [[a[depth] if depth < len(a) else "" for a in above] for depth in range(len(_FOLDER))]
        over = [(_found_in(level, numbers), weight) for level, weight in zip(levels, _FOLDER, strict=True)]
        self._of_pictures = _Postings(texts, len(numbers))
        self._of_folders = _Postings(over[::-1], len(numbers))
        self._n_folders = len(folders)
        self._words = list(numbers)
        self._numbers = dict(numbers)

    def __len__(self) -> int:
        return self._n

    def scores(self, text: str) -> Named:
        """The pictures whose names have words of the text, or nearly; all of its words count alike."""
        asked = list(dict.fromkeys(tokens(text)[:MOST_WORDS]))
        total = np.zeros(self._n, np.float32)
        best_of_all = np.zeros(self._n, np.float32)
        matched = np.zeros(self._n, np.int64)
        there: list[int] = []
        for word in asked:
            best, which = self._best(word, there)
            total += best
            surpassed = best > best_of_all
            best_of_all[surpassed], matched[surpassed] = best[surpassed], which[surpassed]
        ids = np.flatnonzero(total)
        crowd = np.maximum(self._crowd[ids], 1)
        scores = total[ids] / len(asked) * (1 - _CROWD + _CROWD / crowd) if len(ids) else total[:0]
        return Named(ids, scores.astype(np.float32), matched[ids], tuple(self._words[t] for t in there))

    def _best(self, word: str, there: list[int]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """How well a word fits each picture's names, and by which of the words that are added to `there`."""
        best, which = np.zeros(self._n, np.float32), np.zeros(self._n, np.int64)
        by_folder, which_folder = np.zeros(self._n_folders, np.float32), np.zeros(self._n_folders, np.int64)
        for token, quality in self._matches(word):
            self._of_pictures.add(token, quality, best, which, len(there))
            self._of_folders.add(token, quality, by_folder, which_folder, len(there))
            there.append(token)
        if by_folder.any():
            above = by_folder[self._folder_of]
            which = np.where(above > best, which_folder[self._folder_of], which)
            best = np.maximum(best, above)
        return best, which

    def _matches(self, word: str) -> list[tuple[int, float]]:
        """Words of names that may be meant by one, by number, and how well they fit."""
        fits: dict[int, float] = {}
        short = stem(word)
        for form, fit in ((word, 1.0), *((f, _STEM) for f in _forms(short))):
            if form in self._numbers:
                fits.setdefault(self._numbers[form], fit)
        if len(word) >= SHORTEST and not word.isdigit():
            exact = bool(fits)
            for token in self._containing(short):
                fits.setdefault(token, _INSIDE)
            if not exact:
                known, spelling = self._spelling
                for i, mistakes in spelling.near(word):
                    for form in _forms(stem(self._words[known[i]])):
                        if form in self._numbers:
                            token = self._numbers[form]
                            fits[token] = max(fits.get(token, 0.0), _MISSPELLED[mistakes])
        return list(fits.items())

    @cached_property
    def _spelling(self) -> tuple[list[int], Spelling]:
        known = [(token, word) for token, word in enumerate(self._words) if word.isalpha()]
        return [token for token, _ in known], Spelling([word for _, word in known])

    @cached_property
    def _joined(self) -> tuple[str, NDArray[np.int64]]:
        """All words in one text, and where each begins."""
        known, _ = self._spelling
        starts = np.cumsum([0, *(len(self._words[token]) + 1 for token in known)])
        return "\n".join(self._words[token] for token in known), starts

    def _containing(self, part: str) -> Iterator[int]:
        known, _ = self._spelling
        text, starts = self._joined
        at = text.find(part)
        while at >= 0:
            yield known[int(np.searchsorted(starts, at, "right")) - 1]
            at = text.find(part, at + len(part))


class _Postings:
    """In which names each word is, and what it weighs there.

    parts : ((owner of each word (m,), its number (m,)), weight), the heaviest last
    """

    def __init__(self, parts: Sequence[tuple[tuple[Ids, Ids], float]], n_words: int) -> None:
        owners = np.concatenate([owner for (owner, _), _ in parts])
        words = np.concatenate([word for (_, word), _ in parts])
        weights = np.repeat(
            np.array([w for _, w in parts], np.float32), [len(owner) for (owner, _), _ in parts]
        )
        order = np.argsort(words, kind="stable")
        self._owners, self._weights = owners[order], weights[order]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(words, minlength=n_words))])

    def add(self, word: int, quality: float, best: NDArray[np.float32], which: Ids, name: int) -> None:
        """Note what is better than the best so far. An owner that comes twice keeps its last, heaviest."""
        some = slice(self._starts[word], self._starts[word + 1])
        owners, value = self._owners[some], quality * self._weights[some]
        better = value > best[owners]
        best[owners[better]] = value[better]
        which[owners[better]] = name


def _forms(short: str) -> list[str]:
    """A stem, and its plurals."""
    plurals = [short + "s", short + "es"]
    return [short, *plurals, *([short[:-1] + "ies"] if short.endswith("y") else [])]


def _found_in(names: Sequence[str], numbers: defaultdict[str, int]) -> tuple[Ids, Ids]:
    """The words of many names at once: for each the number of its name, and its own."""
    text = "\n".join(names)
    if text.count("\n") >= max(len(names), 1):
        text = "\n".join(name.replace("\n", " ") for name in names)
    if not text.isascii():
        text = "\n".join(
            name if name.isascii() else folded(_HUMP.sub(" ", name)) for name in text.split("\n")
        )
    if not text.islower():
        text = _HUMP.sub(" ", text).lower()
    found = _WORD.findall(text)
    words = np.fromiter(map(numbers.__getitem__, found), np.int64, len(found))
    there = words != _END
    return np.cumsum(~there)[there], words[there]
