"""Confidence fitted on trials, and whether it keeps its word: of the hits at 30%, are 3 of 10 right?

"Probably not here" is said below thresholds that conformal bounds give (Angelopoulos and Bates 2023): one for
each kind of question, so that it holds of every kind and not only on the whole.

References
----------
Angelopoulos and Bates, "Conformal prediction: a gentle introduction", Foundations and Trends in Machine
Learning 16, 2023.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..search.confidence import HEARD, Judgement, Logistic, Model, heard, models, question
from ..search.core import ABSENT, CLOSEST, CORE, LIKELY, QUESTIONS
from .open_set import Trial

Floats = NDArray[np.float64]
Terms = tuple[tuple[str, str], ...]


class ModelTerms(NamedTuple):
    """What models use: of a search, and of a hit."""

    of_search: Terms
    of_hit: Terms

    @classmethod
    def shipped(cls) -> ModelTerms:
        """What those that ship do, with a network."""
        model = models()["efficientnet"]
        return cls(model.present.terms, model.hit.terms)


PAGE = 10
"""Hits of a first page."""
OVER_RIGHT = 0.06
"""At most so often "probably not here" may stand over a first page that has the thing."""
UNTRUE = 0.1
"""At most so often it may be untrue when it is said."""
APART = 0.4
"""Log-odds by which bounds are lower: other sets of pictures are a little unlike those that gave them."""
NEVER = -50.0
"""Log-odds that no search has: below them nothing is said."""
_ENOUGH = 15  # trials of a kind from which on it has a bound of its own


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


def fit_logistic(x: Floats, y: NDArray[np.bool_], weight: Floats, ridge: float, terms: Terms) -> Logistic:
    """The most likely weights of terms, held back; x (n, `HEARD`), y (n,)."""
    from scipy.optimize import minimize

    columns = [(HEARD.index(a), HEARD.index(b)) for a, b in terms]
    said = np.stack([x[:, a] * x[:, b] for a, b in columns], axis=1)
    weight = weight / weight.sum()
    mean = weight @ said
    deviation = np.sqrt(weight @ (said - mean) ** 2)
    known = deviation > 1e-4  # a column that never changes says nothing
    terms = tuple(term for term, one in zip(terms, known, strict=True) if one)
    mean, scale = np.round(mean[known], 6), np.round(np.maximum(deviation[known], 1e-4), 6)
    z = (said[:, known] - mean) / scale
    z /= np.sqrt(1 + np.square(z / CORE["far out"]))

    def loss(p: Floats) -> tuple[float, Floats]:
        total = z @ p[:-1] + p[-1]
        value = (weight * np.logaddexp(0, np.where(y, -total, total))).sum()
        slope = weight * (1 / (1 + np.exp(-np.clip(total, -50, 50))) - y)
        return (
            value + ridge * (p[:-1] ** 2).sum(),
            np.concatenate([z.T @ slope + 2 * ridge * p[:-1], [slope.sum()]]),
        )

    p = minimize(loss, np.zeros(z.shape[1] + 1), jac=True, method="L-BFGS-B").x
    return Logistic(
        terms,
        tuple(mean.tolist()),
        tuple(scale.tolist()),
        tuple(np.round(p[:-1], 5).tolist()),
        round(float(p[-1]), 5),
    )


def _by_set(chosen: Sequence[Trial], size: Sequence[int]) -> Floats:
    """Weights with which a set counts by the root of how many trials it has, and a slip of the pen, of which
    people make more than there are among trials, five times."""
    total: dict[str, int] = {}
    for trial, n in zip(chosen, size, strict=True):
        total[trial.name] = total.get(trial.name, 0) + n
    each = [
        np.full(n, (5.0 if t.category.startswith("slip") else 1.0) / np.sqrt(total[t.name]))
        for t, n in zip(chosen, size, strict=True)
    ]
    return np.concatenate(each)


def fit(chosen: Sequence[Trial], terms: ModelTerms | None = None, ridge: float = 0.006) -> Model:
    """The most likely models of what is there, and of what is on the first page and what is right then."""
    terms = terms or ModelTerms.shipped()
    there = [t for t in chosen if t.present]
    of_search = np.stack([heard(t.evidence, t.likeness)[0] for t in chosen])
    present = np.array([t.present for t in chosen])
    weight = _by_set(chosen, [1] * len(chosen))
    hits = np.concatenate([heard(t.evidence, t.likeness) for t in there])
    return Model(
        present=fit_logistic(of_search, present, weight, ridge, terms.of_search),
        first_page=fit_logistic(
            of_search[present],
            np.array([t.right[:PAGE].any() for t in there]),
            weight[present],
            ridge,
            terms.of_search,
        ),
        hit=fit_logistic(
            hits,
            np.concatenate([t.right for t in there]),
            _by_set(there, [len(t.right) for t in there]),
            ridge / 12,
            terms.of_hit,
        ),
        absent=(NEVER,) * QUESTIONS,
    )


class Judged(NamedTuple):
    """A trial with what a model says of it that was not fitted on it."""

    trial: Trial
    said: Judgement

    @property
    def odds(self) -> float:
        """Log-odds of presence."""
        return float(np.log(self.said.present / (1 - self.said.present)))

    def bounded(self, absent: Sequence[float]) -> Judged:
        """The same with what these thresholds let be said."""
        if self.said.verdict == LIKELY:
            return self
        below = self.odds < absent[question(self.trial.evidence)]
        return self._replace(said=replace(self.said, verdict=ABSENT if below else CLOSEST))

    @property
    def found(self) -> bool:
        """Whether the first page has it."""
        return bool(self.trial.right[:PAGE].any())


def with_bounds(model: Model, others: Sequence[Judged]) -> Model:
    """The model with the thresholds that `bounds` gives, from trials that it was not fitted on."""
    return replace(model, absent=bounds(others))


def bounds(rows: Sequence[Judged]) -> tuple[float, ...]:
    """Log-odds of presence below which a thing is said to be absent.

    For each kind of question the highest that keeps both promises of `threshold` on the whole, and the first
    of them of each set that has enough trials.
    """
    kinds = np.array([question(row.trial.evidence) for row in rows])
    absent = []
    for kind in range(QUESTIONS):
        mine = [row for row, k in zip(rows, kinds, strict=True) if k == kind]
        names = sorted({row.trial.name for row in mine})
        sets = [[row for row in mine if row.trial.name == name] for name in names]
        each = [_over_right(of) for of in sets if sum(row.found for row in of) >= _ENOUGH]
        found = threshold(mine, min(each, default=np.inf))
        absent.append(NEVER if found == NEVER else round(found - APART, 4))
    return tuple(absent)


def threshold(rows: Sequence[Judged], most: float = np.inf) -> float:
    """Log-odds below which it may be said of these that the thing is probably not there; `NEVER` for none.

    Of a search like these that has the thing on its first page, the chance to lie below is at most
    `OVER_RIGHT`: the quantile of split conformal prediction. Of those that lie below, the share that have the
    thing, one more counted, is at most `UNTRUE`. most : it is no higher.
    """
    highest = min(_over_right(rows), most)
    ordered = sorted(rows, key=lambda row: row.odds)
    there = np.cumsum([row.trial.present for row in ordered])
    true = (there + 1) / (np.arange(len(ordered)) + 2) <= UNTRUE
    last = [i for i in np.flatnonzero(true) if ordered[i].odds < highest]
    return ordered[last[-1]].odds + 1e-4 if last else NEVER


def _over_right(rows: Sequence[Judged]) -> float:
    odds = np.sort([row.odds for row in rows if row.found])
    at = int(OVER_RIGHT * (len(odds) + 1))
    return float(odds[at - 1]) if at else NEVER


def judged(
    everything: Sequence[Trial], terms: ModelTerms | None = None, also: Sequence[Trial] = ()
) -> list[Judged]:
    """By models that were fitted on the other half of the categories and on the other side's pictures.

    The bounds are those of all sets of other pictures and of drawings that were made otherwise. also : what
    is judged likewise, and nothing is fitted on.
    """
    asked = [*everything, *also]
    half = halves([t.category for t in asked])
    rows = _crosswise(asked, [(bool(h), t.side) for h, t in zip(half, asked, strict=True)], terms, len(also))
    known = {id(t) for t in everything}
    fitted = [row for row in rows if id(row.trial) in known]
    parts: dict[tuple[int, str], list[Judged]] = {}
    for row in rows:
        parts.setdefault(_drawn(row), []).append(row)
    out = []
    for part, mine in parts.items():
        absent = bounds([row for row in fitted if _drawn(row) != part] or fitted)
        out += [row.bounded(absent) for row in mine]
    return out


def _drawn(row: Judged) -> tuple[int, str]:
    """Of what make the pictures are, and how the drawing was made."""
    return row.trial.side, row.trial.name.rpartition(" by ")[2]


def _crosswise(
    asked: Sequence[Trial], part: Sequence[tuple[Any, ...]], terms: ModelTerms | None, also: int
) -> list[Judged]:
    """Each part by what was fitted on those that have nothing in common with it, as far as there are any; the
    last `also` are no part of that."""
    out: list[Judged] = []
    known = list(zip(asked, part, strict=True))[: len(asked) - also]
    for name in sorted(set(part)):
        others = [t for t, p in known if _apart(p, name)]
        others = others or [t for t, p in known if p != name]
        model = fit(others, terms)
        mine = (t for t, p in zip(asked, part, strict=True) if p == name)
        out += [Judged(t, model.judge(t.evidence, t.likeness)) for t in mine]
    return out


def _apart(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(a != b for a, b in zip(one, other, strict=True))
