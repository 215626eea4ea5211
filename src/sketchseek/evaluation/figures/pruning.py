"""How a cheap look spares most pictures: by projections, which may err, and by a bound, which never does."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ...contours import strength_to_points
from ...contours.detectors.canny import Canny
from ...shape.descriptor import describe, norms, projection
from ...shape.polynomial import evaluate_1d, evaluate_2d, polynomial_1d, polynomial_2d
from ...shape.query import Query
from ...shape.settings import FULL, Settings, X, Y
from ..planted import plant, random_background
from . import new_figure, save

PICTURES, HITS, SHARE = 240, 10, 0.1
"""Made-up pictures; hits that are wanted; how much of the collection a shortlist holds."""


def draw(out: Path) -> None:
    """Draw a point for each synthetic picture: what the cheap look says of it, and its exact score."""
    rng = np.random.default_rng(3)
    detector, settings = Canny(), Settings.preset("precise")
    planted = [plant(random_background(rng), rng) for _ in range(PICTURES)]
    vectors = [describe(strength_to_points(detector(one.pixels)), settings) for one in planted]
    query = Query.of(planted[0].sketch.points, settings, mirror=False)
    exact, cheap, bound = np.array([_looks(query, vector, settings) for vector in vectors]).T
    last = np.sort(exact)[-HITS]
    hits = exact >= last

    figure = new_figure(figsize=(9.5, 3.6))
    left, right = figure.subplots(1, 2, sharey=True)
    line = np.sort(cheap)[-int(SHARE * PICTURES)]
    for panel, x, at, name in (
        (left, cheap, line, "projections: only the best tenth is compared"),
        (right, bound, last, "bound: only what may be a hit is compared"),
    ):
        passed = x < at
        panel.axvspan(min(x) - 0.02, at, color="0.93")
        panel.axvline(at, color="0.4", linestyle="--", linewidth=1)
        panel.scatter(x[passed], exact[passed], s=9, color="0.6", label=f"never compared: {passed.sum()}")
        rest = ~passed & ~hits
        panel.scatter(x[rest], exact[rest], s=12, color="#e69f00", label=f"compared: {rest.sum()}")
        for which, colour, said in (
            (hits & ~passed, "#009e73", "a hit, found"),
            (hits & passed, "#d55e00", "a hit, lost"),
        ):
            if which.any():
                panel.scatter(x[which], exact[which], s=26, color=colour, label=f"{said}: {which.sum()}")
        panel.set(title=name, xlim=(min(x) - 0.02, max(x) + 0.02))
        panel.title.set_fontsize("medium")
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small", loc="upper left")
    left.set(xlabel="sum of the projections' scores", ylabel="exact score")
    right.set(xlabel="bound of the score")
    save(figure, out)


def _looks(query: Query, vector: np.ndarray, settings: Settings) -> tuple[float, float, float]:
    """A picture's exact score, the sum of its projections' scores, and a bound of the exact score."""
    lengths = norms(vector, settings)
    found = []
    for pose in range(len(query)):
        d = query.translations(pose)
        plane = polynomial_2d(query.vectors[pose], vector, settings) / (
            query.norms[pose, FULL] * lengths[pose, FULL]
        )
        alone = [
            evaluate_1d(
                polynomial_1d(
                    query.projections[pose, axis - 1], projection(vector, axis, settings), settings
                ),
                d,
                settings,
            ).max()
            / (query.norms[pose, axis] * lengths[pose, axis])
            for axis in (X, Y)
        ]
        rows = _columns(plane, d, settings)  # one axis exactly, the other by its amplitudes
        bound = (rows[:, 0] + np.hypot(rows[:, 1::2], rows[:, 2::2]).sum(1)).max()
        found.append((evaluate_2d(plane, d, d, settings).max(), sum(alone), bound))
    exact, cheap, bound = map(max, zip(*found, strict=True))
    return exact, cheap, bound


def _columns(plane: np.ndarray, d: np.ndarray, settings: Settings) -> np.ndarray:
    """(T, Dx) the polynomial's coefficients along y, at each translation along x."""
    return np.stack([evaluate_1d(column, d, settings) for column in plane.T], axis=1)
