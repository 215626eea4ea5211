"""How good a ranking is: average precision, precision at k, overlap of boxes, and how sure we are of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def average_precision(relevant: ArrayLike, n_relevant: int | None = None) -> float:
    """Area under the precision-recall curve, by trapezoids, as the field's retrieval toolboxes compute it.

    Parameters
    ----------
    relevant : (n,) bool
        Whether the hit at each rank is right, best first.
    n_relevant : int, optional
        How many right answers there are, found or not; by default those in `relevant`.

    Examples
    --------
    >>> average_precision([True, False, True])   # (1 + 1) / 2 / 2 + (1 / 2 + 2 / 3) / 2 / 2
    0.7916666666666666
    """
    ranks = np.flatnonzero(np.asarray(relevant, dtype=bool))
    n = len(ranks) if n_relevant is None else n_relevant
    if n < len(ranks) or n < 0:
        raise ValueError(f"n_relevant must be at least the {len(ranks)} right hits in the ranking, not {n}")
    if n == 0:
        return 0.0
    found = np.arange(len(ranks))
    # Precision just before the hit and at it; before the first rank it is 1 by convention.
    before = np.where(ranks == 0, 1.0, found / np.maximum(ranks, 1))
    at = (found + 1) / (ranks + 1)
    return float(np.sum((before + at) / 2) / n)


def precision_at(relevant: ArrayLike, k: int) -> float:
    """Share of right hits among the first k. A ranking shorter than k counts as wrong beyond its end.

    >>> precision_at([True, False, True, True], 2)
    0.5
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return float(np.count_nonzero(np.asarray(relevant, dtype=bool)[:k]) / k)


def box_iou(box: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
    """Intersection over union of one box with each of several.

    Parameters
    ----------
    box : (4,)
        x0, y0, x1, y1.
    others : (n, 4)

    Returns
    -------
    (n,) in [0, 1]

    Examples
    --------
    >>> box_iou([0, 0, 2, 2], [[1, 0, 3, 2]]).round(3)
    array([0.333])
    """
    a = np.asarray(box, dtype=np.float64)
    b = np.asarray(others, dtype=np.float64).reshape(-1, 4)
    overlap = np.minimum(a[2:], b[:, 2:]) - np.maximum(a[:2], b[:, :2])
    intersection = np.prod(np.maximum(overlap, 0), axis=1)
    union = np.prod(np.maximum(a[2:] - a[:2], 0)) + np.prod(np.maximum(b[:, 2:] - b[:, :2], 0), axis=1)
    union = union - intersection
    iou: NDArray[np.float64] = np.divide(intersection, union, out=np.zeros_like(union), where=union > 0)
    return iou


def bootstrap_interval(
    values: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    level: float = 0.95,
    samples: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of a (weighted) mean over queries, drawing the queries again with replacement.

    Parameters
    ----------
    values : (n,)
        One figure per query; of a difference between two methods, their difference per query.
    weights : (n,), optional
        How many observations are behind each query's figure (right hits with boxes, say).
    """
    v = np.asarray(values, dtype=np.float64)
    w = np.ones_like(v) if weights is None else np.asarray(weights, dtype=np.float64)
    if v.shape != w.shape or v.ndim != 1:
        raise ValueError(f"values and weights must be vectors of one length, not {v.shape} and {w.shape}")
    if len(v) == 0 or w.sum() == 0:
        return (float("nan"), float("nan"))
    counts = np.random.default_rng(seed).multinomial(len(v), np.full(len(v), 1 / len(v)), size=samples)
    total = counts @ w
    means = (counts @ (v * w))[total > 0] / total[total > 0]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return (float(low), float(high))


def mean_over(groups: Sequence[str], values: ArrayLike) -> dict[str, float]:
    """Mean of the values of each group, groups in alphabetical order."""
    v = np.asarray(values, dtype=np.float64)
    names = np.asarray(groups)
    return {str(name): float(v[names == name].mean()) for name in np.unique(names)}
