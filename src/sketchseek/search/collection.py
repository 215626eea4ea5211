"""The descriptors of many pictures, ready to be searched: a row for each window of a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contours.points import Points
from ..shape.descriptor import describe, encode, norms
from ..shape.engine import Engine, Ids, Remote, _engine
from ..shape.engine.native import NativeEngine
from ..shape.query import Query
from ..shape.settings import Settings

_BLOCK = 8192


class Collection:
    """The descriptors of many pictures, ready to be searched: a row for each window of a picture.

    Parameters
    ----------
    vectors : (n, D), one-byte codes (int8) or float32. Kept, not copied.
    norms : (n, S, 3) float32, of the vectors as stored (for codes: of the decoded ones).
    settings : what gave the vectors.
    engine : what scores them; the C++ engine unless another is given.
    pictures : (n,) ascending, the number of the picture that each row is a window of; None: a row a picture.
    shares : (n,) in (0, 1], the size of each window beside its picture's first one, which is all of it.
    """

    def __init__(
        self,
        vectors: NDArray[Any],
        norms: ArrayLike,
        settings: Settings,
        engine: Callable[[NDArray[Any], ArrayLike, Settings], Engine] = NativeEngine,
        *,
        pictures: ArrayLike | None = None,
        shares: ArrayLike | None = None,
    ) -> None:
        self.vectors, self.settings = vectors, settings
        self.engine = engine(vectors, norms, settings)
        n = len(self.engine)
        several = pictures is not None and not np.array_equal(pictures, np.arange(n))
        self.pictures = np.asarray(pictures if several else np.arange(n), np.int32)
        self.shares = np.ones(n, np.float32) if shares is None else np.asarray(shares, np.float32)
        self.prior = _engine.window_priors(self.shares) if (self.shares < 1).any() else None
        self._groups = self.pictures if several else None
        self._starts = np.searchsorted(self.pictures, np.arange(self.pictures[-1] + 2 if n else 1))

    @classmethod
    def of(
        cls,
        windows: Iterable[Points],
        settings: Settings,
        storage: str = "int8",
        *,
        pictures: ArrayLike | None = None,
        shares: ArrayLike | None = None,
    ) -> Collection:
        """The descriptors of windows' contours, stored as one-byte codes or as "float32"."""
        vectors = np.stack([describe(points, settings) for points in windows])
        stored = encode(vectors, settings) if storage == "int8" else vectors
        return cls(stored, norms(stored, settings), settings, pictures=pictures, shares=shares)

    def take(self, ids: Ids) -> Collection:
        """Some of the pictures, numbered anew in that order."""
        rows = self.rows_of(ids)
        counts = self._starts[ids + 1] - self._starts[ids]
        vectors, its_norms = self._stored(rows)
        return Collection(
            vectors,
            its_norms,
            self.settings,
            pictures=np.repeat(np.arange(len(ids)), counts),
            shares=self.shares[rows],
        )

    def _stored(self, rows: Ids) -> tuple[NDArray[Any], ArrayLike]:
        """Some rows as they are stored, and their norms."""
        if isinstance(self.engine, Remote):
            return self.engine.fetch(rows)
        vectors = self.vectors[rows]
        return vectors, norms(vectors, self.settings)

    def __len__(self) -> int:
        """The number of pictures."""
        return len(self._starts) - 1

    @property
    def host(self) -> NativeEngine | None:
        """The engine whose rows are in this process; None where they are with the machines of a cluster."""
        return self.engine.host

    @property
    def has_windows(self) -> bool:
        """Whether some picture has several rows."""
        return self._groups is not None

    @cached_property
    def most_windows(self) -> int:
        """How many rows the picture with the most of them has."""
        return int(np.diff(self._starts).max()) if len(self) else 0

    def rows_of(self, ids: Ids) -> Ids:
        """The rows of some pictures, picture after picture."""
        counts = self._starts[ids + 1] - self._starts[ids]
        before = np.cumsum(counts) - counts
        rows: Ids = np.repeat(self._starts[ids] - before, counts) + np.arange(counts.sum())
        return rows

    def whole(self, ids: Ids) -> Ids:
        """Of each of some pictures the first row, which is all of it."""
        rows: Ids = self._starts[ids]
        return rows

    @cached_property
    def ordinary(self) -> Ids:
        """Pictures that say what an ordinary score is, by number, ascending: as the core chooses them, for
        rows that are elsewhere."""
        spread = _engine.spread(len(self))
        vectors, _ = self._stored(self.whole(spread))
        return spread[_engine.ordinary(np.ascontiguousarray(vectors))]

    def top(self, query: Query, k: int, threads: int | None = None) -> Ids:
        """The rows of the k best pictures, each by its best window, best first."""
        return self.engine.top(query, k, threads, groups=self._groups, prior=self.prior)[0]

    def weighted(self, scores: NDArray[np.float32], rows: Ids) -> NDArray[np.float32]:
        """Scores of some rows, times the prior of their windows: what windows are compared by."""
        return scores if self.prior is None else scores * self.prior[rows]

    def with_settings(self, settings: Settings) -> Collection:
        """The same vectors for other kernels (`Settings.with_scales`): only the norms are computed anew."""
        found = [norms(self.vectors[b : b + _BLOCK], settings) for b in range(0, len(self.engine), _BLOCK)]
        empty = np.empty((0, len(settings.scales), 3), np.float32)
        known = np.concatenate([empty, *found])
        return Collection(self.vectors, known, settings, pictures=self.pictures, shares=self.shares)
