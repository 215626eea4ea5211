"""What was typed -> what it may depict: known words, their forms and parts, and nearly right spellings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .spelling import Spelling
from .table import WordTable, shipped_table
from .text import COMMON, NAMES, stem, tokens

MOST_WORDS = int(NAMES["words"])
"""Words of a query that are looked at."""
_PHRASE = 4  # words of the longest phrase that is looked up as one
_SHORTEST_PART = 3  # letters of a part of a compound
_LAST = 2.0  # weight of the last noun of a phrase that isn't known as one: a fire engine is an engine
_NOTHING = 0.35  # of a strength: a word whose nearest class is this far says nothing
_CLASS = 0.8  # a word that is this near to a class is its name, or that of its kind


def content_words(text: str) -> list[str]:
    """The words of a query without what people put around them, unless there is nothing else."""
    words = tokens(text)[:MOST_WORDS]
    return [word for word in words if word not in COMMON] or words


@dataclass(frozen=True)
class Meaning:
    """What words may depict.

    weights : (classes,) of ImageNet's classes, their sum is 1
    strength : in [0, 1]; how much of it the classes can say: near 0 for what can't be seen
    is_class : whether it is a class, or a kind that has some; else it is known by its relatives only
    understood : what each part was taken for, as the table spells it
    unknown : words that nothing was found for
    """

    weights: NDArray[np.float32]
    strength: float
    is_class: bool
    understood: tuple[str, ...]
    unknown: tuple[str, ...]


class Dictionary:
    """Looks up what was typed.

    Parameters
    ----------
    table : WordTable, optional
        The one that ships, unless given.
    """

    def __init__(self, table: WordTable | None = None) -> None:
        self.table = table if table is not None else shipped_table()

    @cached_property
    def _spelling(self) -> tuple[list[int], Spelling]:
        """Single words, by number, and how they are spelled: made when a word is first unknown."""
        single = [(i, word) for i, word in enumerate(self.table.words()) if " " not in word]
        return [i for i, _ in single], Spelling([word for _, word in single])

    def meaning(self, text: str) -> Meaning | None:
        """What a word or several may depict together; None where none of them is known."""
        found, unknown = self._parts([word for word in content_words(text) if not word.isdigit()])
        if not found:
            return None
        weights = np.zeros(self.table.n_classes, np.float32)
        strongest, is_class = 0.0, False
        for n, (i, certain) in enumerate(found):
            entry = self.table[i]
            strength = max(entry.strength - _NOTHING, 0.02) / (1 - _NOTHING) * certain
            strongest = max(strongest, strength)
            is_class |= entry.strength >= _CLASS
            weights[entry.classes] += strength * (_LAST if n == len(found) - 1 else 1) * entry.weights
        understood = tuple(self.table.word(i).decode() for i, _ in found)
        return Meaning(weights / weights.sum(), strongest, is_class, understood, tuple(unknown))

    def _parts(self, words: list[str]) -> tuple[list[tuple[int, float]], list[str]]:
        """The longest known phrases, from the left, and what is left over; each with how certain it is."""
        found: list[tuple[int, float]] = []
        unknown, at = [], 0
        while at < len(words):
            for end in range(min(at + _PHRASE, len(words)), at, -1):
                i = self._known(words[at:end])
                if i is not None:
                    found.append((i, 1.0))
                    at = end
                    break
            else:
                guesses = self._guesses(words[at])
                found += guesses
                unknown += [] if guesses else [words[at]]
                at += 1
        return found, unknown

    def _known(self, words: list[str]) -> int | None:
        """A phrase as it is, in the singular, or written as one word."""
        singular = [*words[:-1], stem(words[-1])]
        for form in (" ".join(words), " ".join(singular), "".join(words), "".join(singular)):
            i = self.table.find(form)
            if i is not None:
                return i
        if len(words) == 1 and words[0].endswith("men"):  # firemen
            return self.table.find(words[0][:-2] + "an")
        return None

    def _guesses(self, word: str) -> list[tuple[int, float]]:
        """What an unknown word may be: two that were written as one, or one with a mistake in it."""
        numbers, spelling = self._spelling
        near = [(numbers[i], mistakes) for i, mistakes in spelling.near(word)]
        if near and near[0][1] == 1:
            # Of several, what can be seen best.
            return [(max((i for i, m in near if m == 1), key=lambda i: self.table[i].strength), 0.9)]
        for cut in range(len(word) - _SHORTEST_PART, _SHORTEST_PART - 1, -1):
            head, tail = word[:cut], word[cut:]
            if (whole := self._known([head, tail])) is not None:
                return [(whole, 1.0)]
            first, last = self._known([head]), self._known([tail])
            if first is None and head.endswith("s"):  # German joins with an s: Geburtstagskuchen
                first = self._known([head[:-1]])
            if first is not None and last is not None:
                return [(first, 0.7), (last, 0.8)]
        return [(near[0][0], 0.8)] if near else []
