"""Edge detectors: a picture in, the strength of its contours out. Chosen by name, recorded in the index."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import SketchseekError

DETECTORS = ("neural", "structured:FILE", "canny")


class EdgeDetector(Protocol):
    """A picture in, the strength of its contours out.

    `name` and `version` are recorded in an index: vectors of two detectors, or of one detector with
    other weights, don't belong in one collection.
    """

    name: str
    version: str

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(h, w, 3) uint8 RGB -> (h, w) float32 in [0, 1], ridges along the contours."""
        ...


def get_detector(name: str = "neural", device: str = "cpu") -> EdgeDetector:
    """The detector of that name; `structured:FILE` names the file of its model as well.

    device : "cuda" runs `neural` on a graphics processor; the others know the processor alone.
    `neural` without onnxruntime becomes `canny`, with one line on stderr.
    """
    kind, _, model = name.partition(":")
    if kind == "structured":
        from .structured import Structured

        return Structured(model)
    if name not in ("neural", "canny"):
        raise SketchseekError(f"There is no edge detector {name!r}; choose one of {', '.join(DETECTORS)}.")
    if name == "neural":
        if device == "cuda" or find_spec("onnxruntime"):
            from .neural import Neural

            return Neural(device)
        _notice("onnxruntime is not installed: using the edge detector 'canny' instead of 'neural'.")
    from .canny import Canny

    return Canny()


_noticed: set[str] = set()


def _notice(sentence: str) -> None:
    """Say it once a process."""
    if sentence not in _noticed:
        _noticed.add(sentence)
        print(sentence, file=sys.stderr)
