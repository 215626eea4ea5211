"""The maps of the sketch descriptor (sections 5 and 6), fitted beforehand: no waiting, no SciPy."""

from __future__ import annotations

import math

from ..kernels import RBF
from .base import DEFAULT_KERNELS
from .harmonic import HarmonicMap
from .joint import JointMap


def spatial_map(n_frequencies: int) -> JointMap:
    """For x and y, 400 pixels taken as pi: kernels 0, 1, 2 are RBF(.12), RBF(.16), RBF(.20)."""
    return JointMap(DEFAULT_KERNELS, n_frequencies, math.pi).fit()


def orientation_map(n_frequencies: int, sigma: float = 0.8) -> HarmonicMap:
    """For the doubled angle, in radians: a line has no direction, so doubled it has the period 2 pi.

    Whole-number frequencies close on the circle. The weights are those with the smallest worst error.
    """
    return HarmonicMap(RBF(sigma), n_frequencies, math.pi, weighting="best").fit()
