"""What one worker process does: read a picture, and turn it into the row that the table keeps."""

from __future__ import annotations

import errno
import os
import time
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from ..errors import SketchseekError
from ..sources.files import open_regular
from ..sources.limits import MAX_BYTES
from ..sources.objects import Stat, fetch, is_object, object_stat
from ..sources.sandbox import machine_failed
from ..sources.volumes import PAGED, count_pages, read_page, suffix, volume_and_page
from ..storage.schema import IndexConfig
from .changes import digest_of, trusted

if TYPE_CHECKING:
    from ..contours.extract import Contours
    from ..contours.points import Points
    from ..shape.settings import Floats


@dataclass(frozen=True, slots=True)
class Task:
    """A picture to read.

    digest : the content the index knows, if any: a file with the same content isn't described again.
    lacks_expansion : what the index knows lacks the embedding or tokens, which are wanted.
    lacks_windows : it has other windows than those that are wanted.
    lacks_keywords : its keywords were not read yet.
    lacks_embedding : the icon network has not seen it.
    data, stat, original : of a picture that lives elsewhere, its bytes, what they are compared by, and the
        size (width, height) of the original, of which they may be a smaller copy; 0 where that is not known.
    """

    path: bytes
    digest: bytes | None = None
    lacks_expansion: bool = False
    lacks_windows: bool = False
    lacks_keywords: bool = False
    lacks_embedding: bool = False
    data: bytes | None = None
    stat: Stat | None = None
    original: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class PictureShape:
    """The descriptors of a picture's windows, made for things as small as `min_object_size`, as raw bytes.

    code, norms, frame : of the first, all of it. windows, window_frames : of the others, one after the other.
    """

    code: bytes
    norms: bytes
    frame: bytes
    windows: bytes
    window_frames: bytes
    min_object_size: float
    is_line_art: bool

    def columns(self) -> dict[str, object]:
        """By the names that the table stores them under."""
        return {
            "code": self.code,
            "norms": self.norms,
            "frame": self.frame,
            "windows": self.windows,
            "window_frames": self.window_frames,
            "smallest": self.min_object_size,
            "is_line_art": self.is_line_art,
        }


@dataclass(frozen=True, slots=True)
class Described:
    """A picture's row. `expansion` is raw bytes, of float16; `tokens` are made in the same look.

    keywords : of the file's metadata, one per line. embedding : of line art and flat art, else no bytes.
    """

    path: bytes
    size: int
    modified: int
    digest: bytes
    width: int
    height: int
    thumbnail: bytes
    shape: PictureShape
    expansion: bytes | None
    tokens: bytes | None = None
    keywords: str = ""
    embedding: bytes = b""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The content is what the index knows; size and time may not be. With it what was lacking."""

    path: bytes
    size: int
    modified: int
    digest: bytes
    expansion: bytes | None = None
    shape: PictureShape | None = None
    tokens: bytes | None = None
    keywords: str | None = None
    embedding: bytes | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The picture can't be read, and why.

    digest : of the content that can't be read; empty when the machine failed (memory, time, a signal, the
        disk), which says nothing about the picture: it is tried again.
    """

    path: bytes
    size: int
    modified: int
    digest: bytes
    reason: str


@dataclass(frozen=True, slots=True)
class Gone:
    """The file went away after it was listed."""

    path: bytes


Result = Described | Unchanged | Failed | Gone


@dataclass(frozen=True, slots=True)
class _Content:
    data: bytes
    size: int
    modified: int
    digest: bytes


class Reader:
    """Turns tasks into results; holds the detector and the encoder.

    device : what the networks run on and points are summed up on, "cpu" or "cuda".
    """

    def __init__(self, config: IndexConfig, device: str = "cpu") -> None:
        from ..contours.detectors import get_detector
        from ..shape.settings import Settings

        self.settings = Settings.from_json(config.settings)
        self.min_object_size, self.device = config.min_object_size, device
        self.detector = get_detector(config.detector, device)
        _check("edge detector", config.detector, config.detector_version, self.detector)
        self.encoder: Any = None
        self.wants_tokens = False
        wanted = config.wanted
        if wanted is not None:
            from ..embeddings import get_encoder

            self.encoder = get_encoder(wanted.name, device=device)
            _check("picture network", wanted.name, wanted.version, self.encoder)
            self.wants_tokens = bool(wanted.tokens)
            here = self.encoder.tokens
            if self.wants_tokens and (here is None or here.version != wanted.tokens):
                raise SketchseekError(
                    f"This index holds tokens {wanted.tokens} of pictures, and here are "
                    f"{'none' if here is None else here.version}: it can be searched, and `sketchseek index` "
                    "gives its pictures new ones."
                )

    def __call__(self, task: Task) -> Result:
        """Read, and describe unless the content is what the index knows."""
        try:
            content = _of_task(task) or read_steadily(task.path)
        except FileNotFoundError:
            return Gone(task.path)
        except SketchseekError as error:
            # Of a file that was not read the reason is all that is known; of a page it is what is in it.
            known = _is_in_volume(task.path) and not machine_failed(error)
            return self._unread(task.path, str(error), digest_of(str(error).encode()) if known else b"")
        except OSError as error:
            return self._unread(task.path, error.strerror or str(error))
        try:
            if content.digest == task.digest:
                looked = self._read_alone(content.data) if task.lacks_expansion else (None, None)
                seen = self._contours(content.data, task) if task.lacks_windows else None
                shape = None if seen is None else self._shape(seen)
                embedding = _embedding(content.data, seen) if task.lacks_embedding else None
                keywords = _keywords(content.data) if task.lacks_keywords else None
                stat = content.size, content.modified, content.digest
                return Unchanged(task.path, *stat, looked[0], shape, looked[1], keywords, embedding)
            return self._describe(task, content)
        except SketchseekError as error:
            digest = b"" if machine_failed(error) else content.digest
            return Failed(task.path, content.size, content.modified, digest, str(error))
        except Exception as error:
            reason = f"unexpected {type(error).__name__}: {error}"
            return Failed(task.path, content.size, content.modified, b"", reason)

    def _unread(self, path: bytes, reason: str, digest: bytes = b"") -> Result:
        try:
            found = object_stat(path)
        except OSError:
            return Gone(path)
        except SketchseekError:  # a store that does not answer
            found = Stat(0, 0)
        return Failed(path, found.size, found.modified, digest, reason)

    def _read_alone(self, data: bytes) -> tuple[bytes | None, bytes | None]:
        from ..sources.picture import load_picture

        return self._read_again(load_picture(data).pixels)

    def _read_again(self, pixels: Any) -> tuple[bytes | None, bytes | None]:
        """The embedding and tokens, where they are wanted."""
        if self.encoder is None:
            return None, None
        from ..embeddings.encoders import described

        seen, tokens = described(self.encoder, pixels, tokens=self.wants_tokens)
        return seen.astype("float16").tobytes(), None if tokens is None else tokens.tobytes()

    def _contours(self, data: bytes, task: Task) -> Contours:
        from ..contours import picture_contours

        seen = picture_contours(data, self.detector)
        width, height = task.original
        if width > 0 and height > 0:  # places are in pixels of the original
            return replace(seen, picture=replace(seen.picture, width=width, height=height))
        return seen

    def _shape(self, contours: Contours) -> PictureShape:
        import numpy as np

        from ..shape.descriptor import encode, norms
        from ..shape.windows import windows_of

        parts = windows_of(*contours.subject(), self.min_object_size, is_line_art=contours.is_line_art)
        codes = encode(self._vectors([part.points for part in parts]), self.settings)
        frames = np.array([part.frame for part in parts], np.float32)
        return PictureShape(
            code=codes[0].tobytes(),
            norms=norms(codes[0], self.settings).tobytes(),
            frame=frames[0].tobytes(),
            windows=codes[1:].tobytes(),
            window_frames=frames[1:].tobytes(),
            min_object_size=self.min_object_size,
            is_line_art=contours.is_line_art,
        )

    def _vectors(self, parts: list[Points]) -> Floats:
        import numpy as np

        if self.device == "cuda":
            from ..shape.accumulation import describe_together

            return describe_together(parts, self.settings, self.device)
        from ..shape.descriptor import describe

        return np.stack([describe(points, self.settings) for points in parts])

    def _describe(self, task: Task, content: _Content) -> Described:
        from ..sources.picture import thumbnail

        contours = self._contours(content.data, task)
        picture = contours.picture
        expansion, tokens = self._read_again(picture.pixels)
        return Described(
            path=task.path,
            size=content.size,
            modified=content.modified,
            digest=content.digest,
            width=picture.width,
            height=picture.height,
            thumbnail=thumbnail(picture),
            shape=self._shape(contours),
            expansion=expansion,
            tokens=tokens,
            keywords=_keywords(content.data),
            embedding=_embedding(content.data, contours),
        )


def _embedding(data: bytes, seen: Contours | None) -> bytes:
    """What the icon network sees in a file, whether its contours are known (`seen`) or not."""
    from ..contours.line_art import is_line_art
    from ..embeddings.icons import stored_embedding
    from ..sources.picture import THUMBNAIL_SIDE, load_picture
    from ..sources.svg import is_svg, svg_lines

    if seen is not None:
        return stored_embedding(seen.picture.pixels, is_line_art=seen.is_line_art)
    lines = svg_lines(data, "The picture") if is_svg(data) else None
    pixels = load_picture(data, THUMBNAIL_SIDE).pixels if lines is not None else load_picture(data).pixels
    return stored_embedding(pixels, is_line_art=lines is not None or is_line_art(pixels))


def _keywords(data: bytes) -> str:
    from ..words.keywords import read_keywords

    return "\n".join(read_keywords(data))


def _of_task(task: Task) -> _Content | None:
    if task.data is None or task.stat is None:
        return None
    return _Content(task.data, task.stat.size, task.stat.modified, digest_of(task.data))


def read_steadily(path: bytes, attempts: int = 3) -> _Content:
    """The bytes of a file that didn't change while they were read, and its size and time then.

    The time is 0, which no later look will agree with, when the file is so young that another change
    could bear the same time.
    """
    for attempt in range(attempts):
        now = time.time_ns()
        before, data, after = _read(path)
        if before == after and (_is_in_volume(path) or len(data) == after.size):
            return _Content(data, after.size, trusted(after.modified, now), digest_of(data))
        time.sleep(0.1 * (attempt + 1))
    raise SketchseekError("The file kept changing while it was read.")


def _is_in_volume(path: bytes) -> bool:
    """Whether it is a page, or a volume that could not be taken to pages."""
    return volume_and_page(path)[1] is not None or (suffix(path) in PAGED and not is_object(path))


def _read(path: bytes) -> tuple[Stat, bytes, Stat]:
    if is_object(path):
        return _read_object(path)
    return _read_page(path) if _is_in_volume(path) else _read_file(path)


def _read_page(path: bytes) -> tuple[Stat, bytes, Stat]:
    volume, page = volume_and_page(path)
    before = object_stat(volume)
    if page is None:
        count_pages(volume)  # says what is wrong with it
        raise SketchseekError("Its pages were not listed.") from OSError(
            errno.EAGAIN, "listed by another run"
        )
    return before, read_page(volume, page), object_stat(volume)


def _read_file(path: bytes) -> tuple[Stat, bytes, Stat]:
    with open_regular(path) as file:
        before = os.fstat(file.fileno())
        data = file.read(MAX_BYTES + 1)
        after = os.fstat(file.fileno())
    was, still = (Stat(s.st_size, s.st_mtime_ns) for s in (before, after))
    return was, data, still


def _read_object(path: bytes) -> tuple[Stat, bytes, Stat]:
    return *fetch(path), object_stat(path)


def _check(what: str, name: str, version: str, here: Any) -> None:
    """Refuse to mix the vectors of two versions."""
    if (here.name, here.version) != (name, version):
        raise SketchseekError(
            f"This index was made with the {what} {name} {version}, and here is {here.name} {here.version}: "
            "it can be searched, but to add pictures, index them again in another place."
        )


def main(descriptor: int) -> None:
    """Serve one parent over a connection until it closes."""
    connection = Connection(descriptor)
    try:
        config, device = connection.recv()
        try:
            one_thread()
            reader = Reader(config, device)
        except SketchseekError as error:
            connection.send(str(error))
            return
        except Exception as error:
            connection.send(f"The program that reads pictures does not start: {error}")
            return
        connection.send(None)
        while True:
            connection.send(reader(connection.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent has finished, or is no more


def one_thread() -> None:
    """Libraries don't start threads of their own."""
    import cv2

    cv2.setNumThreads(1)  # the processes are the parallelism
