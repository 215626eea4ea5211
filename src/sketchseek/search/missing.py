"""Hits whose pictures are not where the index knows them: they come last, and say so."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import replace

from ..sources.volumes import file_of
from .hit import Hits

PATIENCE_S = 0.25
"""For the drives that the pictures are on; what has not answered by then counts as there."""
_stuck: threading.Thread | None = None


def missing_last(hits: Hits) -> Hits:
    """The same hits, those whose pictures are gone after the others."""
    gone = _gone(hit.picture for hit in hits)
    if not gone:
        return hits
    first = min(hit.rank for hit in hits)
    there = [hit for hit in hits if hit.picture not in gone]
    missing = [replace(hit, missing=True) for hit in hits if hit.picture in gone]
    return hits.others(replace(hit, rank=rank) for rank, hit in enumerate([*there, *missing], first))


def _gone(pictures: Iterable[str]) -> set[str]:
    """Those of local pictures that are not there. A drive that hangs holds up one search, and shortly."""
    global _stuck  # noqa: PLW0603
    if _stuck is not None and _stuck.is_alive():
        return set()
    paths, gone = [picture for picture in pictures if "://" not in picture], set[str]()

    def ask() -> None:
        for path in paths:
            try:
                os.stat(file_of(path))
            except (FileNotFoundError, NotADirectoryError):
                gone.add(path)
            except (OSError, ValueError):
                continue

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(PATIENCE_S)
    if asking.is_alive():
        _stuck = asking
    return set(gone)
