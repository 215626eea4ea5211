"""Confidence: the chance that a hit is right, and the chance that the collection has the thing at all.

Two logistic models of the evidence (`evidence.py`), one for searches by shape alone and one for searches with
what pictures depict. benchmarks/confidence.py fits them on drawings that were searched in collections with
and without what they show; docs/confidence.md says how well they keep their word.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .evidence import NAMES

Floats = NDArray[np.float64]

FIRST = 5
"""Hits whose mean evidence says, beside that of the first, whether the thing is there."""


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

    hit : from a hit's features, `crossed`. present : from `summary` of all of them.
    """

    hit: Logistic
    present: Logistic

    def judge(self, features: Floats) -> tuple[Floats, float]:
        """Features (k, F) of hits -> their confidence (k,), falling, and whether the thing is there."""
        if len(features) == 0:
            return np.zeros(0), 0.0
        return np.minimum.accumulate(self.hit(crossed(features))), float(self.present(summary(features)))

    def to_json(self) -> dict[str, Any]:
        """As the file that ships has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Model:
        """The inverse of `to_json`."""
        return cls(*(Logistic(**_frozen(document[name])) for name in ("hit", "present")))


def crossed(features: Floats) -> Floats:
    """(..., F) -> (..., 3 F): every feature, its square, and it alone for line art, where all mean more."""
    line_art = features[..., [NAMES.index("line art")]]
    return np.concatenate([features, np.square(features), line_art * features], axis=-1)


def summary(features: Floats) -> Floats:
    """(k, F) -> (6 F,): the first hit's evidence, and the mean of the first few."""
    return np.concatenate([crossed(features[0]), crossed(features[:FIRST]).mean(axis=0)])


@lru_cache(maxsize=1)
def models() -> dict[str, Model]:
    """Those that ship: "shape" and "everything"."""
    document = json.loads(files(__package__).joinpath("confidence.json").read_text())
    if document["features"] != list(NAMES):
        raise ValueError(
            "confidence.json was fitted on other evidence: run benchmarks/confidence.py --fit again"
        )
    return {name: Model.from_json(document[name]) for name in ("shape", "everything")}


def _frozen(document: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in document.items()}
