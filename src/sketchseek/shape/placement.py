"""Where pictures show a drawing: what every engine answers with, and what it starts from off the grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError


@dataclass(frozen=True)
class Placement:
    """Where each of n pictures shows the drawing best.

    score : (n,) cosine. pose : (n,) index into the query's poses. mirrored : (n,) bool.
    dx, dy : (n,) pixels of the 400 frame, from the picture's centre to the drawing's.
    """

    score: NDArray[np.float32]
    pose: NDArray[np.int32]
    mirrored: NDArray[np.bool_]
    dx: NDArray[np.float32]
    dy: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.score)


def radius_of(neighborhood: int) -> int:
    """How many steps an N x N neighbourhood of translations goes either way."""
    if neighborhood < 1 or neighborhood % 2 == 0:
        raise SketchseekError(f"A neighborhood is an odd number of translations a side, not {neighborhood}.")
    return neighborhood // 2
