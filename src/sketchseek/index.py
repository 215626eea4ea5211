"""Index: pictures on one side, a drawing on the other."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack, overload

from .contours.drawing import Drawing, Sketch
from .errors import ArgumentError, DamagedError, NoEmbeddingError, SketchseekError
from .search.collection import Collection
from .search.core import CORE
from .search.hit import Hit, Hits
from .search.missing import missing_last
from .search.near_duplicates import with_likeness
from .search.options import Options, SearchOptions, Turn
from .search.search import search
from .search.state import SearchState
from .shape.engine.device import DEVICES, engine_on
from .shape.settings import DEFAULT_PRESET, Settings
from .shape.windows import LEVELS, MIN_OBJECT_SIZE, shares
from .storage.location import Location, damaged, no_index
from .storage.schema import Expansion, IndexConfig, settings_of, thumbnail_sum
from .storage.snapshot import Snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .contours.extract import Contours
    from .embeddings import EmbeddingIndex, PictureEncoder
    from .embeddings.pictures import EmbeddingRows, Pictures
    from .embeddings.tokens import Codes, TokenSpace
    from .indexing import Report
    from .indexing.walk import Listings
    from .notebook.widget import SketchWidget
    from .progress import Progress
    from .search.explanation import Explanation
    from .storage.store import Store

Path = str | os.PathLike[str]

DEFAULT_ENCODER = "efficientnet"
EXACT_WINDOWS = 200_000
"""More windows than these are searched by a shortlist (docs/explanation/windows.md has what that loses)."""

__all__ = ["Hit", "Index", "PictureRow"]


@dataclass(frozen=True)
class PictureRow:
    """What an index knows of a picture, without its vectors."""

    id: str
    picture: str
    width: int
    height: int


class _Pictures(Sequence[PictureRow]):
    """The pictures of a state, made when they are asked for."""

    def __init__(self, state: SearchState) -> None:
        self._state = state

    def __len__(self) -> int:
        return len(self._state)

    @overload
    def __getitem__(self, at: int) -> PictureRow: ...
    @overload
    def __getitem__(self, at: slice) -> list[PictureRow]: ...
    def __getitem__(self, at: int | slice) -> PictureRow | list[PictureRow]:
        numbers = range(len(self))[at]
        return [self._row(number) for number in numbers] if isinstance(numbers, range) else self._row(numbers)

    def _row(self, number: int) -> PictureRow:
        state = self._state
        size = int(state.width[number]), int(state.height[number])
        return PictureRow(state.id(number), state.path(number), *size)


class Index:
    """Pictures that can be searched by drawing.

    >>> index = Index.create("pictures.index")           # doctest: +SKIP
    >>> report = index.add(["~/Pictures"])               # doctest: +SKIP
    >>> hits = index.search("mug.png")                   # doctest: +SKIP
    >>> "~/Pictures/mug.jpg" in index                    # doctest: +SKIP

    It may stand in a `with` statement, which closes it; iterating it gives its pictures.

    Any number of threads may search one Index while others add to it, in this process or another;
    `refresh` goes to the newest version.
    """

    def __init__(self, location: Location, store: Store | None = None, device: str = "auto") -> None:
        self._location = location
        self._engine = engine_on(device)
        self._store = store
        self._lock = threading.RLock()
        self._encoder: PictureEncoder | None = None
        self._no_encoder: str | None = None
        self._repaired: list[str] = []
        self._opened: tuple[Snapshot, SearchState] | None = None
        self._go_to(self._newest_snapshot(None, save=True))

    @classmethod
    def create(
        cls,
        where: Path,
        preset: str = DEFAULT_PRESET,
        *,
        detector: str = "neural",
        expansion: bool | str | None = None,
        min_object_size: float = MIN_OBJECT_SIZE,
        tokens: bool = True,
        exist_ok: bool = False,
    ) -> Index:
        """Make an empty index in a folder or in an object store.

        preset : "compact", "precise" or "full". More frequencies find more and take more room.
        detector : what finds the edges in pictures.
        expansion : also keep what pictures show: True, or the name of a network.
        min_object_size : find things down to this share of a picture's longer side: .6, .3 or .2.
        tokens : with a network, also keep what is where in each picture (4 KB per picture).
        exist_ok : open the index that is there, if it was made with the same settings.
        """
        location = Location(where)
        if expansion is None:
            from .networks.graph import has_extra

            expansion = has_extra()
        config = make_config(preset, detector, expansion, min_object_size, tokens=tokens)
        if not location.exists():
            from .storage.store import Store

            return cls(location, Store.create(where, config))
        if not exist_ok:
            raise SketchseekError(f"There already is an index in {location}: open it, or name another place.")
        index = cls(location)
        if index.config.without_tokens() != config.without_tokens():
            raise SketchseekError(
                f"The index in {location} was made in another way: open it, or name another place."
            )
        return index

    @classmethod
    def open(cls, where: Path, *, device: str = "auto", repair: bool = False) -> Index:
        """Open an existing index.

        device : where to search: "cpu", "cuda", or "auto", which decides by the size of the index.
        repair : first repair what is damaged.
        """
        location = Location(where)
        try:
            return cls(location, device=device)
        except DamagedError:
            if not repair:
                raise
            from .indexing.repair import check

            repaired = check(where, repair=True).sentences()
        index = cls(location, device=device)
        index._repaired = repaired
        return index

    def __len__(self) -> int:
        return len(self.state)

    def __iter__(self) -> Iterator[PictureRow]:
        return iter(self.pictures)

    def __contains__(self, picture: object) -> bool:
        """Whether it has the picture of that path, address or id."""
        if isinstance(picture, PictureRow):
            return self.state.has(picture.id)
        if not isinstance(picture, str | os.PathLike):
            return False
        return self.state.has(os.fspath(picture)) or self._number_of(picture) is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files that it reads from; whatever is asked of it later opens them again."""
        with self._lock:
            self._opened, self._store, self._encoder = None, None, None

    @property
    def pictures(self) -> Sequence[PictureRow]:
        """All pictures of the version that is open, without their vectors."""
        return _Pictures(self.state)

    def __repr__(self) -> str:
        return f"<sketchseek.Index of {len(self):,} pictures in {self._location}>"

    @property
    def location(self) -> str:
        """The folder or URI."""
        return str(self._location)

    @property
    def version(self) -> int:
        """Grows with every change that `refresh` brings."""
        return self.snapshot.version

    @property
    def config(self) -> IndexConfig:
        """Everything that gave the vectors."""
        return self.snapshot.config

    @property
    def store(self) -> Store:
        """The table on disk, to read from, opened when first needed: searching takes only the snapshot."""
        with self._lock:
            if self._store is None:
                self._store = self._writer()
            return self._store

    def _writer(self) -> Store:
        """The table, for one thread to write to."""
        from .storage.store import Store

        return Store.open(self._location.text)

    def add(
        self,
        paths: Path | Sequence[Path] | None = None,
        *,
        jobs: int | None = None,
        exclude: Sequence[str] = (),
        forget_missing: bool = False,
        retry: bool = True,
        device: str = "cpu",
        workers: Callable[..., Any] | None = None,
        listings: Listings | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Add new pictures under the paths, read changed ones again, forget those that are gone.

        Without paths, it goes over those of all runs before, each with what was excluded there. A root that
        is missing or has become empty, as a drive that is not mounted, forgets nothing unless
        `forget_missing`; pictures whose folder is gone are followed to where the same content is. Pictures
        that could not be read for want of memory, time or rights are tried again if `retry`. What is damaged
        in the index is made again. May be interrupted and run again: it goes on where it was.
        `device="cuda"` runs the networks on a graphics processor. `workers` reads the pictures elsewhere, and
        `listings` lists folders there, see `IndexingOptions`.
        """
        from .indexing import IndexingOptions, Report

        if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
            raise ArgumentError(f"jobs must be a whole number from 1, got {jobs!r}")
        if isinstance(exclude, str) or not all(isinstance(pattern, str) for pattern in exclude):
            raise ArgumentError(f"exclude must be a list of patterns, got {exclude!r}")
        if device not in DEVICES:
            raise ArgumentError(f"There is no device {device!r}; choose one of {', '.join(DEVICES)}.")
        options = IndexingOptions(jobs, exclude, forget_missing, retry, device, workers, listings)
        if paths is not None:
            given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
            return self._add(given, options, progress)
        report = Report()
        for excluded, roots in self._roots_by_exclusions().items():
            if not report.interrupted:
                report.include(self._add(roots, replace(options, exclude=[*excluded, *exclude]), progress))
        return report

    def _add(
        self, roots: Sequence[str | bytes | os.PathLike[str]], options: Any, progress: Progress | None
    ) -> Report:
        from .indexing import update
        from .indexing.repair import check
        from .indexing.walk import absolute
        from .storage.roots import note_roots

        try:
            try:
                store = self._writer()
                store.current.verify_little()  # what a search noticed, and is in no row that is read here
                report = update(store, roots, options, progress)
                self.refresh(save=True)
            except DamagedError:
                self._repaired += check(self.location, repair=True, jobs=options.jobs).sentences()
                report = update(self._writer(), roots, options, progress)
                self.refresh(save=True)
        except SketchseekError as error:
            if not self._repaired:
                raise
            said, self._repaired = self._repaired, []  # what was given up is said, whatever comes after it
            raise type(error)(" ".join(["Repaired:", *said, str(error)])) from error
        report.repaired, self._repaired = self._repaired, []
        with suppress(OSError):
            note_roots(self._location, map(absolute, roots), options.exclude)
        return report

    def _roots_by_exclusions(self) -> dict[tuple[str, ...], list[bytes]]:
        """The roots of all runs before, but for those that are away and of which nothing is known."""
        from .indexing.walk import holding
        from .storage.roots import read_roots

        roots = read_roots(self._location)
        held = holding(roots, self._writer().table(["path"])["path"].to_pylist())
        away = [r for r in roots if r not in held and b"://" not in r and not os.path.lexists(r)]
        groups: dict[tuple[str, ...], list[bytes]] = {}
        for root, excluded in roots.items():
            if root not in away:
                groups.setdefault(excluded, []).append(root)
        if not groups:
            raise SketchseekError(f"The index in {self._location} knows no folder to go over: name one.")
        return groups

    def remove(self, paths: Path | Sequence[Path]) -> int:
        """Remove the pictures at or under the paths from the index; returns how many. The files stay."""
        from .indexing import remove
        from .indexing.walk import absolute
        from .storage.roots import forget_roots

        roots = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        count = remove(self._writer(), roots)
        with suppress(OSError):
            forget_roots(self._location, map(absolute, roots))
        self.refresh(save=True)
        return count

    def enable_expansion(self, name: str = DEFAULT_ENCODER) -> None:
        """Keep embeddings from now on, for query expansion; the next `add` gives them to pictures without.

        Where there are embeddings of another network, searches go by those until all pictures have the new.
        """
        store = self._writer()
        present, coming = store.config.expansion, store.config.successor
        wanted = _expansion(name)
        if present is None:
            store.set_expansion(wanted)
        elif present.is_comparable(wanted):
            if coming is not None and not coming.is_comparable(wanted):
                store.set_successor(None)
        elif coming is None or not coming.is_comparable(wanted):
            store.set_successor(wanted)
        self.refresh()

    def keep_tokens(self, wanted: bool | None = None) -> None:
        """Keep tokens of pictures from now on, or none; the next `add` gives them to pictures without.

        wanted : None keeps what was decided before; an older index, where nothing was, gets tokens.

        Where there are tokens of another version, all pictures get new ones beside them, and searches go
        without tokens until they have.
        """
        present = self.config.wanted
        if present is None or (wanted is None and not _outdated(present)):
            return
        try:
            encoder = _encoder(present)
        except SketchseekError:
            if wanted is None:
                return  # `add` says it, if it has anything to describe
            raise
        changed = _without_tokens(present) if wanted is False else _with_tokens(present, encoder.tokens)
        if changed != present:
            self._keep(changed)
        self.refresh()

    def _keep(self, wanted: Expansion) -> None:
        """Keep embeddings of the same network as now, with tokens of that version or without."""
        store = self._writer()
        present, coming = store.config.expansion, store.config.successor
        if present is None or not present.is_comparable(wanted):
            store.set_successor(wanted)
        elif not wanted.tokens:
            if coming is not None:
                store.set_successor(None)
            store.set_expansion(replace(present, tokens=wanted.tokens, token_bytes=0))
        elif present.tokens is None:
            store.set_expansion(wanted)
        else:  # what its column may hold is of another version
            store.set_successor(wanted)

    def set_min_object_size(self, min_object_size: float) -> None:
        """Find things as small as this share of a picture; the next `add` makes the windows for it."""
        _check_min_object_size(min_object_size)
        store = self._writer()
        if store.config.min_object_size != min_object_size:
            store.set_min_object_size(min_object_size)
            self.refresh()

    def refresh(self, save: bool = False) -> bool:
        """Go to the newest version of the index; returns whether there was a newer one. It is cheap."""
        with self._lock:
            identity = self._location.identity()
            if self._location.is_uri:
                self.store.refresh()
                identity = self.store.current.identity
            if identity == self.snapshot.identity:
                return False
            self._go_to(self._newest_snapshot(self.snapshot, save))
            return True

    def _newest_snapshot(self, before: Snapshot | None, save: bool) -> Snapshot:
        identity = self._location.identity()
        if identity is None and not self._location.is_uri:
            raise no_index(self._location)
        snapshot = Snapshot.load(self._location, identity) if identity is not None else None
        if snapshot is not None:
            return snapshot
        self.store.refresh()
        snapshot = Snapshot.load(self._location, self.store.current.identity)
        if snapshot is None:
            snapshot = Snapshot.of(self.store, before)
            if save:
                snapshot.save(self._location)
        return snapshot

    def _go_to(self, snapshot: Snapshot) -> tuple[Snapshot, SearchState]:
        collection = Collection(
            snapshot.codes,
            snapshot.norms,
            settings_of(snapshot.config),
            self._engine,
            pictures=snapshot.pictures,
            shares=shares(snapshot.frames, snapshot.pictures, snapshot.is_line_art),
        )
        state = SearchState(
            collection,
            snapshot.width,
            snapshot.height,
            snapshot.frames,
            snapshot.is_line_art,
            ids=snapshot.ids,
            path=snapshot.path,
            keywords=snapshot.keywords_of,
            icon_codes=snapshot.icon_codes,
            thumbnail=self.thumbnail,
            load_embeddings=partial(self._embeddings, snapshot),
            method=self._method_for(snapshot, collection),
        )
        self._opened = opened = (snapshot, state)
        return opened

    @property
    def _now(self) -> tuple[Snapshot, SearchState]:
        """The version that is open; opened again after `close`."""
        opened = self._opened
        if opened is None:
            with self._lock:
                opened = self._opened or self._go_to(self._newest_snapshot(None, save=False))
        return opened

    @property
    def snapshot(self) -> Snapshot:
        """What searches read of the version that is open."""
        return self._now[0]

    @property
    def state(self) -> SearchState:
        """What a search sees; made again when the file that it is mapped from was written to."""
        snapshot, state = self._now
        if snapshot.is_intact():
            return state
        with self._lock:
            snapshot, state = self._now
            return state if snapshot.is_intact() else self._go_to(self._newest_snapshot(None, save=True))[1]

    def _embeddings(self, snapshot: Snapshot) -> EmbeddingIndex | None:
        stored, config = snapshot.expansion, snapshot.config.expansion
        if stored is None or config is None:
            return None
        from .embeddings import CodeCache, EmbeddingIndex, Pictures, prior_mean

        cache = CodeCache(self._location.folder, snapshot.identity) if snapshot.identity else None
        return EmbeddingIndex(
            pictures=lambda: Pictures(stored, prior_mean(config.name, config.dimension), cache),
            encoder=partial(self._network, config),
            tokens=snapshot.tokens,
            token_version=config.tokens or "",
            network=config.name,
        )

    def _network(self, config: Expansion, required: bool) -> PictureEncoder | None:
        """Loaded once: an index that grows while it is searched has a new state many times."""
        there = self._encoder
        if there is None or (there.name, there.version) != (config.name, config.version):
            self._encoder = None
            try:
                self._encoder, self._no_encoder = _encoder(config), None
            except NoEmbeddingError:
                raise
            except SketchseekError as error:
                if required:
                    raise
                self._no_encoder = str(error)
        return self._encoder

    @property
    def note(self) -> str | None:
        """A sentence where the index knows what pictures depict, and drawings can't be asked about it."""
        expansion = self.config.expansion
        if expansion is None or self._encoder is not None:
            return None
        if self._no_encoder is None:
            from .embeddings.encoders import is_encoder
            from .networks.catalog import lacking

            if not is_encoder(expansion.name):
                return by_shape_alone(f"There is no picture network {expansion.name} here.")
            return by_shape_alone(lacking(expansion.name))
        return by_shape_alone(self._no_encoder)

    @property
    def method(self) -> str:
        """How it is searched by shape unless told otherwise: exactly, while that takes less than a blink."""
        return self.state.method

    def _method_for(self, snapshot: Snapshot, collection: Collection) -> str:
        long = collection.has_windows and len(collection.engine) > EXACT_WINDOWS
        return "projections" if long else "exhaustive"

    def search(
        self,
        drawing: Drawing | None = None,
        k: int = 20,
        *,
        offset: int = 0,
        mirror: bool = True,
        turn: Turn = None,
        expand: int | None = None,
        blend: float | None = None,
        picked: Sequence[str] = (),
        rejected: Sequence[str] = (),
        words: str | None = None,
        folder: str | None = None,
        method: str | None = None,
        shortlist: int | None = None,
        rerank: str | None = None,
        neighborhood: int | None = None,
        local_normalization: float = CORE["local normalization"],
        coverage: float = CORE["coverage"],
        threads: int | None = None,
    ) -> Hits:
        """The k pictures that show the drawing best, those that are not there any more after the others.

        Parameters
        ----------
        drawing : Sketch, path, bytes, str, Pillow image, ndarray or list, optional
            A file's path or bytes, the text of an SVG, pixels (h, w), (h, w, 3) or (h, w, 4) uint8, or
            strokes [[[x, y], ...], ...]. None where `words` say what is looked for.
        k, offset : int
            The best k hits after the first `offset`.
        mirror : bool
            Also look for the mirrored drawing.
        turn : float or "any", optional
            Also look for the drawing turned by up to so many degrees either way. None: upright, and where
            nothing fits well turned by the angle at which it does.
        expand : int, optional
            How many first hits to ask again with, by what they depict; 0 for none. None: what was measured
            to be best for the size of the collection.
        blend : float, optional
            Weight, from 0 to 5, of the drawing's own embedding beside its shape; 0 is shape alone. None: what
            was measured to be best for the network.
        picked, rejected : sequence of str
            Ids of pictures that are right: ask again with these; and of pictures that are not what was meant.
        words : str, optional
            What is looked for, beside a drawing or instead of one: by what it looks like, and by names.
        folder : str, optional
            Only pictures in this folder and those below.
        method : "exhaustive", "projections" or "dpf", optional
            None: exact while that takes less than a blink, else by a shortlist.
        shortlist, rerank, neighborhood : int, str, int, optional
            Of the methods with a shortlist, see `sketchseek.search.ranking`.
        local_normalization : float
            In [0, 1): 0 divides by the norm of the whole picture, 1 by that of the drawing's box.
        coverage : float
            What it counts that all of the drawing is there; 0 for nothing.
        threads : int, optional
            None for one per core.

        Raises
        ------
        ArgumentError
            An option that is not one of these, or does not go with another.
        SketchseekError
            A drawing that cannot be read, or that is blank.
        """
        return self._search(
            drawing,
            Options.of(
                k,
                {
                    "offset": offset,
                    "mirror": mirror,
                    "turn": turn,
                    "expand": expand,
                    "blend": blend,
                    "picked": picked,
                    "rejected": rejected,
                    "words": words,
                    "folder": folder,
                    "method": method,
                    "shortlist": shortlist,
                    "rerank": rerank,
                    "neighborhood": neighborhood,
                    "local_normalization": local_normalization,
                    "coverage": coverage,
                    "threads": threads,
                },
            ),
        )

    def search_many(
        self, drawings: Iterable[Drawing], k: int = 20, **options: Unpack[SearchOptions]
    ) -> Iterator[Hits]:
        """The hits of each drawing, one after the other, each computed when it is asked for.

        options : those of `search`.
        """
        chosen = Options.of(k, options)
        return (self._search(drawing, chosen) for drawing in drawings)

    def _search(self, drawing: Drawing | None, options: Options) -> Hits:
        state = self.state
        hits = search(state, None if drawing is None else Sketch.of(drawing), options)
        if options.blend is None and drawing is not None:
            hits.note = hits.note or by_shape_alone(self._no_encoder)
        hits = missing_last(hits)
        return hits if options.shape_alone else with_likeness(hits, state)

    def draw(self, k: int = 12, **options: Unpack[SearchOptions]) -> SketchWidget:
        """A sheet to draw on in a notebook, and the k best hits below it, by the extra `notebook`.

        The widget's `strokes` are what is drawn, its `hits` what is found. options : those of `search`.
        """
        from .notebook import sketch_widget

        Options.of(k, options)  # what is wrong is said now, not by the sheet
        return sketch_widget(self, k, **options)

    def likeness(self, sketch: Sketch, identifier: str) -> Likeness:
        """What the network says of a drawing and a picture, as far as the index knows."""
        state = self.state
        encoder = state.embeddings.encoder(required=False) if state.embeddings else None
        if state.embeddings is None or encoder is None:
            return Likeness(None, None)
        import numpy as np

        one = np.array([state.number(identifier)])
        pictures = state.embeddings.pictures
        tokens = state.embeddings.tokens(one)[0] if state.embeddings.has_tokens_of(encoder) else None
        return _likeness(encoder, sketch, pictures, pictures.rows(one), tokens)

    def folders(self, most: int | None = None) -> list[tuple[str, int]]:
        """The folders that pictures are in, from where they branch, and how many each has in it and below.

        most : so many at most, the upper ones first.
        """
        return self.state.folders.tree(len(self) if most is None else most)

    def row(self, identifier: str) -> PictureRow:
        """What is known of a picture."""
        return _Pictures(self.state)[self.state.number(identifier)]

    def identify(self, picture: Path) -> str:
        """The id of the picture at a path or URI."""
        number = self._number_of(picture)
        if number is None:
            raise SketchseekError(f"There is no picture {os.fspath(picture)} in the index.")
        return self.state.id(number)

    def _number_of(self, picture: Path) -> int | None:
        state, text = self.state, os.fspath(picture)
        wanted = text if "://" in text else os.path.abspath(os.path.expanduser(text))
        return next((number for number in range(len(state)) if state.path(number) == wanted), None)

    def picture_path(self, identifier: str) -> str:
        """Where the picture is."""
        return self.row(identifier).picture

    def thumbnail(self, identifier: str) -> bytes:
        """A small WebP of the picture, kept in the index."""
        return self.thumbnails([identifier])[0]

    def thumbnails(self, identifiers: Sequence[str]) -> list[bytes]:
        """Those of several pictures, read at once."""
        for identifier in identifiers:
            self.state.number(identifier)
        with self._lock:
            self.store.refresh()
        table = self.store.rows(set(identifiers), ["id", "thumbnail", "thumbnail_sum"])
        found = {row["id"]: row for row in table.to_pylist()}
        for identifier in identifiers:
            if identifier not in found:
                raise SketchseekError(f"There is no picture {identifier!r} in the index any more.")
            row = found[identifier]
            if row["thumbnail"] is None or thumbnail_sum(row["thumbnail"]) != row["thumbnail_sum"]:
                raise damaged(self._location, f"the thumbnail of {self.picture_path(identifier)} has changed")
        return [found[identifier]["thumbnail"] for identifier in identifiers]

    def measures(self) -> list[tuple[str, dict[str, str], float]]:
        """What monitoring reads of it besides its size, as (name, labels, value); on one machine nothing."""
        return []

    def info(self) -> dict[str, Any]:
        """As `info` prints it."""
        config = self.config
        with self._lock:
            self.store.refresh()
        return {
            "pictures": len(self),
            "failed": self.store.dataset.count_rows("failure IS NOT NULL"),
            "bytes": self.store.bytes_on_disk(),
            "preset": config.preset,
            "detector": config.detector,
            "expansion": config.expansion.name if config.expansion else None,
            **self._prospects(),
            "min_object_size": config.min_object_size,
            "smallest": config.min_object_size,  # the same by its earlier name, as `views` is
            "windows": len(self.snapshot.codes),
            "views": len(self.snapshot.codes),
            "version": self.version,
            "settings": {**config.settings, "detector_version": config.detector_version},
            "location": self.location,
        }

    def _prospects(self) -> dict[str, Any]:
        """What network is about to take the place of the one searched by, or could."""
        from .networks.catalog import stronger

        config = self.config
        if config.successor is None:
            present = config.expansion.name if config.expansion else None
            offered = stronger(present, self.location) if len(self) else None
            return {"successor": None, "stronger": offered}
        seen = self.store.dataset.count_rows(f"{config.successor.columns[0]} IS NOT NULL")
        return {"successor": {"name": config.successor.name, "pictures": seen}, "stronger": None}


def make_config(
    preset: str,
    detector: str,
    expansion: bool | str = False,
    min_object_size: float = MIN_OBJECT_SIZE,
    *,
    tokens: bool = True,
) -> IndexConfig:
    """The config of a new index; tokens come with embeddings only."""
    from .contours.detectors import get_detector
    from .shape.settings import PRESETS

    if not isinstance(expansion, bool | str):
        raise ArgumentError(f"expansion must be True, False or the name of a network, got {expansion!r}")
    if preset not in PRESETS:
        raise ArgumentError(f"There is no preset {preset!r}; choose one of {', '.join(PRESETS)}.")
    _check_min_object_size(min_object_size)
    settings = Settings.preset(preset)
    edges = get_detector(detector)
    name = DEFAULT_ENCODER if expansion is True else expansion
    return IndexConfig(
        preset=preset,
        settings=settings.to_json(),
        dimension=settings.dimensions,
        n_norms=3 * len(settings.scales),
        detector=edges.name,
        detector_version=edges.version,
        expansion=_expansion(name, tokens=tokens) if name else None,
        min_object_size=min_object_size,
    )


def _check_min_object_size(min_object_size: float) -> None:
    if min_object_size not in LEVELS:
        raise ArgumentError(
            f"Things as small as {min_object_size!r} of a picture can't be asked for; choose one of "
            f"{', '.join(f'{known:g}' for known in LEVELS)}."
        )


def explained(sketch: Sketch, picture: Path, where: Path | None = None) -> tuple[Explanation, Contours]:
    """Why a picture matches a drawing, as an index sees it; by the default settings where there is none."""
    import numpy as np

    from .contours import picture_contours
    from .contours.detectors import get_detector

    config = Index.open(where).config if where is not None and Location(where).exists() else None
    settings = settings_of(config) if config else Settings.preset(DEFAULT_PRESET)
    seen = picture_contours(os.fspath(picture), get_detector(config.detector if config else "neural"))
    min_object_size = config.min_object_size if config else MIN_OBJECT_SIZE
    known = Likeness(None, None)
    encoder = None
    try:
        encoder = _encoder(config.expansion) if config and config.expansion else None
    except NoEmbeddingError:
        raise
    except SketchseekError:
        pass  # without the network, the shape can be explained
    if encoder:
        from .embeddings import Pictures, prior_mean

        looked, tokens = encoder.with_tokens(seen.picture.pixels)
        pictures = Pictures(looked.astype(np.float16)[None], prior_mean(encoder.name, encoder.dimension))
        known = _likeness(encoder, sketch, pictures, pictures.background_rows, tokens)
    path = os.path.abspath(picture)
    why = explain_contours(
        sketch,
        seen,
        path,
        settings,
        min_object_size=min_object_size,
        network=known.cosine,
        patches=known.patches,
    )
    return why, seen


def explain_contours(
    sketch: Sketch,
    seen: Contours,
    path: str,
    settings: Settings,
    *,
    min_object_size: float = MIN_OBJECT_SIZE,
    mirror: bool = True,
    network: float | None = None,
    patches: NDArray[np.float32] | None = None,
) -> Explanation:
    """Why the contours of a picture match a drawing; see `search.explanation.explain`."""
    from .search.explanation import explain
    from .search.state import PictureContours, state_of

    points, frame = seen.subject()
    contours = PictureContours(points, seen.picture.width, seen.picture.height, frame)
    state = state_of([contours], settings, min_object_size=min_object_size, path=lambda _: path)
    return explain(state, sketch, mirror=mirror, network=network, patches=patches)


class Likeness(NamedTuple):
    """What a network says of a drawing and a picture; None where it does not know.

    cosine : of what they depict. patches : (m, 5) x0, y0, x1, y1 of each patch of the picture that one of the
    drawing met, in widths and heights of the picture, and their cosine.
    """

    cosine: float | None
    patches: NDArray[np.float32] | None


def _likeness(
    encoder: PictureEncoder, sketch: Sketch, pictures: Pictures, one: EmbeddingRows, tokens: Codes | None
) -> Likeness:
    """What a network says of a drawing and one picture; as a search asks for it."""
    import numpy as np

    met = None
    if tokens is None:
        seen = encoder.drawing(sketch.strokes, pictures.kinds_here)
    else:
        seen, of_kinds = encoder.drawing_with_tokens(sketch.strokes, pictures.kinds_here)
        drawn = of_kinds[int(one.kinds[0])]
        met = None if drawn is None else drawn.patches(tokens)
    return Likeness(
        None if seen is None else float(one.cosines(seen)[0]),
        None if met is None else np.column_stack([met.boxes, met.cosines]),
    )


def _expansion(name: str, *, tokens: bool = True) -> Expansion:
    from .embeddings import get_encoder

    encoder = get_encoder(name)
    bare = Expansion(encoder.name, encoder.version, encoder.dimension)
    return _with_tokens(bare, encoder.tokens) if tokens else _without_tokens(bare)


def _outdated(expansion: Expansion) -> bool:
    """Whether tokens are wanted, and are others than those that would be made here."""
    from .embeddings.encoders import token_space

    here = None if expansion.tokens == "" else token_space(expansion.name)
    return here is not None and here.version != expansion.tokens


def _with_tokens(expansion: Expansion, space: TokenSpace | None) -> Expansion:
    """The same with tokens of that kind; where there is none, it is still to be decided."""
    if space is None:
        return replace(expansion, tokens=None, token_bytes=0)
    return replace(expansion, tokens=space.version, token_bytes=space.bytes)


def _without_tokens(expansion: Expansion) -> Expansion:
    """The same without tokens."""
    return replace(expansion, tokens="", token_bytes=0)


def by_shape_alone(reason: str | None) -> str | None:
    """The sentence for a search that could not go by what pictures depict; None where it could."""
    if reason is None:
        return None
    return f"By shape alone, though the index knows what its pictures depict: {reason}"


def _encoder(config: Expansion) -> PictureEncoder:
    """The network that gave an index its embeddings."""
    from .embeddings import get_encoder

    encoder = get_encoder(config.name)
    if encoder.version != config.version:
        raise NoEmbeddingError(
            f"This index holds embeddings of {config.name} {config.version}, "
            f"and {encoder.version} is installed: `sketchseek index --expansion {config.name}` describes "
            "the pictures again."
        )
    return encoder
