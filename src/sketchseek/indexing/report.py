"""What one run over some folders did."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass
class Report:
    """Counts of one run.

    `expanded` are pictures as they were that got the embedding they lacked; `described`, windows.
    `failed` pairs each unreadable picture's path with the reason, those known from before included.
    `looking` is how many of the seconds went into looking for changes.
    `repaired` says what was damaged in the index, and was made again.
    `followed` pairs a folder that is not there any more with how many of its pictures were found elsewhere.
    `kept` pairs a path whose pictures were neither looked at nor forgotten with the reason.
    `empty` are the paths given that hold no picture, and never did.
    `succession` says how far it is where one network takes the place of another.
    """

    added: int = 0
    refreshed: int = 0
    unchanged: int = 0
    expanded: int = 0
    described: int = 0
    moved: int = 0
    forgotten: int = 0
    followed: list[tuple[str, int]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    kept: list[tuple[str, str]] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    succession: str = ""
    interrupted: bool = False
    looking: float = 0.0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """As `index --json` prints it."""
        return {
            "added": self.added,
            "refreshed": self.refreshed,
            "unchanged": self.unchanged,
            "expanded": self.expanded,
            "described": self.described,
            "moved": self.moved,
            "forgotten": self.forgotten,
            "followed": [{"folder": folder, "pictures": count} for folder, count in self.followed],
            "failed": [{"picture": picture, "reason": reason} for picture, reason in self.failed],
            "kept": [{"path": path, "reason": reason} for path, reason in self.kept],
            "empty": self.empty,
            "repaired": self.repaired,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
        }

    def include(self, other: Report) -> None:
        """Count what another run did, after this one."""
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            latest = theirs or mine if isinstance(mine, bool | str) else mine + theirs
            setattr(self, each.name, latest)

    def add_failure(self, path: bytes, reason: str) -> None:
        """Remember a picture that could not be read."""
        self.failed.append((os.fsdecode(path), reason))
