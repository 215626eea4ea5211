"""A shard: some of an index's pictures in the memory of one node, and the engine that scores them.

It is an actor of Ray's, which starts, places and restarts it, and carries its questions. It knows nothing of
other shards, and nothing is lost with it: its rows come from the table. One that no front
wants any more ends.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__, system
from ..embeddings.quantisation import ProductCodes
from ..errors import ClusterError, SketchseekError
from ..shape.engine import Engine, Groups, Ids, Scores, _engine
from ..shape.engine.device import engine_on
from ..shape.query import Query
from ..shape.windows import shares
from ..storage.location import Location, refused
from ..storage.schema import IndexConfig, settings_of
from ..storage.snapshot import fragment_name, read_pictures
from ..storage.store import Version
from .sharding import Piece, ShardLayout

if TYPE_CHECKING:
    from ..shape.settings import Settings

LEASE_S = 60.0
"""A shard that no front has asked for so long ends."""
GROUPS = {"scans": 1, "fetches": 4, "loads": 1}
"""Calls of each kind that Ray lets run side by side. A scan has all threads: side by side, all would be late,
and then all fronts at work at once while the shard waits."""
GROUP_OF = {
    "top": "scans",
    "scores": "scans",
    "project": "scans",
    "rows": "fetches",
    "embeddings": "fetches",
    "tokens": "fetches",
    "alike": "fetches",
    "load": "loads",
    "encode": "loads",
}
"""The kind of each call; the others are short, and have a thread of their own."""
KEPT = 2
"""Versions of its rows that a shard holds besides those that fronts want: the newest, and the one before."""
_NAMES = ("codes", "norms", "frames", "windows", "is_line_art", "expansion", "tokens")
_OF_WINDOWS = ("codes", "norms", "frames")


class NotHeldError(SketchseekError):
    """A shard was asked about rows that it has not loaded, or no longer holds."""


@dataclass
class _Rows:
    """The rows of some pieces.

    arrays : codes, norms, frames of each window; windows, is_line_art, expansion, tokens of each picture.
    """

    pieces: tuple[Piece, ...]
    arrays: dict[str, NDArray[Any]]
    engine: Engine
    groups: Groups
    prior: Scores
    product: dict[str, ProductCodes] = field(default_factory=dict)

    @classmethod
    def of(
        cls, pieces: Sequence[Piece], parts: list[dict[str, NDArray[Any]]], settings: Settings, device: str
    ) -> _Rows:
        arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        groups = np.repeat(np.arange(len(arrays["windows"]), dtype=np.int32), arrays["windows"])
        prior = _engine.window_priors(shares(arrays["frames"], groups, arrays["is_line_art"]))
        engine = engine_on(device)(arrays["codes"], arrays["norms"], settings)
        return cls(tuple(pieces), arrays, engine, groups, prior)

    def part(self, piece: Piece) -> dict[str, NDArray[Any]] | None:
        """The rows of one of the pieces."""
        if piece not in self.pieces:
            return None
        at = self.pieces.index(piece)
        row, picture = (sum(getattr(p, n) for p in self.pieces[:at]) for n in ("rows", "pictures"))
        of_windows, of_pictures = slice(row, row + piece.rows), slice(picture, picture + piece.pictures)
        return {n: a[of_windows if n in _OF_WINDOWS else of_pictures] for n, a in self.arrays.items()}

    def encode(self, key: str, means: NDArray[np.float32], centroids: NDArray[np.float32]) -> None:
        """Make product codes of the pictures' embeddings, to be known by a key, unless they are there."""
        from ..embeddings.pictures import centred_rows

        if key in self.product:
            return
        codes = ProductCodes(centroids, np.zeros((0, 64, 64), np.uint8), 0, 0)
        stored = self.arrays["expansion"]
        codes.encode(centred_rows(stored[i : i + 65_536], means) for i in range(0, len(stored), 65_536))
        self.product[key] = codes

    @property
    def bytes(self) -> int:
        """In memory."""
        return sum(a.nbytes for a in self.arrays.values())


class Shard:
    """The actor. `key` names the rows that a question is about (`ShardLayout.keys`).

    per_node : shards that share the cores of a node.
    """

    def __init__(self, where: str, per_node: int, device: str) -> None:
        import ray

        self._location, self._device = Location(where), device
        self._held: dict[str, _Rows] = {}
        self._layout: ShardLayout | None = None
        self._fronts: dict[str, tuple[float, str | None]] = {}  # when each was seen, and what it wants
        self._lock = threading.Lock()
        self._questions: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        system.usual_priority()  # Ray's workers yield to everything else; people wait for a shard
        context = ray.get_runtime_context()
        self._node = context.get_node_id()
        cores = next((n["Resources"].get("CPU", 1) for n in ray.nodes() if n["NodeID"] == self._node), 1)
        self._threads = max(1, int(cores) // per_node)
        threading.Thread(target=self._end_when_forgotten, args=(context.current_actor,), daemon=True).start()

    # --- what it holds, and for whom ----------------------------------------------------------------------

    def renew(self, front: str, wanted: str) -> tuple[str, list[str]]:
        """A front is there, and wants some rows: the version of sketchseek here, and what is held."""
        with self._lock:
            self._fronts[front] = (time.monotonic(), wanted)
        codes = [key for rows in list(self._held.values()) for key in list(rows.product)]
        return __version__, [*self._held, *codes]

    def leave(self, front: str) -> None:
        """A front leaves; the shard ends with the last one."""
        import ray

        with self._lock:
            self._fronts.pop(front, None)
        if not self._recent_fronts(LEASE_S / 4):
            ray.actor.exit_actor()

    def _recent_fronts(self, seconds: float) -> list[str | None]:
        """What each front wants that was seen within so many seconds."""
        with self._lock:
            return [key for seen, key in self._fronts.values() if time.monotonic() - seen < seconds]

    def _end_when_forgotten(self, own: Any) -> None:
        import ray

        time.sleep(LEASE_S)
        while self._recent_fronts(LEASE_S):
            time.sleep(LEASE_S / 10)
        ray.kill(own)

    def layout(self) -> ShardLayout | None:
        """The newest that it was told of."""
        return self._layout

    def load(self, key: str, layout: ShardLayout, config: str, version: int) -> str:
        """Load the pieces of a shard from a version of the table; those held already are kept."""
        self._layout = layout
        pieces = layout.of_shard(layout.keys.index(key))
        if key in self._held:
            self._held[key] = self._held.pop(key)  # the newest again
            return key
        settings = settings_of(IndexConfig.from_json(config))
        self._held[key] = _Rows.of(pieces, self._parts(pieces, version), settings, self._device)
        wanted = self._recent_fronts(LEASE_S / 4)
        for old in list(self._held)[:-KEPT]:
            if old not in wanted:
                del self._held[old]
        return key

    def encode(self, key: str, means: NDArray[np.float32], centroids: NDArray[np.float32]) -> str:
        """Make product codes of what pictures depict. key : of the rows, a space, the name of the codes."""
        with self._asked("encode", key) as rows:
            rows.encode(key, means, centroids)
        return key

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
            "memory": system.peak_bytes(),
            "questions": dict(self._questions),
            "seconds": {name: round(seconds, 6) for name, seconds in self._seconds.items()},
        }

    # --- questions ----------------------------------------------------------------------------------------

    def top(self, key: str, query: Query, k: int) -> tuple[Ids, Scores]:
        """See `Engine.top`: the best pictures, with the prior of their windows."""
        with self._asked("top", key) as rows:
            prior = rows.prior if (rows.prior < 1).any() else None
            return rows.engine.top(query, k, self._threads, groups=rows.groups, prior=prior)

    def scores(self, key: str, query: Query, ids: Ids | None) -> Scores:
        """See `Engine.scores`."""
        with self._asked("scores", key) as rows:
            return rows.engine.scores(query, ids, self._threads)

    def project(self, key: str, query: Query, ids: Ids | None, axis: int) -> Scores:
        """See `Engine.project`."""
        with self._asked("project", key) as rows:
            return rows.engine.project(query, axis, ids, self._threads)

    def rows(self, key: str, ids: Ids) -> tuple[NDArray[Any], Scores]:
        """Codes and norms of some rows."""
        with self._asked("rows", key) as rows:
            return rows.arrays["codes"][ids], rows.arrays["norms"][ids]

    def embeddings(self, key: str, ids: Ids) -> NDArray[np.float16]:
        """What some pictures depict, as stored."""
        with self._asked("embeddings", key) as rows:
            found: NDArray[np.float16] = rows.arrays["expansion"][ids]
            return found

    def tokens(self, key: str, ids: Ids) -> NDArray[np.uint8]:
        """What is where in some pictures, as stored."""
        with self._asked("tokens", key) as rows:
            found: NDArray[np.uint8] = rows.arrays["tokens"][ids]
            return found

    def alike(self, key: str, tables: NDArray[np.uint8], k: int) -> tuple[Ids, NDArray[np.int64]]:
        """The k pictures whose product codes have the largest sums, and those. key : of the codes."""
        with self._asked("alike", key) as rows:
            codes = rows.product[key]
            ids = codes.largest(tables, k, self._threads)
            return ids, codes.sums(tables, ids)

    @contextmanager
    def _asked(self, name: str, key: str) -> Iterator[_Rows]:
        """The rows of a key, for a question that is counted."""
        began = time.monotonic()
        try:
            rows = self._held[key.partition(" ")[0]]
        except KeyError:
            raise NotHeldError("The shard does not hold these rows.") from None
        yield rows
        with self._lock:
            self._questions[name] += 1
            self._seconds[name] += time.monotonic() - began
