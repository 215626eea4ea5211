"""Scoring many pictures against one query: what every engine does, and the one that is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..placement import Placement

if TYPE_CHECKING:
    from ..query import Query
    from .native import NativeEngine

Ids = NDArray[np.int64]
Scores = NDArray[np.float32]
Groups = NDArray[np.int32]


class Engine(Protocol):
    """A collection laid out for scoring: a row a picture, or a row for each of a picture's windows.

    Rows are numbered from 0 in the order they were given; ids are their numbers. Answers do not depend on
    `threads`; equal scores are ordered by row. A blank picture scores 0.
    """

    def __len__(self) -> int:
        """The number of rows."""

    @property
    def host(self) -> NativeEngine | None:
        """The engine whose rows are in this process; None where they are with the machines of a cluster."""

    def scores(self, query: Query, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """The exact score of every row, or of some: the best of all poses, mirrors and translations."""

    def top(
        self,
        query: Query,
        k: int,
        threads: int | None = None,
        *,
        groups: Groups | None = None,
        prior: Scores | None = None,
    ) -> tuple[Ids, Scores]:
        """The k best of `scores`, in order, without computing all of them.

        groups : (n,) the picture that each row is a window of, from 0; then the k best pictures are returned,
            each by its best row. Without them every row is a picture.
        prior : (n,) in (0, 1], what a row's score is multiplied with before it is compared, and returned.
        """

    def project(self, query: Query, axis: int, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """The best score of one projection (`X` or `Y`), of every row or of some."""

    def locate(
        self,
        query: Query,
        ids: Ids | None = None,
        guide: str | None = None,
        neighborhood: int = 3,
        threads: int | None = None,
    ) -> Placement:
        """Scores with where they were reached, of every row or of some.

        guide : None searches the whole grid, the others only near a guess (section 5.3): "binary" near the
            binary polynomial's maximum, at the pose that it finds best; "binary-all" near its maximum at
            every pose; "local-all" near the maxima of the two projections at every pose.
        neighborhood : so many translations a side, an odd number.
        """


@runtime_checkable
class Remote(Protocol):
    """An engine whose rows are elsewhere, and can be fetched."""

    def fetch(self, ids: Ids) -> tuple[NDArray[Any], Scores]:
        """Some rows as they are stored, and their norms."""


def best_of_groups(scores: Scores, k: int, groups: Groups | None, prior: Scores | None) -> tuple[Ids, Scores]:
    """What `Engine.top` answers when every row has been scored."""
    weighted = scores if prior is None else scores * prior
    order = np.argsort(-weighted, kind="stable")
    if groups is not None:
        _, first = np.unique(groups[order], return_index=True)
        order = order[np.sort(first)]
    ids = order[:k]
    return ids, weighted[ids]


def check_top(
    n: int, k: int, groups: Groups | None, prior: Scores | None
) -> tuple[Groups | None, Scores | None]:
    """The arguments of `Engine.top` for n rows, as the arrays it is told of, or an error that names one."""
    if k < 1:
        raise ValueError(f"k must be positive, got {k}")
    if groups is not None:
        groups = np.ascontiguousarray(groups, np.int32)
        if groups.shape != (n,) or (n and groups.min() < 0):
            raise ValueError(f"groups must be a picture number for each of the {n} rows")
    if prior is not None:
        prior = np.ascontiguousarray(prior, np.float32)
        if prior.shape != (n,) or not ((prior > 0) & (prior <= 1)).all():
            raise ValueError(f"prior must be a factor in (0, 1] for each of the {n} rows")
    return groups, prior
