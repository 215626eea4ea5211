"""Words asked of what pictures show and of names, alone and beside a drawing, through the search that ships.

    python benchmarks/words.py [--networks efficientnet dinov2] [--sets sysu s2c sketchy] [--drawings N]

Prints tables for `benchmarks/record.py words`. A word is its category's name; names of files are hidden. The
table of words was chosen on `sketchy-train`, the weighing on every other category of `sketchy`, in
alphabetical order, the first one included; of `sketchy` the others are reported.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

import expansion
from sketchseek.errors import SketchseekError
from sketchseek.evaluation import datasets
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.metrics import average_precision, precision_at
from sketchseek.search.options import Options
from sketchseek.search.search import find, search
from sketchseek.search.state import SearchState
from sketchseek.search.words import score_words
from sketchseek.words import Dictionary, NameIndex

SETS = ("sysu", "s2c", "sketchy")
CHOSEN_ON = "sketchy"
# Categories that are neither a class of ImageNet nor a kind that has one.
NO_CLASS = (
    "helicopter",
    "scissors",
    "tree",
    "alarm clock",
    "bat",
    "pear",
    "rhinoceros",
    "songbird",
    "windmill",
)
SYNONYMS = {
    "airplane": ("aeroplane", "plane", "airplanes"),
    "bicycle": ("bike", "bicycles"),
    "car sedan": ("car", "automobile", "cars"),
    "elephant": ("elephants",),
    "shoe": ("shoes", "footwear"),
    "cup": ("mug", "cups"),
    "turtle": ("tortoise", "turtles"),
    "hotdog": ("hot dog", "hotdogs"),
}
NOTHING = ("justice", "tomorrow", "percentage", "theory")
BESIDE = (
    "the drawing",
    "the drawing and its word",
    "the drawing and the word of another category",
    "the drawing and a word that nobody sees",
)


@dataclass
class Found:
    """Figures of queries: mAP, P@20, and of the very photograph its rank; how likely it is there."""

    precisions: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    present: list[float] = field(default_factory=list)

    def add(self, order: np.ndarray, relevant: np.ndarray, instance: int | None, present: float) -> None:
        self.precisions.append(average_precision(relevant[order], int(relevant.sum())))
        self.first.append(precision_at(relevant[order], 20))
        self.present.append(present)
        if instance is not None:
            at = np.flatnonzero(order == instance)
            self.ranks.append(int(at[0]) if len(at) else len(relevant))

    @property
    def cells(self) -> list[str]:
        """mAP, P@20, R@1, R@10, presence."""
        ranks = np.array(self.ranks)
        recalls = [percent(ranks < n) if len(ranks) else "" for n in (1, 10)]
        return [percent(self.precisions), percent(self.first), *recalls, percent(self.present)]


class Collection:
    """One set as the search sees it, its files called by numbers."""

    def __init__(self, name: str, network: str) -> None:
        root = datasets.data_folder()
        if root is None:
            raise SketchseekError("The development sets are not there: set SKETCHSEEK_DATA.")
        self.name, self.network = name, network
        self._set = expansion.load(Experiment.of(datasets.load(root / name), jobs=1), network)
        self.queries = self._set.experiment.data.queries
        self.sketches = self._set.experiment.sketches
        categories = sorted({query.category for query in self.queries})
        self.reported = categories[1::2] if name == CHOSEN_ON else categories

    @cached_property
    def state(self) -> SearchState:
        return replace(self._set.state, path=lambda number: f"{number}.jpg")

    def relevant(self, category: str) -> np.ndarray:
        number = next(i for i, query in enumerate(self.queries) if query.category == category)
        return self._set.relevant[number]

    def by_word(self, word: str, relevant: np.ndarray) -> Found:
        """A word alone."""
        found = Found()
        hits = search(self.state, None, Options(len(self.state), words=word))
        order = np.array([int(hit.id) for hit in hits], np.int64)
        found.add(order, relevant, None, hits.present)
        return found

    def beside(self, i: int, word: str | None, into: Found) -> np.ndarray:
        """A drawing, and a word."""
        query, sketch, options = self.queries[i], self.sketches[i], Options(words=word)
        assert sketch is not None
        heard = score_words(self.state, options) if word else None
        answer = find(self.state, sketch, options, count=len(self.state), place=False, word_scores=heard)
        into.add(answer.pictures, self._set.relevant[i], query.instance, answer.present)
        return answer.pictures


def percent(values: Sequence[float] | np.ndarray) -> str:
    return f"{100 * float(np.mean(values)):.1f}"


def spoken(category: str) -> str:
    return category.replace("_", " ")


def head(title: str, columns: Iterable[str]) -> list[str]:
    names = list(columns)
    return [f"\n### {title}\n", "| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]


def row(name: str, cells: Iterable[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def words_alone(collections: Sequence[Collection]) -> list[str]:
    lines = head("The word alone", ["words", "mAP", "P@20"])
    rare: list[str] = []
    forms: list[str] = []
    for c in collections:
        found = {name: c.by_word(spoken(name), c.relevant(name)) for name in c.reported}
        everything = [f.precisions[0] for f in found.values()], [f.first[0] for f in found.values()]
        lines.append(row(f"{c.name}, {c.network}", [str(len(found)), *map(percent, everything)]))
        every = {q.category for q in c.queries}
        for name in sorted(every):
            if spoken(name) in NO_CLASS:
                one = found.get(name) or c.by_word(spoken(name), c.relevant(name))
                held = "" if name in c.reported else " (chosen on)"
                label = f"{spoken(name)}, {c.name}, {c.network}{held}"
                rare.append(row(label, [percent(one.precisions), percent(one.first)]))
            if spoken(name) in SYNONYMS:
                said = [spoken(name), *SYNONYMS[spoken(name)]]
                each = [c.by_word(word, c.relevant(name)).first[0] for word in said]
                words = ", ".join(f"{w} {percent([p])}" for w, p in zip(said, each, strict=True))
                forms.append(
                    row(f"{said[0]}, {c.name}, {c.network}", [words, percent([max(each) - min(each)])])
                )
    lines += head("Words that are no class of ImageNet, alone", ["mAP", "P@20"]) + rare
    lines += head("Other forms of a word, alone", ["P@20 of each", "furthest apart"]) + forms
    return lines


def with_drawings(c: Collection, drawings: int) -> list[str]:
    chosen = [i for i, q in enumerate(c.queries) if q.category in c.reported and c.sketches[i] is not None]
    chosen = sorted(random.Random(0).sample(chosen, min(drawings, len(chosen))))
    rng = random.Random(0)
    rows = {name: Found() for name in BESIDE}
    kept = []
    for i in chosen:
        category = c.queries[i].category
        wrong = rng.choice([q.category for q in c.queries if q.category != category])
        words = (None, spoken(category), spoken(wrong), rng.choice(NOTHING))
        orders = [c.beside(i, word, rows[name]) for name, word in zip(BESIDE, words, strict=True)]
        instance = c.queries[i].instance
        if instance is not None and instance in orders[0][:10]:
            kept.append(instance in orders[2][:10])
    lines = head(f"{c.name}, {c.network}, {len(chosen)} drawings", ["mAP", "P@20", "R@1", "R@10", "present"])
    lines += [row(name, found.cells) for name, found in rows.items()]
    if kept:
        lines.append(f"\nA wrong word leaves the drawn photograph in {percent(kept)}% of {len(kept)}.")
    return lines


def icons(names: int = 200) -> list[str]:
    """Names that an icon set has, asked as they are and with one letter wrong."""
    import pytablericons

    files = sorted(
        str(p) for p in Path(pytablericons.__file__).parent.rglob("*") if p.suffix in (".svg", ".png")
    )
    index = NameIndex(files)
    stems = [Path(f).stem for f in files]
    rng = random.Random(0)
    lines = head(f"Names of {len(files)} icons, {names} asked", ["found in the first ten"])
    plain = sorted({s for s in stems if s.isalpha() and len(s) >= 4})
    asked = rng.sample(plain, min(names, len(plain)))
    for label, change in (("as it is", lambda w: w), ("one letter wrong", lambda w: mistaken(w, rng))):
        hits = 0
        for word in asked:
            found = index.scores(change(word))
            first = found.ids[np.argsort(-found.scores, kind="stable")][:10]
            hits += any(stems[i] == word for i in first)
        lines.append(row(label, [f"{100 * hits / len(asked):.1f}"]))
    return lines


def mistaken(word: str, rng: random.Random) -> str:
    """A letter left out, doubled, changed or swapped with its neighbour."""
    at = rng.randrange(1, len(word) - 1)
    kind = rng.randrange(4)
    if kind == 0:
        return word[:at] + word[at + 1 :]
    if kind == 1:
        return word[:at] + word[at] + word[at:]
    if kind == 2:
        return word[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz".replace(word[at], "")) + word[at + 1 :]
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def costs() -> list[str]:
    """Milliseconds of processor time that looking up a word takes, the table loaded."""
    dictionary = Dictionary()
    asked = ["umbrella", "cell phone", "umbrela", "red car", "Regenschirm", "justice"]
    for word in asked:
        dictionary.meaning(word)
    times = []
    for word in asked:
        started = time.thread_time()
        dictionary.meaning(word)
        times.append(1e3 * (time.thread_time() - started))
    return [*head("What a word costs", ["ms"]), row("looking it up, at most", [f"{max(times):.2f}"])]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--drawings", type=int, default=1000, help="of each set, at most")
    arguments.add_argument("--networks", nargs="+", default=["efficientnet"])
    arguments.add_argument("--sets", nargs="+", default=SETS)
    given = arguments.parse_args()
    try:
        collections = [Collection(name, network) for network in given.networks for name in given.sets]
    except SketchseekError as error:
        sys.exit(str(error))
    for collection in collections if given.drawings else ():
        print("\n".join(with_drawings(collection, given.drawings)), flush=True)
    print("\n".join([*words_alone(collections), *icons(), *costs()]), flush=True)


if __name__ == "__main__":
    main()
