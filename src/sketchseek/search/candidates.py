"""The first step of a search, the one that varies: which pictures may show the drawing.

By the exact scan on this machine's processor or on a graphics processor, by the paper's other methods, among
the pictures of one folder, on the machines of a cluster: each names rows, and `rescoring.py` does the
rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..shape.engine import Ids, _engine
from ..shape.engine.ids import is_among
from ..shape.engine.native import thread_count
from ..shape.query import Query, turns
from .core import CORE
from .ranking import Ranking, best_first, located, rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contours.points import Points
    from .network_evidence import NetworkEvidence
    from .options import Options
    from .state import SearchState


SHORTLIST = 20
"""Windows that are compared exactly for each picture that a blended search wants of the best by shape."""


@dataclass(frozen=True)
class Candidates:
    """Pictures that may show the drawing: one of the three.

    rows : (n,) rows, of which the best of each picture counts, in any order.
    placed : the best row of each picture and where the drawing is in it, best first.
    pictures : (n,) by number, as something beyond the shape has ordered them, by `order` (n,);
        `network_evidence` is what a network says of them.

    With rows and placed, and with pictures as evidence alone: how much all resemble the drawing, as the icon
    network sees it.
    """

    rows: Ids | None = None
    placed: Ranking | None = None
    pictures: Ids | None = None
    order: NDArray[np.floating[Any]] | None = None
    network_evidence: NetworkEvidence | None = None
    resemblance: _engine.Resemblance | None = None


class ShapeScores:
    """A drawing's plain scores for the pictures of a state, computed where they are asked for.

    strokes : what was drawn; None where that is not known, or is no drawing.
    among : the pictures to choose from, by number, ascending; None for all. These are compared exactly,
        whatever the method.
    """

    def __init__(
        self, state: SearchState, points: Points, options: Options, strokes: Sequence[ArrayLike] | None = None
    ) -> None:
        self.state, self.points, self.options, self._strokes = state, points, options, strokes
        self.among = None if options.folder is None else state.folders.under(options.folder)
        self.method = options.method or state.method
        self._is_native = state.collection.host is state.collection.engine

    def __len__(self) -> int:
        """How many pictures there are to choose from."""
        return len(self.state if self.among is None else self.among)

    @cached_property
    def query(self) -> Query:
        """The drawing in every pose that is tried, for engines and methods."""
        options = self.options
        return Query.of(
            self.points, self.state.settings, mirror=options.mirror, rotations=turns(options.degrees)
        )

    @cached_property
    def query_of_hits(self) -> Query:
        """The same in the poses that hits are looked at with: turned in finer steps."""
        options = self.options
        if not options.degrees or options.local_normalization == 0:
            return self.query
        finer = turns(options.degrees, CORE["fine turn step"])
        return Query.of(self.points, self.state.settings, mirror=options.mirror, rotations=finer)

    @cached_property
    def drawn(self) -> _engine.PreparedDrawing:
        """The same for the core, over rows that are in this process."""
        return drawn_for(self.state, self.points, self.options)

    @cached_property
    def resemblance(self) -> _engine.Resemblance | None:
        """How much the pictures resemble the drawing, as the icon network sees both.

        None where that has no say: in other collections than of line art or flat art, for a drawing that is
        turned, for shape alone, and for the paper's ways.
        """
        options, icons = self.options, self.state.icons
        by_shape = (
            options.blend == 0
            or options.local_normalization == 0
            or options.method not in (None, "exhaustive")
        )
        if icons is None or self._strokes is None or by_shape or options.degrees:
            return None
        from ..embeddings.icons import embed_drawing

        return icons.resemblance(embed_drawing(self._strokes)) or None

    @property
    def threads(self) -> int:
        """How many may work at a time."""
        return thread_count(self.options.threads)

    def candidates(self, k: int, rejected: Ids) -> Candidates:
        """The k best pictures that were not rejected."""
        k, collection = min(k + len(rejected), len(self)), self.state.collection
        if self.among is None and self.method != "exhaustive":
            placed = rank(collection, self.query, method=self.method, k=k, **self.options.ranking)
            more = self._resembling(placed.ids)
            placed = placed + located(collection, self.query, more) if len(more) else placed
            placed = placed.take(np.flatnonzero(~is_among(placed.ids, rejected)))
            return Candidates(placed=placed, resemblance=self.resemblance)
        rows = self._rows(k)
        rows = np.concatenate([rows, collection.rows_of(self._resembling(collection.pictures[rows]))])
        if len(rejected):
            rows = rows[~is_among(collection.pictures[rows], rejected)]
        return Candidates(rows=rows, resemblance=self.resemblance)

    def _resembling(self, known: NDArray[np.integer[Any]]) -> Ids:
        """The pictures that resemble the drawing most, but for those that are known."""
        if self.resemblance is None:
            return np.zeros(0, np.int64)
        most = self.resemblance.most()
        return most[~is_among(most, known) & (True if self.among is None else is_among(most, self.among))]

    def _rows(self, k: int) -> Ids:
        collection = self.state.collection
        if self.among is not None:
            return collection.rows_of(self.best(k))
        if self._is_native:
            return self.state.core.candidates(self.drawn, k, self.threads)
        if k >= len(self):
            return np.arange(len(collection.engine))
        return collection.top(self.query, k, self.options.threads)

    def best(self, k: int) -> Ids:
        """The k best pictures, by number, best first; by the paper's two stages unless a method is given."""
        collection, options = self.state.collection, self.options
        if self.among is not None:
            return self.among[best_first(self.at(self.among), k)]
        if self.method == "exhaustive" and (options.method or not self._is_native) and k < len(self):
            return collection.pictures[self._rows(k)].astype(np.int64)
        how = options.ranking
        if options.method is None and self._is_native:
            how |= {"method": "dpf", "shortlist": SHORTLIST * k}
        return rank(collection, self.query, k=k, **{"method": self.method, **how}).ids

    def at(self, ids: Ids) -> NDArray[np.float32]:
        """The scores of some pictures, each that of its best window."""
        if self._is_native:
            return self.state.core.scores(self.drawn, np.ascontiguousarray(ids, np.int64), self.threads)
        collection = self.state.collection
        rows = collection.rows_of(np.asarray(ids))
        scores = collection.weighted(collection.engine.scores(self.query, rows, self.options.threads), rows)
        starts = np.flatnonzero(np.diff(collection.pictures[rows], prepend=-1))
        return np.maximum.reduceat(scores, starts) if len(rows) else scores

    def whole(self, ids: Ids) -> NDArray[np.float32]:
        """The scores of some pictures, each as a whole."""
        if self._is_native:
            return self.state.core.whole_scores(self.drawn, np.ascontiguousarray(ids, np.int64), self.threads)
        collection = self.state.collection
        return collection.engine.scores(self.query, collection.whole(ids), self.options.threads)


def drawn_for(state: SearchState, points: Points, options: Options) -> _engine.PreparedDrawing:
    """A drawing laid out for a state whose rows are in this process."""
    drawn = np.stack([points.x, points.y, points.angle, points.weight]).astype(np.float32)
    return state.core.drawn(drawn, points.width, points.height, options.mirror, options.degrees)
