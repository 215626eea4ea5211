"""Confidence: the chance that a hit is right, and the chance that the collection has the thing at all.

Logistic models of the evidence, a pair for searches by shape alone and three for each network that sees
drawings: data, which the engine judges by (src/cpp/search/confidence.hpp). benchmarks/confidence.py fits them
on drawings that were searched in collections with and without what they show; docs/confidence.md says how
well they keep their word.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..shape.engine import _engine
from .core import EVIDENCE, LIKENESS

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Logistic:
    """A chance from features: each brought to mean 0 and deviation 1, weighed, and summed.

    mean, scale, weights : (F,). bias : what is added.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def numbers(self) -> list[float]:
        """One after the other, as the engine takes them."""
        return [*self.mean, *self.scale, *self.weights, self.bias]


@dataclass(frozen=True)
class Model:
    """How to judge the hits of one kind of search.

    hit : the chance that a hit is right where the thing is there, from `hit_features`.
    present : the chance that the thing is there, from `search_features` of all hits.
    likeness : the same by what a network says of photographs, from `likeness_features`; None for searches
        by shape alone.
    """

    hit: Logistic
    present: Logistic
    likeness: Logistic | None = None

    @cached_property
    def numbers(self) -> Floats:
        """All of it, as the engine takes it."""
        parts = (self.hit, self.present, self.likeness)
        return np.array([number for part in parts if part is not None for number in part.numbers()])

    @cached_property
    def engine(self) -> _engine.ConfidenceModel:
        """The same, ready to judge."""
        return _engine.ConfidenceModel(self.numbers)

    def judge(self, evidence: Floats, likeness: Floats | None = None) -> tuple[Floats, float]:
        """Evidence (k, F) of hits, and likeness (L,) of the search -> their confidence (k,), falling, and
        whether the thing is there."""
        if len(evidence) == 0:
            return np.zeros(0), 0.0
        said = np.zeros(0) if likeness is None else likeness
        return self.engine.judge(np.ascontiguousarray(evidence, np.float64), said)

    def to_json(self) -> dict[str, Any]:
        """As the file that ships has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Model:
        """The inverse of `to_json`."""
        return cls(**{name: Logistic(**_frozen(part)) for name, part in document.items() if part is not None})


def hit_features(evidence: Floats) -> Floats:
    """(k, F) -> (k, G): evidence, its squares, each for line art alone, and interactions."""
    return _engine.hit_features(np.ascontiguousarray(evidence, np.float64)).reshape(len(evidence), -1)


def search_features(evidence: Floats) -> Floats:
    """(k, F) -> (2 G,): the first hit's features, and the mean of the first few."""
    return _engine.search_features(np.ascontiguousarray(evidence, np.float64))


def likeness_features(evidence: Floats, likeness: Floats) -> Floats:
    """(k, F) of hits and (L,) of the search -> (H,): likeness, beside what else the network says of them."""
    return _engine.likeness_features(np.ascontiguousarray(evidence, np.float64), likeness)


def art(evidence: Floats) -> float:
    """How far hits (k, F) are line art or flat art, in which shape is exact: in [0, 1]."""
    return float(max(evidence[0, EVIDENCE.index(name)] for name in ("line art", "flat art share")))


def model_for(network: str | None) -> Model:
    """That of the network that was heard, or of the one that ships where there is none for it."""
    known = models()
    return known["shape"] if network is None else known.get(network, known["efficientnet"])


@lru_cache(maxsize=1)
def models() -> dict[str, Model]:
    """Those that ship: "shape", and by networks' names those that were fitted with one."""
    document = json.loads(Path(__file__).with_name("confidence.json").read_text())
    if (document["features"], document["likeness"]) != (list(EVIDENCE), list(LIKENESS)):
        raise ValueError(
            "confidence.json was fitted on other evidence: run benchmarks/confidence.py --fit again"
        )
    return {name: Model.from_json(model) for name, model in document["models"].items()}


def _frozen(document: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(v) if isinstance(v, list) else v for name, v in document.items()}
