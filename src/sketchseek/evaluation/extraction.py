"""Contour points of many pictures, by several processes, remembered between runs.

Finding edges takes most of an evaluation, and they stay the same while everything after them is tried out.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from .. import contours, system
from ..contours.detectors import EdgeDetector, get_detector
from ..contours.points import Points
from ..embeddings.cache import load_arrays, save_arrays
from ..embeddings.icons import stored_embedding, weights
from ..errors import SketchseekError
from ..search.state import PictureContours
from ..sources.picture import load_picture


def cache_folder() -> Path:
    """`sketchseek/contours` in $XDG_CACHE_HOME, or where else the system has users' caches."""
    return system.cache_folder() / "sketchseek" / "contours"


def contours_of_pictures(
    paths: Sequence[Path],
    detector: str = "neural",
    *,
    line_art: bool = True,
    jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[PictureContours | SketchseekError]:
    """Contour points of each picture, in order; of an unreadable one, the reason.

    Parameters
    ----------
    paths : pictures
    detector : as `get_detector` takes it
    line_art : as `picture_contours` takes it
    jobs : how many processes; by default one per processor
    progress : called with (done, of how many)
    """
    jobs = min(jobs or os.cpu_count() or 1, max(1, len(paths)))
    found: list[PictureContours | SketchseekError] = []
    for one in _mapped(paths, (detector, line_art), jobs):
        found.append(one)
        if progress:
            progress(len(found), len(paths))
    return found


def _mapped(
    paths: Sequence[Path], how: tuple[str, bool], jobs: int
) -> Iterator[PictureContours | SketchseekError]:
    if jobs == 1:
        _start(*how)
        yield from map(_cached, paths)
        return
    get_detector(how[0])  # what is wrong with it is said here, not by processes that end
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, context, _start, how) as pool:
        yield from pool.map(_cached, paths, chunksize=8)


_detector: EdgeDetector  # one per process: loading a network takes longer than using it
_line_art: bool


def _start(detector: str, line_art: bool) -> None:
    global _detector, _line_art
    _detector, _line_art = get_detector(detector), line_art


def _cached(path: Path) -> PictureContours | SketchseekError:
    try:
        content = path.read_bytes()
    except OSError as error:
        return SketchseekError(f"{path} can't be read: {error.strerror or error}.")
    kept = _place(content, _line_art)
    known = _load(kept)
    if known is None and not _line_art:
        known = _load(_place(content, True))  # the same, unless the rule for line art applied to it
        known = None if known is not None and known.is_line_art else known
    if known is not None:
        return known
    try:
        found = _find(path)
    except SketchseekError as error:
        return error
    _save(kept, found)
    return found


def _place(content: bytes, line_art: bool) -> Path:
    """Where the contours of a picture are kept."""
    how = f"{_detector.name} {_detector.version} {_code()} {'' if line_art else 'edges '}"
    key = hashlib.sha256(how.encode() + content).hexdigest()
    return cache_folder() / key[:2] / f"{key[2:]}.points"


def _find(path: Path) -> PictureContours:
    found = contours.picture_contours(path, _detector, line_art=_line_art)
    points, frame = found.subject()
    return PictureContours(points, found.picture.width, found.picture.height, frame)


@cache
def _code() -> str:
    """Fingerprint of the code that turns a picture into points: other code, other cache."""
    package = Path(contours.__file__).parent
    sources = sorted(package.rglob("*.py"))
    return hashlib.sha256(b"".join(f.read_bytes() for f in sources)).hexdigest()[:16]


def with_embedding(path: Path, known: PictureContours) -> PictureContours:
    """Contours with what an index keeps of what the icon network sees, remembered between runs."""
    try:
        content = path.read_bytes()
    except OSError:
        return known
    key = hashlib.sha256(f"{_network()} {known.is_line_art} ".encode() + content).hexdigest()
    kept = cache_folder().parent / "embeddings" / key[:2] / f"{key[2:]}.embedding"
    found = load_arrays(kept)
    if found is None:
        pixels = load_picture(content).pixels
        embedding = stored_embedding(pixels, is_line_art=known.is_line_art)
        found = {"embedding": np.frombuffer(embedding, np.int8)}
        save_arrays(kept, **found)
    return replace(known, embedding=found["embedding"].tobytes())


@cache
def _network() -> str:
    return hashlib.sha256(weights()).hexdigest()[:16]


def _load(path: Path) -> PictureContours | None:
    kept = load_arrays(path)
    if kept is None:
        return None
    x, y, angle, weight = kept["points"]
    width, height = map(float, kept["points_frame"])
    x0, y0, x1, y1 = map(float, kept["picture_frame"])
    points = Points(x, y, angle, weight, width, height)
    across, down = map(int, kept["size"])
    return PictureContours(points, across, down, (x0, y0, x1, y1))


def _save(path: Path, found: PictureContours) -> None:
    p = found.points
    save_arrays(
        path,
        points=np.stack([p.x, p.y, p.angle, p.weight]),
        points_frame=np.array([p.width, p.height]),
        picture_frame=np.array(found.frame),
        size=np.array([found.width, found.height]),
    )
