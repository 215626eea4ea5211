"""Does an answer know when it is wrong? Drawings searched in collections with and without what they show.

    python benchmarks/confidence.py trials.pkl [--fit src/sketchseek/search/confidence.json]

Searches, keeps the evidence in the file, and prints the tables of docs/results.md; with --fit, also writes
the models that ship. What is printed of a category comes from models that were fitted on other categories.
"""

from __future__ import annotations

import argparse
import json
import pickle
from pathlib import Path

import numpy as np

import line_art
from sketchseek.contours.drawing import Sketch
from sketchseek.depiction import PictureDescriber, get_describer
from sketchseek.errors import SketchseekError
from sketchseek.evaluation.ablations import development_sets
from sketchseek.evaluation.calibration import calibration_error, fit, judged
from sketchseek.evaluation.datasets import AnnotatedQuery, DataSet, data_folder, load
from sketchseek.evaluation.depiction import descriptors
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.extraction import contours_of_pictures
from sketchseek.evaluation.open_set import Described, Trial, auroc, slips, trials
from sketchseek.search.evidence import NAMES
from sketchseek.shape.settings import Settings

SAMPLE = 100
"""Drawings of each set, at random."""
ICONS = 600
HELD_OUT = Path(__file__).parents[1] / "training" / "drawings" / "heldout.npz"
KINDS = ("shape", "everything")


class Remembering:
    """A network that looks at each drawing once."""

    def __init__(self, describer: PictureDescriber) -> None:
        self._describer = describer
        self._known: dict[bytes, np.ndarray | None] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._describer, name)

    def __call__(self, pixels: np.ndarray) -> np.ndarray:
        return self._describer(pixels)

    def drawing(self, strokes: list[np.ndarray]) -> np.ndarray | None:
        key = b"".join(line.tobytes() for line in strokes)
        if key not in self._known:
            self._known[key] = self._describer.drawing(strokes)
        return self._known[key]


def icons() -> Experiment:
    """Stroke icons, every third searched by a copy of itself that is smaller, moved and thicker."""
    paths, _ = line_art.icons(ICONS, np.random.default_rng(5))
    contours = [c for c in contours_of_pictures(paths) if not isinstance(c, SketchseekError)]
    searched = range(0, len(paths), 3)
    sketches = [Sketch.from_bitmap(line_art.copy_of(paths[i], i)) for i in searched]
    queries = [AnnotatedQuery(paths[i], f"icon {i}", frozenset([i]), i) for i in searched]
    return Experiment(
        DataSet("icons", paths[0].parent, tuple(paths), tuple(queries)), tuple(contours), tuple(sketches), ()
    )


def collect(sets: list[Experiment] | None = None) -> dict[str, list[Trial]]:
    """Search everything, with the network's held-out twin."""
    place = data_folder()
    chosen = [e.sample(SAMPLE) for e in sets or development_sets()]
    if place is not None and (place / "doodles").is_dir():
        chosen.append(Experiment.of(load(place / "doodles")).sample(SAMPLE))
    chosen.append(icons())
    describer = Remembering(get_describer(learned=HELD_OUT))
    found: dict[str, list[Trial]] = {kind: [] for kind in KINDS}
    for e in chosen:
        view = e.view(Settings.preset())
        stored = descriptors(e.data, describer)
        for kind in KINDS:
            whole = Described(view)
            if kind == "everything":
                whole = Described(view, stored, describer, describer.usual)
            found[kind] += [*trials(e, whole), *slips(e, whole)]
            print(e.data.name, kind, len(found[kind]), flush=True)
    return found


def table(everything: list[Trial]) -> str:
    """A row a set: how well presence and right hits are told, and whether confidence keeps its word."""
    rows = judged(everything)
    lines = [
        "| | there or not, AUROC | right or wrong, AUROC | first hit right or wrong, AUROC "
        "| mean gap, points | first hit's confidence when right, wrong |",
        "|---|---|---|---|---|---|",
    ]
    for name in [*sorted({t.name for t in everything}), "all"]:
        mine = [r for r in rows if name in (r[0].name, "all")]
        present, chance = np.array([t.present for t, _, _ in mine]), np.array([c for _, _, c in mine])
        right, told = np.concatenate([t.right for t, _, _ in mine]), np.concatenate([c for _, c, _ in mine])
        first, best = np.array([t.right[0] for t, _, _ in mine]), np.array([c[0] for _, c, _ in mine])
        lines.append(
            f"| {name} | {auroc(chance, present):.2f} | {auroc(told, right):.2f} | {auroc(best, first):.2f} "
            f"| {100 * calibration_error(told, right):.1f} "
            f"| {best[first].mean():.2f}, {best[~first].mean():.2f} |"
        )
    return "\n".join(lines)


def tables(found: dict[str, list[Trial]]) -> str:
    """Both kinds of search."""
    names = {"shape": "Shape alone", "everything": "Everything"}
    return "\n\n".join(f"{names[kind]}:\n\n{table(found[kind])}" for kind in KINDS)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("trials", type=Path)
    parser.add_argument("--fit", type=Path, metavar="FILE", help="write the models that ship")
    args = parser.parse_args()
    if not args.trials.exists():
        args.trials.write_bytes(pickle.dumps(collect()))
    found = pickle.loads(args.trials.read_bytes())
    print(tables(found))
    if args.fit:
        models = {kind: fit(found[kind]).to_json() for kind in KINDS}
        args.fit.write_text(json.dumps({"features": list(NAMES), **models}, indent=1) + "\n")


if __name__ == "__main__":
    main()
