"""Scoring many pictures against one query: what every engine does, and the one that is used."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..alignment import Placement, Start
from ..query import Query

Ids = NDArray[np.int64]
Scores = NDArray[np.float32]


class Engine(Protocol):
    """A collection laid out for scoring. Pictures are numbered from 0 in the order they were given.

    Answers do not depend on `threads`; equal scores are ordered by picture number. A blank picture scores 0.
    """

    def __len__(self) -> int:
        """The number of pictures."""

    def scores(self, query: Query, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """The exact score of every picture, or of some: the best of all poses, mirrors and translations."""

    def top(self, query: Query, k: int, threads: int | None = None) -> tuple[Ids, Scores]:
        """The k best of `scores`, in order, without computing all of them."""

    def project(self, query: Query, axis: int, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """The best score of one projection (`X` or `Y`), of every picture or of some."""

    def locate(
        self,
        query: Query,
        ids: Ids | None = None,
        guide: str | None = None,
        neighborhood: int = 3,
        threads: int | None = None,
    ) -> Placement:
        """Scores with where they were reached, of every picture or of some.

        guide : None searches the whole grid; "binary" and "local" only near a guess (sections 5.3).
        """

    def settle(self, query: Query, ids: Ids, start: Start, threads: int | None = None) -> Placement:
        """Where some pictures show the drawing best off the grid, near a start (`alignment.settle`).

        query : one of as many poses as shall be tried; its scales need not be those of the collection.
        """

    def energy(self, ids: Ids, threads: int | None = None) -> Scores:
        """Where some pictures' squared norms come from: (m, CELLS, CELLS), see `energy.energy_cells`."""
