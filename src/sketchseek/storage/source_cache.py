"""What sources remember, in files beside the index: answers that are asked for again only if they changed."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from ..sources import Item
from .durable import read_note, write_note
from .location import Location

NAME = "remote"


class Folder:
    """See `Kept`: a file for each key."""

    def __init__(self, location: Location) -> None:
        self._folder = location.folder / NAME

    def get(self, key: str) -> dict[str, Any] | None:
        """What was put under a key."""
        with suppress(OSError, ValueError):
            value = read_note(self._folder / self._name(key))
            return value if isinstance(value, dict) else None
        return None

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Remember it; where the disk is full, the next run asks again."""
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_note(self._folder / self._name(key), value)

    def note(self, root: str, items: list[Item]) -> None:
        """Remember what was listed at a root."""
        self.put(f"items {root}", {"items": [asdict(item) for item in items]})

    def items(self) -> dict[str, Item]:
        """Everything that was listed, by name."""
        found: dict[str, Item] = {}
        for path in sorted(self._folder.glob("items-*.json")):
            with suppress(OSError, ValueError, TypeError, KeyError):
                noted = read_note(path)
                found.update((one["name"], Item(**one)) for one in noted["items"])
        return found

    @staticmethod
    def _name(key: str) -> str:
        kind = "items" if key.startswith("items ") else "answer"
        return f"{kind}-{hashlib.blake2b(key.encode(), digest_size=12).hexdigest()}.json"


def items_of(location: Location) -> dict[str, Item]:
    """All pictures of sources that an index has been told of, by the names that the sources have for them."""
    return Folder(location).items()
