"""Does a confidence of 30% mean that 3 hits of 10 are right? By models fitted on other categories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...shape.settings import Settings
from ..ablations import development_sets
from ..calibration import bins, judged
from ..open_set import Described, Trial, trials
from . import new_figure, save


def draw(out: Path) -> None:
    """Measure the shape's confidence on the development sets, and draw."""
    everything: list[Trial] = []
    for e in development_sets():
        everything += trials(e.sample(100), Described(e.state(Settings.preset())))
    plot({"shape": everything}, out)


def plot(measured: dict[str, list[Trial]], out: Path) -> None:
    """A panel a kind of search, a line a set; the size of a mark says how many hits are behind it."""
    figure = new_figure(figsize=(4.2 * len(measured), 4.0))
    panels = figure.subplots(1, len(measured), squeeze=False)[0]
    for panel, (title, everything) in zip(panels, measured.items(), strict=True):
        panel.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for name, (confidence, right) in by_set(everything).items():
            chance, share, count = zip(*bins(confidence, right), strict=True)
            (line,) = panel.plot(chance, share, label=name, linewidth=1)
            sizes = [8 + 120 * c / len(confidence) for c in count]
            panel.scatter(chance, share, s=sizes, color=line.get_color())
        panel.set(xlabel="confidence", ylabel="share of right hits", title=title, aspect="equal")
        panel.set(xlim=(0, 1), ylim=(0, 1))
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
    save(figure, out)


def by_set(everything: list[Trial]) -> dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Of each set the confidence of all hits, by models fitted on other categories, and which are right."""
    found: dict[str, list[tuple[NDArray[np.float64], NDArray[np.bool_]]]] = {}
    for trial, said in judged(everything):
        found.setdefault(trial.name, []).append((said.confidence, trial.right))
    return {
        name: (np.concatenate([c for c, _ in rows]), np.concatenate([r for _, r in rows]))
        for name, rows in found.items()
    }
