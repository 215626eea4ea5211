"""Does the pruned top k equal the exhaustive answer, for every drawing of the development sets?

    python benchmarks/pruning.py [--pictures 100000] [--preset compact precise]

The photos of all sets are searched together, enlarged by mixtures of two of them each with noise (as in
`sketchseek bench`), because a collection as small as a set is not pruned at all. Every 50th picture is there
twice, so that there are ties. Numbers of pictures and scores must be equal, not close, with one thread and
with two. A difference is printed and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from sketchseek.evaluation.bench import enlarged
from sketchseek.evaluation.datasets import data_folder, load
from sketchseek.evaluation.experiment import Experiment
from sketchseek.shape.descriptor import describe, encode, norms
from sketchseek.shape.engine.native import NativeEngine
from sketchseek.shape.query import Query
from sketchseek.shape.settings import Settings

SETS = ("sysu", "s2c", "sketchy")
KS = (1, 100, 500)


def collection(vectors: np.ndarray, n: int, settings: Settings) -> NativeEngine:
    """The photos themselves, then mixtures, n in all."""
    codes, its_norms = enlarged(vectors, n, settings)
    real = encode(vectors, settings)[:n]
    codes[: len(real)], its_norms[: len(real)] = real, norms(real, settings)
    twice = np.arange(0, n - 50, 50)
    codes[twice + 25], its_norms[twice + 25] = codes[twice], its_norms[twice]
    return NativeEngine(codes, its_norms, settings)


def differences(engine: NativeEngine, query: Query) -> list[str]:
    """What is not as it should be."""
    scores = engine.scores(query)
    order = np.argsort(-scores, kind="stable")[: max(KS)]
    wrong = []
    for k in KS:
        for threads in (1, 2):
            ids, found = engine.top(query, k, threads)
            if not (np.array_equal(ids, order[:k]) and np.array_equal(found, scores[order[:k]])):
                wrong.append(f"k {k}, {threads} thread(s)")
    return wrong


def main() -> int:
    """Every preset, every set, every drawing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--preset", nargs="+", default=["compact", "precise"])
    parser.add_argument("--detector", default="canny")
    args = parser.parse_args()
    folder = data_folder()
    if folder is None:
        raise SystemExit("The development sets are not there: set SKETCHSEEK_DATA.")
    sets = [Experiment.of(load(folder / name), args.detector) for name in SETS]
    wrong = 0
    for preset in args.preset:
        settings = Settings.preset(preset)
        vectors = np.stack([describe(c.points, settings) for s in sets for c in s.contours])
        engine = collection(vectors, args.pictures, settings)
        for name, one in zip(SETS, sets, strict=True):
            begin = time.perf_counter()
            drawings = [sketch.points for sketch in one.sketches if sketch is not None]
            found = [differences(engine, Query.of(points, settings)) for points in drawings]
            bad = [(i, text) for i, text in enumerate(found) if text]
            wrong += len(bad)
            print(
                f"{preset}: {name}: {len(drawings) - len(bad)} of {len(drawings)} drawings agree, "
                f"{time.perf_counter() - begin:.0f} s",
                flush=True,
            )
            for i, text in bad:
                print(f"  drawing {i}: {'; '.join(text)}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
