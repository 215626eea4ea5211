"""Rows of outlines with the pictures found for them, the outline drawn where it was found."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...contours import strength_to_points
from ...contours.detectors.canny import Canny
from ...search.options import Options
from ...search.search import search
from ...search.state import PictureContours, state_of
from ...shape.settings import Settings
from ..planted import plant, random_background
from . import new_figure, save

ROWS, HITS, PICTURES = 3, 4, 24


def draw(out: Path) -> None:
    """Draw the figure with shapes planted in synthetic pictures: green frames are right, red ones wrong."""
    rng = np.random.default_rng(11)
    detector = Canny()
    planted = [plant(random_background(rng), rng) for _ in range(PICTURES)]
    contours = [PictureContours.whole(strength_to_points(detector(p.pixels)), p.pixels) for p in planted]
    state = state_of(contours, Settings.preset("precise"))

    figure = new_figure(figsize=(1.4 * (HITS + 1), 1.15 * ROWS))
    axes = figure.subplots(ROWS, HITS + 1)
    for row in range(ROWS):
        sketch = planted[row].sketch
        axes[row, 0].plot(sketch.points.x, sketch.points.y, "k.", markersize=0.5)
        axes[row, 0].set(aspect="equal")
        axes[row, 0].invert_yaxis()
        axes[row, 0].axis("off")
        for hit, panel in zip(search(state, sketch, Options(HITS)), axes[row, 1:], strict=True):
            panel.imshow(planted[int(hit.id)].pixels)
            for line in hit.outline():
                panel.plot(*line.T, color="lime", linewidth=1)
            panel.set(xticks=[], yticks=[], xlim=(0, hit.width), ylim=(hit.height, 0))
            panel.set_title(f"{hit.score:.2f}", fontsize=7, pad=2)
            for side in panel.spines.values():
                side.set(color="tab:green" if hit.id == str(row) else "tab:red", linewidth=2)
    save(figure, out)
