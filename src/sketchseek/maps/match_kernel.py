"""Efficient match kernels: a set of elements as one vector, whatever the elements are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from ..kernels import Array, Kernel, Normalization, check_elements, check_weights
from .base import FeatureMap, check_finite
from .components import turn_tensor

Choice = int | Kernel | Sequence[int | Kernel]

_BLOCK = 1 << 20
"""Numbers in the largest temporary array of `describe`: 8 MB."""


class MatchKernel:
    """Sets of elements with d measurements, compared by a product of d kernels.

    V(P) = sum over elements of weight times the tensor product of the maps (emk, imgrepre), on the
    database side: one vector serves every kernel of the joint maps, and every translation.

    Wherever a method takes `kernel`, it is an index into every map's kernels, any further kernel, or a
    sequence with one of these for each dimension.

    Parameters
    ----------
    maps : d fitted maps, one for each measurement

    Attributes
    ----------
    shape : (D_1, ..., D_d), the maps' columns; a vector is the tensor of this shape, flattened in C order
    size : D, the product of these

    Examples
    --------
    Two drums, the second one half a second late:

    >>> import numpy as np
    >>> from sketchseek.kernels import RBF
    >>> from sketchseek.maps import JointMap, MatchKernel
    >>> rhythms = MatchKernel([JointMap([RBF(0.1), RBF(0.2)], n_frequencies=6, domain=2.0).fit()])
    >>> P = rhythms.describe([[0.0], [0.2], [0.9]])
    >>> Q = rhythms.describe([[0.5], [0.7], [1.4]])
    >>> offsets = np.linspace(-1, 1, 201)
    >>> scores = rhythms.scores(P, Q, {0: offsets}, kernel=0)
    >>> float(offsets[scores.argmax()].round(2)), float(scores.max().round(2))
    (0.5, 1.0)
    """

    def __init__(self, maps: Sequence[FeatureMap]) -> None:
        if not maps or not all(isinstance(m, FeatureMap) for m in maps):
            raise ValueError("maps must be a list with one fitted feature map for each dimension")
        self.maps = tuple(maps)
        self.shape = tuple(2 * len(m.check_fitted().frequencies_) - 1 for m in maps)
        self.size = math.prod(self.shape)

    def describe(self, points: ArrayLike, weights: ArrayLike | None = None) -> Array:
        """(n, d) elements, with a weight each (1 unless given) -> their vector V (D,)."""
        points = check_elements(points, "points", len(self.maps))
        weights = check_weights(weights, "weights", len(points))
        total = np.zeros((self.size // self.shape[-1], self.shape[-1]))
        rows = max(1, _BLOCK // len(total))
        for start in range(0, len(points), rows):
            block = points[start : start + rows]
            product = weights[start : start + rows, None]
            for axis, feature_map in enumerate(self.maps[:-1]):
                columns = feature_map.columns(block[:, axis])
                product = (product[:, :, None] * columns[:, None, :]).reshape(len(block), -1)
            total += product.T @ self.maps[-1].columns(block[:, -1])
        return total.ravel()

    def component_weights(self, kernel: Choice = 0) -> Array:
        """(D,): the query side's weight of each component; times V it is the query's vector (map_asym1)."""
        product = np.ones(1)
        for feature_map, choice in zip(self.maps, self._choices(kernel), strict=True):
            product = np.outer(product, feature_map.column_weights(choice)).ravel()
        return product

    def norm(self, V: ArrayLike, kernel: Choice = 0) -> Array:
        """Square root of the self-similarity under one kernel; (..., D) -> (...). It ignores translation."""
        V = self._checked(V, "V")
        return np.asarray(np.sqrt(V**2 @ self.component_weights(kernel)))

    def similarity(
        self, V: ArrayLike, W: ArrayLike, kernel: Choice = 0, normalization: Normalization = "cosine"
    ) -> Array:
        """Similarity of sets, from their vectors: (..., D) and (m, D) or (D,) -> (..., m) or (...).

        Normalised as in `kernels.set_similarity`; the first component of a vector is its total weight.
        """
        V, W = self._checked(V, "V"), self._checked(W, "W")
        products = (V * self.component_weights(kernel)) @ W.T
        return products / self._scale(V, W, kernel, normalization)

    def translate(self, V: ArrayLike, offsets: Mapping[int, float]) -> Array:
        """The vector of the set moved by `offsets`, {dimension: amount}, without its elements (vectrans)."""
        V = self._checked(V, "V")
        tensor = V.reshape(-1, *self.shape)
        for dimension, amount in self._checked_offsets(offsets).items():
            frequencies = self.maps[dimension].frequencies_[1:]
            columns = np.moveaxis(tensor, dimension + 1, -1)
            c, s = np.cos(frequencies * amount), np.sin(frequencies * amount)
            moved = columns.copy()
            moved[..., 1::2] = columns[..., 1::2] * c - columns[..., 2::2] * s
            moved[..., 2::2] = columns[..., 2::2] * c + columns[..., 1::2] * s
            tensor = np.moveaxis(moved, -1, dimension + 1)
        return tensor.reshape(V.shape)

    def polynomial(self, V: ArrayLike, W: ArrayLike, dimensions: Sequence[int], kernel: Choice = 0) -> Array:
        """Coefficients of the similarity as a trigonometric polynomial of V's translation (tripol1).

        One axis for each of the given dimensions, with that map's columns: [beta_0, beta_1, gamma_1, ...].
        Its value at an offset is its product with `maps[dimension].transform(offset)`. The offset is
        added to V's elements; the paper subtracts it, which turns the signs of gamma.
        """
        V = self._checked(V, "V", one=True).reshape(self.shape)
        W = (self.component_weights(kernel) * self._checked(W, "W", one=True)).reshape(self.shape)
        d = len(self.maps)
        v_axes, w_axes, out = list(range(d)), list(range(d)), []
        operands: list[object] = []
        for dimension in self._checked_offsets(dict.fromkeys(dimensions, 0.0)):
            w_axes[dimension] = d + dimension
            out.append(2 * d + dimension)
            operands += [turn_tensor(self.shape[dimension]), [dimension, d + dimension, 2 * d + dimension]]
        return np.asarray(np.einsum(V, v_axes, W, w_axes, *operands, out, optimize=True))  # type: ignore[call-overload]

    def scores(
        self,
        V: ArrayLike,
        W: ArrayLike,
        offsets: Mapping[int, ArrayLike],
        kernel: Choice = 0,
        normalization: Normalization = "cosine",
    ) -> Array:
        """Similarity with V's elements moved by every offset: one axis for each translated dimension.

        offsets : {dimension: (m,) amounts}; the axes of the result are in this order.
        """
        checked = self._checked_offsets(offsets)
        grid = self.polynomial(V, W, list(checked), kernel)
        for dimension, amounts in checked.items():  # each contraction moves its axis to the end
            grid = np.tensordot(grid, self.maps[dimension].columns(np.atleast_1d(amounts)), axes=(0, 1))
        return grid / self._scale(np.asarray(V), np.asarray(W), kernel, normalization)

    def _scale(self, V: Array, W: Array, kernel: Choice, normalization: Normalization) -> Array:
        if normalization not in get_args(Normalization):
            raise ValueError(f"normalization must be one of {get_args(Normalization)}, not {normalization!r}")
        if normalization == "none":
            return np.ones(())
        sizes = [V[..., 0], W[..., 0]]
        if normalization == "cosine":
            sizes = [self.norm(V, kernel), self.norm(W, kernel)]
        product = np.multiply.outer(*sizes)
        return np.where(product == 0, np.inf, product)  # an empty set resembles nothing

    def _choices(self, kernel: Choice) -> list[int | Kernel]:
        if not isinstance(kernel, Sequence):
            return [kernel] * len(self.maps)
        if len(kernel) != len(self.maps):
            raise ValueError(f"kernel must be one choice, or {len(self.maps)} of them, not {len(kernel)}")
        return list(kernel)

    def _checked(self, V: ArrayLike, name: str, one: bool = False) -> Array:
        V = check_finite(V, name)
        if V.ndim == 0 or V.shape[-1] != self.size or (one and V.ndim > 1):
            expected = f"({self.size},)" if one else f"(..., {self.size})"
            raise ValueError(f"{name} must have shape {expected}, not {V.shape}")
        return V

    def _checked_offsets(self, offsets: Mapping[int, ArrayLike]) -> dict[int, Array]:
        if not all(dimension in range(len(self.maps)) for dimension in offsets):
            raise ValueError(f"dimensions must be from 0 to {len(self.maps) - 1}, not {list(offsets)}")
        return {dimension: check_finite(amounts, "offsets") for dimension, amounts in offsets.items()}
