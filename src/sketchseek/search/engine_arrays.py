"""A state of a collection -> the arrays that the engine searches by shape (src/cpp/search/opened.hpp).

Here as in a browser, to which `publish` sends them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contours.synthetic import random_curves
from ..shape.descriptor import describe, encode
from .core import CORE

if TYPE_CHECKING:
    from ..shape.settings import Settings
    from .state import SearchState


@dataclass(frozen=True)
class EngineArrays:
    """What is searched, as plain arrays.

    settings : numbers, in the order of `flat_settings`.
    pictures : (n, 4) int32: width, height, whether it is line art, how many rows it has.
    frames : (rows, 4) float32. codes : (rows, D), int8 unless a researcher keeps float32.
    synthetic : (m, D) int8, contours of nothing in particular: a small collection is compared with them, too.
    """

    settings: NDArray[np.float64]
    pictures: NDArray[np.int32]
    frames: NDArray[np.float32]
    codes: NDArray[Any]
    synthetic: NDArray[np.int8]

    @classmethod
    def of(cls, state: SearchState) -> EngineArrays:
        """Of all pictures of a state."""
        collection = state.collection
        windows = np.bincount(collection.pictures, minlength=len(state))
        columns = (state.width, state.height, state.is_line_art, windows)
        return cls(
            settings=flat_settings(state.settings),
            pictures=np.stack([np.asarray(c, np.int32) for c in columns], axis=1),
            frames=np.ascontiguousarray(state.frames, np.float32),
            codes=collection.vectors,
            synthetic=synthetic_codes(state.settings, len(state)),
        )


def flat_settings(settings: Settings) -> NDArray[np.float64]:
    """Sizes, translations, and the arrays after one another."""
    head = [len(settings.frequencies), len(settings.orientation_frequencies), len(settings.scales)]
    arrays: list[Any] = [
        [*head, settings.max_translation, settings.translation_step],
        settings.frequencies,
        settings.orientation_frequencies,
        settings.weights,
        settings.orientation_weights,
        settings.scales,
        settings.code_scales,
    ]
    return np.concatenate([np.ravel(np.asarray(a, np.float64)) for a in arrays])


@lru_cache(maxsize=8)
def _synthetic(settings: Settings) -> NDArray[np.int8]:
    vectors = [describe(random_curves(seed), settings) for seed in range(int(CORE["few"]))]
    return encode(np.stack(vectors), settings)


def synthetic_codes(settings: Settings, pictures: int) -> NDArray[np.int8]:
    """(m, D): what fills up a collection of few pictures; nothing for others."""
    if pictures < CORE["few"]:
        return _synthetic(settings)
    return np.empty((0, settings.dimensions), np.int8)
