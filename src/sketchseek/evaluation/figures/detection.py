"""A drawing placed on a photograph by the two 1D projections and by the full 2D polynomial."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import SketchseekError
from ...shape.descriptor import describe, norms, projection
from ...shape.polynomial import evaluate_1d, evaluate_2d, polynomial_1d, polynomial_2d
from ...shape.query import Query
from ...shape.settings import FULL, Settings, X, Y
from ..datasets import data_folder, load
from ..experiment import Experiment
from . import new_figure, save
from .alignment import REACH

if TYPE_CHECKING:
    from ...contours.points import Points

CATEGORY = "bicycle"
SEEN = 60
"""Photos that are looked through for one that the drawing fits well off its middle."""


def draw(out: Path) -> None:
    """Draw the contours of a photo of `sysu`, with one of that set's drawings on them."""
    folder = data_folder()
    if folder is None:
        raise SketchseekError("The development sets are not there: set SKETCHSEEK_DATA.")
    e = Experiment.of(load(folder / "sysu"), line_art=False)
    settings = Settings.paper("precise")
    number = next(i for i, q in enumerate(e.data.queries) if q.category == CATEGORY)
    sketch = e.sketches[number]
    if sketch is None:
        raise SketchseekError(f"{e.data.queries[number].sketch} can't be read.")
    query = Query.of(sketch.points, settings, mirror=False)
    photos = [e.contours[i].points for i in sorted(e.data.queries[number].relevant)[:SEEN]]
    photo, pose, (dx, dy) = _example(photos, query, settings)
    d = np.linspace(-REACH, REACH, 81)
    vector = describe(photo, settings)
    lengths = norms(vector, settings)

    figure = new_figure(figsize=(11, 3.2))
    panels = figure.subplots(1, 3)
    alone = []
    for axis, name, colour in ((X, "horizontal", "tab:blue"), (Y, "vertical", "tab:red")):
        part = polynomial_1d(query.projections[pose, axis - 1], projection(vector, axis, settings), settings)
        curve = evaluate_1d(part, d, settings) / (query.norms[pose, axis] * lengths[pose, axis])
        alone.append(float(d[curve.argmax()]))
        panels[0].plot(d, curve, color=colour, label=name)
        panels[0].axvline(alone[-1], color=colour, linestyle=":")
    panels[0].set(xlabel="translation, pixels", ylabel="cosine", title="projections")
    panels[0].legend()
    surface = evaluate_2d(polynomial_2d(query.vectors[pose], vector, settings), d, d, settings)
    shown = panels[1].pcolormesh(
        d, d, surface.T / (query.norms[pose, FULL] * lengths[pose, FULL]), shading="nearest", rasterized=True
    )
    figure.colorbar(shown, ax=panels[1])
    panels[1].plot(*alone, "o", mfc="none", mec="tab:orange", label="projections")
    panels[1].plot(dx, dy, "wx", label="2D")
    panels[1].set(xlabel="dx", ylabel="dy", title="2D", aspect="equal")
    panels[1].legend(loc="lower left")
    panels[2].scatter(photo.x, photo.y, s=0.4, c=photo.weight, cmap="Greys", vmin=0, rasterized=True)
    for (x, y), colour, name in ((alone, "tab:orange", "projections"), ((dx, dy), "tab:green", "2D")):
        placed = sketch.points.scaled(float(query.scales[pose])).translated(x, y)
        panels[2].scatter(placed.x, placed.y, s=0.6, c=colour, label=name)
    panels[2].set(title="the photo's contours", aspect="equal", xticks=[], yticks=[])
    panels[2].legend(loc="upper center", bbox_to_anchor=(0.5, 0), markerscale=6, ncols=2, frameon=False)
    for panel in panels[1:]:
        panel.invert_yaxis()
    save(figure, out)


def _example(
    photos: list[Points], query: Query, settings: Settings
) -> tuple[Points, int, tuple[float, float]]:
    """The photo that the drawing fits best away from its middle; pose and translation."""
    d = np.linspace(-REACH, REACH, 41)
    best: tuple[float, Points, int, tuple[float, float]] | None = None
    for points in photos:
        vector = describe(points, settings)
        lengths = norms(vector, settings)
        for pose in range(len(query)):
            surface = evaluate_2d(polynomial_2d(query.vectors[pose], vector, settings), d, d, settings)
            at = np.unravel_index(surface.argmax(), surface.shape)
            score = float(surface[at] / (query.norms[pose, FULL] * lengths[pose, FULL]))
            place = float(d[at[0]]), float(d[at[1]])
            if np.hypot(*place) > REACH / 6 and (best is None or score > best[0]):
                best = score, points, pose, place
    if best is None:
        raise SketchseekError("No photo of the set shows the drawing away from its middle.")
    return best[1:]
