"""Confidence: the chance that a hit is right, and the chance that the collection has the thing at all.

Logistic models of the evidence (`evidence.py`), a pair for searches by shape alone and three for each network
that sees drawings. benchmarks/confidence.py fits them on drawings that were searched in collections
with and without what they show; docs/confidence.md says how well they keep their word.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .evidence import JUDGED, LIKENESS, NAMES, Opinion

Floats = NDArray[np.float64]

FIRST = 5
"""Hits whose mean evidence says, beside that of the first, whether the thing is there."""
TOGETHER = (
    ("match", "best match beside the second"),
    ("match", "best beside the tenth"),
    ("match", "simplicity"),
    ("match", "rank"),
    ("match", "network"),
    ("rank", "best match beside the second"),
    ("rank", "pictures"),
    ("rank", "others like the first hits"),
    ("line art", "best match beside the second"),
    ("like the first hits", "others like the first hits"),
    ("like the first hits", "network's likest"),
    ("others like the first hits", "network's likest"),
)
"""Evidence that means more together than each on its own: their products are features, too."""
SAY = 2 / 3
"""Of likeness to photographs, in whether a thing is among them (docs/confidence.md)."""
SAID = ("network", "network stands out", "network's likest", "agreement")
"""Evidence that stands beside likeness where photographs are judged."""
# One in a hundred drawings of things is shorter, or as concentrated; most slips of the pen are.
_LITTLE, _SIMPLE = 0.9, -1.65


@dataclass(frozen=True)
class Logistic:
    """A chance from features: each brought to mean 0 and deviation 1, weighed, and summed.

    mean, scale, weights : (F,). bias : what is added.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

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

    hit : the chance that a hit is right where the thing is there, from its features, `crossed`.
    present : the chance that the thing is there, from `summary` of all hits' features.
    likeness : the same by what a network says of photographs, from `likened`; among those it has a `SAY` in
        the log-odds. None for searches by shape alone.
    """

    hit: Logistic
    present: Logistic
    likeness: Logistic | None = None

    def judge(self, features: Floats, likeness: Floats | None = None) -> tuple[Floats, float]:
        """Features (k, F) of hits, and what a network says of the whole collection (`evidence.likeness`)
        -> their confidence (k,), falling, and whether the thing is there."""
        if len(features) == 0:
            return np.zeros(0), 0.0
        present = self.present.log_odds(summary(features))
        if likeness is not None and self.likeness is not None:
            other = self.likeness.log_odds(likened(features, likeness))
            present = present + (1 - art(features)) * SAY * (other - present)
        chance = float(_chance(present))
        return chance * falling(self.hit(crossed(features))), chance

    def to_json(self) -> dict[str, Any]:
        """As the file that ships has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Model:
        """The inverse of `to_json`."""
        return cls(**{name: Logistic(**_frozen(part)) for name, part in document.items() if part is not None})


def crossed(features: Floats) -> Floats:
    """(..., F) -> (..., G): features, their squares, each for line art alone, and products (`TOGETHER`)."""
    line_art = features[..., [NAMES.index("line art")]]
    one, other = (features[..., [NAMES.index(pair[i]) for pair in TOGETHER]] for i in range(2))
    return np.concatenate([features, np.square(features), line_art * features, one * other], axis=-1)


def summary(features: Floats) -> Floats:
    """(k, F) -> (2 G,): the first hit's evidence, and the mean of the first few."""
    return np.concatenate([crossed(features[0]), crossed(features[:FIRST]).mean(axis=0)])


def likened(features: Floats, likeness: Floats) -> Floats:
    """(k, F) of hits and (L,) of the search -> (H,): likeness, beside how many pictures there are, what else
    the network says of the first hits, and whether too little was drawn to be like anything."""
    pictures, drawn, simplicity = (
        features[0, NAMES.index(name)] for name in ("pictures", "length drawn", "simplicity")
    )
    columns = [NAMES.index(name) for name in SAID]
    said = np.concatenate([likeness, features[0, columns], features[:FIRST, columns].mean(axis=0)])
    search = [pictures, pictures**2, max(_LITTLE - drawn, 0.0), max(simplicity - _SIMPLE, 0.0)]
    return np.concatenate([said, np.square(said), pictures * likeness, search])


def art(features: Floats) -> float:
    """How far hits (k, F) are line art or flat art, in which shape is exact: in [0, 1]."""
    return float(max(features[0, NAMES.index(name)] for name in ("line art", "flat art")))


def falling(chance: Floats) -> Floats:
    """The falling sequence that is nearest to chances (k,): neighbours that rise share their mean.

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


def model_for(opinion: Opinion | None) -> Model:
    """That of the network whose opinion was heard, or of the one that ships where there is none for it."""
    known = models()
    return known["shape"] if opinion is None else known.get(opinion.name, known["efficientnet"])


@lru_cache(maxsize=1)
def models() -> dict[str, Model]:
    """Those that ship: "shape", and by networks' names those that were fitted with one."""
    document = json.loads(files(__package__).joinpath("confidence.json").read_text())
    if (document["features"], document["likeness"]) != (list(NAMES), list(LIKENESS)):
        raise ValueError(
            "confidence.json was fitted on other evidence: run benchmarks/confidence.py --fit again"
        )
    return {name: Model.from_json(model) for name, model in document["models"].items()}


def _chance(log_odds: Floats) -> Floats:
    chance: Floats = 1 / (1 + np.exp(-np.clip(log_odds, -50, 50)))
    return chance


def _frozen(document: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in document.items()}
