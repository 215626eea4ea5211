"""The C++ engine behind the protocol: folds a query for it, and chooses the build for this machine."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import SketchseekError
from ...system import processors
from ..descriptor import projection
from ..placement import Placement, radius_of
from ..settings import FULL, RADIANS, Floats, Settings, X, Y
from . import Groups, Ids, Scores, _engine, check_top

if TYPE_CHECKING:
    from ...contours.points import Points
    from ..query import Query

VARIABLE = "SKETCHSEEK_ENGINE"
"""Environment variable that forces one build: portable, avx2, avx512, avx512vnni or neon."""

_CODE_UNIT = 2.0**-24  # the kernels leave a code in the upper byte of an integer


def build_name() -> str:
    """The build that is used: the one `SKETCHSEEK_ENGINE` names, otherwise the best for this processor."""
    available = _engine.supported_builds()
    wanted = os.environ.get(VARIABLE) or available[0]
    if wanted not in available:
        raise SketchseekError(
            f"{VARIABLE}={wanted} is not available on this machine: use one of {', '.join(available)}."
        )
    return wanted


def select(scores: Scores, k: int) -> Ids:
    """Positions of the k largest, ascending; ties go to the lower ones. By a histogram, not a sort."""
    return _engine.largest(np.ascontiguousarray(scores, np.float32), k)


def products(rows: NDArray[Any], others: NDArray[Any]) -> Scores:
    """Products of rows (n, d), int8 or float32, with a vector (d,) or several (m, d): (n,) or (n, m).

    Small matrices, on one thread: those of a BLAS library spin for longer than a search takes.
    """
    given = np.ascontiguousarray(others, np.float32)
    found = _engine.products(np.ascontiguousarray(rows), np.atleast_2d(given), build_name())
    return found if given.ndim == 1 else found.reshape(len(rows), len(given))


def largest_sums(codes: NDArray[np.uint8], tables: NDArray[np.uint8], n: int, k: int, threads: int) -> Ids:
    """Which k of n product codes have the largest sums of table entries, best first, ties to lower numbers.

    codes : (blocks, parts / 2, 64), two parts of four bits a byte, 64 vectors side by side.
    tables : (parts, 16), what each centroid of a part counts; at most 256 parts, so that sums fit 16 bits.
    """
    return _engine.largest_sums(codes, tables, n, k, build_name(), threads)


def describe_sizes(points: Points, sizes: ArrayLike, settings: Settings) -> Floats:
    """`descriptor.describe` of a drawing scaled to each of P sizes: (P, D), to the order of float32 sums."""
    drawn = np.stack([points.x, points.y, points.angle, points.weight])
    found = _engine.describe(drawn, np.asarray(sizes, np.float64), *_maps(settings), build_name())
    return found.reshape(-1, settings.dimensions)


class NativeEngine:
    """Vectors (n, D), int8 or float32, used where they lie, and their norms (n, S, 3)."""

    def __init__(self, vectors: NDArray[Any], norms: ArrayLike, settings: Settings) -> None:
        self._settings = settings
        self._collection = _engine.Collection(
            np.ascontiguousarray(vectors),
            np.ascontiguousarray(norms, np.float32),
            len(settings.frequencies),
            len(settings.orientation_frequencies),
            build_name(),
        )
        self._bytes = vectors.dtype == np.int8
        self._last: tuple[Query, _engine.PreparedQuery] | None = None

    def __len__(self) -> int:
        return len(self._collection)

    @property
    def build(self) -> str:
        """The name of the build."""
        return self._collection.build

    @property
    def memory(self) -> int:
        """Bytes that searches read, the vectors included."""
        return self._collection.bytes

    @property
    def host(self) -> NativeEngine:
        """The engine whose rows are in this process: itself."""
        return self

    @property
    def collection(self) -> _engine.Collection:
        """The rows, as the C++ side has them."""
        return self._collection

    def scores(self, query: Query, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """See `Engine.scores`."""
        return self._collection.scores(self._prepared(query), _ids(ids), thread_count(threads))

    def top(
        self,
        query: Query,
        k: int,
        threads: int | None = None,
        *,
        groups: Groups | None = None,
        prior: Scores | None = None,
    ) -> tuple[Ids, Scores]:
        """See `Engine.top`."""
        groups, prior = check_top(len(self), k, groups, prior)
        return self._collection.top(self._prepared(query), k, groups, prior, thread_count(threads))

    def project(self, query: Query, axis: int, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """See `Engine.project`."""
        return self._collection.project(self._prepared(query), axis, _ids(ids), thread_count(threads))

    def locate(
        self,
        query: Query,
        ids: Ids | None = None,
        guide: str | None = None,
        neighborhood: int = 3,
        threads: int | None = None,
    ) -> Placement:
        """See `Engine.locate`."""
        radius = min(radius_of(neighborhood), 2 * int(query.reach.max()))  # which is the whole grid
        score, pose, mirrored, x, y = self._collection.locate(
            self._prepared(query), _ids(ids), guide or "exact", radius, thread_count(threads)
        )
        steps = query.steps[pose]
        dx, dy = (x * steps).astype(np.float32), (y * steps).astype(np.float32)
        return Placement(score, pose, mirrored.astype(bool), dx, dy)

    @cached_property
    def _steps(self) -> Scores:
        """(D,): what a stored component is multiplied with to be one of V."""
        settings = self._settings
        return settings.component_scales if self._bytes else np.ones(settings.dimensions, np.float32)

    def plain_scores(self, query: Query, ids: Ids | None = None, threads: int | None = None) -> Scores:
        """`scores`, by the paper's evaluation of each translation on its own: for comparison."""
        return self._collection.plain_scores(self._prepared(query), _ids(ids), thread_count(threads))

    def _prepared(self, query: Query) -> _engine.PreparedQuery:
        """The query laid out for the kernels; a search asks for it several times."""
        last = self._last
        if last is None or last[0] is not query:
            self._last = last = query, self._folded(query)
        return last[1]

    def _folded(self, query: Query) -> _engine.PreparedQuery:
        """The query side with the one-byte code's steps and its own norms folded in."""
        settings = self._settings
        if query.vectors.shape[1] != settings.dimensions:
            raise ValueError("query must not have other settings than the collection")
        inverse = np.divide(1.0, query.norms, out=np.zeros_like(query.norms), where=query.norms > 0)
        full = query.vectors * self._steps * inverse[:, [FULL]]
        sides = [projection(self._steps, axis, settings) for axis in (X, Y)]
        projections = query.projections * np.stack(sides) * inverse[:, [X, Y], None]
        return _engine.PreparedQuery(
            np.ascontiguousarray(full * (_CODE_UNIT if self._bytes else 1.0), np.float32),
            np.ascontiguousarray(projections, np.float32),
            np.asarray(settings.frequencies, np.float64),
            query.steps * RADIANS,
            query.reach,
            query.kernels,
            query.mirror,
            self._dual[query.kernels] if self._bytes else None,
        )

    @cached_property
    def _dual(self) -> Scores:
        """(S, D): what an error of one in the factor of a stored byte does to a score at most, by kernel.

        In the dual of the norm that a picture is divided by. A component of no weight has no error.
        """
        length = np.sqrt(self._settings.component_weights) * self._settings.component_scales
        return np.divide(1, length, out=np.zeros_like(length), where=length > 0)


def _maps(settings: Settings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.asarray(settings.frequencies), np.asarray(settings.orientation_frequencies)


def _ids(ids: Ids | None) -> Ids | None:
    return None if ids is None else np.ascontiguousarray(ids, np.int64)


def thread_count(threads: int | None) -> int:
    """Those that were asked for; None stands for one per core that this process may use."""
    if threads is None:
        return processors()
    if threads < 1:
        raise ValueError(f"threads must be positive, got {threads}")
    return threads
