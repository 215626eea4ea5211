"""sketchseek: draw a shape, get back the pictures that contain it.

>>> from sketchseek import Index
>>> index = Index.open(".sketchseek")       # doctest: +SKIP
>>> hits = index.search("mug.png", k=20)    # doctest: +SKIP
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import kernels, maps
    from .contours.drawing import Sketch
    from .errors import (
        AddressError,
        ArgumentError,
        ClusterError,
        DamagedError,
        NoEmbeddingError,
        NoIndexError,
        OtherPlaceError,
        SketchseekError,
    )
    from .index import Index, PictureRow
    from .search.hit import Hit, Hits

__version__ = "0.1.0"
__all__ = [
    "AddressError",
    "ArgumentError",
    "ClusterError",
    "DamagedError",
    "Hit",
    "Hits",
    "Index",
    "NoEmbeddingError",
    "NoIndexError",
    "OtherPlaceError",
    "PictureRow",
    "Sketch",
    "SketchseekError",
    "__version__",
    "kernels",
    "maps",
]

# Nothing is sent anywhere, nor kept to be sent. Libraries read these when they are loaded, and every process
# of ours passes here first. Who has set one of them wants what it says.
for _habit in ("ORT_DISABLE_TELEMETRY=1", "RAY_USAGE_STATS_ENABLED=0", "HF_HUB_DISABLE_TELEMETRY=1"):
    os.environ.setdefault(*_habit.split("="))

_HOMES = {
    "Hit": "search.hit",
    "Hits": "search.hit",
    "Index": "index",
    "PictureRow": "index",
    "Sketch": "contours.drawing",
    **dict.fromkeys((name for name in __all__ if name.endswith("Error")), "errors"),
}


def __getattr__(name: str) -> object:
    # Loaded when first asked for: `sketchseek --help` must not wait for NumPy and Lance.
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'sketchseek' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
