"""How sure a hit is, from the cosine of its shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Not calibrated: set so that the scores of good and of middling hits come out apart.
MIDDLE = 0.7
WIDTH = 0.07


def confidence(score: ArrayLike) -> NDArray[np.float64]:
    """Map shape scores in [-1, 1] to [0, 1], monotonically: a logistic curve."""
    return 1.0 / (1.0 + np.exp((MIDDLE - np.asarray(score, np.float64)) / WIDTH))
