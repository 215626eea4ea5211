"""Confidence: the chance that a hit is right, that the first page has one, that the thing is there at all.

Logistic models of the evidence, three for searches by shape alone and three for each network that sees
drawings: data, which the engine judges by (src/cpp/search/confidence.hpp). benchmarks/confidence.py fits them
on drawings that were searched in collections with and without what they show; docs/explanation/confidence.md
says how well they keep their word.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..shape.engine import _engine
from .core import EVIDENCE, LIKENESS, VERDICTS

Floats = NDArray[np.float64]

HEARD: Final[tuple[str, ...]] = (
    *EVIDENCE,
    *(f"mean {name}" for name in EVIDENCE),
    *LIKENESS,
    "likeness is heard",
    "one",
)
"""What a model may use: of a hit, of the first few hits, of the whole search."""


@dataclass(frozen=True)
class Logistic:
    """A chance from products of two things that are heard, each brought to mean 0 and deviation 1, weighed,
    and summed.

    terms : pairs of `HEARD`. mean, scale, weights : (terms,). bias : what is added.
    """

    terms: tuple[tuple[str, str], ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def numbers(self) -> list[float]:
        """One after the other, as the engine takes them."""
        each = zip(self.terms, self.mean, self.scale, self.weights, strict=True)
        rows = [(HEARD.index(a), HEARD.index(b), mean, scale, w) for (a, b), mean, scale, w in each]
        return [float(len(rows)), *(float(number) for row in rows for number in row), self.bias]


@dataclass(frozen=True)
class Judgement:
    """What is said of an answer.

    confidence : (k,) of hits, strictly falling. present : the chance that the thing is there. first_page :
    the chance that it is among the first ten. verdict : one of `VERDICTS`.
    """

    confidence: Floats
    present: float
    first_page: float
    verdict: str


@dataclass(frozen=True)
class Model:
    """How to judge the hits of one kind of search.

    present : the chance that the thing is there. first_page : that it is among the first ten, where it is
    there. hit : that a hit is right, where it is there.
    absent : (`QUESTIONS`,) log-odds of presence below which it is said that the thing is probably not there.
    """

    present: Logistic
    first_page: Logistic
    hit: Logistic
    absent: tuple[float, ...]

    @cached_property
    def numbers(self) -> Floats:
        """All of it, as the engine takes it."""
        parts = (self.present, self.first_page, self.hit)
        return np.array([*self.absent, *(number for part in parts for number in part.numbers())])

    @cached_property
    def engine(self) -> _engine.ConfidenceModel:
        """The same, ready to judge."""
        return _engine.ConfidenceModel(self.numbers)

    def judge(self, evidence: Floats, likeness: Floats | None = None) -> Judgement:
        """From the evidence (k, F) of hits, and likeness (L,) of the search."""
        if len(evidence) == 0:
            return Judgement(np.zeros(0), 0.0, 0.0, VERDICTS[1])
        confidence, present, first_page, verdict = self.engine.judge(*_given(evidence, likeness))
        return Judgement(confidence, present, first_page, VERDICTS[verdict])

    def to_json(self) -> dict[str, Any]:
        """As the file that ships has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Model:
        """The inverse of `to_json`."""
        parts = {name: Logistic(**_frozen(part)) for name, part in document.items() if name != "absent"}
        return cls(**parts, absent=tuple(document["absent"]))


def heard(evidence: Floats, likeness: Floats | None = None) -> Floats:
    """What a model may use of each hit: (k, F) of hits and (L,) of the search -> (k, `HEARD`)."""
    return _engine.heard(*_given(evidence, likeness)).reshape(len(evidence), len(HEARD))


def question(evidence: Floats) -> int:
    """Which of the `QUESTIONS` kinds of search it was, from the evidence (k, F) of its hits."""
    return int(_engine.question(np.ascontiguousarray(evidence, np.float64)))


def _given(evidence: Floats, likeness: Floats | None) -> tuple[Floats, Floats]:
    said = np.zeros(0) if likeness is None else likeness
    return np.ascontiguousarray(evidence, np.float64), np.ascontiguousarray(said, np.float64)


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
    def tuples(value: Any) -> Any:
        return tuple(map(tuples, value)) if isinstance(value, list | tuple) else value

    return {name: tuples(value) for name, value in document.items()}
