"""The components of a map: [1, cos w1 x, sin w1 x, cos w2 x, sin w2 x, ...].

Frequency 0 is the first and needs no sine, so that n frequencies have D = 2 n - 1 components.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernels import Array


def components(x: NDArray[Any], frequencies: Sequence[float] | Array) -> NDArray[Any]:
    """Those of each x, (...) -> (D, ...), in x's precision: a run of memory each, which is fast to fill."""
    phase = np.multiply.outer(np.asarray(frequencies[1:], x.dtype), x)
    out = np.empty((2 * len(frequencies) - 1, *x.shape), x.dtype)
    out[0] = 1
    np.cos(phase, out=out[1::2])
    np.sin(phase, out=out[2::2])
    return out


def columns(x: NDArray[Any], frequencies: Sequence[float] | Array) -> NDArray[Any]:
    """The same with the components last: (...) -> (..., D)."""
    return np.ascontiguousarray(np.moveaxis(components(x, frequencies), 0, -1))


def frequency_of(n_frequencies: int) -> NDArray[np.intp]:
    """(D,) which frequency a component belongs to: 0, 1, 1, 2, 2, ..."""
    return (np.arange(2 * n_frequencies - 1) + 1) // 2


def is_sine(size: int) -> NDArray[np.bool_]:
    """(D,) which of the components are sines."""
    i = np.arange(size)
    sine: NDArray[np.bool_] = (i > 0) & (i % 2 == 0)
    return sine


def per_component(weights: ArrayLike) -> Array:
    """(n,) a weight for each frequency -> (D,) for each component, equal for cosine and sine."""
    of_frequencies = np.asarray(weights, np.float64)
    return of_frequencies[frequency_of(len(of_frequencies))]


def turn_tensor(size: int) -> Array:
    """(D, D, D): which products of two vectors' components are a translation's coefficients (tripol1).

    The first vector, V, is moved by d, the second, W, stays: V . W is a polynomial of the components of d.
    The axes are those of V, of W and of d.
    """
    form = np.zeros((size, size, size))
    form[0, 0, 0] = 1.0
    for c in range(1, size, 2):
        s = c + 1
        form[c, c, c] = form[s, s, c] = 1.0  # beta = Vc Wc + Vs Ws
        form[c, s, s], form[s, c, s] = 1.0, -1.0  # gamma = Vc Ws - Vs Wc
    return form
