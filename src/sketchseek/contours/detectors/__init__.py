"""Edge detectors: a picture in, the strength of its contours out. Chosen by name, recorded in the index."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...errors import ArgumentError
from ...plugins import made, plugins

GROUP = "sketchseek.detectors"
DETECTORS = ("neural", "structured:FILE", "canny")
_OURS = {
    "neural": f"{__name__}.neural:Neural",
    "structured": f"{__name__}.structured:Structured",
    "canny": f"{__name__}.canny:Canny",
}
_WITHOUT_FILE = ("neural", "canny")


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


def detector_names() -> tuple[str, ...]:
    """The names that `get_detector` knows, those of plug-ins last."""
    return (*DETECTORS, *(name for name in plugins(GROUP) if name not in _OURS))


def get_detector(name: str = "neural", device: str = "cpu") -> EdgeDetector:
    """The detector of that name; `structured:FILE` names the file of its model as well.

    device : "cuda" runs `neural` on a graphics processor; our others know the processor alone.
    """
    kind, _, file = name.partition(":")
    no_file = file and kind in _WITHOUT_FILE
    detector: EdgeDetector | None = None if no_file else made(GROUP, kind, _OURS, file, device)
    if detector is None:
        raise ArgumentError(
            f"There is no edge detector {name!r}; choose one of {', '.join(detector_names())}."
        )
    return detector
