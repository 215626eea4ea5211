"""What a search sees of a collection: descriptors and sizes of its pictures, nothing of files or tables."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contours.points import Box, Points
from ..errors import SketchseekError
from ..shape.engine import Ids, _engine
from ..shape.windows import MIN_OBJECT_SIZE, shares, windows_of
from .collection import Collection
from .core import CORE
from .engine_arrays import EngineArrays
from .folders import Folders

DIMENSION = int(CORE["embedding"])
"""Numbers of what the icon network sees in a picture."""

if TYPE_CHECKING:
    from ..embeddings import EmbeddingIndex
    from ..shape.settings import Settings
    from ..words import NameIndex


@dataclass(frozen=True)
class PictureContours:
    """What an index keeps of a picture: its points, its upright size and what part of it they show.

    embedding : of line art and flat art what the icon network sees, as an index stores it; else no bytes.
    """

    points: Points
    width: int
    height: int
    frame: Box
    """In pixels: all of a photograph, the ink of line art."""
    embedding: bytes = b""

    @classmethod
    def whole(cls, points: Points, pixels: NDArray[np.uint8]) -> PictureContours:
        """Of all of a picture."""
        height, width = pixels.shape[:2]
        return cls(points, width, height, (0.0, 0.0, float(width), float(height)))

    @property
    def is_line_art(self) -> bool:
        """Whether less than the whole picture is described."""
        return self.frame != (0.0, 0.0, float(self.width), float(self.height))


@dataclass(frozen=True)
class SearchState:
    """One version of a collection, ready to be searched. Never changes.

    collection : the pictures' shape descriptors, a row for each window of a picture; a picture is known by
        its number.
    width, height : (n,) int, of the upright originals.
    frames : (rows, 4) x0, y0, x1, y1 of the part of its picture that each row describes, in its pixels.
    is_line_art : (n,) bool; line art has no clutter.
    icon_codes : (n, 128) int8, what the icon network sees in line art and flat art, zeros for others.
    ids : (n,) bytes, each picture's name in the collection.
    path : number -> the picture's absolute path or URI.
    thumbnail : id -> a small WebP.
    keywords : number -> what the picture's file says of it, one keyword or sentence a line.
    load_embeddings : gives what the pictures depict, or None where that is not known; called once, when
        that is first asked for.
    method : how it is searched by shape unless a search says how.
    """

    collection: Collection
    width: NDArray[np.integer[Any]]
    height: NDArray[np.integer[Any]]
    frames: NDArray[np.floating[Any]]
    is_line_art: NDArray[np.bool_]
    ids: Sequence[bytes] | NDArray[np.bytes_]
    path: Callable[[int], str]
    thumbnail: Callable[[str], bytes]
    keywords: Callable[[int], str] = lambda _: ""
    icon_codes: NDArray[np.int8] | None = None
    load_embeddings: Callable[[], EmbeddingIndex | None] = lambda: None
    method: str = "exhaustive"
    _loading: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.collection)

    @property
    def settings(self) -> Settings:
        """What gave the descriptors."""
        return self.collection.settings

    @property
    def embeddings(self) -> EmbeddingIndex | None:
        """What the pictures depict: the same object for all threads."""
        with self._loading:
            return self._embeddings

    @cached_property
    def _embeddings(self) -> EmbeddingIndex | None:
        return self.load_embeddings()

    @cached_property
    def core(self) -> _engine.Search:
        """The engine's search over the rows, which are in this process."""
        host = self.collection.host
        if host is None:
            raise ValueError("the rows are elsewhere: take a part of them")
        layout = EngineArrays.of(self)
        return _engine.Search(
            host.collection, layout.settings, layout.pictures, layout.frames, layout.synthetic
        )

    @cached_property
    def icons(self) -> _engine.IconEmbeddings | None:
        """The embeddings, ready to be compared, where most pictures are line art or flat art."""
        known = None if self.icon_codes is None else _engine.IconEmbeddings(self.icon_codes)
        return known if known is not None and known.speak else None

    def part(
        self, ids: Ids, load_embeddings: Callable[[], EmbeddingIndex | None] = lambda: None
    ) -> SearchState:
        """Some of the pictures, by number, numbered anew, with their rows in this process."""
        rows = self.collection.rows_of(ids)
        return replace(
            self,
            collection=self.collection.take(ids),
            width=self.width[ids],
            height=self.height[ids],
            frames=self.frames[rows],
            is_line_art=self.is_line_art[ids],
            icon_codes=None if self.icon_codes is None else self.icon_codes[ids],
            ids=[self.ids[i] for i in ids],
            path=lambda number: self.path(int(ids[number])),
            keywords=lambda number: self.keywords(int(ids[number])),
            load_embeddings=load_embeddings,
        )

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {bytes(name): i for i, name in enumerate(self.ids)}

    def has(self, identifier: str) -> bool:
        """Whether there is a picture with that id."""
        return identifier.encode(errors="surrogateescape") in self._numbers

    def number(self, identifier: str) -> int:
        """The number of the picture with that id."""
        try:
            return self._numbers[identifier.encode()]
        except KeyError:
            raise SketchseekError(f"There is no picture {identifier!r} in the index.") from None

    @cached_property
    def folders(self) -> Folders:
        """Where the pictures are."""
        return Folders(map(self.path, range(len(self))))

    @cached_property
    def names(self) -> NameIndex:
        """What the pictures are called."""
        from ..words import NameIndex

        numbers = range(len(self))
        return NameIndex([self.path(number) for number in numbers], [self.keywords(n) for n in numbers])

    def id(self, number: int) -> str:
        """The id of a picture."""
        return bytes(self.ids[number]).decode()


def state_of(
    contours: Sequence[PictureContours],
    settings: Settings,
    storage: str = "int8",
    *,
    min_object_size: float = MIN_OBJECT_SIZE,
    path: Callable[[int], str] = str,
    embeddings: EmbeddingIndex | None = None,
) -> SearchState:
    """Pictures that are in no index, as a search sees them."""
    parts = [windows_of(c.points, c.frame, min_object_size, is_line_art=c.is_line_art) for c in contours]
    frames = np.array([part.frame for mine in parts for part in mine], np.float32)
    pictures = np.repeat(np.arange(len(parts)), [len(mine) for mine in parts])
    points = (part.points for mine in parts for part in mine)
    is_line_art = np.array([c.is_line_art for c in contours])
    rows = [c.embedding or bytes(DIMENSION) for c in contours]
    icon_codes = np.frombuffer(b"".join(rows), np.int8).reshape(len(rows), DIMENSION)
    return SearchState(
        Collection.of(
            points, settings, storage, pictures=pictures, shares=shares(frames, pictures, is_line_art)
        ),
        np.array([c.width for c in contours]),
        np.array([c.height for c in contours]),
        frames,
        is_line_art=is_line_art,
        ids=[str(i).encode() for i in range(len(contours))],
        path=path,
        icon_codes=icon_codes,
        thumbnail=_no_thumbnail,
        load_embeddings=lambda: embeddings,
    )


def _no_thumbnail(identifier: str) -> bytes:
    raise SketchseekError(f"Picture {identifier} is in no index, and has no thumbnail.")
