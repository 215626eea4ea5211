"""The paper's large-scale table: 1.2 million pictures, precision, seconds a query and memory.

    python benchmarks/large_scale.py [--pictures N]

The paper's 1.2 million photos are not at hand. The photos and drawings of a development set are, and its
distractors are mixtures of two descriptors each of other real photos (`bsds500`, `sketchy-train`), with noise
of their own spread: more alike than photos are, so that precision is not the paper's, but time and memory are
what that many cost. One byte a component, one thread.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sketchseek.contours.points import Points
from sketchseek.errors import SketchseekError
from sketchseek.evaluation import paper
from sketchseek.evaluation.bench import best_time, enlarged
from sketchseek.evaluation.datasets import data_folder, load
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.extraction import contours_of_pictures
from sketchseek.evaluation.metrics import precision_at
from sketchseek.evaluation.separate_kernels import settings_of_kernels
from sketchseek.search.collection import Collection
from sketchseek.search.ranking import rank
from sketchseek.shape.descriptor import describe, encode, norms
from sketchseek.shape.query import Query
from sketchseek.shape.settings import Settings

PICTURES = 1_200_000
DEPTHS = (5, 10, 25, 50)
DRAWINGS = 30
TIMED = 3
SHORTLIST = 50_000
PAPERS = {
    ("separate", 8): "43.2 40.9 37.2 33.8 | 55.4 | 15.3",
    ("separate", 5): "25.8 24.7 22.5 20.2 | 20.2 | 3.3",
    ("exhaustive", 8): "50.1 46.7 42.0 37.2 | 55.4 | 5.1",
    ("exhaustive", 5): "45.8 44.1 38.5 35.4 | 20.2 | 1.1",
    ("dpf", 6): "50.3 47.3 41.5 36.7 | 2.5 | 0.7",
    ("dpf", 5): "45.6 43.5 38.0 35.0 | 1.7 | 0.3",
}
"""Its own: P@5 @10 @25 @50, seconds, gigabytes. Vectors are of floats there but for `dpf`, of bytes."""


@dataclass(frozen=True)
class Scale:
    """A set whose photos are the first of a large collection."""

    experiment: Experiment
    distractors: list[Points]
    pictures: int

    def collection(self, settings: Settings) -> Collection:
        """The set's photos, then the distractors, as bytes."""
        own = np.stack([describe(c.points, settings) for c in self.experiment.contours])
        others = np.stack([describe(p, settings) for p in self.distractors])
        codes, lengths = enlarged(others, self.pictures - len(own), settings)
        own_codes = encode(own, settings)
        return Collection(
            np.concatenate([own_codes, codes]),
            np.concatenate([norms(own_codes, settings), lengths]),
            settings,
        )

    def measure(self, search: Callable[[int, int], np.ndarray]) -> list[float]:
        """Percent at the depths, then seconds a query. `search(i, k)` finds the i-th drawing."""
        queries = self.experiment.data.queries
        right = [
            [number in query.relevant for number in search(i, DEPTHS[-1]).tolist()]
            for i, query in enumerate(queries)
        ]
        seconds = np.mean([best_time(partial(search, i, DEPTHS[-1]), 1) for i in range(TIMED)])
        return [*(100 * np.mean([precision_at(row, k) for row in right]) for k in DEPTHS), float(seconds)]


def load_scale(jobs: int | None, pictures: int = PICTURES) -> Scale:
    folder = data_folder()
    if folder is None:
        raise SketchseekError("The development sets are not there: set SKETCHSEEK_DATA.")
    e = paper.to_the_letter(Experiment.of(load(folder / "sysu"), line_art=False, jobs=jobs).sample(DRAWINGS))
    photos: list[Path] = sorted((folder / "bsds500").rglob("*.jpg"))
    photos += sorted((folder / "sketchy-train" / "photos").rglob("*.jpg"))
    found = contours_of_pictures(photos, "neural", line_art=False, jobs=jobs)
    return Scale(e, [c.points for c in found if not isinstance(c, SketchseekError)], pictures)


def table(jobs: int | None = None, pictures: int = PICTURES) -> str:
    """A row a method and a number of frequencies: ours, then the paper's own figures."""
    scale = load_scale(jobs, pictures)
    lines = [
        "| | frequencies | P@" + " @".join(map(str, DEPTHS)) + " | s | GB | the paper: P@ | s | GB |",
        "|---" * 8 + "|",
    ]

    def row(name: str, method: str, settings: Settings, found: list[float], memory: int) -> None:
        precisions = " ".join(f"{p:.1f}" for p in found[:-1])
        theirs = PAPERS[method, len(settings.frequencies)]
        size = f"({len(settings.frequencies)},{len(settings.orientation_frequencies)})"
        lines.append(f"| {name} | {size} | {precisions} | {found[-1]:.2f} | {memory / 1e9:.2f} | {theirs} |")
        print(lines[-1], file=sys.stderr, flush=True)

    sketches = [s.points for s in scale.experiment.sketches]
    for preset in ("full", "precise", "compact"):
        settings = Settings.paper(preset)
        collection = scale.collection(settings)
        queries = [Query.of(points, settings) for points in sketches]
        memory = collection.engine.memory
        if preset != "precise":
            found = scale.measure(lambda i, k, c=collection, q=queries: rank(c, q[i], k=k, threads=1).ids)
            row("every picture", "exhaustive", settings, found, memory)
        if preset != "full":
            found = scale.measure(
                lambda i, k, c=collection, q=queries: (
                    rank(c, q[i], method="dpf", shortlist=SHORTLIST, rerank="binary", k=k, threads=1).ids
                )
            )
            row("`dpf`, `binary` of 50,000", "dpf", settings, found, collection.engine.memory)
        if preset != "precise":
            del collection
            separate = [scale.collection(alone) for alone in settings_of_kernels(settings)]
            found = scale.measure(lambda i, k, s=separate: best_of_kernels(s, sketches[i], k))
            memory = sum(c.engine.memory for c in separate)
            row("the compared method: a descriptor a kernel", "separate", settings, found, memory)
            del separate
    return "\n".join(lines)


def best_of_kernels(collections: list[Collection], drawing: Points, k: int) -> np.ndarray:
    """The k best pictures by the best of their descriptors' exact scores."""
    asked = [(c.engine, Query.of(drawing, c.settings)) for c in collections]
    score = np.max([engine.scores(query, threads=1) for engine, query in asked], axis=0)
    first = np.argpartition(-score, k)[:k]
    return first[np.argsort(-score[first], kind="stable")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pictures", type=int, default=PICTURES)
    parser.add_argument("--jobs", type=int)
    args = parser.parse_args()
    print(table(args.jobs, args.pictures))


if __name__ == "__main__":
    main()
