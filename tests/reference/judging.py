"""Confidence: the chance that a hit is right, and the chance that the collection has the thing at all.

Logistic models of the evidence (`evidence.py`), a pair for searches by shape alone and three for each network
that sees drawings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sketchseek.search import confidence
from sketchseek.search.core import EVIDENCE

from .evidence import JUDGED

Floats = NDArray[np.float64]

FIRST = 5
"""Hits whose mean evidence says, beside that of the first, whether the thing is there."""
INTERACTIONS = (
    ("match", "match margin to the second"),
    ("match", "shape margin to the tenth"),
    ("match", "simplicity"),
    ("match", "log rank"),
    ("match", "network cosine"),
    ("log rank", "match margin to the second"),
    ("log rank", "log pictures"),
    ("log rank", "background similar to first hits"),
    ("line art", "match margin to the second"),
    ("similarity to first hits", "background similar to first hits"),
    ("similarity to first hits", "nearest by network"),
    ("background similar to first hits", "nearest by network"),
)
"""Evidence that means more together than each on its own: their products are features, too."""
LIKENESS_WEIGHT = 2 / 3
"""Of likeness to photographs, in whether a thing is among them (docs/confidence.md)."""
SAID = ("network cosine", "network z-score", "nearest by network", "agreement")
"""Evidence that stands beside likeness where photographs are judged."""
# One in a hundred drawings of things is shorter, or as concentrated; most slips of the pen are.
_LITTLE, _SIMPLE = 0.9, -1.65


class Logistic(confidence.Logistic):
    """A chance from features: each brought to mean 0 and deviation 1, weighed, and summed."""

    def log_odds(self, features: ArrayLike) -> Floats:
        """(..., F) -> (...,), 0 for a chance of one half."""
        x = (np.asarray(features, np.float64) - self.mean) / np.asarray(self.scale)
        total: Floats = np.clip(x, -6, 6) @ np.asarray(self.weights) + self.bias
        return total

    def __call__(self, features: ArrayLike) -> Floats:
        """(..., F) -> (...,) in (0, 1)."""
        return _chance(self.log_odds(features))


@dataclass(frozen=True)
class Model:
    """How to judge the hits of one kind of search.

    hit : the chance that a hit is right where the thing is there, from its features, `interactions`.
    present : the chance that the thing is there, from `summary` of all hits' features.
    likeness : the same by what a network says of photographs, from `likeness_features`; among those it has a
        `LIKENESS_WEIGHT` in the log-odds. None for searches by shape alone.
    """

    hit: Logistic
    present: Logistic
    likeness: Logistic | None = None

    @classmethod
    def of(cls, shipped: confidence.Model) -> Model:
        """The same model."""
        parts = (shipped.hit, shipped.present, shipped.likeness)
        return cls(*(None if p is None else Logistic(p.mean, p.scale, p.weights, p.bias) for p in parts))

    def judge(self, features: Floats, likeness: Floats | None = None) -> tuple[Floats, float]:
        """Features (k, F) of hits, and what a network says of the whole collection (`evidence.likeness`)
        -> their confidence (k,), isotonic, and whether the thing is there."""
        if len(features) == 0:
            return np.zeros(0), 0.0
        present = self.present.log_odds(summary(features))
        if likeness is not None and self.likeness is not None:
            other = self.likeness.log_odds(likeness_features(features, likeness))
            present = present + (1 - art(features)) * LIKENESS_WEIGHT * (other - present)
        chance = float(_chance(present))
        return chance * isotonic(self.hit(interactions(features))), chance


def interactions(features: Floats) -> Floats:
    """(..., F) -> (..., G): features, their squares, each for line art alone, and products
    (`INTERACTIONS`)."""
    line_art = features[..., [EVIDENCE.index("line art")]]
    one, other = (features[..., [EVIDENCE.index(pair[i]) for pair in INTERACTIONS]] for i in range(2))
    return np.concatenate([features, np.square(features), line_art * features, one * other], axis=-1)


def summary(features: Floats) -> Floats:
    """(k, F) -> (2 G,): the first hit's evidence, and the mean of the first few."""
    return np.concatenate([interactions(features[0]), interactions(features[:FIRST]).mean(axis=0)])


def likeness_features(features: Floats, likeness: Floats) -> Floats:
    """(k, F) of hits and (L,) of the search -> (H,): likeness, beside how many pictures there are, what else
    the network says of the first hits, and whether too little was drawn to be like anything."""
    pictures, drawn, simplicity = (
        features[0, EVIDENCE.index(name)] for name in ("log pictures", "log length drawn", "simplicity")
    )
    columns = [EVIDENCE.index(name) for name in SAID]
    said = np.concatenate([likeness, features[0, columns], features[:FIRST, columns].mean(axis=0)])
    search = [pictures, pictures**2, max(_LITTLE - drawn, 0.0), max(simplicity - _SIMPLE, 0.0)]
    return np.concatenate([said, np.square(said), pictures * likeness, search])


def art(features: Floats) -> float:
    """How far hits (k, F) are line art or flat art, in which shape is exact: in [0, 1]."""
    return float(max(features[0, EVIDENCE.index(name)] for name in ("line art", "flat art share")))


def isotonic(chance: Floats) -> Floats:
    """The isotonic sequence that is nearest to chances (k,): neighbours that rise share their mean.

    After the first `JUDGED` none is above the one before.
    """
    pools: list[tuple[float, int]] = []
    for value in chance[:JUDGED].tolist():
        mean, count = value, 1
        while pools and pools[-1][0] < mean:
            before, n = pools.pop()
            mean, count = (before * n + mean * count) / (n + count), n + count
        pools.append((mean, count))
    first = np.repeat([mean for mean, _ in pools], [count for _, count in pools])
    return np.minimum.accumulate(np.concatenate([first, chance[JUDGED:]]))


def _chance(log_odds: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-np.clip(log_odds, -50, 50)))
    return chance
