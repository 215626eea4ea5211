"""What expansion costs beside the search by shape, for `sketchseek bench`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..depiction.expand import EXPAND, rerank
from ..depiction.pictures import Pictures
from ..search.ranking import Collection, located
from ..search.search import EngineScores, Options
from ..shape.query import Query

DIMENSION = 256
_CATEGORIES = 1000


def synthetic(pictures: int, seed: int = 0) -> Pictures:
    """Descriptors (float16) of as many pictures, in a thousand loose clusters."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((_CATEGORIES, DIMENSION), np.float32)
    stored = np.empty((pictures, DIMENSION), np.float16)
    for start in range(0, pictures, 65_536):
        part = stored[start : start + 65_536]
        part[:] = centres[rng.integers(_CATEGORIES, size=len(part))]
        part += rng.standard_normal(part.shape, np.float32).astype(np.float16)
    return Pictures(stored)


def expanded(collection: Collection, pictures: Pictures, k: int, threads: int) -> Callable[[Query], object]:
    """A whole query with blending and expansion, the network's few milliseconds on the drawing left out."""
    drawing = pictures.vectors(np.array([0]))[0]

    def search(query: Query) -> object:
        shape = EngineScores(collection, query, Options(threads=threads))
        ids, _, _ = rerank(shape, pictures, k, drawing=drawing, expand=EXPAND, threads=threads)
        return located(collection, query, ids, threads)

    return search
