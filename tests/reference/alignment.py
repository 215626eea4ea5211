"""The alignment of a drawing with pictures, the way the paper writes it: readable, slow, the reference.

A translation (dx, dy) moves the drawing, in radians of the maps (`RADIANS` a pixel). The similarity of a
moved drawing and a picture is a polynomial in cos(w d) and sin(w d) whose coefficients are products of sub-
vectors (equation `tripol1`); it is evaluated on the query's grid of translations, and its maximum kept.

`query` below is a query-side vector (D,), already multiplied with a kernel's weights; `vectors` are one or
many database-side ones (..., D).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sketchseek.maps.components import columns
from sketchseek.shape.descriptor import mirror_signs, norms, projection
from sketchseek.shape.placement import Placement, radius_of
from sketchseek.shape.polynomial import (
    binary_2d,
    evaluate_1d,
    evaluate_2d,
    inverse,
    polynomial_1d,
    polynomial_2d,
    variants,
)
from sketchseek.shape.query import Query
from sketchseek.shape.settings import FULL, RADIANS, Settings, X, Y

Array = NDArray[np.float64]

_NEWTON_STEPS = 6


@dataclass(frozen=True)
class Start:
    """From where each of n pictures' places are looked for off the grid.

    first, last : (n,) the poses of a query that are tried: first ... last - 1. mirrored : (n,) bool.
    dx, dy : (n,) pixels. within : (n,) how far from there, along each axis, in pixels.
    """

    first: NDArray[np.int32]
    last: NDArray[np.int32]
    mirrored: NDArray[np.bool_]
    dx: NDArray[np.float64]
    dy: NDArray[np.float64]
    within: NDArray[np.float64]


def surfaces(vectors: ArrayLike, norms: ArrayLike, query: Query) -> list[tuple[int, bool, Array]]:
    """Every score of every picture: for each pose and mirror the cosines on its grid, (n, T, T)."""
    norms = np.asarray(norms)
    out = []
    for pose, mirrored, unit in variants(query):
        d = query.translations(pose)
        grid = evaluate_2d(polynomial_2d(unit, vectors, query.settings), d, d, query.settings)
        out.append((pose, mirrored, grid * inverse(norms[:, query.kernels[pose], FULL])[:, None, None]))
    return out


def align(vectors: ArrayLike, norms: ArrayLike, query: Query) -> Placement:
    """The exact two-dimensional alignment: the best of all poses, mirrors and translations of the grid."""
    return _best(surfaces(vectors, norms, query), query)


def align_near(
    vectors: ArrayLike, norms: ArrayLike, query: Query, guide: str, neighborhood: int = 3
) -> Placement:
    """The alignment evaluated exactly only near a guess, an N x N neighbourhood of grid translations.

    guide : "binary" starts from the maximum of the binary polynomial over all poses and mirrors, "binary-all"
        from its maximum at each of them, "local-all" from the maxima of the two projections at each.
    """
    if guide not in ("binary", "binary-all", "local-all"):
        raise ValueError(f"guide must be 'binary', 'binary-all' or 'local-all', got {guide!r}")
    norms = np.asarray(norms)
    radius = radius_of(neighborhood)
    allowed, agreement = [], []
    for (pose, mirrored, grid), (_, _, unit) in zip(
        surfaces(vectors, norms, query), variants(query), strict=True
    ):
        d = query.translations(pose)
        if guide != "local-all":
            signs = binary_2d(polynomial_2d(unit, vectors, query.settings), d, d, query.settings)
            flat = signs.reshape(len(signs), len(d) ** 2)
            agreement.append(flat.max(axis=1))
            at = np.unravel_index(flat.argmax(axis=1), signs.shape[1:])
        else:
            at = tuple(
                evaluate_1d(
                    polynomial_1d(
                        projection(unit, axis, query.settings),
                        projection(vectors, axis, query.settings),
                        query.settings,
                    ),
                    d,
                    query.settings,
                ).argmax(axis=1)
                for axis in (X, Y)
            )
        near = [np.abs(np.arange(len(d)) - a[:, None]) <= radius for a in at]
        allowed.append((pose, mirrored, np.where(near[0][:, :, None] & near[1][:, None, :], grid, -np.inf)))
    if guide == "binary":
        chosen = np.argmax(agreement, axis=0)
        for i, (pose, mirrored, grid) in enumerate(allowed):
            allowed[i] = pose, mirrored, np.where((chosen == i)[:, None, None], grid, -np.inf)
    return _best(allowed, query)


def align_projection(vectors: ArrayLike, norms: ArrayLike, query: Query, axis: int) -> NDArray[np.float32]:
    """Translation-invariant cosines (n,) of one projection: `X` or `Y`, the best pose and mirror of each."""
    norms = np.asarray(norms)
    v = projection(vectors, axis, query.settings)
    best = np.full(len(v), -np.inf)
    signs = projection(mirror_signs(query.settings), axis, query.settings)
    for pose in range(len(query)):
        unit = query.projections[pose, axis - 1] * inverse(query.norms[pose, axis])
        for vector in (unit, unit * signs) if query.mirror else (unit,):
            coefficients = polynomial_1d(vector, v, query.settings)
            values = evaluate_1d(coefficients, query.translations(pose), query.settings).max(axis=1)
            best = np.maximum(best, values * inverse(norms[:, query.kernels[pose], axis]))
    return best.astype(np.float32)


def climb(
    coefficients: ArrayLike, dx: ArrayLike, dy: ArrayLike, within: ArrayLike, settings: Settings
) -> tuple[Array, Array, Array]:
    """The nearest maximum of each of n polynomials (n, Dx, Dx), by Newton steps from (dx, dy), all in pixels.

    within : (n,) how far it may be from the start along each axis. Returns dx, dy and the value there; a step
    that does not lead upwards is halved, so that the value never falls below the start's.
    """
    B = np.asarray(coefficients, np.float64)
    start = np.stack([np.asarray(dx, np.float64), np.asarray(dy, np.float64)], axis=-1) * RADIANS
    reach = np.asarray(within, np.float64)[..., None] * RADIANS
    at, stride = start.copy(), np.ones(len(start))
    value, gradient, hessian = _taylor(B, at, settings)
    for _ in range(_NEWTON_STEPS):
        bent = (
            np.linalg.eigvalsh(hessian)[:, -1] < 0
        )  # a maximum is ahead only where both curvatures are down
        safe = np.where(bent[:, None, None], hessian, -np.eye(2))
        step = -np.linalg.solve(safe, np.where(bent[:, None], gradient, 0.0)[..., None])[..., 0]
        tried = np.clip(at + stride[:, None] * step, start - reach, start + reach)
        found = _taylor(B, tried, settings)
        better = found[0] > value
        stride = np.where(better, 1.0, stride / 2)
        at = np.where(better[:, None], tried, at)
        value, gradient, hessian = (
            np.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)
            for new, old in zip(found, (value, gradient, hessian), strict=True)
        )
    return at[:, 0] / RADIANS, at[:, 1] / RADIANS, value


def refine_pose(vectors: ArrayLike, query: Query, start: Start) -> Placement:
    """The best of some poses of each picture's own and of all translations near its start.

    The score is -inf where no pose has one: a blank picture.
    """
    vectors = np.asarray(vectors)
    n = len(start.dx)
    score, pose = np.full(n, -np.inf), start.first.astype(np.int32)
    dx, dy = start.dx.astype(np.float64), start.dy.astype(np.float64)
    its_norms = norms(vectors, query.settings)[:, :, FULL]
    for i, mirrored, unit in variants(query):
        tried = (start.first <= i) & (i < start.last) & (start.mirrored == mirrored)
        rows = np.flatnonzero(tried & (its_norms[:, query.kernels[i]] > 0))
        if len(rows) == 0:
            continue
        coefficients = polynomial_2d(unit, vectors[rows], query.settings)
        x, y, value = climb(coefficients, start.dx[rows], start.dy[rows], start.within[rows], query.settings)
        value /= its_norms[rows, query.kernels[i]]
        won = value > score[rows]
        score[rows[won]], pose[rows[won]], dx[rows[won]], dy[rows[won]] = value[won], i, x[won], y[won]
    return Placement(
        score.astype(np.float32),
        pose,
        np.asarray(start.mirrored),
        dx.astype(np.float32),
        dy.astype(np.float32),
    )


def _taylor(B: Array, at: Array, settings: Settings) -> tuple[Array, Array, Array]:
    """Value (n,), gradient (n, 2) and Hessian (n, 2, 2) of c(x)^T B c(y) at (n, 2) radians."""
    w = np.repeat(settings.frequencies, 2)[1:]
    c = columns(at, settings.frequencies)  # (n, 2, Dx)
    first = np.zeros_like(c)
    first[..., 1::2], first[..., 2::2] = -w[1::2] * c[..., 2::2], w[2::2] * c[..., 1::2]
    second = -np.square(w) * c
    along = {
        (i, j): np.einsum("na,nab,nb->n", (c, first, second)[i][:, 0], B, (c, first, second)[j][:, 1])
        for i, j in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    }
    gradient = np.stack([along[1, 0], along[0, 1]], axis=-1)
    rows = [np.stack([along[2, 0], along[1, 1]], axis=-1), np.stack([along[1, 1], along[0, 2]], axis=-1)]
    return along[0, 0], gradient, np.stack(rows, axis=-2)


def _best(scored: list[tuple[int, bool, Array]], query: Query) -> Placement:
    n = len(scored[0][2])
    score, pose = np.full(n, -np.inf), np.zeros(n, np.int32)
    mirrored, dx, dy = np.zeros(n, bool), np.zeros(n), np.zeros(n)
    for i, flipped, grid in scored:
        d = query.translations(i)
        flat = grid.reshape(n, grid.shape[1] * grid.shape[2])
        at = flat.argmax(axis=1)
        value = flat[np.arange(n), at]
        better = value > score
        score, pose = np.where(better, value, score), np.where(better, i, pose)
        mirrored = np.where(better, flipped, mirrored)
        dx, dy = np.where(better, d[at // len(d)], dx), np.where(better, d[at % len(d)], dy)
    return Placement(
        score.astype(np.float32),
        pose.astype(np.int32),
        mirrored.astype(bool),
        dx.astype(np.float32),
        dy.astype(np.float32),
    )
