"""The paper to the letter, for `evaluate --paper`: everything in which a search by default differs from it.

| | the paper (sections 5 and 6) | a search by default |
|---|---|---|
| orientation kernel | sigma .8 | `ORIENTATION_SIGMA` |
| constant components of the maps | whole | lowered (`Settings.paper`) |
| points of a drawing | weight 1 | less inside its outline (`contours/outline.py`) |
| line art among the pictures | edges are detected, as everywhere | lines are followed, margins cut off |
| score | cosine | normalised where the drawing lies; mirrored hits count less (docs/explanation/clutter.md) |
| query expansion | plain mean of the first n, 64 bytes a picture as 64 x 8 bits | `embeddings/expansion.py` |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contours.drawing import Sketch
from ..embeddings import EmbeddingIndex
from ..embeddings.quantisation import faiss_or_sentence
from ..search.options import Options
from ..search.search import find
from ..search.state import SearchState
from ..shape.engine import Ids
from .experiment import Experiment

EXPAND = 3
"""QE3, the paper's own choice in its tables of small sets."""
PARTS, BITS = 64, 8


def evenly_weighed(sketch: Sketch) -> Sketch:
    """The drawing with weight 1 on every point: "for sketches, w = 1 is set for all contour pixels"."""
    points = sketch.points
    return replace(sketch, points=replace(points, weight=np.ones_like(points.weight)))


def to_the_letter(experiment: Experiment) -> Experiment:
    """The same photos, which are to be read without the rule for line art, with the paper's drawings."""
    return replace(experiment, sketches=tuple(s and evenly_weighed(s) for s in experiment.sketches))


def options_of(options: Options) -> Options:
    """The same method, by the paper's cosine."""
    return replace(options, local_normalization=0.0, expand=0, blend=0.0)


def expansion_order(
    state: SearchState, embeddings: EmbeddingIndex, options: Options, n: int = EXPAND
) -> Callable[[Sketch], Ids]:
    """A drawing -> all pictures, by the mean of the first n hits' embeddings, as coded in 64 bytes."""
    everything = embeddings.pictures.vectors(np.arange(len(state)))
    coded = product_coded(everything)

    def order(sketch: Sketch) -> Ids:
        first = find(state, sketch, replace(options, k=n), place=False).pictures
        return np.argsort(-(coded @ everything[first].mean(axis=0)), kind="stable")

    return order


def product_coded(vectors: NDArray[np.float32]) -> NDArray[Any]:
    """Vectors (n, d) as 64 parts of 8 bits have them; fewer than there are centroids need no code."""
    if len(vectors) < 2**BITS:
        return vectors
    faiss: Any = faiss_or_sentence()
    quantiser = faiss.ProductQuantizer(vectors.shape[1], PARTS, BITS)
    quantiser.cp.min_points_per_centroid = 1  # small sets are what they are
    quantiser.train(np.ascontiguousarray(vectors))
    decoded: NDArray[Any] = quantiser.decode(quantiser.compute_codes(np.ascontiguousarray(vectors)))
    return decoded
