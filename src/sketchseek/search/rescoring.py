"""The second step of a search, the one that never varies: the closer look at candidates.

One function of the engine (src/cpp/search/rescoring.hpp) orders them, judges them and places the drawing in
them. Rows that are with other machines are fetched first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..shape.engine import Ids
from ..shape.engine.ids import distinct
from .candidates import Candidates, ShapeScores, drawn_for
from .confidence import model_for
from .core import CORE, EVIDENCE, PLACE, VERDICTS

if TYPE_CHECKING:
    from .state import SearchState

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Answer:
    """A ranking of pictures.

    present : in [0, 1], the chance that the collection has the thing at all. first_page : the chance that
        it is among the first ten. verdict : what is said of both (`core.VERDICTS`).
    pictures : (n,) by number, best first. order : (n,) what orders them, falling.
    confidence : (n,) in [0, 1], the chance of each to be right; falls strictly.
    evidence : (n, F) what they were judged by (`core.EVIDENCE`). likeness : (L,) the same of the whole search
        (`core.LIKENESS`); None where no network was asked, or where it found flat art.
    places : (m, P) hit after hit, the best place of each first (`core.PLACE`), of the hits that are shown.
    """

    present: float
    first_page: float
    verdict: str
    pictures: Ids
    order: Floats
    confidence: Floats
    evidence: Floats
    likeness: Floats | None
    places: Floats


def rescore(shape: ShapeScores, found: Candidates, *, count: int | None = None, place: bool = True) -> Answer:
    """Order, judge and place candidates.

    count : how many pictures to rank at least; the best `offset + k` unless said otherwise. place : whether
    to place the drawing in those from `offset` on, which takes longer than finding them.
    """
    state, options, network_evidence = shape.state, shape.options, found.network_evidence
    part = _Part.of(state, found) if state.collection.host is None else None
    here = part.state if part else state
    rows = found.placed.rows if found.placed is not None else found.rows
    pictures = found.pictures
    background = None
    if part:
        rows, pictures = part.local(rows, pictures)
        ordinary = state.collection.whole(state.collection.ordinary)
        background = state.collection.engine.scores(shape.query_of_hits, ordinary, options.threads)
    answer = here.core.rescore(
        drawn_for(here, shape.points, options) if part else shape.drawn,
        model_for(network_evidence.name if network_evidence else None).engine,
        min(options.k, len(state)),
        min(options.offset, len(state)),
        count or 0,
        normalization=options.local_normalization,
        coverage=options.coverage,
        place=place,
        rows=rows,
        placed=None if found.placed is None else _poses(found),
        pictures=pictures,
        order=None if found.order is None else np.ascontiguousarray(found.order, np.float64),
        network_evidence=network_evidence.columns() if network_evidence else None,
        background=background,
        total=len(state),
        resemblance=found.resemblance.part(part.ids) if part and found.resemblance else found.resemblance,
        icon_blend=CORE["icon blend"],
        threads=shape.threads,
    )
    numbers, places = answer["pictures"], answer["places"].reshape(-1, len(PLACE))
    if part:
        numbers = part.ids[numbers]
        places[:, PLACE.index("picture")] = part.ids[places[:, PLACE.index("picture")].astype(np.int64)]
    return Answer(
        present=answer["present"],
        first_page=answer["first_page"],
        verdict=VERDICTS[answer["verdict"]],
        pictures=numbers,
        order=answer["order"],
        confidence=answer["confidence"],
        evidence=answer["evidence"].reshape(-1, len(EVIDENCE)),
        likeness=network_evidence.likeness if network_evidence else None,
        places=places,
    )


def _poses(found: Candidates) -> NDArray[np.float32]:
    ranking: Any = found.placed
    names = ("score", "scale", "rotation", "mirrored", "dx", "dy")
    return np.stack([getattr(ranking, name) for name in names], axis=1).astype(np.float32)


@dataclass(frozen=True)
class _Part:
    """Candidates whose rows were fetched: some pictures of a state, numbered anew."""

    state: SearchState
    ids: Ids
    rows: Ids

    @classmethod
    def of(cls, state: SearchState, found: Candidates) -> _Part:
        rows = found.placed.rows if found.placed is not None else found.rows
        named = found.pictures if rows is None else state.collection.pictures[rows]
        ids = distinct(np.asarray(named, np.int64))
        return cls(state.part(ids), ids, state.collection.rows_of(ids))

    def local(self, rows: Ids | None, pictures: Ids | None) -> tuple[Ids | None, Ids | None]:
        """Rows and pictures by their new numbers."""
        return (
            None if rows is None else np.searchsorted(self.rows, rows),
            None if pictures is None else np.searchsorted(self.ids, pictures),
        )
