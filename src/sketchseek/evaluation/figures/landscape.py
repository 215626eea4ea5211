"""A maximum is a place: how well a drawing fits a photograph at each translation, and where it fits best."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...shape.descriptor import describe, norms
from ...shape.polynomial import evaluate_2d, polynomial_2d
from ...shape.query import Query
from ...shape.settings import FULL, Settings
from . import new_figure, pagoda, save

REACH = 130.0
"""Pixels of translation to either side, of a frame of 400."""


def draw(out: Path) -> None:
    """Draw the demo's pagoda, its score over the photograph, and where the maximum puts it."""
    photograph, sketch = pagoda()
    settings = Settings.preset("precise")
    query = Query.of(sketch.points, settings, mirror=False)
    vector = describe(photograph.points, settings)
    lengths = norms(vector, settings)
    d = np.linspace(-REACH, REACH, 131)
    surfaces = [
        evaluate_2d(polynomial_2d(query.vectors[pose], vector, settings), d, d, settings)
        / (query.norms[pose, FULL] * lengths[pose, FULL])
        for pose in range(len(query))
    ]
    pose = int(np.argmax([surface.max() for surface in surfaces]))
    surface = surfaces[pose]
    i, j = np.unravel_index(surface.argmax(), surface.shape)
    width, height = photograph.points.width / 2, photograph.points.height / 2
    box = (-width, width, height, -height)

    figure = new_figure(figsize=(11, 3.1))
    left, middle, right = figure.subplots(1, 3, width_ratios=(0.75, 1, 1))
    for stroke in sketch.strokes:
        left.plot(*stroke.T, color="black", linewidth=2)
    left.set(title="the drawing", aspect="equal")
    left.invert_yaxis()
    middle.imshow(photograph.picture.pixels, extent=box, alpha=0.35)
    shown = middle.contourf(d, d, surface.T, levels=14, cmap="viridis", alpha=0.75)
    middle.plot(d[i], d[j], "wX", markersize=9, markeredgecolor="black")
    middle.set(title="its score, with its centre at each place")
    figure.colorbar(shown, ax=middle)
    right.imshow(photograph.picture.pixels, extent=box)
    for stroke in sketch.strokes:
        x, y = (stroke * query.scales[pose] + (d[i], d[j])).T
        right.plot(x, y, color="white", linewidth=4)
        right.plot(x, y, color="#0a9b5b", linewidth=2)
    right.set(title="the drawing at the maximum")
    for panel in (middle, right):
        panel.set(xlim=box[:2], ylim=box[2:])
    for panel in (left, middle, right):
        panel.set(xticks=[], yticks=[])
    left.axis("off")
    save(figure, out)
