"""What a walk saw, with pages in the place of volumes. A volume is opened only where it has changed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from ..errors import SketchseekError
from ..sources.objects import Stat, is_object
from ..sources.volumes import MAYBE_PAGED, PAGED, count_pages, page_path, suffix
from ..storage.durable import write_file
from ..storage.location import Location
from .changes import IndexedPicture
from .walk import Walk

NAME = "volumes"
"""The file beside the table that says how many pages each volume has."""
AT_ONCE = 4

Counts = dict[bytes, tuple[Stat, int]]


def take_to_pages(seen: Walk, known: Iterable[IndexedPicture], location: Location) -> None:
    """Put the pages of every volume in its place; one that can't be opened stays: its reader says why."""
    volumes = {path: stat for path, stat in seen.files.items() if _may_have_pages(path)}
    if not volumes:
        return
    counted = _read_counts(location)
    alone = {row.path: Stat(row.size, row.modified) for row in known if row.path in volumes}
    new = []
    for path, stat in volumes.items():
        if path in alone and alone[path] == stat:  # one picture, or one failure, as before
            continue
        if path not in counted or counted[path][0] != stat:
            new.append(path)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for path, count in zip(new, pool.map(_count, new), strict=True):
            counted.pop(path, None)
            if count is not None:
                counted[path] = volumes[path], count
    for path, stat in volumes.items():
        _, count = counted.get(path, (stat, None))
        if count is None or (count == 1 and suffix(path) in MAYBE_PAGED) or alone.get(path) == stat:
            continue
        del seen.files[path]
        seen.files.update((page_path(path, page), stat) for page in range(1, count + 1))
    if new:
        with suppress(OSError):
            _save_counts(location, counted)


def _may_have_pages(path: bytes) -> bool:
    return suffix(path) in PAGED | MAYBE_PAGED and not is_object(path)


def _count(path: bytes) -> int | None:
    try:
        return count_pages(path)
    except SketchseekError:
        return None


def _read_counts(location: Location) -> Counts:
    try:
        noted = json.loads((location.folder / NAME).read_bytes())
        return {os.fsencode(path): (Stat(size, time), count) for path, (size, time, count) in noted.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _save_counts(location: Location, counted: Counts) -> None:
    """Those of single pictures go without saying: their rows are known."""
    several = {p: c for p, c in counted.items() if c[1] > 1 or suffix(p) in PAGED}
    there = {os.fsdecode(p): (stat.size, stat.modified, n) for p, (stat, n) in several.items()}
    location.folder.mkdir(parents=True, exist_ok=True)
    write_file(location.folder / NAME, json.dumps(there).encode())
