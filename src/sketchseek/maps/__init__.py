"""Explicit feature maps: kernels as inner products of short vectors, on a query and a database side.

>>> from sketchseek.kernels import RBF
>>> from sketchseek.maps import JointMap
>>> maps = JointMap(kernels=[RBF(.12), RBF(.16), RBF(.20)], n_frequencies=7).fit()
>>> maps.frequencies_.shape, maps.weights_.shape
((7,), (3, 7))
"""

from .base import FeatureMap
from .harmonic import HarmonicMap
from .joint import JointMap
from .low_dimensional import LowDimensionalMap
from .match_kernel import MatchKernel
from .presets import orientation_map, spatial_map

__all__ = [
    "FeatureMap",
    "HarmonicMap",
    "JointMap",
    "LowDimensionalMap",
    "MatchKernel",
    "orientation_map",
    "spatial_map",
]
