"""What drawings and photographs in general say of a likeness, so that it means the same for all of them.

Some pictures are like every drawing, and some drawings like every picture. So the cosine of a drawing and a
picture is compared with those that drawings of other things, the cohort, have with the same picture, and
what comes of that with what photographs of other things give for the same drawing.

References
----------
Auckenthaler, Carey and Lloyd-Thomas, "Score normalization for text-independent speaker verification systems",
Digital Signal Processing 10, 2000: the cohort.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from ..shape.engine.native import products
from .quantisation import Vector

Vectors = NDArray[np.float32]

RANK = 64
"""Directions in which the cohort's spread is known; in all others it has one."""
NAMES = ("reference_drawings", "reference_photographs")
"""The tensors of a reference, beside what was learned about drawings."""


@dataclass(frozen=True)
class Cohort:
    """Embeddings of unrelated things, by their mean and covariance.

    mean : (d,). spread : (r, d), the covariance is spread^T spread and `rest` in every direction.
    """

    mean: Vector
    spread: Vectors
    rest: float = 0.0

    @classmethod
    def of(cls, vectors: Vectors, rank: int | None = None) -> Cohort:
        """Of embeddings (n, d); to a rank, if one is given."""
        mean = vectors.mean(axis=0)
        away = (vectors - mean) / np.float32(len(vectors) ** 0.5)
        if rank is None or rank >= min(away.shape):
            return cls(mean, away)
        _, length, directions = np.linalg.svd(away, full_matrices=False)
        rest = float((length[rank:] ** 2).sum()) / vectors.shape[1]
        return cls(mean, length[:rank, None] * directions[:rank], rest)

    def deviation(self, pictures: Vectors) -> Vector:
        """That of the cohort's cosines with each of the pictures (n, d)."""
        variance = np.square(products(pictures, self.spread)).sum(axis=1) + self.rest
        return np.asarray(np.sqrt(np.maximum(variance, 1e-6)), np.float32)

    def deviations(self, query: Vector, pictures: Vectors) -> Vector:
        """By how many deviations the query (d,) is more like each of the pictures (n, d) than the cohort."""
        return np.asarray(products(pictures, query - self.mean) / self.deviation(pictures), np.float32)


class ScoreNormalizer:
    """What is usual for queries of one kind: their cohort, and what photographs of other things give."""

    def __init__(self, cohort: Cohort, photographs: Vectors) -> None:
        self.cohort = cohort
        self._photographs = photographs / cohort.deviation(photographs)[:, None]
        self._offset = products(self._photographs, cohort.mean)

    def elsewhere(self, query: Vector) -> Vector:
        """`Cohort.deviations` for the photographs (m,): what does not depend on the query was done before."""
        return np.asarray(products(self._photographs, query) - self._offset, np.float32)


@dataclass(frozen=True)
class Reference:
    """Drawings and photographs of all kinds of things, as one network sees them.

    drawings : their cohort. photographs : (m, d) of length 1, centred on the mean of photographs.
    """

    drawings: Cohort
    photographs: Vectors

    @cached_property
    def for_drawings(self) -> ScoreNormalizer:
        """What is usual where a drawing is asked for."""
        return ScoreNormalizer(self.drawings, self.photographs)

    @cached_property
    def for_photographs(self) -> ScoreNormalizer:
        """The same for a photograph."""
        return ScoreNormalizer(Cohort.of(self.photographs), self.photographs)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """As a file keeps it."""
        drawn = self.drawings
        rest = np.full_like(drawn.mean, drawn.rest)
        step = np.abs(self.photographs).max(axis=1, keepdims=True) / 127
        codes = np.round(self.photographs / np.maximum(step, 1e-9)).astype(np.int8)
        kept = np.concatenate([drawn.mean[None], rest[None], drawn.spread]).astype(np.float16)
        return dict(zip(NAMES, (kept, codes), strict=True))

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> Reference | None:
        """The inverse of `tensors`; None where they are not there."""
        if not all(name in tensors for name in NAMES):
            return None
        drawn, codes = (tensors[name].astype(np.float32) for name in NAMES)
        if drawn.ndim != 2 or codes.ndim != 2 or len(drawn) < 3 or drawn.shape[1] != codes.shape[1]:
            raise SketchseekError(
                "What was learned about drawings has a reference that does not fit together."
            )
        if not (np.isfinite(drawn).all() and np.isfinite(codes).all() and len(codes)):
            raise SketchseekError("What was learned about drawings has a reference that is damaged.")
        length = np.linalg.norm(codes, axis=1, keepdims=True)
        return cls(Cohort(drawn[0], drawn[2:], float(drawn[1, 0])), codes / np.maximum(length, 1e-9))
