"""A picture or a drawing becomes contour points."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..sources.picture import Picture, load_picture, thumbnail
    from .drawing import Sketch
    from .extract import Contours, picture_contours
    from .points import FRAME, Points
    from .suppression import strength_to_points

__all__ = [
    "FRAME",
    "Contours",
    "Picture",
    "Points",
    "Sketch",
    "load_picture",
    "picture_contours",
    "strength_to_points",
    "thumbnail",
]

_MODULES = {
    "FRAME": "points",
    "Contours": "extract",
    "Picture": "..sources.picture",
    "Points": "points",
    "Sketch": "drawing",
    "load_picture": "..sources.picture",
    "picture_contours": "extract",
    "strength_to_points": "suppression",
    "thumbnail": "..sources.picture",
}
"""Where each name is; imported when it is asked for, since strokes need neither OpenCV nor Pillow."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES[name]
    return getattr(import_module(module if module.startswith(".") else f".{module}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
