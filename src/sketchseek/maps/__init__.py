"""Explicit feature maps: kernels as inner products of short vectors, on a query and a database side.

>>> from sketchseek.kernels import RBF
>>> from sketchseek.maps import JointMap
>>> maps = JointMap(kernels=[RBF(.12), RBF(.16), RBF(.20)], n_frequencies=7).fit()
>>> maps.frequencies_.shape, maps.weights_.shape
((7,), (3, 7))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_HOMES = {
    "FeatureMap": "base",
    "HarmonicMap": "harmonic",
    "JointMap": "joint",
    "LowDimensionalMap": "low_dimensional",
    "MatchKernel": "match_kernel",
    "orientation_map": "presets",
    "spatial_map": "presets",
}


def __getattr__(name: str) -> object:
    # Loaded when first asked for: a search takes its settings as they were stored, and fits no map.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
