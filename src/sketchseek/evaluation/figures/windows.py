"""A picture's windows: what an index describes beside the whole, each as if it were a picture of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...shape.windows import windows_of
from . import new_figure, pagoda, save

SHOWN = 5
"""Windows whose points are drawn."""


def draw(out: Path) -> None:
    """Draw the demo's photograph with its windows framed, and the contour points that some of them hold."""
    photograph, _ = pagoda()
    pixels = photograph.picture.pixels
    found = windows_of(photograph.points, (0.0, 0.0, float(pixels.shape[1]), float(pixels.shape[0])))
    colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
    chosen = [0, *np.linspace(1, len(found) - 1, SHOWN - 1).round().astype(int)]

    figure = new_figure(figsize=(11, 2.6))
    panels = figure.subplots(1, SHOWN + 1, width_ratios=(1.5, *(1,) * SHOWN))
    panels[0].imshow(pixels)
    panels[0].set(title=f"the picture and its {len(found)} windows", xticks=[], yticks=[])
    for number, (of, panel) in enumerate(zip(chosen, panels[1:], strict=True)):
        x0, y0, x1, y1 = found[of].frame
        colour = colours[number % len(colours)]
        panels[0].plot([x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0], color=colour, linewidth=2.5)
        points = found[of].points
        panel.scatter(points.x, points.y, s=0.3, c=points.weight, cmap="Greys", vmin=-0.3, rasterized=True)
        panel.set(xlim=(-200, 200), ylim=(200, -200), xticks=[], yticks=[], aspect="equal")
        panel.set_title("all of it" if of == 0 else f"a window of {(x1 - x0) / max(pixels.shape[:2]):.2g}")
        for spine in panel.spines.values():
            spine.set(color=colour, linewidth=2.5)
    for x0, y0, x1, y1 in (window.frame for i, window in enumerate(found) if i not in chosen):
        panels[0].plot([x0, x1, x1, x0, x0], [y0, y0, y1, y1, y0], color="white", linewidth=0.7, alpha=0.7)
    panels[0].set(xlim=(-8, pixels.shape[1] + 8), ylim=(pixels.shape[0] + 8, -8))
    save(figure, out)
