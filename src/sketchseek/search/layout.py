"""A view of a collection -> the arrays that the engine searches by shape (src/cpp/search/opened.hpp).

Here as in a browser, to which `publish` sends them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .confidence import models
from .evidence import FEW, made_up

if TYPE_CHECKING:
    from ..shape.settings import Settings
    from .confidence import Logistic
    from .view import View


@dataclass(frozen=True)
class Layout:
    """What is searched, as plain arrays.

    settings, model : numbers, in the order of `flat_settings` and `flat_model`.
    pictures : (n, 4) int32: width, height, whether it is line art, how many rows it has.
    frames : (rows, 4) float32. codes : (rows, D) int8.
    made_up : (m, D) int8, contours of nothing in particular: a small collection is compared with them, too.
    """

    settings: NDArray[np.float64]
    model: NDArray[np.float64]
    pictures: NDArray[np.int32]
    frames: NDArray[np.float32]
    codes: NDArray[np.int8]
    made_up: NDArray[np.int8]

    @classmethod
    def of(cls, view: View) -> Layout:
        """Of all pictures of a view whose vectors are one-byte codes."""
        collection = view.collection
        views = np.bincount(collection.pictures, minlength=len(view))
        columns = (view.width, view.height, view.is_line_art, views)
        few = len(view) < FEW
        none = np.empty((0, view.settings.dimensions), np.int8)
        return cls(
            settings=flat_settings(view.settings),
            model=flat_model(),
            pictures=np.stack([np.asarray(c, np.int32) for c in columns], axis=1),
            frames=np.ascontiguousarray(view.frames, np.float32),
            codes=np.ascontiguousarray(collection.vectors, np.int8),
            made_up=np.ascontiguousarray(made_up(view.settings).vectors, np.int8) if few else none,
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


def flat_model() -> NDArray[np.float64]:
    """What judges the hits of a search by shape alone."""
    model = models()["shape"]
    return np.concatenate([_flat(model.hit), _flat(model.present)])


def _flat(logistic: Logistic) -> NDArray[np.float64]:
    return np.concatenate([logistic.mean, logistic.scale, logistic.weights, [logistic.bias]])
