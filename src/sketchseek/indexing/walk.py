"""Which picture files lie under some paths, and what could not be looked at.

Paths are bytes, as the file system has them: a name need not be text.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from fnmatch import fnmatch

from ..contours.objects import Stat, is_object, listed, look
from ..errors import SketchseekError

SUFFIXES = frozenset(
    b".jpg .jpeg .jpe .jfif .mpo .png .webp .avif .heic .heif .hif .tif .tiff .bmp .gif .svg".split()
)
NEVER = ("node_modules", "__pycache__", "lost+found", "$RECYCLE.BIN", "System Volume Information", "@eaDir")
"""Folders that hold no pictures of anybody's; so are all whose names begin with a dot."""

LISTED_AT_ONCE = 16
"""Folders of an object store."""


@dataclass
class Walk:
    """What a walk saw.

    files : the pictures, by path.
    unseen : paths of folders (or files) that could not be looked at, with the reason: what an index
        knows below them is to be kept.
    missing : roots that are not there. empty : roots that are folders without a single picture.
    """

    files: dict[bytes, Stat] = field(default_factory=dict)
    unseen: dict[bytes, str] = field(default_factory=dict)
    missing: list[bytes] = field(default_factory=list)
    empty: list[bytes] = field(default_factory=list)


def absolute(path: str | bytes | os.PathLike[str]) -> bytes:
    """The path as bytes, absolute, without following links: what a person would call the place.

    A URI of an object store stays as it is.
    """
    if is_object(path):
        return os.fsencode(path).rstrip(b"/")
    if re.match(rb"[a-z][a-z0-9+.-]+://", os.fsencode(path)):
        raise SketchseekError(
            f"Pictures are read from folders and from s3://, and {os.fsdecode(path)} is neither: mount it as "
            "a folder, or copy the pictures."
        )
    return os.fsencode(os.path.abspath(os.path.expanduser(os.fspath(path))))


def is_under(path: bytes, roots: Iterable[bytes]) -> bool:
    """Whether `path` is one of the roots or lies below one."""
    return below(roots)(path)


def below(roots: Iterable[bytes]) -> Callable[[bytes], bool]:
    """The same for many paths: what it takes doesn't grow with the number of roots."""
    places = {root.rstrip(b"/") for root in roots}

    def is_below(path: bytes) -> bool:
        path = path.rstrip(b"/")
        while path and path not in places:
            path = path.rpartition(b"/")[0]
        return path in places

    return is_below


def walk(roots: Sequence[bytes], exclude: Sequence[str] = ()) -> Walk:
    """Look at every picture file below `roots`, each folder once.

    A link to something below a root is passed over, as the walk meets the thing itself; other links are
    followed. A root that is a file is taken whatever its name.
    """
    seen = Walk()
    real_roots = [os.path.realpath(root) for root in roots if not is_object(root)]
    been: set[tuple[int, int]] = set()
    for root in roots:
        if is_object(root):
            _walk_objects(root, seen, exclude)
            continue
        try:
            found = os.stat(root)
        except (FileNotFoundError, NotADirectoryError):
            seen.missing.append(root)
            continue
        except OSError as error:
            seen.unseen[root] = error.strerror or str(error)
            continue
        if not stat.S_ISDIR(found.st_mode):
            seen.files[root] = Stat(found.st_size, found.st_mtime_ns)
            continue
        _walk_folder(root, seen, been, real_roots, exclude)
        _note_if_empty(root, seen)
    return seen


def _note_if_empty(root: bytes, seen: Walk) -> None:
    if not any(is_under(path, [root]) for path in (*seen.files, *seen.unseen)):
        seen.empty.append(root)


def _walk_objects(root: bytes, seen: Walk, exclude: Sequence[str]) -> None:
    """The same in an object store: what is a folder there is the part of a key up to a slash.

    Folders are listed side by side: an answer takes long, and there may be many of them.
    """
    with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:
        asked = {pool.submit(listed, root): root}
        while asked:
            done, _ = wait(asked, return_when=FIRST_COMPLETED)
            for future in done:
                place = asked.pop(future)
                try:
                    entries = future.result()
                except FileNotFoundError:
                    if place == root:
                        _take_object(root, seen)
                    continue
                except SketchseekError as error:
                    seen.unseen[place] = str(error).rstrip(".")
                    continue
                for path, found in entries:
                    if _is_excluded(path, root, exclude):
                        continue
                    if found is None:
                        asked[pool.submit(listed, path)] = path
                    elif _has_suffix(path):
                        seen.files[path] = found
    if root not in seen.missing:
        _note_if_empty(root, seen)


def _take_object(root: bytes, seen: Walk) -> None:
    """A root that is no folder."""
    try:
        seen.files[root] = look(root)
    except FileNotFoundError:
        seen.missing.append(root)
    except SketchseekError as error:
        seen.unseen[root] = str(error).rstrip(".")


def _has_suffix(name: bytes) -> bool:
    return os.path.splitext(name)[1].lower() in SUFFIXES


def _walk_folder(
    root: bytes, seen: Walk, been: set[tuple[int, int]], real_roots: list[bytes], exclude: Sequence[str]
) -> None:
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            itself = os.stat(folder)
            if (itself.st_dev, itself.st_ino) in been:
                continue
            been.add((itself.st_dev, itself.st_ino))
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not _is_excluded(entry.path, root, exclude):
                        _take(entry, seen, folders, real_roots)
        except OSError as error:
            seen.unseen[folder] = error.strerror or str(error)


def _take(entry: os.DirEntry[bytes], seen: Walk, folders: list[bytes], real_roots: list[bytes]) -> None:
    try:
        if entry.is_symlink() and is_under(os.path.realpath(entry.path), real_roots):
            return
        if entry.is_dir():
            folders.append(entry.path)
        elif _has_suffix(entry.name) and entry.is_file():
            found = entry.stat()
            seen.files[entry.path] = Stat(found.st_size, found.st_mtime_ns)
    except FileNotFoundError:
        return  # it went away between the listing and now
    except OSError as error:
        seen.unseen[entry.path] = error.strerror or str(error)


def _is_excluded(path: bytes, root: bytes, exclude: Sequence[str]) -> bool:
    name = os.fsdecode(os.path.basename(path))
    if name.startswith(".") or name in NEVER:
        return True
    if not exclude:
        return False
    relative = os.fsdecode(os.path.relpath(path, root))
    return any(fnmatch(name, pattern) or fnmatch(relative, pattern) for pattern in exclude)
