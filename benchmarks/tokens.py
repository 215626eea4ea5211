"""The one photograph that was drawn: with tokens and without, and among more photographs.

    python benchmarks/tokens.py [--networks efficientnet dinov2] [--jobs N]

Prints tables for `benchmarks/record.py tokens`. All drawings of `sketchy` are asked, of held-out twins
(`twins.py`), through the search that ships. The photographs that are added are those of the other sets.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import twins
from sketchseek.errors import SketchseekError
from sketchseek.evaluation.datasets import DataSet, data_folder, load
from sketchseek.evaluation.embeddings import features
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.metrics import bootstrap_interval
from sketchseek.evaluation.scoring import QueryScore
from sketchseek.shape.settings import Settings

COLUMNS = ("R@1", "R@5", "R@10", "P@20", "mAP")
SIZES = (1000, 2000, 4000)
"""Photographs among which the one is looked for."""
ADDED = (
    "s2c/photos",
    "sketchy-train/photos",
    "sysu/photos",
    "bsds500/train",
    "bsds500/val",
    "bsds500/test",
    "ethz/photos",
)


def measures(scores: Sequence[QueryScore]) -> np.ndarray:
    """(drawings, `COLUMNS`)."""
    ranks = np.array([q.instance_rank for q in scores])
    found = [ranks <= depth for depth in (1, 5, 10)]
    return np.stack([*found, [q.p20 for q in scores], [q.average_precision for q in scores]], axis=1)


def row(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def means(measured: np.ndarray) -> list[str]:
    return [f"{100 * mean:.1f}" for mean in measured.mean(axis=0)]


def intervals(gains: np.ndarray) -> list[str]:
    """Of the mean of each column, 95 in 100."""
    found = [bootstrap_interval(column) for column in gains.T]
    return [f"{100 * low:.1f} to {100 * high:.1f}" for low, high in found]


def head(title: str, columns: Sequence[str]) -> list[str]:
    return [f"\n### {title}\n", "| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]


def with_and_without(e: Experiment, network: str) -> list[str]:
    """With tokens, and the same index without them."""
    known = features(e.data, twins.Twin(network))
    found = []
    for tokens in (None, known.tokens):
        embeddings = replace(known, tokens=tokens).embeddings()
        state = e.state(Settings.preset(), embeddings=embeddings)
        found.append(measures(e.run(state, place=False)))
    without, there = found
    lines = head(f"{network}, {len(e.sketches)} drawings among {len(e.data.photos)} photographs", COLUMNS)
    lines.append(row("the same index without tokens", means(without)))
    lines.append(row("with tokens", means(there)))
    lines.append(row("with tokens, 95%", intervals(there)))
    return [*lines, row("gain, 95%", intervals(there - without))]


def among_more(e: Experiment, own: int, network: str, sizes: Sequence[int]) -> list[str]:
    """Recalls among the first `own` photographs, the set's own, and as many others as make up a size."""
    others = own + np.random.default_rng(0).permutation(len(e.data.photos) - own)
    lines = head(f"{network}, among more photographs", COLUMNS[:3])
    for size in sizes:
        some = [*range(own), *sorted(others[: max(size - own, 0)].tolist())]
        data = replace(e.data, photos=tuple(e.data.photos[i] for i in some))
        part = replace(e, data=data, contours=tuple(e.contours[i] for i in some))
        state = part.state(Settings.preset(), embeddings=features(data, twins.Twin(network)).embeddings())
        lines.append(row(f"{len(some)} photographs", means(measures(part.run(state, place=False)))[:3]))
    return lines


def with_others(data: DataSet, folder: Path) -> DataSet:
    """The same drawings, and the photographs of the other sets after its own."""
    others = [path for part in ADDED for path in sorted((folder / part).rglob("*.jpg"))]
    return replace(data, photos=(*data.photos, *others))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--networks", nargs="+", default=["efficientnet", "dinov2"])
    arguments.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    arguments.add_argument("--jobs", type=int)
    given = arguments.parse_args()
    folder = data_folder()
    try:
        if folder is None:
            raise SketchseekError("The development sets are not there: set SKETCHSEEK_DATA.")
        data = load(folder / "sketchy")
        e = Experiment.of(data, jobs=given.jobs)
        for network in given.networks:
            print("\n".join(with_and_without(e, network)), flush=True)
        if given.sizes:
            more = Experiment.of(with_others(data, folder), jobs=given.jobs)
            for network in given.networks:
                print("\n".join(among_more(more, len(data.photos), network, given.sizes)), flush=True)
    except SketchseekError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
