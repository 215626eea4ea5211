"""WordNet's nouns out of its own files: lemmas, their senses, and what is a kind of what.

Fellbaum (editor), "WordNet: an electronic lexical database", MIT Press 1998. Version 3.0, by whose offsets
ImageNet's classes are named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Synset:
    lemmas: tuple[str, ...]
    above: tuple[int, ...]
    """What it is a kind or an instance of, by offset."""
    is_instance: bool
    gloss: str


@dataclass(eq=False)
class WordNet:
    synsets: dict[int, Synset]
    senses: dict[str, tuple[int, ...]]
    """Lemma, lower-case with spaces -> its meanings as nouns, the commonest first."""
    tagged: dict[str, int]
    """How many of a lemma's meanings were met in the texts that WordNet's makers tagged."""

    @classmethod
    def read(cls, folder: Path) -> WordNet:
        synsets = {}
        for line in _lines(folder / "data.noun"):
            data, _, gloss = line.partition(" | ")
            fields = data.split()
            n = int(fields[3], 16)
            lemmas = tuple(word.replace("_", " ") for word in fields[4 : 4 + 2 * n : 2])
            pointers = fields[5 + 2 * n :]
            symbols = [pointers[i] for i in range(0, len(pointers), 4)]
            above = tuple(int(pointers[4 * i + 1]) for i, s in enumerate(symbols) if s in ("@", "@i"))
            definition = gloss.split('; "')[0].strip()
            synsets[int(fields[0])] = Synset(lemmas, above, "@i" in symbols, definition)
        senses, tagged = {}, {}
        for line in _lines(folder / "index.noun"):
            fields = line.split()
            lemma, n = fields[0].replace("_", " "), int(fields[2])
            senses[lemma] = tuple(int(f) for f in fields[-n:])
            tagged[lemma] = int(fields[-n - 1])
        return cls(synsets, senses, tagged)

    @cache  # noqa: B019
    def over(self, offset: int) -> dict[int, int]:
        """All that a synset is a kind of, itself included -> how many steps up."""
        found, level, steps = {offset: 0}, [offset], 0
        while level:
            steps += 1
            level = [a for o in level for a in self.synsets[o].above if a not in found]
            found.update({a: steps for a in level if a not in found})
        return found


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as file:
        yield from (line for line in file if not line.startswith("  "))  # the licence comes first
