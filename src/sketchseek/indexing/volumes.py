"""What a walk saw, with pages in the place of volumes. A volume is opened only where it has changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from ..errors import SketchseekError
from ..sources.objects import Stat, is_object
from ..sources.sandbox import machine_failed
from ..sources.volumes import (
    MAYBE_PAGED,
    NO_PDF,
    PAGED,
    can_read_pdf,
    count_pages,
    file_of,
    page_path,
    suffix,
)
from ..storage.durable import read_note, write_note
from ..storage.location import Location
from .changes import IndexedPicture
from .walk import Walk, below

NAME = "volumes"
"""The file beside the table that says how many pages each volume has."""
AT_ONCE = 4

Counts = dict[bytes, tuple[Stat, int]]


def take_to_pages(
    seen: Walk, known: Sequence[IndexedPicture], roots: Sequence[bytes], location: Location
) -> None:
    """Put the pages of every volume in its place; one that can't be opened stays: its reader says why.

    Nothing is forgotten of one whose pages are known, and that this machine cannot open just now.
    """
    before = {file_of(row.path) for row in known if b"#page=" in row.path}
    if not can_read_pdf():
        for volume in filter(below(roots), before):
            if suffix(volume) == b".pdf" and os.path.lexists(volume):
                seen.unseen[volume] = NO_PDF.rstrip(".")
                seen.files.pop(volume, None)
    volumes = {path: stat for path, stat in seen.files.items() if _may_have_pages(path)}
    if not volumes:
        return
    counted = read_counts(location)
    alone = {row.path: Stat(row.size, row.modified) for row in known if row.path in volumes}
    new = []
    for path, stat in volumes.items():
        if path in alone and alone[path] == stat:  # one picture, or one failure, as before
            continue
        if path not in counted or counted[path][0] != stat:
            new.append(path)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for path, found in zip(new, pool.map(_count, new), strict=True):
            if isinstance(found, int):
                counted[path] = volumes[path], found
                continue
            if path in before and machine_failed(found):
                seen.unseen[path] = str(found).rstrip(".")
                del seen.files[path], volumes[path]
            counted.pop(path, None)
    for path, stat in volumes.items():
        _, count = counted.get(path, (stat, 0))
        if count == 0 or (count == 1 and suffix(path) in MAYBE_PAGED) or alone.get(path) == stat:
            continue
        del seen.files[path]
        seen.files.update((page_path(path, page), stat) for page in range(1, count + 1))
    if new:
        with suppress(OSError):
            _save_counts(location, counted)


def _may_have_pages(path: bytes) -> bool:
    return suffix(path) in PAGED | MAYBE_PAGED and not is_object(path)


def _count(path: bytes) -> int | SketchseekError:
    try:
        return count_pages(path)
    except SketchseekError as error:
        return error


def read_counts(location: Location) -> Counts:
    """What was noted of volumes; nothing where the note is not whole."""
    try:
        noted = read_note(location.folder / NAME)
        return {os.fsencode(path): (Stat(size, time), count) for path, (size, time, count) in noted.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _save_counts(location: Location, counted: Counts) -> None:
    """Those of single pictures go without saying: their rows are known."""
    several = {p: c for p, c in counted.items() if c[1] > 1 or suffix(p) in PAGED}
    there = {os.fsdecode(p): (stat.size, stat.modified, n) for p, (stat, n) in several.items()}
    location.folder.mkdir(parents=True, exist_ok=True)
    write_note(location.folder / NAME, there)
