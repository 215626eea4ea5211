"""Confidence: the chance that a hit is right, and the chance that the collection has the thing at all.

Logistic models of the evidence (`evidence.py`), a pair for searches by shape alone and a pair for each
network that sees drawings. benchmarks/confidence.py fits them on drawings that were searched in collections
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

from .evidence import JUDGED, NAMES, Opinion

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


@dataclass(frozen=True)
class Logistic:
    """A chance from features: each brought to mean 0 and deviation 1, weighed, and summed.

    mean, scale, weights : (F,). bias : what is added.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def __call__(self, features: ArrayLike) -> Floats:
        """(..., F) -> (...,) in (0, 1)."""
        x = (np.asarray(features, np.float64) - self.mean) / np.asarray(self.scale)
        total = np.clip(x, -6, 6) @ np.asarray(self.weights) + self.bias
        chance: Floats = 1 / (1 + np.exp(-np.clip(total, -50, 50)))
        return chance


@dataclass(frozen=True)
class Model:
    """How to judge the hits of one kind of search.

    present : the chance that the thing is there, from `summary` of all hits' features.
    hit : the chance that a hit is right where the thing is there, from its features, `crossed`.
    """

    hit: Logistic
    present: Logistic

    def judge(self, features: Floats) -> tuple[Floats, float]:
        """Features (k, F) of hits -> their confidence (k,), falling, and whether the thing is there."""
        if len(features) == 0:
            return np.zeros(0), 0.0
        present = float(self.present(summary(features)))
        return present * falling(self.hit(crossed(features))), present

    def to_json(self) -> dict[str, Any]:
        """As the file that ships has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Model:
        """The inverse of `to_json`."""
        return cls(*(Logistic(**_frozen(document[name])) for name in ("hit", "present")))


def crossed(features: Floats) -> Floats:
    """(..., F) -> (..., G): features, their squares, each for line art alone, and products (`TOGETHER`)."""
    line_art = features[..., [NAMES.index("line art")]]
    one, other = (features[..., [NAMES.index(pair[i]) for pair in TOGETHER]] for i in range(2))
    return np.concatenate([features, np.square(features), line_art * features, one * other], axis=-1)


def summary(features: Floats) -> Floats:
    """(k, F) -> (2 G,): the first hit's evidence, and the mean of the first few."""
    return np.concatenate([crossed(features[0]), crossed(features[:FIRST]).mean(axis=0)])


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
    if document["features"] != list(NAMES):
        raise ValueError(
            "confidence.json was fitted on other evidence: run benchmarks/confidence.py --fit again"
        )
    return {name: Model.from_json(model) for name, model in document["models"].items()}


def _frozen(document: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in document.items()}
