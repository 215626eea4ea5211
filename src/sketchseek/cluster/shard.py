"""A shard: some of an index's pictures in the memory of one node, and the engine that scores them.

It is an actor of Ray's, which starts it, places it and carries what is asked seldom; searches ask it over
sockets (`wire.py`). It knows nothing of other shards, and nothing is lost with it: its rows come from the
table. One that nobody has asked for a while ends.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..depiction.quantisation import ProductCodes
from ..errors import SketchseekError
from ..shape.engine import Engine, Groups, Ids, Scores, _engine
from ..shape.engine.device import engine_on
from ..shape.placement import Placement
from ..shape.query import Query
from ..shape.views import shares
from ..storage.location import Location, refused
from ..storage.schema import Recipe, settings_of
from ..storage.snapshot import fragment_name, read_pictures
from ..storage.store import Version
from .connection import ClusterError
from .layout import Layout, Piece
from .wire import Address, Server

if TYPE_CHECKING:
    from ..shape.settings import Settings

LEASE_S = 60.0
"""A shard that no front has asked for so long ends."""
SCANS = frozenset({"scores", "top", "project"})
"""Questions about many rows, each of which has all threads: they are answered one after the other. Side by
side, all would be late, and then all fronts at work at once while the shard waits."""
KEPT = 2
"""Versions of its rows that a shard holds besides those that fronts want: the newest, and the one before."""
_NAMES = ("codes", "norms", "frames", "views", "is_line_art", "expansion")
_OF_VIEWS = ("codes", "norms", "frames")


class NotHeldError(SketchseekError):
    """A shard was asked about rows that it has not loaded, or no longer holds."""


@dataclass
class _Rows:
    """The rows of some pieces.

    arrays : codes, norms, frames of each view; views, is_line_art, expansion of each picture.
    """

    pieces: tuple[Piece, ...]
    arrays: dict[str, NDArray[Any]]
    engine: Engine
    groups: Groups
    prior: Scores
    product: dict[str, tuple[NDArray[np.float32], ProductCodes]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, pieces: Sequence[Piece], parts: list[dict[str, NDArray[Any]]], settings: Settings, device: str
    ) -> _Rows:
        arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        groups = np.repeat(np.arange(len(arrays["views"]), dtype=np.int32), arrays["views"])
        prior = _engine.view_priors(shares(arrays["frames"], groups, arrays["is_line_art"]))
        engine = engine_on(device)(arrays["codes"], arrays["norms"], settings)
        return cls(tuple(pieces), arrays, engine, groups, prior)

    def part(self, piece: Piece) -> dict[str, NDArray[Any]] | None:
        """The rows of one of the pieces."""
        if piece not in self.pieces:
            return None
        at = self.pieces.index(piece)
        row, picture = (sum(getattr(p, n) for p in self.pieces[:at]) for n in ("rows", "pictures"))
        of_views, of_pictures = slice(row, row + piece.rows), slice(picture, picture + piece.pictures)
        return {n: a[of_views if n in _OF_VIEWS else of_pictures] for n, a in self.arrays.items()}

    @property
    def bytes(self) -> int:
        """In memory."""
        return sum(a.nbytes for a in self.arrays.values())


class Shard:
    """The actor. Its public methods are asked through Ray; `Questions` are asked over the wire."""

    def __init__(self, where: str, threads: int, device: str, host: str | None = None) -> None:
        import ray

        self._location, self._device = Location(where), device
        self._threads = threads
        self._held: dict[str, _Rows] = {}
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._fronts: dict[str, tuple[float, str | None]] = {}  # when each was seen, and what it wants
        self._layout: Layout | None = None
        self._ending = self._retired = False
        self._asked = time.monotonic()
        self._questions: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        with suppress(OSError):  # Ray's workers yield to everything else; people wait for a shard
            os.setpriority(os.PRIO_PROCESS, 0, 0)
        self._node = ray.get_runtime_context().get_node_id()
        self._server = Server(host or ray.util.get_node_ip_address(), self._answer)
        threading.Thread(target=self._end_when_forgotten, daemon=True).start()

    def hello(self) -> tuple[str, str, Address, Layout | None] | None:
        """The version of sketchseek here, the node, where questions are answered, and the newest layout.

        None if it is about to end.
        """
        self._asked = time.monotonic()
        return None if self._ending else (__version__, self._node, self._server.address, self._layout)

    def prepare(self, shard: int, layout: Layout, recipe: str, version: int) -> None:
        """Load the pieces of a shard from a version of the table; those held already are kept."""
        with self._lock:
            self._asked = time.monotonic()
            self._layout = layout
            key, pieces = layout.keys[shard], layout.of_shard(shard)
            if key in self._held:
                self._held[key] = self._held.pop(key)  # the newest again
                return
            settings = settings_of(Recipe.from_json(recipe))
            rows = _Rows.of(pieces, self._parts(pieces, version), settings, self._device)
            self._held[key] = rows
            wanted = {key for _, key in self._recent_fronts().values()}
            for old in list(self._held)[:-KEPT]:
                if old not in wanted:
                    del self._held[old]

    def _recent_fronts(self) -> dict[str, tuple[float, str | None]]:
        since = time.monotonic() - LEASE_S / 4
        return {name: front for name, front in self._fronts.items() if front[0] > since}

    def _parts(self, pieces: Sequence[Piece], number: int) -> list[dict[str, NDArray[Any]]]:
        import lance

        try:
            dataset = lance.dataset(self._location.table, version=number)
            version = Version.of(dataset, self._location)
        except (OSError, ValueError) as error:
            refusal = refused(self._location, error)
            if refusal is not None:
                raise ClusterError(f"A node of the cluster says: {refusal}") from error
            raise ClusterError(
                f"A node of the cluster cannot read the index in {self._location}: put it into a folder that "
                "all nodes share, or into an object store."
            ) from error
        fragments = {fragment_name(fragment): fragment for fragment in dataset.get_fragments()}
        parts = []
        for piece in pieces:
            known = (rows.part(piece) for rows in reversed(self._held.values()))
            part = next((arrays for arrays in known if arrays is not None), None)
            if part is None:
                if piece.fragment not in fragments:
                    raise NotHeldError(f"Version {number} of the table has no fragment {piece.fragment_id}.")
                read = read_pictures(
                    version, [fragments[piece.fragment]], part=range(piece.first, piece.last)
                )
                part = {n: np.concatenate([p[n] for p in read]) for n in _NAMES if n in read[0]}
            parts.append(part)
        if not parts:
            parts = [{n: a for n, a in read_pictures(version, [])[0].items() if n in _NAMES}]
        return parts

    def ping(self, front: str, wanted: str | None) -> tuple[list[str], bool]:
        """What is held, from the oldest to the newest, and whether there is a newer process to go to.

        A front says that it is there, and what it wants.
        """
        self._asked = time.monotonic()
        self._fronts[front] = (self._asked, wanted)
        return list(self._held), self._retired

    def retire(self) -> int:
        """Tell fronts to go to the newer process; how many have not left yet."""
        self._retired = True
        return len(self._recent_fronts())

    def release(self, front: str) -> bool:
        """A front leaves; whether it is the last one, and shall end the shard, which no other then joins."""
        self._fronts.pop(front, None)
        self._ending = not self._recent_fronts()
        return self._ending

    def status(self) -> dict[str, Any]:
        """For people and for monitoring."""
        newest = next(reversed(self._held.values())) if self._held else None
        return {
            "index": str(self._location),
            "node": self._node,
            "pid": os.getpid(),
            "version": __version__,
            "pictures": sum(p.pictures for p in newest.pieces) if newest else 0,
            "rows": len(newest.engine) if newest else 0,
            "bytes": sum(rows.bytes for rows in self._held.values()),
            "memory": _peak_bytes(),
            "questions": dict(self._questions),
            "seconds": {name: round(seconds, 6) for name, seconds in self._seconds.items()},
        }

    def slow_down(self, seconds: float) -> None:
        """Answer each question so much later: to try what fronts do about it."""
        self._delay = seconds

    _delay = 0.0

    def encode(self, key: str, name: str, means: NDArray[np.float32], centroids: NDArray[np.float32]) -> None:
        """Make product codes of the pictures' descriptors, to be known by `name`."""
        from ..depiction.pictures import centred_rows

        rows = self._rows(key)
        if name in rows.product:
            return
        codes = ProductCodes(centroids, np.zeros((0, 64, 64), np.uint8), 0, 0)
        stored = rows.arrays["expansion"]
        codes.encode(centred_rows(stored[i : i + 65_536], means) for i in range(0, len(stored), 65_536))
        rows.product[name] = (means, codes)

    def _rows(self, key: str) -> _Rows:
        try:
            return self._held[key]
        except KeyError:
            raise NotHeldError("The shard does not hold these rows.") from None

    def _answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        began = self._asked = time.monotonic()
        if self._delay:
            time.sleep(self._delay)
        key, *rest = arguments
        with self._turn if name in SCANS else nullcontext():
            answered = getattr(Questions, name)(self._rows(key), self._threads, *rest)
        self._questions[name] += 1
        self._seconds[name] += time.monotonic() - began
        return answered

    def _end_when_forgotten(self) -> None:
        while time.monotonic() - self._asked < LEASE_S:
            time.sleep(LEASE_S / 10)
        os._exit(0)


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


class Questions:
    """What is asked over the wire, about the rows of one key: the engine's methods, and rows themselves."""

    @staticmethod
    def scores(rows: _Rows, threads: int, query: Query, ids: Ids | None) -> Scores:
        """See `Engine.scores`."""
        return rows.engine.scores(query, ids, threads)

    @staticmethod
    def top(
        rows: _Rows,
        threads: int,
        query: Query,
        k: int,
        given: tuple[Groups | None, Scores | None] | None,
    ) -> tuple[Ids, Scores]:
        """See `Engine.top`. given : groups and prior; None for those of the rows' own views."""
        groups, prior = given or (rows.groups, rows.prior if (rows.prior < 1).any() else None)
        return rows.engine.top(query, k, threads, groups=groups, prior=prior)

    @staticmethod
    def project(rows: _Rows, threads: int, query: Query, ids: Ids | None, axis: int) -> Scores:
        """See `Engine.project`."""
        return rows.engine.project(query, axis, ids, threads)

    @staticmethod
    def locate(
        rows: _Rows, threads: int, query: Query, ids: Ids | None, near: tuple[str | None, int]
    ) -> Placement:
        """See `Engine.locate`. near : guide and neighborhood."""
        return rows.engine.locate(query, ids, *near, threads)

    @staticmethod
    def rows(rows: _Rows, threads: int, ids: Ids) -> tuple[NDArray[Any], Scores]:
        """Codes and norms of some rows."""
        return rows.arrays["codes"][ids], rows.arrays["norms"][ids]

    @staticmethod
    def descriptors(rows: _Rows, threads: int, ids: Ids) -> NDArray[np.float16]:
        """What some pictures depict, as stored."""
        descriptors: NDArray[np.float16] = rows.arrays["expansion"][ids]
        return descriptors

    @staticmethod
    def alike(
        rows: _Rows, threads: int, name: str, tables: NDArray[np.uint8], k: int
    ) -> tuple[Ids, NDArray[np.int64]] | None:
        """The k pictures whose product codes have the largest sums, and those; None without these codes."""
        if name not in rows.product:
            return None
        codes = rows.product[name][1]
        ids = codes.largest(tables, k, threads)
        return ids, codes.sums(tables, ids)
