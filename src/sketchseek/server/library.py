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

from ..errors import SketchseekError

if TYPE_CHECKING:
    from ..contours.detectors import EdgeDetector
    from ..contours.points import Points
    from ..index import Hit, Index

REFRESH_SECONDS = 1.0
"""How long a change of the index may go unnoticed."""
LARGE_SIDE = 2048
"""Longer side, in pixels, of a picture that browsers cannot show as it is."""
CONTOUR_ZOOM = 3
CACHE_BYTES = 64 << 20

BROWSER_TYPES = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF8", "image/gif"),
)


class NoPictureError(Exception):
    """No picture has that id, or its file can no longer be read."""


class NoIndexError(Exception):
    """There is nothing to search yet; says which command makes it."""


@dataclass(frozen=True, slots=True)
class File:
    """A picture as it is sent: bytes, or a file that is sent as it lies on disk."""

    media_type: str
    etag: str
    content: bytes | None = None
    path: str | None = None


class Library:
    """An index that may appear, grow and shrink while the server runs. Safe to use from many threads."""

    def __init__(self, where: str | os.PathLike[str]) -> None:
        self.where = os.fspath(where)
        self._index: Index | None = None
        self._looked = -REFRESH_SECONDS
        self._lock = threading.Lock()
        self._detector: EdgeDetector | None = None
        self._detecting = threading.Lock()
        self._cache = Cache(CACHE_BYTES)

    def index(self) -> Index | None:
        """The newest version; None where there is no index yet.

        Going to a newer one may take a while: whoever comes then is given the one before.
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
                return Index.open(self.where)
            self._index.refresh()
            return self._index
        except SketchseekError:
            return None  # not made yet, or taken away

    def ready(self) -> Index:
        """The newest version; `NoIndexError` where there is none."""
        index = self.index()
        if index is None or len(index) == 0:
            raise NoIndexError(f"There are no pictures in the index yet: run `{self.command}`.")
        return index

    @property
    def command(self) -> str:
        """What a person types to fill the index."""
        from ..storage.store import Location

        return f"sketchseek index ~/Pictures --index {shlex.quote(str(Location(self.where)))}"

    def info(self) -> dict[str, Any]:
        """As `sketchseek info` prints it; with `pictures` 0 where there is no index."""
        index = self.index()
        nothing = {"pictures": 0, "bytes": 0, "preset": None, "detector": None, "expansion": None}
        known = index.info() if index is not None else {**nothing, "version": 0, "settings": {}}
        return {**known, "command": self.command}

    def missing_thumbnails(self, hits: Sequence[Hit]) -> list[str]:
        """Of which hits no thumbnail is kept in memory."""
        index = self._index
        if index is None:
            return []
        return [hit.id for hit in hits if self._thumbnail_etag(index, hit.id) not in self._cache]

    def load_thumbnails(self, identifiers: Sequence[str]) -> None:
        """Read several at once, which takes hardly longer than one."""
        index = self.index()
        if index is None:
            return
        try:
            read = index.thumbnails(identifiers)
        except SketchseekError:
            return  # one has just left the index; who asks for it will hear so
        for identifier, content in zip(identifiers, read, strict=True):
            self._cache.put(self._thumbnail_etag(index, identifier), content)

    def kept_thumbnail(self, identifier: str) -> File | None:
        """The thumbnail, if it is in memory: no file is touched."""
        if self._index is None:
            return None
        etag = self._thumbnail_etag(self._index, identifier)
        content = self._cache.find(etag)
        return None if content is None else File("image/webp", etag, content)

    def thumbnail(self, identifier: str) -> File:
        """A small WebP."""
        index = self.index()
        if index is None:
            raise NoPictureError("There are no pictures here.")
        etag = self._thumbnail_etag(index, identifier)
        return File("image/webp", etag, self._cache.get(etag, lambda: _found(index.thumbnail, identifier)))

    def _thumbnail_etag(self, index: Index, identifier: str) -> str:
        return _etag("thumbnail", identifier, index.version)

    def picture(self, identifier: str) -> File:
        """The picture itself: as it lies on disk where every browser can show it, as WebP otherwise.

        Nothing is sent that a browser could run: an SVG leaves as pixels.
        """
        path, etag = self.locate(identifier, "picture")
        media_type = _browser_type(path)
        if media_type is not None:
            return File(media_type, etag, path=path)
        return File("image/webp", etag, self._cache.get(etag, lambda: _found(_as_webp, path)))

    def contours(self, identifier: str) -> File:
        """What the program saw in the picture, as a transparent PNG of the same shape."""
        path, etag = self.locate(identifier, "contours")
        return File("image/png", etag, self._cache.get(etag, lambda: self._draw_contours(path)))

    def locate(self, identifier: str, kind: str = "picture") -> tuple[str, str]:
        """Where a picture's file is, and a tag for what is made of it; NoPictureError where it is gone."""
        (path,) = self.paths([identifier])
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            raise NoPictureError("The file of this picture is gone: moved, or deleted.") from None
        return path, _etag(kind, identifier, status.st_mtime_ns, status.st_size)

    def paths(self, identifiers: Sequence[str]) -> list[str]:
        """Where pictures are, or were when they were indexed."""
        index = self.index()
        if index is None:
            raise NoPictureError("There are no pictures here.")
        return [_found(index.picture_path, identifier) for identifier in identifiers]

    def folders(self, most: int) -> list[tuple[str, int]]:
        """Folders and how many pictures each has, in it and below: at most so many, the upper ones first."""
        index = self.index()
        known = index.folders(most) if index is not None else []
        return [(name, count) for name, count in known if is_text(name)]  # others cannot be asked for, either

    def _draw_contours(self, path: str) -> bytes:
        from ..contours import picture_contours
        from ..contours.detectors import get_detector

        with self._detecting:
            detector = self._detector = self._detector or get_detector(self.ready().recipe.detector)
            seen = _found(lambda source: picture_contours(source, detector), path)
        return contours_png(seen.points)


def is_text(name: str) -> bool:
    """Whether a file name's bytes are UTF-8."""
    return name.isascii() or os.fsencode(name).decode("utf-8", "replace") == name


class Cache:
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


def contours_png(points: Points) -> bytes:
    """Contour points as short pieces of line, the stronger the more opaque."""
    import cv2
    import numpy as np

    width, height = round(points.width * CONTOUR_ZOOM), round(points.height * CONTOUR_ZOOM)
    alpha = np.zeros((max(height, 1), max(width, 1)), np.uint8)
    x, y = points.x * CONTOUR_ZOOM + width / 2, points.y * CONTOUR_ZOOM + height / 2
    # The normal is (sin, cos) of the angle, so the contour runs along (cos, -sin).
    reach = 0.7 * CONTOUR_ZOOM
    tx, ty = np.cos(points.angle) * reach, -np.sin(points.angle) * reach
    ends = np.round(np.stack([x - tx, y - ty, x + tx, y + ty], axis=1) * 16 - 8).astype(int)
    for i in np.argsort(points.weight):  # the strong ones last: they stay on top
        strength = int(40 + 215 * points.weight[i])
        x0, y0, x1, y1 = ends[i].tolist()
        cv2.line(alpha, (x0, y0), (x1, y1), (strength,), 2, cv2.LINE_AA, shift=4)
    colour = np.empty((*alpha.shape, 4), np.uint8)
    colour[...] = (40, 96, 255, 0)  # a warm red, in OpenCV's order: apart from the outline's green
    colour[..., 3] = alpha
    return bytes(cv2.imencode(".png", colour)[1])


def _browser_type(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            head = file.read(32)
    except OSError:
        raise NoPictureError("The file of this picture can no longer be read.") from None
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in BROWSER_TYPES if head.startswith(magic)), None)


def _as_webp(path: str) -> bytes:
    from PIL import Image

    from ..contours.picture import load_picture

    out = io.BytesIO()
    Image.fromarray(load_picture(path, LARGE_SIDE).pixels).save(out, "WEBP", quality=88, method=2)
    return out.getvalue()


def _found(read: Callable[[str], Any], what: str) -> Any:
    try:
        return read(what)
    except SketchseekError as error:
        raise NoPictureError(str(error)) from None


def _etag(*parts: object) -> str:
    digest = hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=12)
    return f'"{digest.hexdigest()}"'
