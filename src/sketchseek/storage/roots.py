"""The folders that an index was made of, and what was excluded in them: what `index` without paths goes over.

They are kept beside the table, and of an index in an object store on this machine, where the folders are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from .durable import read_note, write_note
from .location import Location

NAME = "roots"

Roots = dict[bytes, tuple[str, ...]]


def read_roots(location: Location) -> Roots:
    """Each with the patterns that were excluded; none where none were noted."""
    try:
        noted = read_note(location.folder / NAME)
        return {os.fsencode(root): tuple(map(str, exclude)) for root, exclude in noted.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def note_roots(location: Location, roots: Iterable[bytes], exclude: Sequence[str]) -> None:
    """Note roots of a run; those inside another with the same exclusions go without saying."""
    before = read_roots(location)
    now = {**before, **dict.fromkeys(roots, tuple(exclude))}
    _save(
        location,
        before,
        {r: e for r, e in now.items() if not any(_is_inside(r, o) and now[o] == e for o in now)},
    )


def forget_roots(location: Location, roots: Iterable[bytes]) -> None:
    """Those, and what lies inside them."""
    before, gone = read_roots(location), list(roots)
    _save(
        location,
        before,
        {r: e for r, e in before.items() if not any(r == g or _is_inside(r, g) for g in gone)},
    )


def _is_inside(path: bytes, root: bytes) -> bool:
    return path != root and path.startswith(root.rstrip(b"/") + b"/")


def _save(location: Location, before: Roots, now: Roots) -> None:
    if now != before:
        location.folder.mkdir(parents=True, exist_ok=True)
        words = {os.fsdecode(root): exclude for root, exclude in now.items()}
        write_note(location.folder / NAME, words)
