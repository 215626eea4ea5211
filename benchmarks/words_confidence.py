"""Does an answer know when it is wrong where something is said? Words alone, and beside a drawing.

    python benchmarks/words_confidence.py PACKAGE WORK [--fit src/sketchseek/search/words_confidence.json]

A word is its category's name, and no file is called so. Each is asked of collections of photographs and of
emoji with and without what it means, of ten pictures, a hundred and some hundred; alone, and beside drawings
of the same thing. What is printed comes from models that were fitted on other categories and other sets of
pictures; with --fit, also writes the models that ship. See confidence.py for PACKAGE and WORK.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import asked
from pools import HALF, label, pools
from sketchseek.contours.drawing import Sketch
from sketchseek.evaluation.calibration import calibration_error, halves
from sketchseek.evaluation.datasets import data_folder
from sketchseek.evaluation.open_set import auroc
from sketchseek.search.core import CORE
from sketchseek.search.options import Options
from sketchseek.search.rescoring import rescore
from sketchseek.search.search import candidates
from sketchseek.search.state import SearchState
from sketchseek.search.words import rank_words, score_words
from sketchseek.search.words_confidence import (
    BEST,
    JUDGED,
    OF_HIT,
    OF_SEARCH,
    Chance,
    Drawn,
    Model,
    Said,
    drawn_of,
    judge,
)

Floats = NDArray[np.float64]

SIDES = {"s2c": 0, "openmoji": 0, "sketchy": 1, "sysu": 1, "noto": 1}
"""What is fitted on one side is judged on the other."""
SIZES = (None, 100, 10)
PAGE = 10


@dataclass(frozen=True)
class Trial:
    """One search: what words said of it, and the drawing beside them; which hits are right."""

    said: Said
    drawn: Drawn | None
    before: tuple[float, Floats]
    right: NDArray[np.bool_]
    present: bool
    category: str
    name: str


def collections(
    pictures: NDArray[np.int64], right: NDArray[np.bool_], rng: np.random.Generator, size: int | None
) -> list[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Pictures with what is right among them, and without: their numbers, ascending, and which are right."""
    others = rng.permutation(pictures[~right])[:size]
    share = max(1, round(right.sum() * len(others) / len(pictures)))
    kept = rng.permutation(pictures[right])[:share]
    there = np.sort(np.concatenate([kept, others[: max(len(others) - len(kept), 0)]]))
    return [(ids, np.isin(ids, kept)) for ids in (there, np.sort(others))]


def trials(world: asked.World, drawings: int) -> Iterator[Trial]:
    """Words alone in every size, then drawings with their words in one size each."""
    rng = np.random.default_rng(3)
    for i, pool in enumerate(world.pools):
        pictures = np.flatnonzero(world.pool == i)
        shows = np.array([world.shows[j] for j in pictures.tolist()])
        called = {s if pool.kind == "emoji" else label(s): s.replace("_", " ").lower() for s in pool.shows}
        for category in sorted(set(shows.tolist())):
            for size in SIZES if pool.kind != "emoji" or rng.random() < 0.3 else ():
                for ids, right in collections(pictures, shows == category, rng, size):
                    state = world.described.part(ids)
                    yield from searched(state, called[category], right, pool.name)
        if pool.kind != "photographs":
            continue
        folder = data_folder() / pool.name
        for ask in asked.of_photographs(folder, pool, 0, drawings, redrawn=False):
            known = np.array([asked.relation(ask.shows, show) == 2 for show in shows])
            if known.any():
                word, size = called[shows[known][0]], SIZES[int(rng.integers(len(SIZES)))]
                for ids, right in collections(pictures, known, rng, size):
                    state = world.described.part(ids)
                    yield from searched(state, word, right, pool.name, ask.sketch)


def searched(
    state: SearchState, word: str, right: NDArray[np.bool_], of: str, sketch: Sketch | None = None
) -> Iterator[Trial]:
    """One search, where the word means anything; right : (n,) of the pictures."""
    assert state.embeddings is not None
    state.embeddings.network = "efficientnet"
    options = Options(JUDGED, words=word, threads=1)
    heard = score_words(state, options)
    if heard is None or not heard.says:
        return
    drawn = None
    if sketch is None:
        hits, said = rank_words(state, options, heard)
        chances = 1 / (1 + np.exp(-1.5 * (said.z - 2)))  # what was said before anything was fitted
        before = float(chances.max()), np.sort(chances)[::-1]
    else:
        shape, found = candidates(state, sketch, options, JUDGED, heard)
        answer = rescore(shape, found, count=JUDGED, place=False)
        hits, drawn = answer.pictures, drawn_of(answer)
        said = heard.said(hits, heard.best(BEST), len(state))
        before = answer.present, answer.confidence
    name = f"{of}, {'the word' if sketch is None else 'a drawing and its word'}"
    yield Trial(said, drawn, before, right[hits], bool(right.any()), word, name)


def fit_chance(x: Floats, y: NDArray[np.bool_], ridge: float) -> Chance:
    """The most likely weights, held back."""
    from scipy.optimize import minimize

    mean = np.round(x.mean(axis=0), 5)
    scale = np.round(np.maximum(x.std(axis=0), 1e-3), 5)
    z = (x - mean) / scale
    z /= np.sqrt(1 + np.square(z / CORE["far out"]))

    def loss(p: Floats) -> tuple[float, Floats]:
        total = z @ p[:-1] + p[-1]
        slope = (1 / (1 + np.exp(-np.clip(total, -50, 50))) - y) / len(y)
        value = np.logaddexp(0, np.where(y, -total, total)).mean() + ridge * (p[:-1] ** 2).sum()
        return value, np.concatenate([z.T @ slope + 2 * ridge * p[:-1], [slope.sum()]])

    p = np.round(minimize(loss, np.zeros(z.shape[1] + 1), jac=True, method="L-BFGS-B").x, 5)
    return Chance(tuple(mean.tolist()), tuple(scale.tolist()), tuple(p[:-1].tolist()), float(p[-1]))


def fit(chosen: list[Trial], ridge: float = 0.01) -> Model:
    """Of what is there, and of what is on the first page and right then."""
    there = [t for t in chosen if t.present]

    def search(t: Trial) -> Floats:
        return t.said.of_search(t.drawn.present if t.drawn else 0.0)

    def hits(t: Trial) -> Floats:
        return t.said.of_hits(search(t), t.drawn.hits if t.drawn else np.zeros(len(t.right)))

    return Model(
        fit_chance(np.stack([search(t) for t in chosen]), np.array([t.present for t in chosen]), ridge),
        fit_chance(
            np.stack([search(t) for t in there]), np.array([t.right[:PAGE].any() for t in there]), ridge
        ),
        fit_chance(
            np.concatenate([hits(t) for t in there]), np.concatenate([t.right for t in there]), ridge / 2
        ),
    )


def crosswise(everything: list[Trial]) -> list[tuple[Trial, float, Floats]]:
    """What models say that were fitted on the other half of categories and the other side's pictures."""
    half = halves([t.category for t in everything])
    part = [(bool(h), SIDES[t.name.split(",")[0]]) for h, t in zip(half, everything, strict=True)]
    out = []
    for name in sorted(set(part)):
        others = [t for t, p in zip(everything, part, strict=True) if p[0] != name[0] and p[1] != name[1]]
        model = fit(others)
        for t, p in zip(everything, part, strict=True):
            if p == name:
                present, _, confidence = judge(model, t.said, t.drawn)
                out.append((t, present, confidence))
    return out


def row(name: str, rows: list[tuple[Trial, float, Floats]]) -> str:
    """What is said now beside what was said before."""
    present = np.array([t.present for t, _, _ in rows])
    right = np.concatenate([t.right for t, _, _ in rows])
    first = np.array([t.right[0] for t, _, _ in rows])
    cells = [f"{len(rows):,}"]
    said: tuple[Callable, Callable] = (
        lambda one: (one[0].before[0], one[0].before[1]),
        lambda one: (one[1], one[2]),
    )
    for of in said:
        chance = np.array([of(one)[0] for one in rows])
        told = np.concatenate([of(one)[1] for one in rows])
        best = np.array([of(one)[1][0] for one in rows])
        cells += [
            f"{auroc(chance, present):.2f}",
            f"{auroc(best, first):.2f}",
            f"{100 * calibration_error(chance, present):.1f}",
            f"{100 * calibration_error(told, right):.1f}",
        ]
    return f"| {name} | " + " | ".join(cells) + " |"


MEASURES = ("there or not, AUROC", "first hit, AUROC", "gap of presence", "gap of hits")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--drawings", type=int, default=160, help="of each set of photographs")
    parser.add_argument("--fit", type=Path, metavar="FILE", help="write the models that ship")
    args = parser.parse_args()
    some = [pool for pool in pools(args.package, args.work) if pool.name in SIDES]
    world = asked.World(some, args.work, asked.Remembered("efficientnet", HALF))
    everything = list(trials(world, args.drawings))
    kinds = {
        "alone": [t for t in everything if t.drawn is None],
        "beside a drawing": [t for t in everything if t.drawn is not None],
    }
    columns = [f"{name}, {when}" for when in ("before", "now") for name in MEASURES]
    print("| | searches | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 2) + "|")
    for found in kinds.values():
        rows = crosswise(found)
        for name in sorted({t.name for t in found}):
            print(row(name, [one for one in rows if one[0].name == name]))
    if args.fit:
        models = {name: fit(found).to_json() for name, found in kinds.items()}
        document = {"of search": list(OF_SEARCH), "of hit": list(OF_HIT), "models": models}
        args.fit.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
