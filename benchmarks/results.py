"""Writes docs/results.md from the development sets: `make results`.

    python benchmarks/results.py [--sets sysu sketchy s2c] [--queries N] [--jobs N]

Contours are remembered between runs; everything else is computed anew.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sketchseek.clutter import reordered
from sketchseek.confidence import confidence
from sketchseek.descriptor import Query, Settings, X, Y
from sketchseek.evaluation import datasets
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.metrics import bootstrap_interval
from sketchseek.evaluation.scoring import Found, QueryScore, score, summary
from sketchseek.kernels import RBF
from sketchseek.maps import HarmonicMap
from sketchseek.ranking import Collection, SeparateKernels, largest, rank

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAPER_ORIENTATION = {"orientation_sigma": 0.8, "orientation_constant": 1.0}
DEFAULT = Settings.preset("precise")

Row = tuple[str, Callable[[Experiment], list[QueryScore]]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=["sysu", "sketchy", "s2c"])
    parser.add_argument("--queries", type=int, help="only so many drawings of each set, at random")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--out", type=Path, default=DOCS / "results.md")
    args = parser.parse_args()
    place = datasets.data_folder()
    if place is None:
        sys.exit("The development sets are not there: set SKETCHSEEK_DATA.")
    started = time.monotonic()
    experiments = [Experiment.of(datasets.load(place / name), jobs=args.jobs) for name in args.sets]
    experiments += [e.moved() for e in experiments if e.data.name == "sysu"]
    if args.queries:
        experiments = [e.sample(args.queries) for e in experiments]
    text = [
        INTRODUCTION.format(
            queries=f"{args.queries} drawings of each set" if args.queries else "All drawings"
        )
    ]
    text += [table(title, note, rows, experiments) for title, note, rows in TABLES]
    text.append(reliability(experiments))
    print(f"{(time.monotonic() - started) / 60:.0f} minutes", file=sys.stderr)
    args.out.write_text("\n".join(text) + "\n", encoding="utf-8")


def table(title: str, note: str, rows: list[Row], experiments: list[Experiment]) -> str:
    """One section: a row a variant, a column a set; mAP (P@20) and the interval of mAP's change."""
    heads = [e.data.name for e in experiments]
    lines = [f"## {title}", "", note, "", "| | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    first: list[list[QueryScore]] = []
    for name, run in rows:
        cells = []
        for i, experiment in enumerate(experiments):
            scores = run(experiment)
            if len(first) <= i:
                first.append(scores)
            cells.append(cell(experiment, scores, first[i]))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join([*lines, ""])


def cell(experiment: Experiment, scores: list[QueryScore], baseline: list[QueryScore]) -> str:
    """mAP (P@20), further figures where the set has them, and the change of mAP against the first row."""
    s = summary(experiment.data, scores, "")
    text = f"{100 * s['map']:.1f} ({100 * s['p@20']:.1f})"
    if "box_iou" in s:
        text += f" IoU {s['box_iou']:.2f}"
    if "instance_recall@10" in s:
        text += f" R@10 {100 * s['instance_recall@10']:.1f}"
    if scores is baseline:
        low, high = (100 * v for v in s["intervals"]["map"])
        return f"{text} [{low:.1f}, {high:.1f}]"
    change = [
        100 * (a.average_precision - b.average_precision) for a, b in zip(scores, baseline, strict=True)
    ]
    low, high = bootstrap_interval(change)
    return f"{text} [{low:+.1f}, {high:+.1f}]"


_collections: dict[tuple[str, Settings, str], Collection] = {}


def collected(e: Experiment, settings: Settings, storage: str = "int8") -> Collection:
    """Descriptors of a set's photos, made once: many rows share them."""
    key = (e.data.name, settings, storage)
    if key not in _collections:
        _collections[key] = e.collection(settings, storage)
    return _collections[key]


def plain(settings: Settings, **options: Any) -> Callable[[Experiment], list[QueryScore]]:
    storage = options.pop("storage", "int8")
    options.setdefault("place", False)
    return lambda e: e.run(collected(e, settings, storage), **options)


def fitted(n: tuple[int, int], **how: Any) -> Settings:
    return Settings.fit(*n, **how)


def harmonic(n: tuple[int, int]) -> Settings:
    """Fourier's frequencies and weights instead of the joint map's."""
    base = Settings.fit(*n)
    maps = HarmonicMap([RBF(0.2 * s) for s in base.scales], n[0]).fit()
    weights = tuple(tuple(map(float, row)) for row in maps.weights_)
    return replace(base, frequencies=tuple(map(float, maps.frequencies_)), weights=weights)


def separate(n: tuple[int, int]) -> Callable[[Experiment], list[QueryScore]]:
    """One descriptor a kernel, as the method that the paper compares with."""

    def run(e: Experiment) -> list[QueryScore]:
        stored = SeparateKernels.of([c.points for c in e.contours], Settings.fit(*n))
        found = [Found(np.zeros(0, np.int64) if s is None else stored.rank(s.points).ids) for s in e.sketches]
        return [score(e.data, q, f) for q, f in zip(e.data.queries, found, strict=True)]

    return run


def shortlisted(first: str, share: float, settings: Settings) -> Callable[[Experiment], list[QueryScore]]:
    """Rank by projections, re-rank a share of the collection exactly; the rest keeps its order behind."""

    def run(e: Experiment) -> list[QueryScore]:
        collection = collected(e, settings)
        size = max(1, round(share * len(collection)))
        return [
            score(e.data, q, Found(_order(collection, s, first, size) if s else np.zeros(0, np.int64)))
            for q, s in zip(e.data.queries, e.sketches, strict=True)
        ]

    return run


def _order(collection: Collection, sketch: Any, first: str, size: int) -> np.ndarray:
    query, engine = Query.of(sketch.points, collection.settings), collection.engine
    if first in ("high variance", "low variance"):
        axis = query.first_projection
        axis = axis if first == "high variance" else (Y if axis == X else X)
        one = engine.project(query, axis)
        kept = largest(one, 3 * size)
        total = one - 4  # those left out come after all that are kept
        total[kept] = one[kept] + engine.project(query, Y if axis == X else X, kept)
    else:
        axes = {"x": [X], "y": [Y], "x + y": [X, Y]}[first]
        total = sum(engine.project(query, a) for a in axes)
    order = largest(total, len(total))
    top = np.sort(order[:size])
    exact = engine.scores(query, top)
    return np.concatenate([top[largest(exact, size)], order[size:]])


def reranked(rerank: str, neighborhood: int) -> Callable[[Experiment], list[QueryScore]]:
    return lambda e: e.run(
        collected(e, DEFAULT),
        clutter=0.0,
        place=False,
        method="projections",
        shortlist=len(e.contours),
        rerank=rerank,
        neighborhood=neighborhood,
    )


def reliability(experiments: list[Experiment]) -> str:
    """Does a confidence of 30% mean that 3 hits of 10 are right? Among the first 20 hits of every drawing."""
    names = [e.data.name for e in experiments]
    lines = ["## Confidence", "", reliability.__doc__ or "", ""]
    lines += ["| confidence | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    pairs = [_sure_and_right(e) for e in experiments]
    for low in np.arange(0, 1, 0.1):
        inside = [(sure >= low) & (sure < low + 0.1) for sure, _ in pairs]
        cells = [
            f"{100 * right[m].mean():.0f}% of {m.sum()}" if m.any() else ""
            for m, (_, right) in zip(inside, pairs, strict=True)
        ]
        lines.append(f"| {100 * low:.0f} to {100 * low + 10:.0f}% | " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _sure_and_right(e: Experiment) -> tuple[np.ndarray, np.ndarray]:
    collection = collected(e, DEFAULT)
    sure, right = [], []
    for q, sketch in zip(e.data.queries, e.sketches, strict=True):
        if sketch is not None:
            query = Query.of(sketch.points, DEFAULT)
            found, local = reordered(collection, query, rank(collection, query), 20)
            sure.append(confidence(local))
            right.append(np.isin(found.ids, list(q.relevant)))
    return np.concatenate(sure), np.concatenate(right)


INTRODUCTION = """# Results

Written by `make results` from the development sets (not shipped: see the data's own README). Shape alone,
no picture descriptors. {queries}. A cell is mAP (P@20) in percent, box IoU of right hits among the first 20
where the set has boxes, and the share of drawings whose own photo is among the first ten (R@10) where it is
known. The brackets are 95% bootstrap intervals over drawings: in the first row of a table of mAP itself,
below it of its change against the first row. `sysu-moved` is `sysu` with its contours shrunk to 60% and
moved at random.

![One outline by translation](figures/alignment.png)

![Outlines and what is found for them](figures/hits.png)
"""

TABLES: list[tuple[str, str, list[Row]]] = [
    (
        "Defaults",
        "The first row's interval is its own; those after it are of the change of mAP against the first.",
        [
            ("default: (6,3), local normalisation .4", plain(DEFAULT, place=True)),
            ("without local normalisation", plain(DEFAULT, clutter=0.0)),
            ("local normalisation .8", plain(DEFAULT, clutter=0.8)),
            (
                "orientation as in the paper (.8), no local normalisation",
                plain(fitted((6, 3), **PAPER_ORIENTATION), clutter=0.0),
            ),
            ("orientation .5, whole constant component", plain(fitted((6, 3), orientation_constant=1.0))),
            ("orientation .5, a quarter of it", plain(fitted((6, 3), orientation_constant=0.25))),
            ("compact (5,2)", plain(Settings.preset("compact"))),
            ("compact (5,2) as in the paper", plain(fitted((5, 2), **PAPER_ORIENTATION), clutter=0.0)),
            ("full (8,3)", plain(Settings.preset("full"))),
            ("no mirror", plain(DEFAULT, mirror=False)),
            ("one scale", plain(DEFAULT.with_scales((1.0,)))),
            ("four scales, 1 to .45", plain(DEFAULT.with_scales((1.0, 0.8, 0.6, 0.45)))),
            ("float32 instead of one byte", plain(DEFAULT, storage="float32")),
            ("no translation", plain(replace(DEFAULT, max_translation=0.0))),
        ],
    ),
    (
        "Frequencies",
        "Without local normalisation. The paper (Flickr15k, figure 5 left): harmonic frequencies lose much "
        "at few frequencies and nothing at many.",
        [
            (f"({n}, 2) {name}", run)
            for n in (4, 5, 6, 8)
            for name, run in (
                ("joint", plain(fitted((n, 2)), clutter=0.0)),
                ("harmonic", plain(harmonic((n, 2)), clutter=0.0)),
                ("one map a kernel", separate((n, 2))),
            )
        ],
    ),
    (
        "Shortlists",
        "Exact re-ranking of a share of the collection, without local normalisation. The paper: the sum is "
        "far better than either projection; a third of the collection loses nothing.",
        [
            (f"{first}, {share:.0%}", shortlisted(first, share, DEFAULT))
            for share in (1.0, 0.3, 0.1)
            for first in ("x + y", "x", "y", "high variance", "low variance")
            if share < 1 or first == "x + y"
        ],
    ),
    (
        "Re-ranking",
        "All pictures re-ranked, without local normalisation. The paper: binary loses little, local more.",
        [("exact", plain(DEFAULT, clutter=0.0))]
        + [(f"{name}, {n} x {n}", reranked(name, n)) for name in ("binary", "local") for n in (1, 3, 5)],
    ),
]

if __name__ == "__main__":
    main()
