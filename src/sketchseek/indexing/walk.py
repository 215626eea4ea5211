"""Which picture files lie under some paths, and what could not be looked at.

Paths are bytes, as the file system has them: a name need not be text.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch

from ..errors import SketchseekError

SUFFIXES = frozenset(
    b".jpg .jpeg .jpe .jfif .mpo .png .webp .avif .heic .heif .hif .tif .tiff .bmp .gif .svg".split()
)
NEVER = ("node_modules", "__pycache__", "lost+found", "$RECYCLE.BIN", "System Volume Information", "@eaDir")
"""Folders that hold no pictures of anybody's; so are all whose names begin with a dot."""


@dataclass(frozen=True, slots=True)
class Stat:
    """Size in bytes and time of modification in nanoseconds."""

    size: int
    modified: int


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
    """The path as bytes, absolute, without following links: what a person would call the place."""
    if re.match(rb"[a-z][a-z0-9+.-]+://", os.fsencode(path)):
        raise SketchseekError(
            f"index reads pictures from folders, and {os.fsdecode(path)} is in an object store: mount it as "
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
    real_roots = [os.path.realpath(root) for root in roots]
    been: set[tuple[int, int]] = set()
    for root in roots:
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
        if not any(is_under(path, [root]) for path in (*seen.files, *seen.unseen)):
            seen.empty.append(root)
    return seen


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
                    if not _is_excluded(entry, root, exclude):
                        _take(entry, seen, folders, real_roots)
        except OSError as error:
            seen.unseen[folder] = error.strerror or str(error)


def _take(entry: os.DirEntry[bytes], seen: Walk, folders: list[bytes], real_roots: list[bytes]) -> None:
    try:
        if entry.is_symlink() and is_under(os.path.realpath(entry.path), real_roots):
            return
        if entry.is_dir():
            folders.append(entry.path)
        elif os.path.splitext(entry.name)[1].lower() in SUFFIXES and entry.is_file():
            found = entry.stat()
            seen.files[entry.path] = Stat(found.st_size, found.st_mtime_ns)
    except FileNotFoundError:
        return  # it went away between the listing and now
    except OSError as error:
        seen.unseen[entry.path] = error.strerror or str(error)


def _is_excluded(entry: os.DirEntry[bytes], root: bytes, exclude: Sequence[str]) -> bool:
    if entry.name.startswith(b"."):
        return True
    name = os.fsdecode(entry.name)
    if name in NEVER:
        return True
    if not exclude:
        return False
    relative = os.fsdecode(os.path.relpath(entry.path, root))
    return any(fnmatch(name, pattern) or fnmatch(relative, pattern) for pattern in exclude)
