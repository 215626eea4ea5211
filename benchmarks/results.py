"""Writes docs/results.json, from which the documentation takes every figure, and plots: `make results`.

    python benchmarks/results.py [--jobs N] [--only SECTION ...] [--print]

Each section is written as soon as it is measured. Contours and the network's features are remembered between
runs (as `sketchseek evaluate` does); everything else is computed anew. What is said about the figures is in
docs/research/results.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import confidence
import expansion
import large_scale
import planted
import statements
from record import record
from sketchseek.errors import SketchseekError
from sketchseek.evaluation import ablations, figures, paper
from sketchseek.evaluation.datasets import AnnotatedQuery, DataSet, data_folder, load
from sketchseek.evaluation.embeddings import embeddings_of
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.figures import frequencies, reliability, rerankings, shortlists
from sketchseek.evaluation.metrics import bootstrap_interval
from sketchseek.evaluation.scoring import QueryScore, summary
from sketchseek.search.core import CORE
from sketchseek.search.options import Options
from sketchseek.shape.settings import PAPER, Settings
from sketchseek.shape.windows import MIN_OBJECT_SIZE, WHOLE

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures"
DEFAULT = Settings.preset()

Row = tuple[str, Callable[[Experiment], list[QueryScore]]]


class Results:
    """The development sets, loaded when first asked for, and what several tables share."""

    def __init__(self, jobs: int | None) -> None:
        self.jobs = jobs
        self._sets: list[Experiment] = []
        self._depicted: list[expansion.Set] = []
        self._curves: dict[tuple[str, str], ablations.Curves] = {}

    def sets(self) -> list[Experiment]:
        if not self._sets:
            self._sets = ablations.development_sets(self.jobs)
        return self._sets

    @property
    def with_moved(self) -> list[Experiment]:
        return [*self.sets(), self.sets()[0].moved()]

    @property
    def sampled(self) -> list[Experiment]:
        return [e.sample(ablations.SAMPLE) for e in self.sets()]

    def curves(self, kind: str, e: Experiment) -> ablations.Curves:
        """One of the paper's ablations at its settings, measured once."""
        key = kind, e.data.name
        if key not in self._curves:
            compact = Settings.paper("compact")
            self._curves[key] = {
                "frequencies": lambda: ablations.frequencies(e),
                "shortlists": lambda: ablations.shortlists(e, compact),
                "rerankings": lambda: ablations.rerankings(e, compact),
            }[kind]()
            say(f"{kind} on {e.data.name}")
        return self._curves[key]

    @property
    def letter(self) -> list[Experiment]:
        """The sampled sets with the paper's drawings; line art among the photos stays as it is."""
        return [paper.to_the_letter(e) for e in self.sampled]

    @property
    def depicted(self) -> list[expansion.Set]:
        if not self._depicted:
            self._depicted = [expansion.load(e) for e in self.sets()]
        return self._depicted


# Tables


def table(rows: list[Row], sets: list[Experiment]) -> str:
    """A row a variant, a column a set: mAP (P@20), and the interval of mAP or of its change."""
    lines = head([e.data.name for e in sets])
    first: list[list[QueryScore]] = []
    for name, run in rows:
        found = [run(e) for e in sets]
        first = first or found
        cells = [
            cell(e, s, None if found is first else f) for e, s, f in zip(sets, found, first, strict=True)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        say(lines[-1])
    return "\n".join(lines)


def head(names: list[str]) -> list[str]:
    return ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]


def cell(e: Experiment, scores: list[QueryScore], baseline: list[QueryScore] | None) -> str:
    s = summary(e.data, scores, "")
    text = f"{100 * s['map']:.1f} ({100 * s['p@20']:.1f})"
    if "box_iou" in s:
        text += f" IoU {s['box_iou']:.2f}"
    if "instance_recall@10" in s:
        text += f" R@10 {100 * s['instance_recall@10']:.1f}"
    if baseline is None:
        low, high = (100 * v for v in s["intervals"]["map"])
        return f"{text} [{low:.1f}, {high:.1f}]"
    return f"{text} [{change(scores, baseline)}]"


def change(scores: list[QueryScore], baseline: list[QueryScore]) -> str:
    """The interval of mAP's change, in points."""
    pairs = zip(scores, baseline, strict=True)
    low, high = bootstrap_interval([100 * (a.average_precision - b.average_precision) for a, b in pairs])
    return f"{low:+.1f}, {high:+.1f}"


def plain(settings: Settings = DEFAULT, **options: Any) -> Callable[[Experiment], list[QueryScore]]:
    storage, place = options.pop("storage", "int8"), options.pop("place", False)
    min_object_size = options.pop("min_object_size", MIN_OBJECT_SIZE)
    return lambda e: e.run(
        e.state(settings, storage, min_object_size=min_object_size), Options(**options), place=place
    )


def curve_table(measured: dict[str, ablations.Curves], label: Callable[[float], str]) -> str:
    """Curves as rows: a way and a quantity each; the interval of the change against the first row."""
    lines = head(list(measured))
    first = next(iter(measured.values()))
    for name, points in first.items():
        for i, (x, these) in enumerate(points):
            if i and these is points[i - 1][1]:
                continue  # it does not depend on the quantity
            cells = []
            for curves in measured.values():
                scores, baseline = curves[name][i][1], next(iter(curves.values()))[-1][1]
                mean = 100 * sum(s.average_precision for s in scores) / len(scores)
                cells.append(f"{mean:.1f} [{change(scores, baseline)}]")
            lines.append(f"| {name}, {label(x)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


# Sections


def main_table(r: Results) -> str:
    shape = table(
        [
            ("shape alone", plain(place=True)),
            ("shape alone, whole pictures", plain(min_object_size=WHOLE, place=True)),
            (
                "shape alone, whole pictures, the paper's cosine",
                plain(min_object_size=WHOLE, local_normalization=0.0, place=True),
            ),
            ("the paper's own configuration, (5,2)", to_the_letter("compact", place=True)),
            ("the paper's own configuration, (6,3)", to_the_letter("precise", place=True)),
        ],
        r.with_moved,
    )
    lines = [shape, "", *head([s.name for s in r.depicted])]
    lines.append(expansion.shipped_row("everything", r.depicted))
    if stronger := with_dinov2(lambda: [expansion.load(e, "dinov2") for e in r.sets()]):
        lines.append(expansion.shipped_row("everything, dinov2", stronger))
    return "\n".join(lines)


def with_dinov2(loaded: Callable[[], list[expansion.Set]]) -> list[expansion.Set]:
    """The stronger network's sets; none where its weights are not installed."""
    try:
        return loaded()
    except SketchseekError as error:
        say(f"without dinov2: {error}")
        return []


def there_once(r: Results) -> str:
    """R@10 of the very photo or emoji that was drawn: not expanded, expanded, and the change."""
    photos, emoji = r.sets()[-1], Experiment.of(load(data_folder() / "doodles"), jobs=r.jobs)
    columns = {
        "sketchy": lambda network: [expansion.load(photos, network)],
        "doodles": lambda network: expansion.doodle_sets(emoji, network),
    }
    lines = head(list(columns))
    for network in ("efficientnet", "dinov2"):
        cells = [found_once(with_dinov2(lambda n=network, of=of: of(n))) for of in columns.values()]
        lines.append(f"| {network} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def found_once(sets: list[expansion.Set]) -> str:
    if not sets:
        return ""
    before, after = (
        [float(expansion.found_by(q)) for s in sets for q in expansion.shipped(s, **how)]
        for how in ({"expand": 0}, {})
    )
    gained = expansion.signed([b - a for a, b in zip(before, after, strict=True)])
    return f"{100 * np.mean(before):.1f}, {100 * np.mean(after):.1f}, {gained}"


def precisions(r: Results) -> str:
    """P@5, 10, 25, 50, as the paper's large-scale table has them."""
    depths = (5, 10, 25, 50)
    lines = head([f"{e.data.name} P@" + ", ".join(map(str, depths)) for e in r.sets()])
    ways = (
        ("the paper's configuration, (5,2)", to_the_letter("compact")),
        ("the paper's configuration, (6,3)", to_the_letter("precise")),
        ("shape alone", plain()),
    )
    for name, run in ways:
        found = [run(e) for e in r.sets()]
        cells = [
            " ".join(f"{100 * sum(s.precision[k] for s in scores) / len(scores):.1f}" for k in depths)
            for scores in found
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        say(lines[-1])
    return "\n".join(lines)


def to_the_letter(preset: str = "compact", **options: Any) -> Callable[[Experiment], list[QueryScore]]:
    """The paper's own configuration, as `evaluate --paper` has it."""
    place, settings = options.pop("place", False), Settings.paper(preset)
    storage = options.pop("storage", "int8")

    def run(e: Experiment) -> list[QueryScore]:
        letter = paper.to_the_letter(e)
        state = letter.state(settings, storage, min_object_size=WHOLE)
        return letter.run(state, paper.options_of(Options(**options)), place=place)

    return run


def ethz(r: Results) -> str:
    """The paper's own kind of set, reported and never chosen by."""
    folder = data_folder()
    if folder is None or not (folder / "ethz").is_dir():
        raise SketchseekError("The ETHZ set is not there: set SKETCHSEEK_DATA.")
    e = Experiment.of(load(folder / "ethz"), jobs=r.jobs)
    depicted = replace(e, data=e.data)
    ways: list[tuple[str, Callable[[], list[QueryScore]]]] = [
        ("the paper's configuration, (5,2)", lambda: to_the_letter("compact", place=True)(e)),
        ("the paper's configuration, (6,3)", lambda: to_the_letter("precise", place=True)(e)),
        ("shape alone", lambda: plain(place=True)(e)),
        ("everything", lambda: depicted.run(e.state(DEFAULT, embeddings=embeddings_of(e.data)))),
    ]
    lines = head(["mAP", "P@20", "box IoU", "right and placed of the first 20"])
    for name, run in ways:
        s = summary(e.data, run(), "")
        cells = [f"{100 * s[key]:.1f}" for key in ("map", "p@20")]
        cells += [f"{s['box_iou']:.2f}", f"{100 * s['placed@20']:.1f}"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        say(lines[-1])
    return "\n".join(lines)


def unchosen(r: Results) -> str:
    """Orientation's width and constant on a set that nothing was chosen by."""
    e = training_set(r.jobs)
    return table(
        [
            ("the paper's orientation: .8 wide, whole constant", plain(orientation(0.8, 1.0))),
            (".5 wide, half the constant", plain(orientation(0.5, 0.5))),
            (".8 wide, half the constant", plain(orientation(0.8, 0.5))),
            (".5 wide, whole constant", plain(orientation(0.5, 1.0))),
            (
                "the paper's orientation, the spatial maps' whole constant",
                plain(Settings.fit(6, 3, **PAPER)),
            ),
        ],
        [e],
    )


def orientation(sigma: float, constant: float) -> Settings:
    return Settings.fit(6, 3, orientation_sigma=sigma, orientation_constant=constant)


def training_set(jobs: int | None, drawings: int = 250) -> Experiment:
    """`sketchy-train`: 41 categories that no other set has, some of its drawings at random."""
    folder = data_folder()
    if folder is None:
        raise SketchseekError("The development sets are not there: set SKETCHSEEK_DATA.")
    root = folder / "sketchy-train"
    photos = sorted((root / "photos").rglob("*.jpg"))
    of_category: dict[str, frozenset[int]] = {
        name: frozenset(i for i, p in enumerate(photos) if p.parent.name == name)
        for name in {p.parent.name for p in photos}
    }
    number = {p.stem: i for i, p in enumerate(photos)}
    queries = [
        AnnotatedQuery(s, s.parent.name, of_category[s.parent.name], number.get(s.stem.rpartition("-")[0]))
        for s in sorted((root / "sketches").rglob("*.png"))
    ]
    data = DataSet("sketchy-train", root, tuple(photos), tuple(queries))
    chosen = np.sort(np.random.default_rng(0).permutation(len(queries))[:drawings])
    return Experiment.of(replace(data, queries=tuple(queries[i] for i in chosen)), jobs=jobs)


def by_statement(r: Results) -> str:
    """The paper's sentences, each judged by an interval."""
    measured = {}
    compact = Settings.paper("compact")
    for e in r.letter:
        embeddings = embeddings_of(e.data)
        state = e.state(compact, min_object_size=WHOLE)
        order = paper.expansion_order(state, embeddings, paper.options_of(Options()))
        measured[e.data.name] = statements.Measured(
            frequencies=r.curves("frequencies", e),
            shortlists=r.curves("shortlists", e),
            rerankings=r.curves("rerankings", e),
            one_byte=to_the_letter()(e),
            float32=to_the_letter(storage="float32")(e),
            expanded=ablations.scores_of_orders(e, order),
        )
    return statements.table(measured)


def detectors(r: Results) -> str:
    rows: list[list[str]] = []
    canny = [e.seen_by("canny", r.jobs) for e in r.sets()]
    for name, settings, local_normalization in (
        ("at the defaults", DEFAULT, CORE["local normalization"]),
        ("the paper's settings, (5,2)", Settings.fit(5, 2, **PAPER), 0.0),
    ):
        run = plain(settings, local_normalization=local_normalization, place=True)
        pairs = [(e, run(e), run(c)) for e, c in zip(r.sets(), canny, strict=True)]
        rows.append([f"canny, {name}", *(cell(e, c, None) for e, _, c in pairs)])
        rows.append([f"neural, {name}", *(cell(e, n, c) for e, n, c in pairs)])
    lines = head([e.data.name for e in r.sets()]) + ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def defaults(r: Results) -> str:
    found = table(
        [
            ("default: (6,3), local normalisation .4", plain()),
            ("without local normalisation", plain(local_normalization=0.0)),
            ("local normalisation .2", plain(local_normalization=0.2)),
            ("local normalisation .6", plain(local_normalization=0.6)),
            ("local normalisation .8", plain(local_normalization=0.8)),
            ("inside lines weigh as much as the outline", evenly),
            ("spatial map's whole constant component", plain(Settings.fit(6, 3, spatial_constant=1.0))),
            ("half of it", plain(Settings.fit(6, 3, spatial_constant=0.5))),
            ("orientation .8 wide, as in the paper", plain(Settings.fit(6, 3, orientation_sigma=0.8))),
            ("orientation .35 wide", plain(Settings.fit(6, 3, orientation_sigma=0.35))),
            ("orientation's whole constant component", plain(Settings.fit(6, 3, orientation_constant=1.0))),
            ("a quarter of it", plain(Settings.fit(6, 3, orientation_constant=0.25))),
            ("strengths square-rooted", weighed_by(0.5)),
            ("strengths squared", weighed_by(2.0)),
            ("compact (5,2)", plain(Settings.preset("compact"))),
            ("full (8,3)", plain(Settings.preset("full"))),
            ("no mirror", plain(mirror=False)),
            ("one scale", plain(DEFAULT.with_scales((1.0,)))),
            ("five scales, 1 to .6", plain(DEFAULT.with_scales((1.0, 0.9, 0.8, 0.7, 0.6)))),
            ("four scales, 1 to .45", plain(DEFAULT.with_scales((1.0, 0.8, 0.6, 0.45)))),
            ("translations up to 60 pixels", plain(replace(DEFAULT, max_translation=60.0))),
            ("no translation", plain(replace(DEFAULT, max_translation=0.0))),
        ],
        [*r.sampled, r.sets()[0].moved()],
    )
    return f"{found}\n\n{gains_and_losses(found)}"


def gains_and_losses(found: str) -> str:
    """Which rows of a table differ from its first by an interval that excludes zero, in sentences."""
    head, _, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in found.splitlines())
    said = []
    for word, differs in (("gains", lambda low, high: low > 0), ("loses", lambda low, high: high < 0)):
        on = {
            row[0]: [
                f"`{name}`"
                for name, cell in zip(head[1:], row[1:], strict=True)
                if differs(*map(float, re.findall(r"\[([-+.\d]+), ([-+.\d]+)\]$", cell)[0]))
            ]
            for row in rows
        }
        parts = [f"{name} ({', '.join(sets)})" for name, sets in on.items() if sets]
        said.append(f"What {word} by an interval without zero: {'; '.join(parts) or 'nothing'}.")
    return "\n".join(said)


def evenly(e: Experiment) -> list[QueryScore]:
    """With drawings whose every point has weight 1."""
    sketches = tuple(
        s and replace(s, points=replace(s.points, weight=s.points.weight * 0 + 1)) for s in e.sketches
    )
    return plain()(replace(e, sketches=sketches))


def weighed_by(power: float) -> Callable[[Experiment], list[QueryScore]]:
    """With photos' strengths raised to a power."""

    def run(e: Experiment) -> list[QueryScore]:
        contours = tuple(
            replace(c, points=replace(c.points, weight=c.points.weight**power)) for c in e.contours
        )
        return plain()(replace(e, contours=contours))

    return run


def storage(r: Results) -> str:
    rows = []
    for name, settings in (("(6,3)", DEFAULT), ("(5,2)", Settings.preset("compact"))):
        rows.append((f"{name}, float32", plain(settings, storage="float32")))
        rows.append((f"{name}, one byte", plain(settings)))
    return "\n".join([table(rows[:2], r.sets()), "", table(rows[2:], r.sets())])


def by_frequencies(r: Results) -> str:
    measured = {e.data.name: r.curves("frequencies", e) for e in r.letter}
    frequencies.plot(measured, FIGURES / "frequencies.png")
    return curve_table(measured, lambda n: f"{n:.0f}")


def by_shortlist(r: Results) -> str:
    measured = {e.data.name: r.curves("shortlists", e) for e in r.letter}
    shortlists.plot(measured, FIGURES / "shortlists.png")
    return curve_table(measured, lambda share: f"{share:.0%}")


def by_reranking(r: Results) -> str:
    measured = {e.data.name: r.curves("rerankings", e) for e in r.letter}
    rerankings.plot(measured, FIGURES / "rerankings.png")
    return curve_table(measured, lambda n: f"{n:.0f} x {n:.0f}")


def planted_shapes(r: Results) -> str:
    lines = head([f"b = {b:g}" for b in planted.STRENGTHS] + ["IoU >= .75", "mean IoU"])
    for name, blur in (("sharp photos", 0.0), ("photos blurred by 4 pixels", 4.0)):
        shapes, points = planted.planted(blur=blur)
        for how, settings in (("", DEFAULT), (", the paper's (5,2)", Settings.fit(5, 2, **PAPER))):
            found = planted.measure(shapes, points, settings)
            cells = [*map(str, found.first.values()), str((found.overlaps >= 0.75).sum())]
            lines.append(f"| {name}{how} | " + " | ".join([*cells, f"{found.overlaps.mean():.2f}"]) + " |")
    return "\n".join(lines)


def by_confidence(_: Results) -> str:
    found = confidence.found_in(confidence.KEPT)
    if not found:
        raise SketchseekError(
            "Nothing was searched: run benchmarks/confidence.py, and set SKETCHSEEK_TRIALS."
        )
    by_hand = {
        kind: [replace(trial, name=trial.name.rpartition(" by ")[2]) for trial in one.asked]
        for kind, one in found.items()
    }
    reliability.plot(by_hand, FIGURES / "reliability.png")
    return confidence.tables(found)


SECTIONS: dict[str, Callable[[Results], str]] = {
    "main": main_table,
    "once": there_once,
    "precisions": precisions,
    "large": lambda r: large_scale.table(r.jobs),
    "ethz": ethz,
    "unchosen": unchosen,
    "detectors": detectors,
    "defaults": defaults,
    "storage": storage,
    "frequencies": by_frequencies,
    "shortlists": by_shortlist,
    "rerankings": by_reranking,
    "statements": by_statement,
    "planted": planted_shapes,
    "expansion": lambda r: expansion.sections(r.depicted),
    "confidence": by_confidence,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="these sections; the others stay")
    parser.add_argument("--print", action="store_true", help="print the tables instead of writing them")
    args = parser.parse_args()
    results = Results(args.jobs)
    for name in args.only or SECTIONS:
        started = time.monotonic()
        try:
            found = SECTIONS[name](results)
        except SketchseekError as error:
            sys.exit(str(error))
        say(f"{name}: {time.monotonic() - started:.0f} s")
        if args.print:
            print(f"{found}\n", flush=True)
        else:
            record(name, found, f"python benchmarks/results.py --only {name}", of="the development sets")
    if not (args.only or args.print):
        for name in ("alignment", "detection", "hits"):
            figures.draw(name, FIGURES / f"{name}.png")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
