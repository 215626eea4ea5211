"""Index: pictures on one side, a drawing on the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from .errors import SketchseekError
from .search.clutter import CANDIDATES, reordered
from .search.confidence import BY_SHAPE
from .search.hit import Hit, in_picture, place, tight_box
from .search.ranking import Collection, Ranking, rank, refine
from .shape.query import Query
from .shape.settings import DEFAULT_PRESET, Settings
from .storage.snapshot import Snapshot
from .storage.store import Expansion, Location, Recipe, Store, no_index

if TYPE_CHECKING:
    import pathlib

    import numpy as np
    from numpy.typing import NDArray

    from .contours.drawing import Sketch
    from .depiction import PictureDescriber, Pictures
    from .indexing import Report
    from .indexing.run import Progress
    from .search.expanded import Expanded

Path = str | os.PathLike[str]

DEFAULT_DESCRIBER = "efficientnet"

__all__ = ["Hit", "Index", "Row"]


@dataclass(frozen=True)
class Row:
    """What an index knows of a picture, without its vectors."""

    id: str
    picture: str
    width: int
    height: int


class _View:
    """One version of the index, ready to be searched. Never changes: a refresh makes another."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.settings = _settings(snapshot.recipe)
        self.collection = Collection(snapshot.codes, snapshot.norms, self.settings)
        self._numbers: dict[bytes, int] | None = None
        self._pictures: Pictures | None = None

    def pictures(self, folder: pathlib.Path) -> Pictures:
        """The pictures' descriptors, ready to be compared; made when first asked for."""
        stored, recipe = self.snapshot.expansion, self.snapshot.recipe.expansion
        if self._pictures is None:
            from .depiction import Cache, Pictures, usual_mean

            assert stored is not None
            assert recipe is not None
            cache = Cache(folder, str(self.snapshot.version))
            self._pictures = Pictures(stored, usual_mean(recipe.name), cache)
        return self._pictures

    def are_line_art(self, numbers: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Which of the pictures (k,) are line art: an index describes less than all of those."""
        import numpy as np

        size = np.stack([self.snapshot.width[numbers], self.snapshot.height[numbers]], axis=1)
        return np.asarray((self.snapshot.frames[numbers] != np.hstack([0 * size, size])).any(axis=1))

    def number(self, identifier: str) -> int:
        """Where in the snapshot a picture is."""
        if self._numbers is None:
            self._numbers = {bytes(name): i for i, name in enumerate(self.snapshot.ids)}
        try:
            return self._numbers[identifier.encode()]
        except KeyError:
            raise SketchseekError(f"There is no picture {identifier!r} in the index.") from None


class Index:
    """Pictures that can be searched by drawing.

    >>> index = Index.create("pictures.index")           # doctest: +SKIP
    >>> report = index.add(["~/Pictures"])               # doctest: +SKIP
    >>> hits = index.search(Sketch.load("mug.png"))      # doctest: +SKIP

    Any number of threads may search one Index while others add to it, in this process or another;
    `refresh` goes to the newest version.
    """

    def __init__(self, location: Location, store: Store | None = None) -> None:
        self._location = location
        self._store = store
        self._lock = threading.RLock()
        self._describer: PictureDescriber | None = None
        self._view = _View(self._newest_snapshot(None, save=True))

    @classmethod
    def create(
        cls,
        where: Path,
        preset: str = DEFAULT_PRESET,
        *,
        detector: str = "neural",
        expansion: bool | str = False,
    ) -> Index:
        """Make an empty index in a folder or at an object-store URI.

        preset : "compact", "precise" or "full": more frequencies find more, and take more room.
        detector : what finds the edges of pictures.
        expansion : also keep a descriptor of each picture for query expansion: True, or its name.
        """
        location = Location(where)
        if location.exists():
            raise SketchseekError(f"There already is an index in {location}: open it, or name another place.")
        return cls(location, Store.create(where, make_recipe(preset, detector, expansion)))

    @classmethod
    def open(cls, where: Path) -> Index:
        """Open an index that is there."""
        return cls(Location(where))

    def __len__(self) -> int:
        return len(self._view.snapshot)

    def __repr__(self) -> str:
        return f"<sketchseek.Index of {len(self):,} pictures in {self._location}>"

    @property
    def location(self) -> str:
        """The folder or URI."""
        return str(self._location)

    @property
    def version(self) -> int:
        """Grows with every change that `refresh` brings."""
        return self._view.snapshot.version

    @property
    def recipe(self) -> Recipe:
        """Everything that gave the vectors."""
        return self._view.snapshot.recipe

    @property
    def store(self) -> Store:
        """The table on disk, to read from, opened when first needed: searching takes only the snapshot."""
        with self._lock:
            if self._store is None:
                self._store = Store.open(self._location.text)
            return self._store

    def _writer(self) -> Store:
        """The table, for one thread to write to."""
        return Store.open(self._location.text)

    def add(
        self,
        paths: Path | Sequence[Path],
        *,
        jobs: int | None = None,
        exclude: Sequence[str] = (),
        forget_missing: bool = False,
        retry: bool = True,
        progress: Progress | None = None,
    ) -> Report:
        """Add new pictures under the paths, refresh changed ones, forget vanished ones.

        A root that is missing or has become empty, as a drive that is not mounted, forgets nothing
        unless `forget_missing`. Pictures that could not be read for want of memory, time or rights are
        tried again if `retry`. May be interrupted and run again: it goes on where it was.
        """
        from .indexing import Options, update

        roots = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        report = update(self._writer(), roots, Options(jobs, exclude, forget_missing, retry), progress)
        self.refresh(save=True)
        return report

    def remove(self, paths: Path | Sequence[Path]) -> int:
        """Forget the pictures at or under the paths; how many there were."""
        from .indexing import remove

        roots = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        count = remove(self._writer(), roots)
        self.refresh(save=True)
        return count

    def enable_expansion(self, name: str = DEFAULT_DESCRIBER) -> None:
        """Keep a descriptor for query expansion from now on; the next `add` gives it to pictures without."""
        store = self._writer()
        present = store.recipe.expansion
        wanted = _expansion(name)
        if present == wanted:
            return
        if present is not None:
            raise SketchseekError(
                f"This index holds descriptors of {present.name} {present.version}, not of "
                f"{wanted.name} {wanted.version}: index the pictures again into another --index folder."
            )
        store.set_expansion(wanted)
        self.refresh()

    def refresh(self, save: bool = False) -> bool:
        """Go to the newest committed version; True when that is another one. Costs little when it isn't."""
        with self._lock:
            if self._location.latest_version() == self.version:
                return False
            if self._location.is_uri and not self.store.refresh() and self.store.version == self.version:
                return False
            self._view = _View(self._newest_snapshot(self._view.snapshot, save))
            return True

    def _newest_snapshot(self, before: Snapshot | None, save: bool) -> Snapshot:
        version = self._location.latest_version()
        if version is None and not self._location.is_uri:
            raise no_index(self._location)
        snapshot = Snapshot.load(self._location, version) if version is not None else None
        if snapshot is not None:
            return snapshot
        self.store.refresh()
        snapshot = Snapshot.load(self._location, self.store.version)
        if snapshot is None:
            snapshot = Snapshot.of(self.store, before)
            if save:
                snapshot.save(self._location)
        return snapshot

    def search(
        self,
        sketch: Sketch,
        k: int = 20,
        *,
        expand: int | None = None,
        blend: float | None = None,
        picked: Sequence[str] = (),
        mirror: bool = True,
        method: str = "exhaustive",
        shortlist: int | None = None,
        rerank: str = "exact",
        neighborhood: int = 3,
        offset: int = 0,
        threads: int | None = None,
    ) -> list[Hit]:
        """The k pictures that show the drawing best, after the first `offset`.

        expand : how many first hits to ask again with, by what they depict; 0 for none. By default, what
            was measured to be best if the index holds descriptors, else none.
        blend : weight of the drawing's own picture descriptor beside its shape; 0 is shape alone.
        picked : ids of pictures that are right: ask again with these instead of the first hits.
        mirror : also look for the mirrored drawing.
        method, shortlist, rerank, neighborhood : see `sketchseek.search.ranking`.
        threads : None for one a core.
        """
        if k < 1:
            raise ValueError(f"k must be positive, got {k}")
        if offset < 0:
            raise ValueError(f"offset must not be negative, got {offset}")
        view = self._view
        if len(view.snapshot) == 0:
            return []
        query = Query.of(sketch.points, view.settings, mirror=mirror)
        ways: dict[str, Any] = {
            "method": method,
            "shortlist": shortlist,
            "rerank": rerank,
            "neighborhood": neighborhood,
        }
        count = min(offset + k, len(view.snapshot))
        expanded = self._expanded(view, expand, blend, picked)
        if expanded is None:
            wide = min(max(2 * count, CANDIDATES), len(view.snapshot))
            ranking = rank(view.collection, query, k=wide, threads=threads, **ways)
            plain = view.are_line_art(ranking.ids)
            ranking, local = reordered(view.collection, query, ranking, count, threads=threads, whole=plain)
            sure: NDArray[np.floating[Any]] = BY_SHAPE(local)
        else:
            ranking, sure = expanded.search(view.collection, query, sketch, count, threads, **ways)
        shown = ranking.take(slice(offset, offset + k))
        placed = refine(view.collection, query, shown, threads)
        return self._hits(view, sketch, placed, sure[offset:], offset)

    def _expanded(
        self, view: _View, expand: int | None, blend: float | None, picked: Sequence[str]
    ) -> Expanded | None:
        """How to search beyond the shape; None for shape alone."""
        if expand == 0 and blend == 0 and not picked:
            return None
        recipe = view.snapshot.recipe.expansion
        if recipe is None or view.snapshot.expansion is None:
            if expand or blend or picked:
                from .depiction import need_extra

                need_extra()
                raise SketchseekError(
                    "This index holds no descriptors for query expansion: add them with "
                    "`sketchseek index --expansion FOLDER`, or search without --expand and --blend."
                )
            return None
        from .search.expanded import Expanded

        with self._lock:
            if self._describer is None and blend != 0:
                self._describer = _describer(recipe, required=bool(blend))
            describer = self._describer
            pictures = view.pictures(self._location.folder)
        return Expanded(describer, pictures, expand, blend, [view.number(name) for name in picked])

    def _hits(
        self, view: _View, sketch: Sketch, ranking: Ranking, sure: NDArray[np.floating[Any]], offset: int
    ) -> list[Hit]:
        snapshot = view.snapshot
        hits = []
        for i, number in enumerate(ranking.ids.tolist()):
            size = (int(snapshot.width[number]), int(snapshot.height[number]))
            pose = (float(ranking.scale[i]), float(ranking.dx[i]), float(ranking.dy[i]))
            scale, dx, dy = in_picture(pose, snapshot.frames[number].tolist(), size)
            mirrored, rotation = bool(ranking.mirrored[i]), float(ranking.rotation[i])
            placed = partial(
                place, scale=scale, mirrored=mirrored, rotation=rotation, translation=(dx, dy), size=size
            )
            identifier = bytes(snapshot.ids[number]).decode()
            hits.append(
                Hit(
                    rank=offset + i + 1,
                    id=identifier,
                    picture=snapshot.path(number),
                    score=round(float(ranking.score[i]), 6),
                    confidence=round(float(sure[i]), 6),
                    scale=round(scale, 4),
                    mirrored=mirrored,
                    rotation=rotation,
                    dx=round(dx, 3),
                    dy=round(dy, 3),
                    box=tight_box(sketch, placed),
                    width=size[0],
                    height=size[1],
                    sketch=sketch,
                    thumbnail=partial(self.thumbnail, identifier),
                )
            )
        return hits

    def row(self, identifier: str) -> Row:
        """What is known of a picture."""
        view = self._view
        number = view.number(identifier)
        snapshot = view.snapshot
        return Row(
            identifier, snapshot.path(number), int(snapshot.width[number]), int(snapshot.height[number])
        )

    def picture_path(self, identifier: str) -> str:
        """Where the picture is."""
        return self.row(identifier).picture

    def thumbnail(self, identifier: str) -> bytes:
        """A small WebP of the picture, kept in the index."""
        return self.thumbnails([identifier])[0]

    def thumbnails(self, identifiers: Sequence[str]) -> list[bytes]:
        """Those of several pictures, read at once."""
        for identifier in identifiers:
            self._view.number(identifier)
        with self._lock:
            self.store.refresh()
        table = self.store.rows(list(set(identifiers)), ["id", "thumbnail"])
        found = dict(zip(table["id"].to_pylist(), table["thumbnail"].to_pylist(), strict=True))
        try:
            return [found[identifier] for identifier in identifiers]
        except KeyError as error:
            raise SketchseekError(f"There is no picture {error.args[0]!r} in the index any more.") from None

    def info(self) -> dict[str, Any]:
        """As `info` prints it."""
        recipe = self.recipe
        with self._lock:
            self.store.refresh()
        return {
            "pictures": len(self),
            "failed": self.store.dataset.count_rows("failure IS NOT NULL"),
            "bytes": self.store.bytes_on_disk(),
            "preset": recipe.preset,
            "detector": recipe.detector,
            "expansion": recipe.expansion.name if recipe.expansion else None,
            "version": self.version,
            "settings": {**recipe.settings, "detector_version": recipe.detector_version},
            "location": self.location,
        }


def _settings(recipe: Recipe) -> Settings:
    try:
        return Settings.from_json(recipe.settings)
    except (TypeError, ValueError) as error:
        raise SketchseekError(
            "This index was made by another version of sketchseek, with settings unknown to this one: "
            "index the pictures again into another --index folder."
        ) from error


def make_recipe(preset: str, detector: str, expansion: bool | str = False) -> Recipe:
    """The recipe of a new index."""
    from .contours.detectors import get_detector
    from .shape.settings import PRESETS

    if preset not in PRESETS:
        raise SketchseekError(f"There is no preset {preset!r}; choose one of {', '.join(PRESETS)}.")
    settings = Settings.preset(preset)
    edges = get_detector(detector)
    name = DEFAULT_DESCRIBER if expansion is True else expansion
    return Recipe(
        preset=preset,
        settings=settings.to_json(),
        dimension=settings.dimensions,
        n_norms=3 * len(settings.scales),
        detector=edges.name,
        detector_version=edges.version,
        expansion=_expansion(name) if name else None,
    )


def _expansion(name: str) -> Expansion:
    from .depiction import get_describer

    describer = get_describer(name)
    return Expansion(describer.name, describer.version, describer.dimension)


def _describer(recipe: Expansion, *, required: bool) -> PictureDescriber | None:
    """The network that gave an index its descriptors; None when it is not installed and not required."""
    from .depiction import get_describer

    try:
        describer = get_describer(recipe.name)
    except SketchseekError:
        if required:
            raise
        return None
    if describer.version != recipe.version:
        raise SketchseekError(
            f"This index holds descriptors of {recipe.name} {recipe.version}, "
            f"and {describer.version} is installed: index the pictures again into another --index folder, "
            "or search with --expand 0 --blend 0."
        )
    return describer
