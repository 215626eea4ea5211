"""How the cost of the exact search grows: the tables of docs/research/performance.md.

    python benchmarks/growth.py

Microseconds a picture, one thread, by its processor time, the best of five for each of three drawings.
"""

from __future__ import annotations

import os
from functools import partial

import numpy as np

from sketchseek.evaluation.bench import QUERIES, best_time, enlarged, seed_contours
from sketchseek.search.collection import Collection
from sketchseek.shape.descriptor import describe
from sketchseek.shape.engine import _engine
from sketchseek.shape.engine.native import VARIABLE, NativeEngine
from sketchseek.shape.query import Query
from sketchseek.shape.settings import PRESETS, Settings

SIZES = (7_500, 30_000, 120_000)
SCALES = ((1.0,), (1.0, 0.8), (1.0, 0.8, 0.6), (1.0, 0.8, 0.6, 0.45))


def main() -> None:
    """Pictures, scales, presets, builds."""
    photos, drawings, _ = seed_contours()

    def collection(settings: Settings, n: int) -> Collection:
        vectors = np.stack([describe(points, settings) for points in photos])
        return Collection(*enlarged(vectors, n, settings), settings)

    def cost(engine: NativeEngine, settings: Settings, k: int | None = None) -> float:
        def search(query: Query) -> object:
            return engine.scores(query, threads=1) if k is None else engine.top(query, k, threads=1)

        asked = [Query.of(points, settings) for points in drawings[:QUERIES]]
        return 1e6 * float(np.mean([best_time(partial(search, query), 1) for query in asked])) / len(engine)

    compact = Settings.preset("compact")
    largest = collection(compact, SIZES[-1])
    print("| pictures | every score | top 100 |\n|---|---|---|")
    for n in SIZES:
        engine = collection(compact, n).engine
        print(f"| {n:,} | {cost(engine, compact):.2f} | {cost(engine, compact, 100):.2f} |", flush=True)
    print("\n| scales | translations an axis | |\n|---|---|---|")
    for scales in SCALES:
        settings = compact.with_scales(scales)
        engine = largest.with_settings(settings).engine
        reach = Query.of(drawings[0], settings).reach
        names = ", ".join(f"{s:g}" for s in scales), ", ".join(str(2 * r + 1) for r in reach)
        print(f"| {' | '.join(names)} | {cost(engine, settings):.2f} |", flush=True)
    print("\n| preset | frequencies | components | every score | top 100 |\n|---|---|---|---|---|")
    for preset, (nx, no) in PRESETS.items():
        settings = Settings.preset(preset)
        engine = collection(settings, SIZES[1]).engine
        print(
            f"| {preset} | {nx}, {no} | {settings.dimensions:,} | {cost(engine, settings):.2f} | "
            f"{cost(engine, settings, 100):.2f} |",
            flush=True,
        )
    print("\n| build | |\n|---|---|")
    for build in _engine.supported_builds():
        os.environ[VARIABLE] = build
        engine = collection(compact, SIZES[1]).engine
        print(f"| {build} | {cost(engine, compact):.2f} |", flush=True)


if __name__ == "__main__":
    main()
