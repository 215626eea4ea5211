"""What a network says of the hits of a search: columns beside them, from which they are judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..shape.engine.native import products
from .core import LIKENESS

if TYPE_CHECKING:
    from ..embeddings.normalizer import Reference, ScoreNormalizer
    from ..embeddings.pictures import EmbeddingRows
    from ..embeddings.pictures import QueryEmbeddings as Asked

Floats = NDArray[np.float64]

PAGE = 20
"""First hits that are compared with what is nearest in the whole collection."""
NEAREST = 20
"""Pictures that are most like the drawing, of a tenth of a small collection."""


@dataclass(frozen=True)
class NetworkEvidence:
    """What a network says of a search.

    name : of the network. cosine : (k,) of the hits' embeddings with the drawing's. background : (m,) of
    background pictures with it. alike : the mean cosine of the first hits' embeddings with one another.
    near : (k,) the hits' cosines with the mean of the first ten. crowd : the share of background pictures
    nearly as near to it.
    nearest : the mean of the largest cosines with the drawing in the whole collection. flat_art : which share
    of its pictures are flat art. likeness : (len(LIKENESS),); None unless most of the first hits are
    photographs, of which alone it speaks.
    """

    name: str
    cosine: NDArray[np.floating[Any]]
    background: NDArray[np.floating[Any]]
    alike: float
    near: NDArray[np.floating[Any]]
    crowd: float
    nearest: float
    flat_art: float
    likeness: Floats | None

    @classmethod
    def of(
        cls,
        name: str,
        asked: Asked,
        hits: EmbeddingRows,
        background: EmbeddingRows,
        others: EmbeddingRows,
        *,
        pictures: int,
        flat_art: float,
        reference: Reference,
        photograph: bool = False,
    ) -> NetworkEvidence:
        """From embeddings: what was asked, (d,) or (2, d); the hits', best first; those of the background,
        and of the pictures most like it that are not among the first `PAGE` hits.

        pictures : how many there are to answer with. flat_art : see `Pictures`. reference : what the network
        sees in general. photograph : whether a photograph was asked for, rather than a drawing.
        """
        first = hits.vectors[:10]
        n, total = len(first), first.sum(axis=0)
        alike = (float(total @ total) - n) / (n * (n - 1)) if n > 1 else 0.0
        total /= max(float(np.linalg.norm(total)), 1e-9)
        near = products(hits.vectors, total)
        crowd = (
            float(np.mean(products(background.vectors, total) > 0.7 * near[:10].mean()))
            if len(background.kinds) and n
            else 0.0
        )
        best = hits[:PAGE] + others
        largest = np.sort(best.cosines(asked))[::-1][: min(max(pictures // 10, 1), NEAREST)]
        mean = float(largest.mean()) if len(largest) else 0.0
        said = None
        if (hits[:5].kinds == 0).sum() > (hits[:5].kinds != 0).sum():
            found = hits[:PAGE].vectors[hits[:PAGE].kinds == 0]
            said = likeness(
                asked if asked.ndim == 1 else asked[0],
                found[: min(max(pictures // 10, 1), 10)],
                found[:5],
                best.vectors[best.kinds == 0],
                normalizer=reference.for_photographs if photograph else reference.for_drawings,
            )
        return cls(
            name, hits.cosines(asked), background.cosines(asked), alike, near, crowd, mean, flat_art, said
        )

    def columns(self) -> list[Floats]:
        """As `rescore` takes them."""
        said = np.zeros(0) if self.likeness is None else self.likeness
        scalars = np.array([self.alike, self.crowd, self.nearest, self.flat_art])
        given = (self.cosine, self.near, self.background, said, scalars)
        return [np.ascontiguousarray(column, np.float64) for column in given]


def likeness(
    query: NDArray[np.float32],
    first: NDArray[np.float32],
    few: NDArray[np.float32],
    best: NDArray[np.float32],
    normalizer: ScoreNormalizer,
) -> Floats:
    """(len(LIKENESS),) of a drawing (d,), from embeddings of photographs: (n, d) each, of length 1.

    first, few : hits, one at least. best : these and the nearest. normalizer : what is usual elsewhere.
    """
    neighbours = np.argsort(-products(best, best), axis=1, kind="stable")[:, :3]
    means = np.concatenate([first.mean(axis=0, keepdims=True), best[neighbours].mean(axis=1)])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    here, groups = normalizer.cohort.deviations(query, best), normalizer.cohort.deviations(query, means)
    there = normalizer.elsewhere(query)
    ordered, spread = np.sort(here)[::-1], max(float(there.std()), 1e-3)
    found = {
        "first five": normalizer.cohort.deviations(query, few).mean(),
        "nearest": ordered[0],
        "nearest five": ordered[:5].mean(),
        "nearest twenty": ordered[:20].mean(),
        "mean of the first": groups[0],
        "best triplet": groups[1:].max(),
        "elsewhere": there.mean(),
        "elsewhere spread": spread,
        "elsewhere best": np.sort(there)[-10:].mean(),
        "nearest beyond elsewhere": (ordered[0] - there.mean()) / spread,
    }
    return np.array([found[name] for name in LIKENESS], np.float64)
