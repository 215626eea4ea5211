"""Words asked of stored embeddings and of names: alone, and beside a drawing.

    python benchmarks/words.py [--drawings N]

The table of words was chosen on `sketchy-train`, the weighing on every other category of `sketchy`, in
alphabetical order, the first one included; the others are reported here ("held out"). A word is its
category's name.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import numpy as np

import expansion
from sketchseek.embeddings import Pictures, get_encoder
from sketchseek.embeddings.expansion import diffused
from sketchseek.evaluation import datasets
from sketchseek.evaluation.embeddings import features
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.metrics import average_precision, precision_at
from sketchseek.words import Dictionary, NameIndex, query_vector
from sketchseek.words.directions import class_directions

SETS = ("sysu", "s2c", "sketchy")
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
# Beside a drawing: see docs. The word's z-score, known classes taken away, counts up to CAP; its weight falls
# to a share of LEAST where none of the drawing's first FIRST hits is what it says.
KNOWN, WEIGHT, CAP, LEAST, FIRST = 0.7, 2.0, 2.0, 0.4, 20


def z(x: np.ndarray) -> np.ndarray:
    return (x - x.mean()) / max(float(x.std()), 1e-9)


class Asked:
    """A collection that words are asked of."""

    def __init__(self, stored: np.ndarray, background: np.ndarray, dictionary: Dictionary) -> None:
        pictures = Pictures(stored, background)
        self.rows = pictures.rows(np.arange(len(stored))).vectors
        self.known = z((self.rows @ class_directions().T).max(axis=1))
        self._dictionary, self._remembered = dictionary, {}

    def __call__(self, word: str) -> np.ndarray:
        """The word's z-scores for all pictures."""
        if word not in self._remembered:
            meaning = self._dictionary.meaning(word)
            if meaning is None:
                return np.zeros(len(self.rows))
            score = z(self.rows @ query_vector(meaning.weights, "efficientnet", self.rows.shape[1]))
            if not meaning.is_class:
                score = z(score - KNOWN * self.known)
            self._remembered[word] = score
        return self._remembered[word]

    def says(self, word: str) -> float:
        """0 for what can't be seen, 1 for what can: its weight beside a drawing."""
        meaning = self._dictionary.meaning(word)
        return 0.0 if meaning is None else float(np.clip((meaning.strength - 0.1) / 0.2, 0, 1))

    def expanded(self, before: np.ndarray, n: int = 10, page: bool = True) -> np.ndarray:
        """The order of an answer, from a first ranking's z-scores, as embeddings/expansion.py finds it."""
        score = before
        for kept in (0.3, 0.2):
            order = np.argsort(-score, kind="stable")[: 3 * n]
            query = (score[order[:n]] - score[order[-1]]) @ self.rows[order[:n]]
            score = z(self.rows @ (query / np.linalg.norm(query))) + kept * before
        order = np.argsort(-score, kind="stable")
        first, others = np.split(order, [400])
        score = score.astype(np.float32)
        score[first] = diffused(score[first], self.rows[first], n)
        order = np.concatenate([first[np.argsort(-score[first], kind="stable")], others])
        if not page:
            return order
        shown = np.argsort(-(before + 0.2 * score), kind="stable")[:10]
        others = order[~np.isin(order, shown)]
        return np.concatenate(
            [shown[np.argsort(-(score[shown] + 0.8 * before[shown]), kind="stable")], others]
        )


def both(drawing: np.ndarray, word: np.ndarray, says: float) -> np.ndarray:
    """A drawing's and a word's z-scores as one: what the word says, up to what it is; which, the drawing.

    says : in [0, 1], how much the word says at all.
    """
    first = np.argsort(-drawing)[:FIRST]
    agreement = np.clip(np.maximum(word[first], 0).mean(), LEAST, 1)
    return z(drawing + WEIGHT * says * agreement * np.minimum(word, CAP))


def figures(right: np.ndarray) -> list[float]:
    return [average_precision(right), precision_at(right, 20)]


def said(rows: list[list[float]]) -> str:
    return " / ".join(f"{100 * v:.1f}" for v in np.mean(rows, axis=0))


def held_out(categories: list[str]) -> set[str]:
    return set(sorted(set(categories))[1::2])


def words_alone(name: str, root: Path, dictionary: Dictionary) -> None:
    data, encoder = datasets.load(root / name), get_encoder()
    asked = Asked(features(data, encoder).vectors, encoder.prior, dictionary)
    right = {q.category: np.isin(np.arange(len(data.photos)), list(q.relevant)) for q in data.queries}
    found: dict[str, tuple[list[float], list[float]]] = {}
    for category, relevant in right.items():
        word = asked(category.replace("_", " "))
        found[category] = (
            figures(relevant[np.argsort(-word)]),
            figures(relevant[asked.expanded(word, page=False)]),
        )
    for label, some in (("all", set(right)), ("held out", held_out(list(right)))):
        cells = [said([found[c][k] for c in some]) for k in (0, 1)]
        print(f"{name}, {label} {len(some)} words: first {cells[0]}, expanded {cells[1]}")
    rare = [c for c in right if c.replace("_", " ") in NO_CLASS]
    if rare:
        each = ", ".join(f"{c} {100 * found[c][0][1]:.0f} / {100 * found[c][1][1]:.0f}" for c in rare)
        cells = [said([found[c][k] for c in rare]) for k in (0, 1)]
        print(f"  no class: first {cells[0]}, expanded {cells[1]} (P@20: {each})")
    for category, others in SYNONYMS.items():
        relevant = right.get(category.replace(" ", "_"))
        if relevant is not None:
            forms = [category, *others]
            p20 = [figures(relevant[asked.expanded(asked(w), page=False)])[1] for w in forms]
            print("  P@20: " + ", ".join(f"{w} {100 * p:.0f}" for w, p in zip(forms, p20, strict=True)))


def with_drawings(name: str, root: Path, dictionary: Dictionary, drawings: int) -> None:
    data = datasets.load(root / name)
    s = expansion.load(Experiment.of(data, jobs=1))
    asked = Asked(s.features.vectors, s.encoder.prior, dictionary)
    some = held_out([q.category for q in data.queries])
    chosen = [i for i, q in enumerate(data.queries) if q.category in some]
    chosen = sorted(random.Random(0).sample(chosen, min(drawings, len(chosen))))
    rng = random.Random(0)
    rows: dict[str, list[list[float]]] = {
        "drawing": [],
        "and its word": [],
        "and a wrong word": [],
        "and nothing": [],
    }
    kept = []
    for i in chosen:
        category = data.queries[i].category
        alone = z(z(s.shape[i]) + s.encoder.blend * z(s.network[i]))
        wrong = rng.choice([q.category for q in data.queries if q.category != category])
        words = [None, category, wrong, rng.choice(NOTHING)]
        orders = []
        for label, category_name in zip(rows, words, strict=True):
            before = alone
            if category_name is not None:
                word = category_name.replace("_", " ")
                before = both(alone, asked(word), asked.says(word))
            orders.append(asked.expanded(before))
            row = figures(s.relevant[i][orders[-1]])
            if s.instance[i] >= 0:
                place = int(np.flatnonzero(orders[-1] == s.instance[i])[0])
                row += [place < 10, place < 1]
            rows[label].append(row)
        if s.instance[i] >= 0 and s.instance[i] in orders[0][:10]:
            kept.append(s.instance[i] in orders[2][:10])
    for label, found in rows.items():
        print(f"{name}, held out, {len(chosen)} drawings, {label}: {said(found)}")
    if kept:
        print(f"  a wrong word keeps the drawn photograph in {100 * np.mean(kept):.0f}% of {len(kept)}")


def icons(names: int = 200) -> None:
    """Names that an icon set has, asked as they are and with one letter wrong."""
    import pytablericons

    files = sorted(
        str(p) for p in Path(pytablericons.__file__).parent.rglob("*") if p.suffix in (".svg", ".png")
    )
    index = NameIndex(files)
    stems = [Path(f).stem for f in files]
    rng = random.Random(0)
    plain = sorted({s for s in stems if s.isalpha() and len(s) >= 4})
    asked = rng.sample(plain, min(names, len(plain)))
    for label, change in (("as it is", lambda w: w), ("one letter wrong", lambda w: mistaken(w, rng))):
        hits = 0
        for word in asked:
            found = index.scores(change(word))
            first = found.ids[np.argsort(-found.scores, kind="stable")][:10]
            hits += any(stems[i] == word for i in first)
        print(f"icons, {len(files)} files, {len(asked)} names, {label}: {100 * hits / len(asked):.1f}%")


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


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--drawings", type=int, default=1000, help="of each set, at most")
    given = arguments.parse_args()
    icons()
    root, dictionary = datasets.data_folder(), Dictionary()
    if root is None:
        raise SystemExit("The development sets are not there.")
    for name in SETS:
        words_alone(name, root, dictionary)
    for name in SETS if given.drawings else ():
        with_drawings(name, root, dictionary, given.drawings)


if __name__ == "__main__":
    main()
