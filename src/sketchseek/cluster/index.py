"""An `Index` whose rows are with the shards of a cluster; everything above its engine is the same code."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contours.drawing import Sketch
from ..errors import ClusterError, SketchseekError
from ..index import EXACT_WINDOWS, Index, by_shape_alone
from ..search.hit import Hits
from ..search.missing import missing_last
from ..search.search import search
from ..search.words import CLASSES
from ..shape.engine import _engine
from ..shape.windows import shares
from ..storage.location import Location, no_index
from ..storage.schema import settings_of
from ..storage.snapshot import TEXTS, Snapshot, fragment_name, read_pictures
from .embeddings import Codebooks, remote_embeddings, remote_tokens
from .engine import ClusterEngine, RemoteRows, engine_of, searching
from .fleet import ClusterOptions, Fleet
from .sharding import ShardLayout, assign_shards

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contours.drawing import Drawing
    from ..embeddings import EmbeddingIndex, Pictures
    from ..indexing import Report
    from ..search.collection import Collection
    from ..search.options import Options
    from ..search.state import SearchState

FOLLOW_S = 1.0
"""How often a served index looks for a new version."""
CATCH_UP_S = 120.0
"""So long may shards take to load a new version before a served index goes on with the one it has."""
LOAD_S = 600.0


class _Codes(RemoteRows):
    """A snapshot's codes, with the engine that scores them."""

    def __init__(self, engine: ClusterEngine, shape: tuple[int, int]) -> None:
        super().__init__(engine.codes, shape, np.int8)
        self.engine = engine


class ClusterIndex(Index):
    """An index that is searched on the Ray cluster that this process has joined (`connection.connect`).

    >>> with connect("auto"), ClusterIndex.spread("pictures.index") as index:     # doctest: +SKIP
    ...     hits = index.search("mug.png")
    ...     hits.covered                                                       # 1.0: all shards answered

    The index must be where every node can read it: a shared folder, or an object store.
    """

    def __init__(self, location: Location, options: ClusterOptions) -> None:
        if not location.exists():  # before anything is started for it
            raise no_index(location)
        self.fleet = Fleet(location.text, options)
        self._fragments: dict[str, dict[str, NDArray[Any]]] = {}
        self.layout: ShardLayout | None = None
        self._codebooks = Codebooks()
        self._following: threading.Thread | None = None
        self._closed = threading.Event()
        try:
            super().__init__(location, device="cpu")
        except BaseException:
            self.fleet.close()
            raise

    @classmethod
    def spread(
        cls, where: str | os.PathLike[str], options: ClusterOptions | None = None, *, follow: bool = False
    ) -> ClusterIndex:
        """Open an index that is there, on shards.

        follow : go to new versions by itself, as they come, while searches go on with the one before.
        """
        index = cls(Location(where), options or ClusterOptions())
        if follow:
            index._following = threading.Thread(target=index._follow, daemon=True, name="sketchseek-follow")
            index._following.start()
        return index

    def close(self) -> None:
        """Leave the shards; those that no other front uses end."""
        self._closed.set()
        if self._following is not None:
            self._following.join(timeout=5)
        self.fleet.close()

    def _search(self, drawing: Drawing | None, options: Options) -> Hits:
        """`covered` of the hits says which share of the pictures answered before the deadline."""
        snapshot, state = self._now
        learned = _learned(state)
        try:
            with searching(self.fleet.options.deadline) as scope:
                hits = search(state, None if drawing is None else Sketch.of(drawing), options)
        finally:
            if scope.lost:
                _forget(state, _learned(state) - learned)
        if options.blend is None and drawing is not None:
            hits.note = hits.note or by_shape_alone(self._no_encoder)
        hits = missing_last(hits)
        if not scope.lost:
            return hits
        layout: ShardLayout = snapshot.codes.layout  # type: ignore[attr-defined]
        shards, _ = layout.pictures.homes(np.array([state.number(hit.id) for hit in hits], np.int64))
        reached = ~np.isin(shards, list(scope.lost))
        found = hits.others(hit for hit, there in zip(hits, reached, strict=True) if there)
        lost = sum(int(layout.pictures.of_shard[shard]) for shard in scope.lost)
        found.covered = round(1 - lost / max(len(layout.pictures), 1), 6)
        return found

    def add(self, paths: Any = None, **options: Any) -> Report:
        """See `Index.add`."""
        report = super().add(paths, **options)
        self._refresh_now()
        return report

    def _method_for(self, snapshot: Snapshot, collection: Collection) -> str:
        """For the largest shard: they search at the same time."""
        layout: ShardLayout = snapshot.codes.layout  # type: ignore[attr-defined]
        long = collection.has_windows and layout.rows.of_shard.max() > EXACT_WINDOWS
        return "projections" if long else "exhaustive"

    def measures(self) -> list[tuple[str, dict[str, str], float]]:
        """Of each replica of each shard, and of how they were asked."""
        found = []
        for row in self.fleet.status():
            labels = {"shard": str(row["shard"]), "replica": str(row["replica"])}
            found.append(("sketchseek_shard_up", labels, float(row["state"] == "ready")))
            for name in ("pictures", "rows", "bytes", "memory"):
                if name in row:
                    found.append((f"sketchseek_shard_{name}", labels, float(row[name])))
            for question, count in row.get("questions", {}).items():
                asked = {**labels, "question": question}
                found.append(("sketchseek_shard_questions_total", asked, float(count)))
                found.append(("sketchseek_shard_seconds_total", asked, row["seconds"][question]))
        for name in ("lost", "refused", "started"):
            count = float(self.fleet.counts[name])
            found.append(("sketchseek_cluster_events_total", {"event": name}, count))
        return found

    def refresh(self, save: bool = False) -> bool:
        """See `Index.refresh`; an index that follows does so by itself."""
        return False if self._following is not None else self._refresh_now()

    def _refresh_now(self) -> bool:
        return super().refresh()

    def _follow(self) -> None:
        while not self._closed.wait(FOLLOW_S):
            with suppress(SketchseekError):  # taken away, or not all shards are there: the next time
                self._refresh_now()

    def _newest_snapshot(self, before: Snapshot | None, save: bool) -> Snapshot:
        """The pictures of the newest version, once the shards hold their vectors."""
        self.store.refresh()
        version = self.store.current
        fragments = {fragment_name(f): f for f in version.dataset.get_fragments()}
        known = {
            name: self._fragments.get(name)
            or _concatenated(read_pictures(version, [fragment], vectors=False))
            for name, fragment in fragments.items()
        }
        config = version.config
        row_bytes = config.dimension + 4 * config.n_norms + 16
        depicted = config.expansion
        picture_bytes = 2 * depicted.dimension + depicted.token_bytes if depicted else 0
        layout = assign_shards(
            [(name, arrays["windows"]) for name, arrays in known.items()],
            self.fleet.shards,
            name=f"{self._location} {config.to_json()}",
            row_bytes=row_bytes,
            picture_bytes=picture_bytes,
            before=self.layout or self.fleet.layout_there(),
        )
        patience = None if before is None else CATCH_UP_S
        sizes = row_bytes * layout.rows.of_shard + picture_bytes * layout.pictures.of_shard
        if not self.fleet.hold(layout, config.to_json(), version.number, sizes.tolist(), patience=patience):
            raise ClusterError("Not all shards have loaded the new version of the index yet.")
        self._fragments, self.layout = known, layout
        arrays: dict[str, Any] = _concatenated(
            [*known.values(), read_pictures(version, [], vectors=False)[0]]
        )
        for name in TEXTS:
            arrays[f"{name}_ends"] = np.cumsum(arrays.pop(f"{name}_lengths"), dtype=np.int64)
        groups = np.repeat(np.arange(len(arrays["ids"]), dtype=np.int32), arrays["windows"])
        prior = _engine.window_priors(shares(arrays["frames"], groups, arrays["is_line_art"]))
        settings = settings_of(config)
        engine = ClusterEngine(self.fleet, layout, settings, groups, prior)
        codes: Any = _Codes(engine, (len(groups), config.dimension))
        codes.layout = layout
        expansion: Any = None
        tokens: Any = None
        if depicted is not None:
            expansion = remote_embeddings(self.fleet, layout, depicted.dimension)
            tokens = remote_tokens(self.fleet, layout, depicted.token_bytes) if depicted.tokens else None
        self._engine = engine_of
        return Snapshot(
            version.number,
            version.identity,
            config,
            list(fragments),
            codes=codes,
            norms=np.empty((0, config.n_norms // 3, 3), np.float32),
            expansion=expansion,
            tokens=tokens,
            **arrays,
        )

    def _embeddings(self, snapshot: Snapshot) -> EmbeddingIndex | None:
        stored, config = snapshot.expansion, snapshot.config.expansion
        if stored is None or config is None:
            return None
        from ..embeddings import EmbeddingIndex, Pictures, prior_mean

        layout: ShardLayout = snapshot.codes.layout  # type: ignore[attr-defined]
        with searching(LOAD_S) as scope:
            pictures = Pictures(
                stored,
                prior_mean(config.name, config.dimension),
                candidates=partial(self._codebooks.candidates, self.fleet, layout),
            )
        if scope.lost:
            raise ClusterError("Not all shards have loaded the new version of the index yet.")
        return EmbeddingIndex(
            lambda: pictures,
            partial(self._network, config),
            snapshot.tokens,
            config.tokens or "",
            network=config.name,
        )


def _learned(state: SearchState) -> set[str]:
    """What searches have left behind for the next: which pictures are ordinary, and what each is of."""
    there = {"ordinary": "ordinary" in vars(state.collection), "classes": _pictures(state) in CLASSES}
    return {name for name, is_there in there.items() if is_there}


def _forget(state: SearchState, learned: set[str]) -> None:
    """What was learned while shards were lost: it would outlast that."""
    if "ordinary" in learned:
        vars(state.collection).pop("ordinary", None)
    pictures = _pictures(state)
    if "classes" in learned and pictures is not None:
        CLASSES.pop(pictures, None)


def _pictures(state: SearchState) -> Pictures | None:
    """What a state's pictures depict, if a search has asked for that."""
    loaded: EmbeddingIndex | None = vars(state).get("_embeddings")
    return None if loaded is None else loaded.pictures


def _concatenated(parts: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
