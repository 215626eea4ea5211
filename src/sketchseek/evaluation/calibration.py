"""Confidence: curves from scores to the chance of being right, and whether they keep their word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..search.confidence import Curve

Floats = NDArray[np.float64]

FIRST = 20
"""Hits of a drawing that count: a page of them."""
FEW_KINDS = ("sysu",)
"""Development sets of which every fifth photo is right, whatever is drawn."""


@dataclass(frozen=True)
class FirstHits:
    """First hits of a set's drawings: scores, whether they are right, and the drawings' half of the set."""

    score: Floats
    right: NDArray[np.bool_]
    half: NDArray[np.bool_]

    @property
    def weight(self) -> Floats:
        """Every set counts the same."""
        return np.full(len(self.score), 1 / len(self.score))


def halves(categories: list[str]) -> NDArray[np.bool_]:
    """Which half each drawing is in: whole categories, every other one by name."""
    names = sorted(set(categories))
    return np.array([names.index(c) % 2 == 0 for c in categories])


def fit(sets: list[FirstHits], half: bool | None = None) -> Curve:
    """The most likely curve for the hits of some sets, or of one half of each."""
    from scipy.optimize import minimize

    kept = [h if half is None else _of_half(h, half) for h in sets]
    score = np.concatenate([h.score for h in kept])
    right = np.concatenate([h.right for h in kept])
    weight = np.concatenate([h.weight for h in kept]) / len(kept)

    def unlikely(p: Floats) -> float:
        chance = np.clip(_curve(p)(score), 1e-9, 1 - 1e-9)
        return float(-(weight * np.where(right, np.log(chance), np.log(1 - chance))).sum())

    spread = float(score.std())
    start = np.array([float(np.quantile(score, 0.9)), np.log(spread)])
    return _curve(minimize(unlikely, start, method="Nelder-Mead", options={"maxiter": 4000}).x)


def _curve(p: Floats) -> Curve:
    return Curve(float(p[0]), float(np.exp(p[1])))


def _of_half(h: FirstHits, half: bool) -> FirstHits:
    mine = h.half == half
    return FirstHits(h.score[mine], h.right[mine], h.half[mine])


def judged(sets: dict[str, FirstHits]) -> tuple[Curve, dict[str, Floats]]:
    """The curve that ships, and each hit's chance by a curve that was not fitted on its category.

    A collection with few kinds of things is right too often by chance: it is judged, but not fitted on.
    """
    mixed = {name: hits for name, hits in sets.items() if name not in FEW_KINDS}
    curve = fit(list(mixed.values()))
    chances = dict(zip(mixed, held_out(list(mixed.values())), strict=True))
    return curve, {name: chances[name] if name in mixed else curve(h.score) for name, h in sets.items()}


def held_out(sets: list[FirstHits]) -> list[Floats]:
    """Each hit's chance by the curve that was fitted on the categories of the other half."""
    by = {half: fit(sets, half) for half in (False, True)}
    return [np.where(h.half, by[False](h.score), by[True](h.score)) for h in sets]


def bins(confidence: Floats, right: NDArray[np.bool_], n: int = 10) -> list[tuple[float, float, int]]:
    """Hits in tenths of confidence: its mean, the share of right ones, how many; empty tenths left out."""
    which = np.minimum((confidence * n).astype(int), n - 1)
    return [
        (float(confidence[which == i].mean()), float(right[which == i].mean()), int((which == i).sum()))
        for i in range(n)
        if (which == i).any()
    ]


def calibration_error(confidence: Floats, right: NDArray[np.bool_]) -> float:
    """Mean gap between confidence and share of right hits, over tenths, by how many hits they hold."""
    rows = bins(confidence, right)
    return sum(count * abs(chance - share) for chance, share, count in rows) / sum(r[2] for r in rows)
