"""sketchseek: draw a shape, get back the pictures that contain it.

>>> from sketchseek import Index, Sketch
>>> index = Index.open(".sketchseek")                 # doctest: +SKIP
>>> hits = index.search(Sketch.load("mug.png"), k=20)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .contours.drawing import Sketch
    from .index import Hit, Index

__version__ = "0.1.0"
__all__ = ["Hit", "Index", "Sketch", "__version__"]


def __getattr__(name: str) -> object:
    # Loaded when first asked for: `sketchseek --help` must not wait for NumPy and Lance.
    if name == "Sketch":
        from .contours.drawing import Sketch

        return Sketch
    if name in ("Hit", "Index"):
        from . import index

        return getattr(index, name)
    raise AttributeError(f"module 'sketchseek' has no attribute {name!r}")
