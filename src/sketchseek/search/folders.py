"""The folders of a collection's pictures: which are there, and which pictures are in one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError


class Folders:
    """Folders of pictures that are known by their numbers.

    names : the folders that pictures lie in, sorted. of : (n,) each picture's folder, its place in `names`.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        found: dict[str, int] = {}
        of = [found.setdefault(parent(path), len(found)) for path in paths]
        order = {name: i for i, name in enumerate(sorted(found))}
        self.names = list(order)
        place = np.array([order[name] for name in found], np.int64)
        self.of: NDArray[np.int64] = place[np.asarray(of, np.int64)] if of else np.zeros(0, np.int64)

    def under(self, folder: str) -> NDArray[np.int64]:
        """The numbers, ascending, of the pictures in a folder and in those below."""
        wanted = folder.rstrip("/")
        inside = [name == wanted or name.startswith(f"{wanted}/") for name in self.names]
        if not any(inside):
            raise SketchseekError(f"No picture of the index is in {folder!r}.")
        return np.flatnonzero(np.asarray(inside)[self.of])

    def tree(self, most: int) -> list[tuple[str, int]]:
        """Folders, parents first, and how many pictures each has in it and below; at most `most`, the upper.

        It begins where the collection branches: a folder that holds nothing but one other is left out.
        """
        below: dict[str, int] = {}
        for name, count in zip(self.names, np.bincount(self.of, minlength=len(self.names)), strict=True):
            above = name
            while True:
                below[above] = below.get(above, 0) + int(count)
                if not above.strip("/") or above.endswith(":/"):
                    break
                above = parent(above)
        children: dict[str, list[str]] = {}
        for name in below:
            if name:
                children.setdefault(parent(name), []).append(name)
        own = set(self.names)
        kept = [name for name in below if name in own or len(children.get(name, [])) > 1]
        kept.sort(key=lambda name: (name.count("/"), name))
        return sorted((name or "/", below[name]) for name in kept[:most])


def parent(path: str) -> str:
    """The folder of a path or URI; of a picture elsewhere, the address that it was listed by."""
    if "://" in path and "#" in path:
        return path.partition("#")[0]
    return path.rpartition("/")[0]
