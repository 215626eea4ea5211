"""The linear programs behind the maps: best weights, frequencies from a pool, and their polish.

The error is measured at `GRID` points of [0, domain]. Few of them bind, so that a program starts with a few
and adds the worst of the others until none is violated: the optimum of the whole grid for the price of a
small program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, Literal, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..kernels import Array, Kernel

P = ParamSpec("P")
R = TypeVar("R")
Error = Literal["linf", "l1"]

GRID = 2001
"""Points of [0, domain] at which the error is measured."""

_TOLERANCE = 1e-9
_SHORT_POLISH, _LONG_POLISH = 10, 80
_POOL_STEP = 0.25  # of pi / domain, the harmonic frequencies' step
_BASES = np.concatenate([np.arange(0.2, 1.0, 0.1), np.arange(1.0, 2.01, 0.05)])


class Targets:
    """Signatures of the kernels on the grid, and the programs that approximate them.

    Parameters
    ----------
    kernels : the K kernels
    domain : the signatures are approximated on [0, domain]
    error : "linf" is the worst error over the grid (inferr), "l1" the mean absolute error
    """

    def __init__(self, kernels: Sequence[Kernel], domain: float, error: Error = "linf") -> None:
        self.domain = domain
        self.error = error
        self.grid = np.linspace(0.0, domain, GRID)
        self.values = np.stack([kernel(self.grid) for kernel in kernels])

    def errors(self, frequencies: Array, weights: Array) -> Array:
        """(K,) errors of sum_w alpha_w cos(w d) on the whole grid."""
        signatures = np.einsum("kn,ng->kg", weights, np.cos(np.outer(frequencies, self.grid)))
        difference = np.abs(self.values - signatures)
        return np.asarray(difference.max(axis=1) if self.error == "linf" else difference.mean(axis=1))

    def best_weights(self, frequencies: Array, refine: bool = True) -> tuple[Array, Array]:
        """The nonnegative weights (K, n) with the smallest errors (K,), one program for each kernel."""
        basis = np.cos(np.outer(self.grid, frequencies))
        solved = [self._solve(basis, [i], refine=refine)[0][0] for i in range(len(self.values))]
        weights = np.stack(solved)
        return weights, self.errors(frequencies, weights)

    def from_pool(self, n_frequencies: int) -> Array | None:
        """Frequencies picked from a pool by the program with the l1 term (section 4 of the paper).

        The number of frequencies that it picks jumps as gamma changes, because a frequency between two of
        the pool is written as both. So neighbours are merged before they are counted; gamma is the largest
        that leaves enough, and of those the lightest are dropped. None when no gamma leaves enough.
        """
        step = _POOL_STEP * math.pi / self.domain
        pool = step * np.arange(2.0 * n_frequencies / _POOL_STEP + 1)
        basis = np.cos(np.outer(self.grid, pool))
        low, high = -10.0, 2.0  # log2 of gamma
        found = None
        for _ in range(8):
            middle = (low + high) / 2
            weights = self._solve(basis, range(len(self.values)), gamma=2.0**middle, refine=False)[0]
            frequencies, heights = _merge(pool, weights.max(axis=0))
            if len(frequencies) >= n_frequencies:
                low, found = middle, (frequencies, heights)
            else:
                high = middle
        if found is None:
            return None
        frequencies, heights = found
        heights[0] = np.inf  # frequency 0 stays
        return np.sort(frequencies[np.argsort(-heights, kind="stable")[:n_frequencies]])

    def from_multiples(self, n_frequencies: int, keep: int = 2) -> list[Array]:
        """Multiples of one base; the `keep` best bases."""
        starts = [base * math.pi / self.domain * np.arange(n_frequencies) for base in _BASES]
        totals = [self.best_weights(start, refine=False)[1].sum() for start in starts]
        return [starts[i] for i in np.argsort(totals, kind="stable")[:keep]]

    def polish(self, frequencies: Array, steps: int) -> tuple[Array, float]:
        """Move the frequencies towards the nearest minimum of the sum of errors; these and that sum.

        Each step is one program: the signature is linear in the weights, and made linear in the
        frequencies around where they are, within a radius that grows when the program foretold the gain
        and shrinks when it did not. At a minimax optimum this converges quadratically.
        """
        weights, errors = self.best_weights(frequencies)
        radius = 0.2 * math.pi / self.domain
        for _ in range(steps if len(frequencies) > 1 else 0):
            phase = np.outer(self.grid, frequencies)
            slope = -self.grid[:, None] * np.sin(phase)
            moves = [(slope * alpha)[:, 1:] for alpha in weights]
            step, promised = self._solve(
                np.cos(phase), range(len(weights)), moves=moves, radius=np.minimum(radius, frequencies[1:])
            )[1:]
            gain_promised = float(errors.sum() - promised)
            if gain_promised < _TOLERANCE:
                break
            moved = np.concatenate([[0.0], frequencies[1:] + step])
            new_weights, new_errors = self.best_weights(moved)
            gain = float(errors.sum() - new_errors.sum())
            if gain > 0.05 * gain_promised:
                frequencies, weights, errors = moved, new_weights, new_errors
                radius *= 2.0 if gain > 0.5 * gain_promised else 1.0
            else:
                radius /= 3.0
            if radius * self.domain < _TOLERANCE:
                break
        return np.sort(frequencies), float(errors.sum())

    def _solve(
        self,
        basis: Array,
        which: Sequence[int],
        *,
        gamma: float = 0.0,
        moves: list[Array] | None = None,
        radius: Array | None = None,
        refine: bool = True,
    ) -> tuple[Array, Array, float]:
        """min sum of errors (+ gamma * sum over frequencies of the largest weight).

        basis : (GRID, n); which : the kernels to approximate; moves : for each of them (GRID, n - 1), what
        a unit step of every frequency but the first adds to the signature; refine : until the whole grid
        holds. Returns the weights (len(which), n), the steps (n - 1,) and the sum of the program's errors.
        """
        n = basis.shape[1]
        K = len(which)
        n_moves = n - 1 if moves is not None else 0
        n_heights = n if gamma and K > 1 else 0
        # The worst error finds its points by itself; a mean needs all of them from the beginning.
        n_points = 201 if self.error == "l1" else 51 if refine else max(101, 2 * n)
        grid = np.unique(np.linspace(0, GRID - 1, n_points).round().astype(int))
        chosen = [grid for _ in which]
        while True:
            # Variables: weights (K n), steps, largest weight of each frequency, then the errors: one for
            # each kernel, or one for each kernel and point when their mean is minimised.
            counts = [1 if self.error == "linf" else len(points) for points in chosen]
            first_error = K * n + n_moves + n_heights
            cost = np.zeros(first_error + sum(counts))
            rows, limits = [], []
            at = first_error
            for j, i in enumerate(which):
                points = chosen[j]
                line = np.zeros((len(points), len(cost)))
                line[:, j * n : (j + 1) * n] = basis[points]
                if moves is not None:
                    line[:, K * n : K * n + n_moves] = moves[i][points]
                slack = np.zeros_like(line)
                slack[np.arange(len(points)), at + (np.arange(len(points)) if counts[j] > 1 else 0)] = -1.0
                cost[at : at + counts[j]] = 1.0 / counts[j]
                at += counts[j]
                rows += [line + slack, slack - line]
                limits += [self.values[i, points], -self.values[i, points]]
            if n_heights:
                cost[K * n + n_moves : first_error] = gamma
                below = np.zeros((K * n, len(cost)))
                below[:, : K * n] = np.eye(K * n)
                below[np.arange(K * n), K * n + n_moves + np.arange(K * n) % n] = -1.0
                rows.append(below)
                limits.append(np.zeros(K * n))
            elif gamma:
                cost[:n] = gamma
            bounds = np.zeros((len(cost), 2))
            bounds[:, 1] = np.inf
            if radius is not None:
                bounds[K * n : K * n + n_moves] = np.stack([-radius, radius], axis=1)

            x = _linear_program(cost, np.concatenate(rows), np.concatenate(limits), bounds)
            weights, steps = x[: K * n].reshape(K, n), x[K * n : K * n + n_moves]
            errors = x[first_error:]
            missed = False
            for j, i in enumerate(which if refine and self.error == "linf" else []):
                # einsum, not @: a threaded product of this size costs more in waiting than in work.
                signature = np.einsum("gn,n->g", basis, weights[j])
                if moves is not None:
                    signature += np.einsum("gn,n->g", moves[i], steps)
                new = np.setdiff1d(_peaks(np.abs(signature - self.values[i]), errors[j]), chosen[j])
                chosen[j] = np.union1d(chosen[j], new)
                missed |= len(new) > 0
            if not missed:
                return weights, steps, float(cost[first_error:] @ errors)


def remembered(solve: Callable[P, R]) -> Callable[P, R]:
    """Results are kept for arguments that can be hashed; those of other kernels are solved each time."""
    cached = lru_cache(maxsize=256)(solve)

    @wraps(solve)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            hash(args)
        except TypeError:
            return solve(*args, **kwargs)
        return cached(*args, **kwargs)  # type: ignore[arg-type]

    return call


@remembered
def fit(
    kernels: tuple[Kernel, ...], n_frequencies: int, domain: float, error: Error = "linf"
) -> tuple[Array, Array]:
    """Frequencies (n,) shared by all kernels, 0 the first, and their best weights (K, n).

    The paper's search over gamma gives one start, multiples of a base two more. Each is polished a little,
    and the best of them to the end; the harmonic frequencies stay when nothing beats them. The result is
    rounded, so that the last digits of a solver do not show in it.
    """
    targets = Targets(kernels, domain, error)
    unit = math.pi / domain
    pooled = targets.from_pool(n_frequencies)
    starts = targets.from_multiples(n_frequencies) + ([] if pooled is None else [pooled])
    tried = [targets.polish(start, _SHORT_POLISH) for start in starts]
    tried.append(targets.polish(unit * np.arange(float(n_frequencies)), 0))
    best = min(tried, key=lambda solution: round(solution[1], 7))[0]
    frequencies = np.round(targets.polish(best, _LONG_POLISH)[0] / unit, 6)
    for j in range(1, n_frequencies):  # where fewer would do, two may meet: exactly as many as asked for
        frequencies[j] = max(frequencies[j], frequencies[j - 1] + 1e-3)
    frequencies *= unit
    return frequencies, np.round(targets.best_weights(frequencies)[0], 9)


@remembered
def best_weights(kernel: Kernel, frequencies: tuple[float, ...], domain: float) -> Array:
    """Weights (n,) of one kernel on given frequencies, with the smallest worst error on [0, domain]."""
    return np.asarray(Targets([kernel], domain).best_weights(np.array(frequencies))[0][0])


def _merge(pool: Array, heights: Array) -> tuple[Array, Array]:
    """Runs of neighbours in the pool become one frequency, at their centre of mass; 0 is always there."""
    used = heights > 1e-6
    used[0] = True
    run = np.cumsum(np.diff(used, prepend=False) & used) * used
    total = np.bincount(run, weights=heights)[1:]
    centre = np.bincount(run, weights=heights * pool)[1:] / np.maximum(total, 1e-300)
    centre[0] = 0.0
    return np.asarray(centre, dtype=np.float64), np.asarray(total, dtype=np.float64)


def _peaks(error: Array, limit: float) -> NDArray[np.intp]:
    """Where the error has a local maximum above the limit."""
    peak = error > limit + _TOLERANCE
    peak[1:] &= error[1:] >= error[:-1]
    peak[:-1] &= error[:-1] >= error[1:]
    return np.flatnonzero(peak)


def _linear_program(cost: Array, A: Array, b: Array, bounds: Array) -> Array:
    from scipy.optimize import linprog

    tight: dict[str, Any] = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    solution = linprog(cost, A_ub=A, b_ub=b, bounds=bounds, method="highs-ds", options=tight)
    if solution.x is None:
        raise RuntimeError(f"the linear program of the feature map was not solved: {solution.message}")
    return np.asarray(solution.x, dtype=np.float64)
