"""Confidence: the chance that a hit is right, that the first page has one, that the thing is there at all.

Logistic models of the evidence (`evidence.py`), three for searches by shape alone and three for each network
that sees drawings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sketchseek.search import confidence
from sketchseek.search.core import EVIDENCE, LIKENESS

from .evidence import JUDGED

Floats = NDArray[np.float64]

FIRST = 5
"""Hits whose mean evidence says, beside that of the first, whether the thing is there."""
FAR_OUT = 4.0
"""Deviations from which on evidence hardly counts for more."""
STEP = 0.02
"""Of log-odds: a hit's confidence falls to the next by this at least."""
LIKELY = 0.5
"""The chance of a first page from which on it likely has the thing."""


def heard(evidence: Floats, likeness: Floats | None) -> Floats:
    """(k, F) of hits and (L,) of the search -> (k, 2 F + L + 2): each hit's evidence, the mean of the first
    few, likeness, whether there is any, and 1."""
    said = np.zeros(len(LIKENESS)) if likeness is None else likeness
    search = np.concatenate([evidence[:FIRST].mean(axis=0), said, [likeness is not None, 1]])
    return np.concatenate([evidence, np.tile(search, (len(evidence), 1))], axis=1)


class Logistic(confidence.Logistic):
    """A chance from products of two things that are heard."""

    def log_odds(self, said: ArrayLike) -> Floats:
        """(..., `HEARD`) -> (...,), 0 for a chance of one half."""
        x = np.asarray(said, np.float64)
        total = np.full(x.shape[:-1], self.bias)
        for (a, b), mean, scale, weight in zip(self.terms, self.mean, self.scale, self.weights, strict=True):
            one, other = (x[..., confidence.HEARD.index(name)] for name in (a, b))
            z = (one * other - mean) / scale
            total = total + weight * z / np.sqrt(1 + (z / FAR_OUT) ** 2)
        return total


@dataclass(frozen=True)
class Model:
    """How to judge the hits of one kind of search; see `confidence.Model`."""

    present: Logistic
    first_page: Logistic
    hit: Logistic
    absent: tuple[float, ...]

    @classmethod
    def of(cls, shipped: confidence.Model) -> Model:
        """The same model."""
        parts = (shipped.present, shipped.first_page, shipped.hit)
        return cls(*(Logistic(p.terms, p.mean, p.scale, p.weights, p.bias) for p in parts), shipped.absent)

    def judge(self, evidence: Floats, likeness: Floats | None = None) -> tuple[Floats, float, float, int]:
        """Evidence (k, F) of hits, and what a network says of the whole collection -> their confidence (k,),
        strictly isotonic, whether the thing is there, whether on the first page, and the verdict's number."""
        if len(evidence) == 0:
            return np.zeros(0), 0.0, 0.0, 1
        said = heard(evidence, likeness)
        odds = float(self.present.log_odds(said[0]))
        present = float(chance(odds))
        hits = present * chance(isotonic(self.hit.log_odds(said)))
        first_page = max(present * float(chance(self.first_page.log_odds(said[0]))), float(hits[0]))
        absent = odds < self.absent[question(evidence)]
        return hits, present, first_page, 0 if first_page >= LIKELY else 2 if absent else 1


def question(evidence: Floats) -> int:
    """Photographs, a mixture, or line art and flat art; of a few, some or many pictures."""
    line_art = evidence[:FIRST, EVIDENCE.index("line art")].mean()
    art = max(line_art, evidence[0, EVIDENCE.index("flat art share")])
    pictures = evidence[0, EVIDENCE.index("log pictures")]
    return 3 * int(np.searchsorted([0.2, 0.8], art, "right")) + int(
        np.searchsorted([1.5, 2.5], pictures, "right")
    )


def isotonic(log_odds: Floats) -> Floats:
    """The log-odds that are nearest to those given (k,) of all that fall by `STEP` at least from each to the
    next: without the steps, neighbours that rise share their mean.

    After the first `JUDGED` each is that much below the one before, or more.
    """
    pools: list[tuple[float, int]] = []
    for i, value in enumerate(log_odds[:JUDGED].tolist()):
        mean, count = value + STEP * i, 1
        while pools and pools[-1][0] < mean:
            before, n = pools.pop()
            mean, count = (before * n + mean * count) / (n + count), n + count
        pools.append((mean, count))
    first = np.repeat([mean for mean, _ in pools], [count for _, count in pools])
    out = [*(first - STEP * np.arange(len(first)))]
    for value in log_odds[JUDGED:]:
        out.append(min(value, out[-1] - STEP))
    return np.array(out, np.float64)


def chance(log_odds: ArrayLike) -> Floats:
    """Of log-odds."""
    said: Floats = 1 / (1 + np.exp(-np.clip(log_odds, -50, 50)))
    return said
