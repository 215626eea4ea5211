"""Confidence where something is said: of words alone, and of a drawing with words beside it.

Logistic models of how far pictures stand out by the words, and of what is said of the drawing by itself. They
are data (words_confidence.json), which benchmarks/words_confidence.py fits.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..words import NAMES
from .core import ABSENT, CLOSEST, CORE, LIKELY, PLACE

if TYPE_CHECKING:
    from .rescoring import Answer

Floats = NDArray[np.float64]

OF_SEARCH: Final = (
    "best",
    "mean of the best five",
    "margin to the tenth",
    "log pictures",
    "understood",
    "is a class",
    "best of a class",
    "flat art",
    "best of flat art",
    "best cosine",
    "mean of the best five cosines",
    "usual cosine",
    "cosine of five hits",
    "first hit",
    "mean of five hits",
    "drawn",
)
"""What is heard of a search: z-scores of the pictures that words say most of, and of the first hits; how well
the words are understood; the share of flat art; log-odds of presence by the drawing, 0 without one."""
OF_HIT: Final = ("z", "z of a class", "log rank", "drawn hit")
"""What is heard of a hit, beside that: the last are its log-odds by the drawing, 0 without one."""
BEST: Final = 10
"""Pictures of which words say most that are heard."""
JUDGED: Final = 20
"""Hits that are judged whatever is asked for: what is said of them does not depend on it."""
LIKELY_FROM: Final = NAMES["likely"]
"""The chance of a first page from which on it likely has the thing."""
_STEP = 0.02


@dataclass(frozen=True)
class Chance:
    """Log-odds of what is heard, brought to mean 0 and deviation 1; what is far out counts less."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Chance:
        """The inverse of what a model's `to_json` has of it."""
        return cls(
            tuple(document["mean"]), tuple(document["scale"]), tuple(document["weights"]), document["bias"]
        )

    def log_odds(self, heard: Floats) -> Floats:
        """(..., names) -> (...,)."""
        z = (heard - np.array(self.mean)) / np.array(self.scale)
        out: Floats = (z / np.sqrt(1 + np.square(z / CORE["far out"]))) @ np.array(self.weights) + self.bias
        return out


@dataclass(frozen=True)
class Model:
    """present : the chance that the thing is there. first_page : that it is among the first ten hits where it
    is there; hit : that a hit is right then."""

    present: Chance
    first_page: Chance
    hit: Chance

    def to_json(self) -> dict[str, Any]:
        """As the file that ships has it."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Model:
        """The inverse of `to_json`."""
        return cls(**{name: Chance.from_json(part) for name, part in document.items()})


@dataclass(frozen=True)
class Said:
    """What words say of a search.

    best : (`BEST`,) at most, z-scores of the pictures that words say most of, falling. z : (k,) those of
    hits. called : (k,) how well the names of hits match, 0 where they don't. pictures : how many there are.
    understood : in [0, 1]. is_class : whether it is a class of things. flat_art : the share of the pictures.
    best_cosines, cosines, usual_cosine : of what is asked with the best, falling, with hits, and with usual
    pictures; 0 where nothing is known of looks.
    """

    best: Floats
    z: Floats
    called: Floats
    pictures: int
    understood: float
    is_class: bool
    flat_art: float
    best_cosines: Floats
    cosines: Floats
    usual_cosine: float

    def of_search(self, drawn: float) -> Floats:
        """(`OF_SEARCH`,), where there are hits; drawn : log-odds of presence by the drawing."""
        best = self.best
        return np.array(
            [
                best[0],
                best[:5].mean(),
                best[0] - best[-1],
                np.log10(self.pictures),
                self.understood,
                self.is_class,
                best[0] * self.is_class,
                self.flat_art,
                best[0] * self.flat_art,
                self.best_cosines[0],
                self.best_cosines[:5].mean(),
                self.usual_cosine,
                self.cosines[:5].mean(),
                self.z[0],
                self.z[:5].mean(),
                drawn,
            ]
        )

    def of_hits(self, search: Floats, drawn: Floats) -> Floats:
        """(k, `OF_HIT` + `OF_SEARCH`); drawn : (k,) log-odds of hits by the drawing, 0 without one."""
        k = len(self.z)
        own = np.stack([self.z, self.z * self.is_class, np.log(np.arange(1, k + 1)), drawn], axis=1)
        return np.concatenate([own, np.tile(search, (k, 1))], axis=1)


class Drawn(NamedTuple):
    """Log-odds by the drawing: of presence, and where it is there of the first page and of hits (k,)."""

    present: float
    first_page: float
    hits: Floats


def judge(model: Model, said: Said, drawn: Drawn | None = None) -> tuple[float, float, Floats]:
    """The chances that the thing is there, that it is on the first page, and that each hit is right, falling.

    drawn : what is said of the drawing beside the words.
    """
    k = len(said.z)
    if not k:
        return 0.0, 0.0, np.zeros(0)
    by_drawing = drawn or Drawn(0.0, 0.0, np.zeros(k))
    if said.understood:
        search = said.of_search(by_drawing.present)
        odds, first = (float(part.log_odds(search)) for part in (model.present, model.first_page))
        hits = model.hit.log_odds(said.of_hits(search, by_drawing.hits))
    else:  # names alone are heard, as in a published site
        chances = np.sort(_chance(_by_name(said.z)))[::-1]
        return float(chances[0]), float(chances[0]), chances
    # What is called so was not learned from: files' names say what they are.
    named = np.where(said.called > 0, _by_name(said.z), -np.inf)
    present = _chance(max(odds, float(named.max())))
    confidence = present * _chance(falling(np.maximum(hits, named)))
    return float(present), float(max(present * _chance(first), confidence[0])), confidence


def beside(answer: Answer, said: Said, offset: int) -> Answer:
    """The answer to a drawing, with what words say of its hits.

    offset : the first hit that was placed.
    """
    if not (len(answer.confidence) and said.understood):
        return answer
    present, first_page, confidence = judge(models()["beside a drawing"], said, drawn_of(answer))
    # The bound below which a thing is said to be missing is one of drawings: words may lift an answer above.
    kept = ABSENT if answer.verdict == ABSENT and present <= answer.present else CLOSEST
    places = answer.places.copy()
    hits = places[:, PLACE.index("hit")].astype(np.int64) + offset
    places[:, PLACE.index("confidence")] = confidence[hits]
    return replace(
        answer,
        present=present,
        first_page=first_page,
        verdict=LIKELY if first_page >= LIKELY_FROM else kept,
        confidence=confidence,
        places=places,
    )


def _by_name(z: Floats) -> Floats:
    """Log-odds of pictures by how well they are called what was said; not calibrated."""
    return NAMES["steepness"] * (z - NAMES["half"])


def drawn_of(answer: Answer) -> Drawn:
    """What is said of the drawing alone."""
    there = max(answer.present, 1e-9)
    return Drawn(
        float(_log_odds(answer.present)),
        float(_log_odds(answer.first_page / there)),
        _log_odds(answer.confidence / there),
    )


def falling(log_odds: Floats) -> Floats:
    """The log-odds that are nearest to those given of all that fall by `_STEP` at least from each to the
    next (isotonic regression of what is left when the steps are taken off); after the first `JUDGED` each is
    that much below the one before, or more."""
    pools: list[tuple[float, int]] = []
    for i, value in enumerate(log_odds[:JUDGED].tolist()):
        mean, count = value + _STEP * i, 1
        while pools and pools[-1][0] < mean:
            before, n = pools.pop()
            mean, count = (before * n + mean * count) / (n + count), n + count
        pools.append((mean, count))
    out = [mean for mean, count in pools for _ in range(count)]
    out = [mean - _STEP * i for i, mean in enumerate(out)]
    for value in log_odds[JUDGED:].tolist():
        out.append(min(value, out[-1] - _STEP))
    return np.array(out, np.float64)


@cache
def models() -> dict[str, Model]:
    """Those that ship: of words "alone", and "beside a drawing"."""
    document = json.loads(Path(__file__).with_name("words_confidence.json").read_text())
    if (document["of search"], document["of hit"]) != (list(OF_SEARCH), list(OF_HIT)):
        raise ValueError("words_confidence.json was fitted on other evidence")
    return {name: Model.from_json(model) for name, model in document["models"].items()}


def _chance(log_odds: Any) -> Any:
    return 1 / (1 + np.exp(-np.clip(log_odds, -50, 50)))


def _log_odds(chance: Any) -> Any:
    kept = np.clip(chance, 1e-9, 1 - 1e-9)
    return np.log(kept / (1 - kept))
