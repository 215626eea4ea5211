"""Does an answer know when it is wrong? Drawings searched in collections with and without what they show.

    python benchmarks/confidence.py FOLDER [--fit src/sketchseek/search/confidence.json]

Searches, keeps the evidence of each kind of search in the folder, and prints the tables of
docs/confidence.md; with --fit, also writes the models that ship. What is printed of a category comes from
models that were fitted on other categories; of a set, from models that never saw that set.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import numpy as np

import line_art
import twins
from sketchseek.contours.drawing import Sketch
from sketchseek.demo import pictures as demo_pictures
from sketchseek.embeddings import PictureEncoder
from sketchseek.errors import SketchseekError
from sketchseek.evaluation.ablations import SETS
from sketchseek.evaluation.calibration import Judged, calibration_error, fit, judged, of_other_sets
from sketchseek.evaluation.datasets import AnnotatedQuery, DataSet, data_folder, load
from sketchseek.evaluation.embeddings import features
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.extraction import contours_of_pictures
from sketchseek.evaluation.hand_drawn import by_hand
from sketchseek.evaluation.open_set import Described, Trial, auroc, slips, trials
from sketchseek.search.confidence import models
from sketchseek.search.core import EVIDENCE, LIKENESS
from sketchseek.search.network_evidence import NetworkEvidence
from sketchseek.search.options import Options
from sketchseek.search.search import find
from sketchseek.shape.settings import Settings
from sketchseek.shape.windows import LEVELS

SAMPLE = 200
"""Drawings of each set, at random; the evidence was chosen by looking at others, as far as there are any."""
SEARCHED_ICONS = 80
KINDS = {"shape": "Shape alone", "efficientnet": "With EfficientNet", "dinov2": "With DINOv2"}


VARIANTS = ("off plus minus x check up down left right search star heart dollar share exclamation cog code",
            "bolt question pin pause cancel small discount edit [0-9]")  # fmt: skip
EXCLUDE = [
    *(f"*-{word}.svg" for word in " ".join(VARIANTS).split()),
    "brand-*",
    "*letter-*",
    "*number-*",
    "*finger*",
]
"""Icons that are another icon with a mark on it, and those that are no things."""


def sets() -> list[Experiment]:
    """Photographs, emoji, icons and drawings, each with drawings of what is in them."""
    place = data_folder()
    if place is None:
        raise SketchseekError("The development sets are not there: set SKETCHSEEK_DATA.")
    chosen = [Experiment.of(sampled(load(place / name))) for name in (*SETS, "doodles")]
    return [*chosen, outlines(chosen[-1]), drawings(place / "sketchy-train" / "sketches"), *icons()]


def sampled(data: DataSet) -> DataSet:
    """The same photos with only some of the drawings."""
    some = np.sort(np.random.default_rng(0).permutation(len(data.queries))[-SAMPLE:])
    return replace(data, queries=tuple(data.queries[i] for i in some))


def icons() -> list[Experiment]:
    """The demo's icons and photographs; some icons searched by a copy that is smaller, moved and thicker, by
    hand, and by themselves.

    Right are those whose name begins with the same word: a heart, a broken heart, a filled one.
    """
    found = [path for folder in demo_pictures() for path in sorted(folder.rglob("*"))]
    found = [p for p in found if p.suffix in (".svg", ".png", ".jpg")]
    found = [p for p in found if not any(fnmatch(p.name, pattern) for pattern in EXCLUDE)]
    seen = contours_of_pictures(found, jobs=1)
    both = [(p, c) for p, c in zip(found, seen, strict=True) if not isinstance(c, SketchseekError)]
    paths, contours = [p for p, _ in both], [c for _, c in both]
    words = [p.stem.split("-")[0] for p in paths]
    rng = np.random.default_rng(7)
    outline = [i for i, p in enumerate(paths) if p.parent.name == "outline"]
    searched = rng.permutation(outline)[:SEARCHED_ICONS]
    copies = [Sketch.from_bitmap(line_art.copy_of(paths[i], i)) for i in searched]
    drawn = [
        Sketch.from_strokes(by_hand(Sketch.load(paths[i]).strokes, rng, rng.uniform(0.2, 1.0)))
        for i in searched
    ]
    exact = [Sketch.load(paths[i]) for i in searched]
    queries = [
        AnnotatedQuery(
            paths[i], words[i], frozenset(j for j, word in enumerate(words) if word == words[i]), int(i)
        )
        for i in searched
    ]
    return [
        Experiment(
            DataSet(name, paths[0].parent, tuple(paths), tuple(queries)), tuple(contours), tuple(s), ()
        )
        for name, s in (("icons", copies), ("icons by hand", drawn), ("exact icons", exact))
    ]


def outlines(emoji: Experiment) -> Experiment:
    """Emoji searched by their own black outlines."""
    queries, sketches = [], []
    for i in np.random.default_rng(8).permutation(len(emoji.data.photos))[:SEARCHED_ICONS]:
        drawn = black_outline(emoji.data.photos[i])
        if drawn is not None:
            queries.append(AnnotatedQuery(emoji.data.photos[i], f"emoji {i}", frozenset([int(i)]), int(i)))
            sketches.append(drawn)
    data = replace(emoji.data, name="outlines", queries=tuple(queries))
    return replace(emoji, data=data, sketches=tuple(sketches))


def black_outline(path: Path) -> Sketch | None:
    """What is left of an emoji without its colours."""
    root = ElementTree.parse(path).getroot()
    groups = [g for g in root if g.tag.endswith("}g")]
    if not any(g.get("id", "").startswith("line") for g in groups):
        return None
    for group in groups:
        if not group.get("id", "").startswith("line"):
            root.remove(group)
    try:
        return Sketch.load(ElementTree.tostring(root))
    except SketchseekError:
        return None


def drawings(folder: Path, each: int = 15, searched: int = 2) -> Experiment:
    """Drawings as pictures, searched by other drawings of the same things."""
    pictures, queries, sketches = [], [], []
    for category in sorted(p for p in folder.iterdir() if p.is_dir()):
        paths = sorted(category.iterdir())[: each + searched]
        mine = frozenset(range(len(pictures), len(pictures) + each))
        pictures += paths[:each]
        for path in paths[each:]:
            queries.append(AnnotatedQuery(path, category.name, mine))
            sketches.append(Sketch.load(path))
    contours = [c for c in contours_of_pictures(pictures, jobs=1) if not isinstance(c, SketchseekError)]
    data = DataSet("drawings", folder, tuple(pictures), tuple(queries))
    return Experiment(data, tuple(contours), tuple(sketches), ())


def collect(kind: str, chosen: list[Experiment]) -> list[Trial]:
    """Search everything, with the network's held-out twin."""
    encoder = None if kind == "shape" else twins.Twin(kind)
    found: list[Trial] = []
    for e in chosen:
        state = e.state(Settings.preset())
        whole = Described(state)
        if encoder is not None:
            whole = Described(state, features(e.data, encoder))
        found += [*trials(e, whole), *slips(e, whole)]
        print(kind, e.data.name, len(found), flush=True)
    return found


def table(everything: list[Trial]) -> str:
    """A row a set: how well presence and right hits are told, and whether confidence keeps its word."""
    rows, strange = judged(everything), of_other_sets(everything)
    lines = [
        "| | there or not, AUROC | first hit right or wrong, AUROC | mean gap, points "
        "| the same, of models that never saw the set | first hit's confidence when right, wrong |",
        "|---|---|---|---|---|---|",
    ]
    for name in [*sorted({t.name for t in everything}), "all"]:
        mine, others = ([r for r in some if name in (r.trial.name, "all")] for some in (rows, strange))
        first, best = (
            np.array([r.trial.right[0] for r in mine]),
            np.array([r.confidence[0] for r in mine]),
        )
        lines.append(
            f"| {name} | {presence(mine):.2f} | {auroc(best, first):.2f} | {gap(mine):.1f} "
            f"| {presence(others):.2f}, {gap(others):.1f} "
            f"| {best[first].mean():.2f}, {best[~first].mean():.2f} |"
        )
    return "\n".join(lines)


def tables(found: dict[str, list[Trial]]) -> str:
    """One for each kind of search."""
    return "\n\n".join(f"{KINDS[kind]}:\n\n{table(trials_of)}" for kind, trials_of in found.items())


def presence(rows: list[Judged]) -> float:
    """AUROC of there or not."""
    return auroc(np.array([r.present for r in rows]), np.array([r.trial.present for r in rows]))


def gap(rows: list[Judged]) -> float:
    """Mean gap of the reliability diagram, in points."""
    told = np.concatenate([r.confidence for r in rows])
    return 100 * calibration_error(told, np.concatenate([r.trial.right for r in rows]))


def cost(e: Experiment, encoder: PictureEncoder, min_object_size: float) -> str:
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
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--cost", action="store_true", help="only measure how long judging takes")
    parser.add_argument("--fit", type=Path, metavar="FILE", help="write the models that ship")
    args = parser.parse_args()
    if args.cost:
        place = data_folder()
        e = Experiment.of(sampled(load(place / "s2c")))
        encoder = twins.Twin("efficientnet")
        print(*(cost(e, encoder, min_object_size) for min_object_size in LEVELS), sep="\n")
        return
    args.folder.mkdir(exist_ok=True)
    chosen: list[Experiment] = []
    found: dict[str, list[Trial]] = {}
    for kind in args.kinds:
        kept = args.folder / f"{kind}.pkl"
        if not kept.exists():
            chosen = chosen or sets()
            kept.write_bytes(pickle.dumps(collect(kind, chosen)))
        found[kind] = pickle.loads(kept.read_bytes())
    print(tables(found))
    if args.fit:
        known = json.loads(args.fit.read_text())["models"] if args.fit.exists() else {}
        models = {**known, **{kind: fit(found[kind]).to_json() for kind in found}}
        document = {"features": list(EVIDENCE), "likeness": list(LIKENESS), "models": models}
        args.fit.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
