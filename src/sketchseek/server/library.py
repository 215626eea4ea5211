"""The index as the server sees it: it may not be there yet, it changes, and pictures leave it by id only."""

from __future__ import annotations

import hashlib
import io
import os
import shlex
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import NoIndexError, SketchseekError
from ..sources import Item, is_remote
from ..sources.files import as_text, open_regular
from ..sources.limits import MAX_VOLUME_BYTES
from ..sources.objects import fetch, is_object, object_stat
from ..sources.volumes import volume_and_page
from ..storage.location import Location
from ..storage.source_cache import items_of

if TYPE_CHECKING:
    from ..index import Hit, Index

REFRESH_SECONDS = 1.0
"""How long a change of the index may go unnoticed."""
CACHE_BYTES = 64 << 20

BROWSER_TYPES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF8", "image/gif"),
)


class NoPictureError(Exception):
    """No picture has that id, or its file can no longer be read."""


class NothingIndexedError(Exception):
    """There is nothing to search yet; says which command makes it."""


class OutOfReachError(Exception):
    """The index was there, and is not now; says why."""


@dataclass(frozen=True, slots=True)
class File:
    """A picture as it is sent: bytes, or an open file that the receiver closes."""

    media_type: str
    etag: str
    content: bytes | io.BufferedReader

    def close(self) -> None:
        """Close the file, if there is one."""
        if not isinstance(self.content, bytes):
            self.content.close()


class Library:
    """An index that may appear, grow and shrink while the server runs. Safe to use from many threads."""

    def __init__(
        self, where: str | os.PathLike[str], device: str = "auto", index: Index | None = None
    ) -> None:
        self.where, self._device = os.fspath(where), device
        self._index = index
        self._opened = index is not None  # once, if not now
        self._trouble: SketchseekError | None = None
        self._looked = -REFRESH_SECONDS
        self._lock = threading.Lock()
        self.cache = ByteCache(CACHE_BYTES)
        self._items: tuple[int, dict[str, Item]] | None = None
        self._lock_items = threading.Lock()

    def index(self) -> Index | None:
        """The newest version; None where there is not an index yet.

        Going to a newer one may take a while: requests meanwhile get the one before.
        """
        if time.monotonic() - self._looked < REFRESH_SECONDS:
            return self._index
        if not self._lock.acquire(blocking=self._index is None):
            return self._index
        try:
            self._index = self._newest()
            self._looked = time.monotonic()
            return self._index
        finally:
            self._lock.release()

    def _newest(self) -> Index | None:
        from ..index import Index

        try:
            if self._index is None:
                opened = Index.open(self.where, device=self._device)
                self._opened, self._trouble = True, None
                return opened
            self._index.refresh()
            return self._index
        except SketchseekError as error:
            self._trouble = None if isinstance(error, NoIndexError) and not self._opened else error
            return None

    def _there(self) -> Index | None:
        """The newest version, None where none was made yet; an error where it is out of reach now."""
        index = self.index()
        if index is None and self._trouble is not None:
            raise OutOfReachError(f"The index is out of reach now: {self._trouble}")
        return index

    def ready(self) -> Index:
        """The newest version; `NothingIndexedError` where there is none."""
        index = self._there()
        if index is None or len(index) == 0:
            raise NothingIndexedError(f"There are no pictures in the index yet: run `{self.command}`.")
        return index

    @property
    def command(self) -> str:
        """What a person types to fill the index."""
        return f"sketchseek index ~/Pictures --index {shlex.quote(str(Location(self.where)))}"

    def info(self) -> dict[str, Any]:
        """As `sketchseek info` prints it; with `pictures` 0 where there is not an index yet."""
        index = self._there()
        nothing = {"pictures": 0, "bytes": 0, "preset": None, "detector": None, "expansion": None}
        known = index.info() if index is not None else {**nothing, "version": 0, "settings": {}}
        return {**known, "command": self.command}

    def missing_thumbnails(self, hits: Sequence[Hit]) -> list[str]:
        """Of which hits no thumbnail is kept in memory."""
        index = self._index
        if index is None:
            return []
        return [hit.id for hit in hits if self._thumbnail_etag(index, hit.id) not in self.cache]

    def load_thumbnails(self, identifiers: Sequence[str]) -> None:
        """Read several at once, which takes hardly longer than one."""
        index = self.index()
        if index is None:
            return
        try:
            read = index.thumbnails(identifiers)
        except SketchseekError:
            return  # one has just left the index; who asks for it is told so
        for identifier, content in zip(identifiers, read, strict=True):
            self.cache.put(self._thumbnail_etag(index, identifier), content)

    def kept_thumbnail(self, identifier: str) -> File | None:
        """The thumbnail, if it is in memory: no file is touched."""
        if self._index is None:
            return None
        etag = self._thumbnail_etag(self._index, identifier)
        content = self.cache.find(etag)
        return None if content is None else File("image/webp", etag, content)

    def thumbnail(self, identifier: str) -> File:
        """A small WebP."""
        index = self.index()
        if index is None:
            raise NoPictureError("There are no pictures here.")
        etag = self._thumbnail_etag(index, identifier)
        return File("image/webp", etag, self.cache.get(etag, lambda: _found(index.thumbnail, identifier)))

    def _thumbnail_etag(self, index: Index, identifier: str) -> str:
        return etag("thumbnail", identifier, index.version)

    def picture(self, identifier: str) -> File | None:
        """The picture's own file, where every browser can show it and could not run it; None where not."""
        (path,) = self.paths([identifier])
        if is_remote(path):  # its server is not asked: what the index keeps of it is shown
            return self.thumbnail(identifier)
        path, tag = self.locate(identifier)
        if volume_and_page(path)[1] is not None:
            return None
        try:
            if is_object(path):
                content = fetch(path)[1]
                media_type = _browser_type(content[:32])
                return None if media_type is None else File(media_type, tag, content)
            file = open_regular(path)
        except (OSError, SketchseekError):
            raise NoPictureError("The file of this picture can no longer be read.") from None
        # What was looked at is what is sent: at the path there may be something else by now.
        status, media_type = os.fstat(file.fileno()), _browser_type(file.peek(32)[:32])
        if media_type is None:
            file.close()
            return None
        return File(media_type, etag("picture", identifier, status.st_mtime_ns, status.st_size), file)

    def volume(self, identifier: str) -> File:
        """The file that a picture is a page of."""
        path, _ = self.locate(identifier)
        volume, page = volume_and_page(path)
        if page is None:
            raise NoPictureError("This picture is not a page of a volume.")
        try:
            file = open_regular(volume, limit=MAX_VOLUME_BYTES)
        except (OSError, SketchseekError):
            raise NoPictureError("The volume of this page can no longer be read.") from None
        status, head = os.fstat(file.fileno()), file.peek(1024)[:1024]
        media_type = "application/pdf" if b"%PDF-" in head else "application/octet-stream"
        return File(media_type, etag("volume", identifier, status.st_mtime_ns, status.st_size), file)

    def locate(self, identifier: str, kind: str = "picture") -> tuple[str, str]:
        """Where a picture's file is, and a tag for what is made of it; NoPictureError where it is gone."""
        (path,) = self.paths([identifier])
        if is_remote(path):
            raise NoPictureError("This picture lives elsewhere: the index keeps only a small one of it.")
        try:
            found = object_stat(path)
        except (OSError, ValueError):
            raise NoPictureError("The file of this picture is gone: moved, or deleted.") from None
        except SketchseekError as error:
            raise NoPictureError(str(error)) from None
        return path, etag(kind, identifier, found.modified, found.size)

    def paths(self, identifiers: Sequence[str]) -> list[str]:
        """Where pictures are, or were when they were indexed."""
        index = self.index()
        if index is None:
            raise NoPictureError("There are no pictures here.")
        return [_found(index.picture_path, identifier) for identifier in identifiers]

    def about(self, path: str) -> Item | None:
        """What the source of a picture that lives elsewhere says of it."""
        if not is_remote(path):
            return None
        index = self.index()
        if index is None:
            return None
        with self._lock_items:
            if self._items is None or self._items[0] != index.version:
                self._items = index.version, items_of(Location(self.where))
            return self._items[1].get(path.partition("#")[2])

    def folders(self, most: int) -> list[tuple[str, int]]:
        """Folders and how many pictures each has, in it and below: at most so many, the upper ones first."""
        index = self.index()
        known = index.folders(most) if index is not None else []
        return [
            (name, count) for name, count in known if as_text(name) == name
        ]  # others cannot be asked for, either


class ByteCache:
    """The bytes most recently asked for, up to a total size."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, key: str) -> bool:
        return key in self._kept

    def find(self, key: str) -> bytes | None:
        """What is kept under `key`."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def get(self, key: str, make: Callable[[], bytes]) -> bytes:
        """What is kept under `key`, made now if nothing is."""
        content = self.find(key)
        if content is None:
            content = make()
            self.put(key, content)
        return content

    def put(self, key: str, content: bytes) -> None:
        """Keep it, and let go of the oldest."""
        with self._lock:
            self._size += len(content) - len(self._kept.pop(key, b""))
            self._kept[key] = content
            while self._size > self._capacity:
                _, dropped = self._kept.popitem(last=False)
                self._size -= len(dropped)


def _browser_type(head: bytes) -> str | None:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in BROWSER_TYPES if head.startswith(magic)), None)


def _found(read: Callable[[str], Any], what: str) -> Any:
    try:
        return read(what)
    except SketchseekError as error:
        raise NoPictureError(str(error)) from None


def etag(*parts: object) -> str:
    """A tag by which a browser knows whether it has this already."""
    digest = hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=12)
    return f'"{digest.hexdigest()}"'
