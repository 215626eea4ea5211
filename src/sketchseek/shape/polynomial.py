"""Trigonometric polynomials of translation, the way the paper writes them: readable, for figures and peers.

A translation (dx, dy) moves the drawing, in radians of the maps (`RADIANS` a pixel). The similarity of a
moved drawing and a picture is a polynomial in cos(w d) and sin(w d) whose coefficients are products of sub-
vectors (equation `tripol1`).

`query` below is a query-side vector (D,), already multiplied with a kernel's weights; `vectors` are one or
many database-side ones (..., D).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..maps.components import columns, turn_tensor
from .descriptor import mirror_signs
from .query import Query
from .settings import FULL, RADIANS, Settings

Array = NDArray[np.float64]


def polynomial_1d(query: ArrayLike, vectors: ArrayLike, settings: Settings) -> Array:
    """Coefficients (..., Dx) of the similarity of two projections under a translation along their axis.

    `query` and `vectors` are projections: (Dx * Do,) and (..., Dx * Do).
    """
    dx, _, do = settings.shape
    q = np.asarray(query, np.float64).reshape(dx, do)
    linear = np.einsum("abp,ao->pbo", turn_tensor(dx), q).reshape(dx, dx * do)
    coefficients: Array = np.asarray(vectors, np.float64) @ linear.T
    return coefficients


def polynomial_2d(query: ArrayLike, vectors: ArrayLike, settings: Settings) -> Array:
    """Coefficients (..., Dx, Dx) of the similarity under a translation in the plane; N2 = Dx * Dx of them."""
    dx = settings.shape[0]
    q, turn = np.asarray(query, np.float64).reshape(settings.shape), turn_tensor(dx)
    linear = np.einsum("abp,cdr,aco->prbdo", turn, turn, q, optimize=True).reshape(dx * dx, -1)
    vectors = np.asarray(vectors, np.float64)
    coefficients: Array = vectors @ linear.T
    return coefficients.reshape(*vectors.shape[:-1], dx, dx)


def evaluate_1d(coefficients: ArrayLike, d: ArrayLike, settings: Settings) -> Array:
    """The polynomial at translations d (T,), in pixels: (..., T). Equation `tripol1sm`."""
    values: Array = (
        np.asarray(coefficients) @ columns(np.asarray(d, np.float64) * RADIANS, settings.frequencies).T
    )
    return values


def evaluate_2d(coefficients: ArrayLike, dx: ArrayLike, dy: ArrayLike, settings: Settings) -> Array:
    """The polynomial on the grid dx x dy, in pixels: (..., Tx, Ty)."""
    cx, cy = (columns(np.asarray(d, np.float64) * RADIANS, settings.frequencies) for d in (dx, dy))
    values: Array = cx @ np.asarray(coefficients) @ cy.T
    return values


def binary_2d(coefficients: ArrayLike, dx: ArrayLike, dy: ArrayLike, settings: Settings) -> Array:
    """The binary polynomial: signs of the coefficients times signs of the variables, (..., Tx, Ty)."""
    cx, cy = (_sign(columns(np.asarray(d, np.float64) * RADIANS, settings.frequencies)) for d in (dx, dy))
    return cx @ _sign(np.asarray(coefficients)) @ cy.T


def variants(query: Query) -> list[tuple[int, bool, Array]]:
    """The poses in the order in which ties are broken: (pose, mirrored, query-side vector of norm 1)."""
    signs = mirror_signs(query.settings)
    out = []
    for pose in range(len(query)):
        unit = query.vectors[pose] * inverse(query.norms[pose, FULL])
        out.append((pose, False, unit))
        if query.mirror:
            out.append((pose, True, unit * signs))
    return out


def inverse(norm: ArrayLike) -> Array:
    """1 / norm, and 0 for the norm of nothing: a blank picture or drawing scores 0."""
    norm = np.asarray(norm, np.float64)
    result: Array = np.divide(1.0, norm, out=np.zeros_like(norm), where=norm > 0)
    return result


def _sign(values: Array) -> Array:
    return np.where(values < 0, -1.0, 1.0)
