"""Does an answer know when it is wrong? Drawings searched in collections with and without what they show.

    python benchmarks/confidence.py PACKAGE WORK [--fit src/sketchseek/search/confidence.json]

PACKAGE is the unpacked npm package @iconify/json; see asked.py for what is searched. Keeps the evidence of
each search in WORK and prints the tables of docs/research/confidence.md; with --fit, also writes the models
that ship. What is printed comes from models that were fitted on other classes and other sets of pictures.

Whole collections are only asked, never fitted on: all of Lucide and Fluent MDL2, of OpenMoji, of `s2c`, of
`sketchy`. They too are judged by models of other classes and of other sets of pictures.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import asked
import twins
from sketchseek.evaluation.calibration import Judged, calibration_error, fit, judged, with_bounds
from sketchseek.evaluation.datasets import data_folder, load
from sketchseek.evaluation.embeddings import features
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.open_set import Described, Trial, auroc
from sketchseek.search.confidence import models
from sketchseek.search.core import ABSENT, EVIDENCE, LIKENESS
from sketchseek.search.network_evidence import NetworkEvidence
from sketchseek.search.options import Options
from sketchseek.search.search import find
from sketchseek.shape.settings import Settings
from sketchseek.shape.windows import LEVELS
from terms import TERMS

KEPT = Path(os.environ.get("SKETCHSEEK_TRIALS", "trials"))
"""Where `make results` finds what was searched."""
KINDS = {"shape": "Shape alone", "efficientnet": "With EfficientNet", "dinov2": "With DINOv2"}
HANDS = {
    "doodles": ("doodle",),
    "copies": ("exact", "moved"),
    "rough copies": ("light hand", "hand", "heavy hand"),
    "drawings": ("drawing", "drawing again", "hand drawing", "hand drawing again"),
    "outlines": ("outline", "outline again"),
    "slips of the pen": ("slip",),
}
"""How drawings were made, as tables say it, and as `asked.Ask` does."""
WHOLE = {
    "icons": "Lucide and Fluent MDL2",
    "emoji": "OpenMoji",
    "photographs": ("`s2c`", "`sketchy`"),
}
"""Whole collections, by what they are made of and by side."""
SCORES = (
    "searches",
    "there or not, AUROC",
    "first hit right or wrong, AUROC",
    "mean gap, points",
    '"probably not here" over a right first page',
    "how often it is said",
    "and true",
)


def scores(rows: Sequence[Judged]) -> list[str]:
    """A row of `SCORES`."""
    first = np.array([row.trial.right[0] for row in rows])
    best = np.array([row.said.confidence[0] for row in rows])
    present = np.array([row.trial.present for row in rows])
    absent = np.array([row.said.verdict == ABSENT for row in rows])
    found = np.array([row.found for row in rows])
    told = np.concatenate([row.said.confidence for row in rows])
    right = np.concatenate([row.trial.right for row in rows])
    return [
        f"{len(rows):,}",
        f"{auroc(np.array([row.odds for row in rows]), present):.2f}",
        f"{auroc(best, first):.2f}",
        f"{100 * calibration_error(told, right):.1f}",
        f"{100 * absent[found].mean():.0f}%" if found.any() else "",
        f"{100 * absent.mean():.0f}%",
        f"{100 * (~present[absent]).mean():.0f}%" if absent.any() else "",
    ]


def table(rows: Sequence[Judged]) -> str:
    """A row a set."""
    lines = ["| | " + " | ".join(SCORES) + " |", "|---" * (len(SCORES) + 1) + "|"]
    for name in [*sorted({row.trial.name for row in rows}), "all"]:
        mine = [row for row in rows if name in (row.trial.name, "all")]
        lines.append(f"| {name} | " + " | ".join(scores(mine)) + " |")
    return "\n".join(lines)


class Found(NamedTuple):
    """What was searched in one way."""

    asked: list[Trial]
    whole: list[Trial]

    def judged(self) -> tuple[list[Judged], list[Judged]]:
        """Both, by models and bounds that were learned from other classes and other sets of pictures."""
        rows, apart = judged(self.asked, TERMS, self.whole), {id(trial) for trial in self.whole}
        return [r for r in rows if id(r.trial) not in apart], [r for r in rows if id(r.trial) in apart]


def tables(found: dict[str, Found]) -> str:
    """Two for each kind of search."""
    out = []
    for kind, searched in found.items():
        rows, whole = searched.judged()
        out.append(f"{KINDS[kind]}:\n\n{table(rows)}")
        if whole:
            out.append(f"{KINDS[kind]}, whole collections:\n\n{table(whole)}")
    return "\n\n".join(out)


def found_in(work: Path) -> dict[str, Found]:
    """What was kept of each kind of search."""
    found = {
        kind: Found(
            [named(trial, whole=False) for trial in asked.kept(work / f"asked-{kind}")],
            [named(trial, whole=True) for trial in asked.kept(work / f"whole-{kind}")],
        )
        for kind in KINDS
    }
    return {kind: searched for kind, searched in found.items() if searched.asked}


def named(trial: Trial, *, whole: bool) -> Trial:
    """The same, of a set as tables name it."""
    kinds, hand = trial.name.split(" by ")
    how = next(name for name, hands in HANDS.items() if hand in hands)
    if whole:
        of = WHOLE[kinds]
        return replace(trial, name=f"{of if isinstance(of, str) else of[trial.side]} by {how}")
    kinds = "everything" if kinds.count("+") > 1 else kinds.replace("+", " and ")
    return replace(trial, name=f"{kinds} by {how}" if how != "slips of the pen" else how)


def cost(e: Experiment, encoder: twins.Twin, min_object_size: float) -> str:
    """How much longer searches take that judge their hits, in one run: the share of time spent on it."""
    whole_state = e.state(Settings.preset(), min_object_size=min_object_size)
    described = Described(whole_state, features(e.data, encoder))
    state = described.part(np.arange(len(whole_state)))
    spent = [0.0]

    def timed(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: object, **options: object) -> object:
            began = time.perf_counter()
            found = work(*arguments, **options)
            spent[-1] += time.perf_counter() - began
            return found

        return run

    shares = []
    judge = timed(models()[encoder.name].judge)
    with mock.patch.object(NetworkEvidence, "of", timed(NetworkEvidence.of)):
        for sketch in e.sketches:
            spent.append(0.0)
            began = time.perf_counter()
            answer = find(state, sketch, Options(threads=1))
            whole = time.perf_counter() - began
            judge(answer.evidence, answer.likeness)
            shares.append(spent[-1] / (whole - spent[-1]))
    return f"smallest {min_object_size:g}, {len(state)} pictures: {100 * np.median(shares):.1f}% longer"


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("package", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, help="search by these what was not searched yet")
    parser.add_argument("--pools", nargs="*", help="of these pictures; of all of them unless said otherwise")
    parser.add_argument("--sample", type=int, help="so many of each; in a WORK of their own")
    parser.add_argument("--times", type=float, default=1.2, help="how much of what could be asked is asked")
    parser.add_argument("--cost", action="store_true", help="only measure how long judging takes")
    parser.add_argument("--fit", type=Path, metavar="FILE", help="write the models that ship")
    args = parser.parse_args()
    if args.cost:
        e = Experiment.of(load(data_folder() / "s2c")).sample(200)
        encoder = twins.Twin("efficientnet")
        print(*(cost(e, encoder, min_object_size) for min_object_size in LEVELS), sep="\n")
        return
    for kind in args.kinds or ():
        for whole, pools in ((False, asked.pools), (True, asked.whole_pools)):
            some = [
                pool.sample(args.sample or len(pool))
                for pool in pools(args.package, args.work)
                if args.pools is None or pool.name in args.pools
            ]
            out = args.work / f"{'whole' if whole else 'asked'}-{kind}"
            if some:
                asked.collect(some, args.work, kind, out, args.times, whole=whole)
    found = found_in(args.work)
    print(tables(found))
    if args.fit:
        known = json.loads(args.fit.read_text())["models"] if args.fit.exists() else {}
        fitted = {
            kind: with_bounds(fit(searched.asked, TERMS), searched.judged()[0]).to_json()
            for kind, searched in found.items()
        }
        document = {"features": list(EVIDENCE), "likeness": list(LIKENESS), "models": {**known, **fitted}}
        args.fit.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
