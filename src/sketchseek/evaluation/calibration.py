"""Confidence fitted on trials, and whether it keeps its word: of the hits at 30%, are 3 of 10 right?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..search.confidence import Logistic, Model, art, hit_features, likeness_features, search_features
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


def _count(trial: Trial) -> float:
    """What a trial counts beside the others of its set when presence is learned.

    Slips of the pen are more of what people draw than of the trials, and a collection of a few pictures has
    what somebody draws less often than every second time.
    """
    if trial.category.startswith("slip"):
        return 4.0
    return 2.0 if trial.pictures <= FEW and not trial.present else 1.0


def fit(chosen: Sequence[Trial]) -> Model:
    """The most likely models of what is there, and of what is right then, every set counting the same."""
    there = [t for t in chosen if t.present]
    hit = fit_logistic(
        np.concatenate([hit_features(t.evidence) for t in there]),
        np.concatenate([t.right for t in there]),
        _by_set(there, [len(t.right) for t in there]),
        0.0001,
    )
    present = _fit_presence(chosen, [search_features(t.evidence) for t in chosen])
    photographs = [(t, t.likeness) for t in chosen if t.likeness is not None and art(t.evidence) < 0.5]
    said = [likeness_features(t.evidence, likeness) for t, likeness in photographs]
    return Model(hit, present, _fit_presence([t for t, _ in photographs], said) if said else None)


def _fit_presence(chosen: Sequence[Trial], features: Sequence[Floats]) -> Logistic:
    """Of what is there, by the features of each trial."""
    weight = _by_set(chosen, [1] * len(chosen)) * [_count(t) for t in chosen]
    return fit_logistic(np.stack(features), np.array([t.present for t in chosen]), weight, 0.003)


FEW = 10
"""Pictures of a small collection."""


class Judged(NamedTuple):
    """A trial with what a model says of it that was not fitted on it: `confidence` (k,) and `present`."""

    trial: Trial
    confidence: Floats
    present: float


def judged(everything: Sequence[Trial]) -> list[Judged]:
    """By models that were fitted on the other half of the categories."""
    return _crosswise(everything, halves([f"{t.name} {t.category}" for t in everything]))


def of_other_sets(everything: Sequence[Trial]) -> list[Judged]:
    """By models that were fitted on other sets; what slips of the pen look like is known to all."""
    return _crosswise(everything, np.array([t.name for t in everything]))


def _crosswise(everything: Sequence[Trial], part: NDArray[Any]) -> list[Judged]:
    out: list[Judged] = []
    for name in np.unique(part):
        model = fit([t for t, p in zip(everything, part, strict=True) if p != name])
        mine = (t for t, p in zip(everything, part, strict=True) if p == name)
        out += [Judged(t, *model.judge(t.evidence, t.likeness)) for t in mine]
    return out
