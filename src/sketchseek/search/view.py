"""What a search sees of a collection: descriptors and sizes of its pictures, nothing of files or tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from .folders import Folders

if TYPE_CHECKING:
    from ..depiction import Depiction
    from ..shape.settings import Settings
    from .ranking import Collection


@dataclass(frozen=True)
class View:
    """One version of a collection, ready to be searched. Never changes.

    collection : the pictures' shape descriptors, a row for each view of a picture; a picture is known by its
        number.
    width, height : (n,) int, of the upright originals.
    frames : (rows, 4) x0, y0, x1, y1 of the part of its picture that each row describes, in its pixels.
    is_line_art : (n,) bool; line art has no clutter.
    ids : (n,) bytes, each picture's name in the collection.
    path : number -> the picture's absolute path or URI.
    thumbnail : id -> a small WebP.
    depiction : what the pictures depict; None where nobody described that.
    """

    collection: Collection
    width: NDArray[np.integer[Any]]
    height: NDArray[np.integer[Any]]
    frames: NDArray[np.floating[Any]]
    is_line_art: NDArray[np.bool_]
    ids: Sequence[bytes] | NDArray[np.bytes_]
    path: Callable[[int], str]
    thumbnail: Callable[[str], bytes]
    depiction: Depiction | None = None

    def __len__(self) -> int:
        return len(self.collection)

    @property
    def settings(self) -> Settings:
        """What gave the descriptors."""
        return self.collection.settings

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {bytes(name): i for i, name in enumerate(self.ids)}

    def number(self, identifier: str) -> int:
        """The number of the picture with that id."""
        try:
            return self._numbers[identifier.encode()]
        except KeyError:
            raise SketchseekError(f"There is no picture {identifier!r} in the index.") from None

    @cached_property
    def folders(self) -> Folders:
        """Where the pictures are."""
        return Folders(map(self.path, range(len(self))))

    def id(self, number: int) -> str:
        """The id of a picture."""
        return bytes(self.ids[number]).decode()
