"""One outline on one picture, by translation: 1D projections, the full 2D polynomial, the binarised one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...contours import strength_to_points
from ...contours.detectors.canny import Canny
from ...shape.descriptor import describe, norms, projection
from ...shape.polynomial import binary_2d, evaluate_1d, evaluate_2d, polynomial_1d, polynomial_2d
from ...shape.query import Query
from ...shape.settings import FULL, Settings, X, Y
from ..planted import plant, random_background
from . import new_figure, save

REACH = 120.0
"""Pixels of translation shown to either side, as in the paper."""


def draw(out: Path) -> None:
    """Draw the figure with a shape planted in a synthetic picture, at the scale that fits it best."""
    rng = np.random.default_rng(5)
    planted = plant(random_background(rng), rng)
    settings = Settings.preset("precise")
    query = Query.of(
        planted.sketch.points.mirrored() if planted.mirrored else planted.sketch.points, settings
    )
    vector = describe(strength_to_points(Canny()(planted.pixels)), settings)
    its_norms = norms(vector, settings)
    pose = int(np.abs(query.scales - planted.scale).argmin())
    d = np.linspace(-REACH, REACH, 81)

    figure = new_figure(figsize=(11, 3.2))
    axes = figure.subplots(1, 3)
    for axis, name, colour in ((X, "horizontal", "tab:blue"), (Y, "vertical", "tab:red")):
        coefficients = polynomial_1d(
            query.projections[pose, axis - 1], projection(vector, axis, settings), settings
        )
        curve = evaluate_1d(coefficients, d, settings) / (query.norms[pose, axis] * its_norms[pose, axis])
        axes[0].plot(d, curve, color=colour, label=name)
        axes[0].axvline(planted.dx if axis == X else planted.dy, color=colour, linestyle=":")
    axes[0].set(xlabel="translation, pixels", ylabel="cosine", title="projections (dotted: the truth)")
    axes[0].legend()
    coefficients = polynomial_2d(query.vectors[pose], vector, settings)
    exact = evaluate_2d(coefficients, d, d, settings) / (query.norms[pose, FULL] * its_norms[pose, FULL])
    signs = binary_2d(coefficients, d, d, settings)
    for panel, surface, title in ((axes[1], exact, "2D"), (axes[2], signs, "2D, signs only")):
        shown = panel.pcolormesh(d, d, surface.T, shading="nearest", rasterized=True)
        at = np.unravel_index(surface.argmax(), surface.shape)
        panel.plot(d[at[0]], d[at[1]], "wx", label="maximum")
        panel.plot(planted.dx, planted.dy, "o", mfc="none", mec="tab:red", label="truth")
        panel.set(xlabel="dx", ylabel="dy", title=title, aspect="equal")
        panel.invert_yaxis()
        figure.colorbar(shown, ax=panel)
    axes[1].legend(loc="lower left")
    save(figure, out)
