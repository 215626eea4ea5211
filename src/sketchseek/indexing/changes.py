"""What differs between the pictures an index knows and the pictures a walk saw."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ..errors import SketchseekError
from ..sources.files import open_regular, read_source
from ..sources.objects import Stat, fetch, is_object, object_stat
from ..sources.volumes import file_of, volume_and_page
from .walk import Walk, below

RACY_NANOSECONDS = 2_000_000_000
"""A file changed this recently could change again without its time showing it."""


@dataclass(frozen=True, slots=True)
class IndexedPicture:
    """What an index knows of a picture without its vectors."""

    id: str
    path: bytes
    size: int
    modified: int
    digest: bytes
    failure: str | None
    min_object_size: float | None
    expanded: bool
    keyworded: bool = True
    embedded: bool = True

    def lacks(self, *, expand: bool, min_object_size: float) -> bool:
        """Whether it lacks something that is wanted."""
        seen = self.lacks_keywords or self.lacks_embedding
        return (expand and self.lacks_expansion) or self.lacks_windows(min_object_size) or seen

    def lacks_windows(self, min_object_size: float) -> bool:
        """Whether it is a picture with other windows than those for things as small as that."""
        return self.failure is None and self.min_object_size != min_object_size

    @property
    def lacks_keywords(self) -> bool:
        """Whether it is a picture whose keywords were not read yet."""
        return self.failure is None and not self.keyworded

    @property
    def lacks_embedding(self) -> bool:
        """Whether it is a picture that the icon network has not been shown."""
        return self.failure is None and not self.embedded

    @property
    def lacks_expansion(self) -> bool:
        """Whether it is a picture without an embedding (be one wanted or not), or without wanted tokens."""
        return self.failure is None and not self.expanded


@dataclass
class Changes:
    """What is to be done, and what isn't.

    new : pictures that the index doesn't know. changed : those whose size or time is another.
    incomplete : those as they were that lack windows, keywords or an embedding, as the changed may.
    unchanged : those to leave. vanished : those that are no longer there. duplicates : further rows of one
        path.
    """

    new: list[bytes] = field(default_factory=list)
    changed: list[IndexedPicture] = field(default_factory=list)
    incomplete: list[IndexedPicture] = field(default_factory=list)
    unchanged: list[IndexedPicture] = field(default_factory=list)
    vanished: list[IndexedPicture] = field(default_factory=list)
    duplicates: list[IndexedPicture] = field(default_factory=list)


def compare(
    known: Iterable[IndexedPicture],
    walk: Walk,
    roots: Sequence[bytes],
    *,
    forget_missing: bool,
    expand: bool,
    min_object_size: float,
    retry: bool = True,
) -> Changes:
    """Sort the pictures under `roots` by what happened to them.

    Rows below a root or a link that leads nowhere or is suddenly empty, as a drive that is not mounted is,
    are kept unless `forget_missing`; rows below a folder that could not be read are always kept. A picture
    that the machine failed to read counts as changed if `retry`: neither rights nor memory show in size or
    time.
    """
    changes = Changes()
    kept = list(walk.unseen)
    if not forget_missing:
        kept += [*walk.missing, *walk.empty, *walk.away]
    is_root, is_kept = below(roots), below(kept)
    met: set[bytes] = set()
    for row in known:
        if row.path in met:
            changes.duplicates.append(row)
            continue
        met.add(row.path)
        stat = walk.files.get(row.path)
        if stat is not None:
            machine_failed = row.failure is not None and not row.digest
            trusted_time = row.modified != 0
            if (retry and machine_failed) or not trusted_time or stat != Stat(row.size, row.modified):
                changes.changed.append(row)
            elif row.lacks(expand=expand, min_object_size=min_object_size):
                changes.incomplete.append(row)
            else:
                changes.unchanged.append(row)
        elif is_root(row.path) and not is_kept(row.path):
            changes.vanished.append(row)
    changes.new = [path for path in walk.files if path not in met]
    return changes


def moves(
    new: Iterable[bytes], walk: Walk, known: Iterable[IndexedPicture], vanished: Iterable[IndexedPicture]
) -> Iterator[tuple[bytes, IndexedPicture, Stat]]:
    """Triples (new path, row, size and time there): the same bytes, where the row's own path is gone.

    Gone means vanished from the folders walked, or not there elsewhere, with its folder or without. That may
    be a drive that is not mounted, of which this is a copy: its pictures are then added again once it is.
    """
    gone = {row.id for row in vanished}
    sizes = {walk.files[path].size for path in new}
    candidates: dict[int, list[IndexedPicture]] = {}
    for row in known:
        if (
            row.size in sizes
            and row.path not in walk.files
            and (row.id in gone or gone_with(row.path) is not None)
        ):
            candidates.setdefault(row.size, []).append(row)
    for path in new:
        rows = candidates.get(walk.files[path].size)
        if not rows:
            continue
        found = digest_of_file(path)
        match = next((row for row in rows if found is not None and row.digest == found[0]), None)
        if match is not None and found is not None:
            rows.remove(match)
            yield path, match, found[1]


def gone_with(path: bytes) -> bytes | None:
    """The highest folder, or the path itself, that is not there; None when it is, or if unknown."""
    gone = None
    path = file_of(path)
    while path and b"://" not in path and not is_object(path):
        try:
            os.lstat(path)
            return gone
        except (FileNotFoundError, NotADirectoryError):
            gone = path
            path = os.path.dirname(path)
        except OSError:
            return None
    return None


def digest_of(data: bytes) -> bytes:
    """What the content of a file is known by."""
    return hashlib.blake2b(data, digest_size=16).digest()


def digest_of_file(path: bytes) -> tuple[bytes, Stat] | None:
    """The same, of a file as it is now, and its size and time then; None when it can't be read or changes."""
    try:
        if is_object(path):
            found, data = fetch(path)
            return digest_of(data), found
        now = time.time_ns()
        if volume_and_page(path)[1] is not None:
            found = object_stat(path)
            data = read_source(os.fsdecode(path))
            return digest_of(data), Stat(found.size, trusted(found.modified, now))
        with open_regular(path) as file:
            before = os.fstat(file.fileno())
            digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
            after = os.fstat(file.fileno())
    except (OSError, SketchseekError):
        return None
    was, still = (Stat(s.st_size, s.st_mtime_ns) for s in (before, after))
    return (digest, Stat(still.size, trusted(still.modified, now))) if was == still else None


def trusted(modified: int, now: int) -> int:
    """A file's time, read at the time `now`; 0, which no later look will agree with, of a very young file."""
    return 0 if modified > now - RACY_NANOSECONDS else modified
