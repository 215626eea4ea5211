"""One-dimensional stationary kernels, and the exact similarity of two sets that they define.

`set_similarity` is the double sum as equation (setsim) of the paper has it. It is slow and exact: the
truth that the feature maps, the descriptor and the engine are compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Normalization = Literal["none", "cosine", "cardinality"]

_BLOCK = 1 << 20
"""Pairs of elements that are compared at once: 8 MB for each array of differences."""


@runtime_checkable
class Kernel(Protocol):
    """A stationary kernel, given by its signature: k(p, q) = k(p - q).

    Any callable will do that takes an array of differences and returns the kernel's values, even in the
    difference and largest at 0. Make it hashable (a frozen dataclass is) and fitted maps are remembered.
    """

    def __call__(self, d: ArrayLike, /) -> Array:
        """Values at the differences `d`, in the same shape."""
        ...


@dataclass(frozen=True)
class RBF:
    """The Gaussian kernel exp(-d**2 / (2 sigma**2)), which is 1 at 0.

    >>> float(RBF(0.5)(0.5).round(4))
    0.6065
    """

    sigma: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.sigma) and self.sigma > 0):
            raise ValueError(f"sigma must be a finite number greater than 0, not {self.sigma!r}")

    def __call__(self, d: ArrayLike, /) -> Array:
        """Values at the differences `d`, in the same shape."""
        d = np.asarray(d, dtype=np.float64)
        return np.asarray(np.exp(d * d / (-2 * self.sigma**2)))


@dataclass(frozen=True)
class Periodic:
    """Another kernel on a circle: its value at the shorter way round.

    >>> around = Periodic(RBF(0.5), period=2 * math.pi)
    >>> bool(np.isclose(around(2 * math.pi - 0.1), RBF(0.5)(0.1)))
    True
    """

    kernel: Kernel
    period: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.period) and self.period > 0):
            raise ValueError(f"period must be a finite number greater than 0, not {self.period!r}")

    def __call__(self, d: ArrayLike, /) -> Array:
        """Values at the differences `d`, in the same shape."""
        d = np.asarray(d, dtype=np.float64)
        return self.kernel(d - self.period * np.round(d / self.period))


def set_similarity(
    P: ArrayLike,
    Q: ArrayLike,
    kernels: Sequence[Callable[[Array], Array]],
    *,
    p_weights: ArrayLike | None = None,
    q_weights: ArrayLike | None = None,
    normalization: Normalization = "none",
) -> float:
    """Exact similarity of two sets: the sum over all pairs of the product of the kernels (setsim).

    Parameters
    ----------
    P, Q : (n, d) and (m, d) arrays
        Elements with d measurements each, in the kernels' units.
    kernels : d kernels, one for each measurement
        Or anything that gives values at differences, such as a fitted map's `signature`.
    p_weights, q_weights : (n,) and (m,) arrays, 1 for every element unless given
    normalization : {"none", "cosine", "cardinality"}
        "cosine" divides by the square roots of both self-similarities (cossim), so that a set is 1 to
        itself; "cardinality" divides by the product of both total weights (the sizes, when all weights
        are 1), which makes it the mean over pairs.

    Examples
    --------
    >>> set_similarity([[0.0]], [[0.5]], [RBF(0.5)]) == float(RBF(0.5)(0.5))
    True
    >>> set_similarity([[0.0], [1.0]], [[0.0], [1.0]], [RBF(0.5)], normalization="cosine")
    1.0
    """
    if normalization not in get_args(Normalization):
        raise ValueError(f"normalization must be one of {get_args(Normalization)}, not {normalization!r}")
    P, Q = check_elements(P, "P", len(kernels)), check_elements(Q, "Q", len(kernels))
    p = check_weights(p_weights, "p_weights", len(P))
    q = check_weights(q_weights, "q_weights", len(Q))

    total = _double_sum(P, Q, kernels, p, q)
    if normalization == "none":
        return total
    if normalization == "cardinality":
        scale = float(p.sum()) * float(q.sum())
    else:
        self_p, self_q = _double_sum(P, P, kernels, p, p), _double_sum(Q, Q, kernels, q, q)
        scale = math.sqrt(max(self_p, 0.0) * max(self_q, 0.0))
    return total / scale if scale else 0.0


def _double_sum(P: Array, Q: Array, kernels: Sequence[Callable[[Array], Array]], p: Array, q: Array) -> float:
    rows = max(1, _BLOCK // len(Q))
    total = 0.0
    for start in range(0, len(P), rows):
        block = slice(start, start + rows)
        values = np.ones((len(P[block]), len(Q)))
        for axis, kernel in enumerate(kernels):
            values *= kernel(P[block, axis, None] - Q[None, :, axis])
        total += float(p[block] @ values @ q)
    return total


def check_elements(points: ArrayLike, name: str, dimensions: int) -> Array:
    """The elements of a set as a float64 array (n, dimensions), or a ValueError that says what is wrong."""
    try:
        points = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers with shape (n, {dimensions})") from None
    if points.ndim != 2 or points.shape[1] != dimensions:
        raise ValueError(f"{name} must have shape (n, {dimensions}), one row an element, not {points.shape}")
    if len(points) == 0:
        raise ValueError(f"{name} must have at least one element, it is empty")
    if not np.isfinite(points).all():
        raise ValueError(f"{name} must be finite, it contains NaN or infinity")
    return points


def check_weights(weights: ArrayLike | None, name: str, count: int) -> Array:
    """Weights of `count` elements as float64 (count,), all 1 unless given."""
    if weights is None:
        return np.ones(count)
    try:
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of {count} numbers") from None
    if weights.shape != (count,):
        raise ValueError(f"{name} must have shape ({count},), one weight an element, not {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError(f"{name} must be finite, it contains NaN or infinity")
    return weights
