"""How sure a hit is, from the score of its shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A logistic regression on the first 20 hits of the mixed development sets, each weighing the same
# (docs/results.md): the chance that a hit shows the category that was drawn.
MIDDLE = 0.916
WIDTH = 0.209


def confidence(score: ArrayLike) -> NDArray[np.float64]:
    """Map local scores (see `clutter`) to the chance in [0, 1] that the hit is right, monotonically."""
    return 1.0 / (1.0 + np.exp((MIDDLE - np.asarray(score, np.float64)) / WIDTH))
