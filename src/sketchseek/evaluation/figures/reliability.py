"""Does a confidence of 30% mean that 3 hits of 10 are right? By curves fitted on other categories."""

from __future__ import annotations

from pathlib import Path

from ..ablations import development_sets
from ..calibration import FirstHits, bins, judged
from ..experiment import first_hits
from . import new_figure, save


def draw(out: Path) -> None:
    """Measure the shape's confidence on the development sets, and draw."""
    sets = development_sets()
    plot({"shape": {e.data.name: first_hits(e) for e in sets}}, out)


def plot(measured: dict[str, dict[str, FirstHits]], out: Path) -> None:
    """A panel a kind of search, a line a set; the size of a mark says how many hits are behind it."""
    figure = new_figure(figsize=(4.2 * len(measured), 4.0))
    panels = figure.subplots(1, len(measured), squeeze=False)[0]
    for panel, (title, sets) in zip(panels, measured.items(), strict=True):
        panel.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for name, confidence in judged(sets)[1].items():
            hits = sets[name]
            chance, share, count = zip(*bins(confidence, hits.right), strict=True)
            (line,) = panel.plot(chance, share, label=name, linewidth=1)
            panel.scatter(
                chance, share, s=[8 + 120 * c / len(confidence) for c in count], color=line.get_color()
            )
        panel.set(xlabel="confidence", ylabel="share of right hits", title=title, aspect="equal")
        panel.set(xlim=(0, 1), ylim=(0, 1))
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
    save(figure, out)
