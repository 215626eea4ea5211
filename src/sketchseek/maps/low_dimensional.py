"""The best frequencies for one kernel (Chum 2015)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import get_args

from ..kernels import Array, Kernel
from .base import DEFAULT_KERNELS, FeatureMap
from .optimization import Error, Targets, fit


class LowDimensionalMap(FeatureMap):
    """Frequencies chosen for the first kernel alone, with every kernel's best weights on them.

    With one kernel it is the map of Chum. With several it is what the paper calls naive: the frequencies
    fit the first kernel, and the others make do with them.

    Parameters
    ----------
    kernels, n_frequencies, domain : as for every map
    error : "linf" minimises the worst error on [0, domain], "l1" the mean absolute error

    References
    ----------
    O. Chum, "Low dimensional explicit feature maps", ICCV 2015.

    Examples
    --------
    >>> from sketchseek.kernels import RBF
    >>> LowDimensionalMap(RBF(0.2), n_frequencies=5).fit().errors().round(2).tolist()
    [0.08]
    """

    def __init__(
        self,
        kernels: Kernel | Sequence[Kernel] = DEFAULT_KERNELS,
        n_frequencies: int = 5,
        domain: float = math.pi,
        error: Error = "linf",
    ) -> None:
        super().__init__(kernels, n_frequencies, domain)
        self.error = error

    def _fit(self, kernels: tuple[Kernel, ...]) -> tuple[Array, Array]:
        if self.error not in get_args(Error):
            raise ValueError(f"error must be one of {get_args(Error)}, not {self.error!r}")
        domain = float(self.domain)
        frequencies, _ = fit(kernels[:1], int(self.n_frequencies), domain, self.error)
        return frequencies.copy(), Targets(kernels, domain, self.error).best_weights(frequencies)[0]
