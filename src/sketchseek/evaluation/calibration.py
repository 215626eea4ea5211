"""Confidence fitted on trials, and whether it keeps its word: of the hits at 30%, are 3 of 10 right?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..search.confidence import Logistic, Model, crossed, summary
from .open_set import Trial

Floats = NDArray[np.float64]


def halves(categories: list[str]) -> NDArray[np.bool_]:
    """Which half each drawing is in: whole categories, every other one by name."""
    names = sorted(set(categories))
    return np.array([names.index(c) % 2 == 0 for c in categories])


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


def fit_logistic(x: Floats, y: NDArray[np.bool_], weight: Floats, ridge: float) -> Logistic:
    """The most likely weights, held back a little."""
    from scipy.optimize import minimize

    mean, deviation = x.mean(axis=0), x.std(axis=0)
    scale = np.where(deviation > 1e-4, deviation, 1.0)  # a column that never changes says nothing
    z = np.clip((x - mean) / scale, -6, 6)
    weight = weight / weight.sum()

    def loss(p: Floats) -> tuple[float, Floats]:
        total = z @ p[:-1] + p[-1]
        chance = 1 / (1 + np.exp(-np.clip(total, -50, 50)))
        value = -(weight * np.where(y, np.log(chance + 1e-12), np.log(1 - chance + 1e-12))).sum()
        slope = weight * (chance - y)
        return (
            value + ridge * (p[:-1] ** 2).sum(),
            np.concatenate([z.T @ slope + 2 * ridge * p[:-1], [slope.sum()]]),
        )

    p = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B").x

    def rounded(values: Floats) -> tuple[float, ...]:
        return tuple(np.round(values, 5).tolist())

    return Logistic(rounded(mean), rounded(scale), rounded(p[:-1]), round(float(p[-1]), 5))


def _by_set(chosen: Sequence[Trial], size: Sequence[int]) -> Floats:
    """Weights with which every set counts the same."""
    total: dict[str, int] = {}
    for trial, n in zip(chosen, size, strict=True):
        total[trial.name] = total.get(trial.name, 0) + n
    return np.concatenate([np.full(n, 1 / total[t.name]) for t, n in zip(chosen, size, strict=True)])


def fit(chosen: Sequence[Trial]) -> Model:
    """The most likely models of what is right and of what is there, every set counting the same."""
    sizes = [len(t.right) for t in chosen]
    hit = fit_logistic(
        np.concatenate([crossed(t.evidence) for t in chosen]),
        np.concatenate([t.right for t in chosen]),
        _by_set(chosen, sizes),
        0.0005,
    )
    there = fit_logistic(
        np.stack([summary(t.evidence) for t in chosen]),
        np.array([t.present for t in chosen]),
        _by_set(chosen, [1] * len(chosen)),
        0.003,
    )
    return Model(hit, there)


def judged(everything: Sequence[Trial]) -> list[tuple[Trial, Floats, float]]:
    """Each trial with what a model says that was fitted on the other half of the categories."""
    split = halves([f"{t.name} {t.category}" for t in everything])
    out: list[tuple[Trial, Floats, float]] = []
    for half in (False, True):
        model = fit([t for t, s in zip(everything, split, strict=True) if s != half])
        out += [(t, *model.judge(t.evidence)) for t, s in zip(everything, split, strict=True) if s == half]
    return out
