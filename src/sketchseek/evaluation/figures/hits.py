"""Rows of outlines with the pictures found for them, the outline drawn where it was found."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...contours import strength_to_points
from ...contours.detectors.canny import Canny
from ...search.clutter import reordered
from ...search.hit import place
from ...search.ranking import Collection, rank, refine
from ...shape.query import Query
from ...shape.settings import Settings
from ..planted import plant, random_background
from . import new_figure, save

ROWS, HITS, PICTURES = 3, 4, 24


def draw(out: Path) -> None:
    """Draw the figure with shapes planted in made-up pictures: green frames are right, red ones wrong."""
    rng = np.random.default_rng(11)
    planted = [plant(random_background(rng), rng) for _ in range(PICTURES)]
    settings, detector = Settings.preset("precise"), Canny()
    collection = Collection.of((strength_to_points(detector(p.pixels)) for p in planted), settings)

    figure = new_figure(figsize=(1.4 * (HITS + 1), 1.15 * ROWS))
    axes = figure.subplots(ROWS, HITS + 1)
    for row in range(ROWS):
        outline = planted[row].outline
        query = Query.of(outline, settings)
        ranking, _ = reordered(collection, query, rank(collection, query), HITS)
        ranking = refine(collection, query, ranking)
        axes[row, 0].plot(outline.x, outline.y, "k.", markersize=0.5)
        axes[row, 0].set(aspect="equal")
        axes[row, 0].invert_yaxis()
        axes[row, 0].axis("off")
        for i, panel in enumerate(axes[row, 1:]):
            number = int(ranking.ids[i])
            height, width = planted[number].pixels.shape[:2]
            x, y = place(
                np.stack([outline.x, outline.y], axis=1),
                scale=float(ranking.scale[i]),
                mirrored=bool(ranking.mirrored[i]),
                rotation=0.0,
                translation=(float(ranking.dx[i]), float(ranking.dy[i])),
                size=(width, height),
            ).T
            panel.imshow(planted[number].pixels)
            panel.plot(x, y, ".", color="lime", markersize=0.5)
            panel.set(xticks=[], yticks=[], xlim=(0, width), ylim=(height, 0))
            panel.set_title(f"{ranking.score[i]:.2f}", fontsize=7, pad=2)
            for side in panel.spines.values():
                side.set(color="tab:green" if number == row else "tab:red", linewidth=2)
    save(figure, out)
