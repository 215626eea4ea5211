"""Confidence: the chance that a hit is right, from the score that orders it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Curve:
    """A logistic curve: at the middle, every second hit is right."""

    middle: float
    width: float

    def __call__(self, score: ArrayLike) -> NDArray[np.float64]:
        """Map scores to the chance in [0, 1] that their hits are right, monotonically."""
        below = (self.middle - np.asarray(score, np.float64)) / self.width
        chance: NDArray[np.float64] = 1 / (1 + np.exp(np.clip(below, -50, 50)))
        return chance


# As `make results` fits them (docs/results.md, "Confidence").
BY_SHAPE = Curve(0.839, 0.226)
"""For the scores of shape (see `order`)."""
BY_EVERYTHING = Curve(0.644, 0.379)
"""For the scores of expanded searches."""
