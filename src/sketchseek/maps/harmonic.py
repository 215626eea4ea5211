"""Harmonic frequencies: the kernel's periodic extension (Vedaldi and Zisserman)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from ..kernels import Array, Kernel
from . import shipped
from .base import DEFAULT_KERNELS, FeatureMap
from .optimization import Targets

Weighting = Literal["fourier", "best"]


class HarmonicMap(FeatureMap):
    """The frequencies 0, 1, 2, ... times pi / domain: the kernel repeats with period 2 * domain.

    On a circle (an angle, with domain = pi) they are the only ones that close. On a line they spend half
    of the period on differences that are never asked for, and a joint map does better.

    Parameters
    ----------
    kernels, n_frequencies, domain : as for every map
    weighting : "fourier" takes the Fourier coefficients of the periodic extension (those below 0, which
        it has where it is not positive definite, become 0); "best" the weights with the smallest worst
        error, by a linear program

    References
    ----------
    A. Vedaldi and A. Zisserman, "Efficient additive kernels via explicit feature maps", PAMI 2012.

    Examples
    --------
    >>> from sketchseek.kernels import RBF
    >>> HarmonicMap(RBF(0.2), n_frequencies=5).fit().errors().round(3).tolist()
    [0.367]
    """

    def __init__(
        self,
        kernels: Kernel | Sequence[Kernel] = DEFAULT_KERNELS,
        n_frequencies: int = 5,
        domain: float = math.pi,
        weighting: Weighting = "fourier",
    ) -> None:
        super().__init__(kernels, n_frequencies, domain)
        self.weighting = weighting

    def _fit(self, kernels: tuple[Kernel, ...]) -> tuple[Array, Array]:
        if self.weighting not in get_args(Weighting):
            raise ValueError(f"weighting must be one of {get_args(Weighting)}, not {self.weighting!r}")
        n, domain = int(self.n_frequencies), float(self.domain)
        frequencies = np.arange(float(n)) * (math.pi / domain)
        if self.weighting == "fourier":
            return frequencies, np.stack([_fourier(kernel, frequencies, domain) for kernel in kernels])
        found = shipped.harmonic(kernels, n, domain)
        if found is not None:
            return frequencies, found[1]
        return frequencies, Targets(kernels, domain).best_weights(frequencies)[0]


def _fourier(kernel: Kernel, frequencies: Array, domain: float) -> Array:
    """Cosine coefficients of the periodic extension, by the trapezoidal rule (which is exact enough for
    periodic functions: its error falls faster than any power of the step for smooth ones)."""
    d = np.linspace(0.0, domain, 8193)
    mean = np.full(len(d), 1.0 / (len(d) - 1))
    mean[[0, -1]] /= 2
    weights = np.cos(np.outer(frequencies, d)) @ (mean * kernel(d))
    weights[1:] *= 2
    return np.maximum(weights, 0.0)
