"""Structured forests (Dollár and Zitnick), as OpenCV runs them, with a model file that the user has."""

from __future__ import annotations

import hashlib
import os

import cv2
import numpy as np
from numpy.typing import NDArray

from ...errors import SketchseekError
from ...sources.files import read_source
from ..line_art import VERSION


class Structured:
    """The paper's own choice of detector. Its model is in no package, and not free for every use.

    Its name holds the model's absolute path: a later run of `index` finds the file by it.
    """

    def __init__(self, file: str, device: str = "cpu") -> None:
        if not file:
            raise SketchseekError(
                "The edge detector 'structured' needs a model file (model.yml or model.yml.gz for OpenCV's "
                "structured edge detection): name it, as in structured:model.yml.gz."
            )
        path = os.path.abspath(os.path.expanduser(file))
        content = read_source(path)
        if not _is_forest(path):
            raise SketchseekError(f"{file} is not a structured-forest model that OpenCV reads.")
        self._forest = cv2.ximgproc.createStructuredEdgeDetection(path)
        self.name = f"structured:{path}"
        self.version = f"{hashlib.sha256(content).hexdigest()[:12]}-{VERSION}"

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(h, w, 3) uint8 RGB -> (h, w) float32 in [0, 1]."""
        strength: NDArray[np.float32] = self._forest.detectEdges(pixels.astype(np.float32) / np.float32(255))
        return strength.clip(0.0, 1.0)


def _is_forest(model: str) -> bool:
    """Whether the file has what OpenCV will look for: on other files it divides by zero."""
    try:
        file = cv2.FileStorage(model, cv2.FILE_STORAGE_READ)
        options = file.getNode("options")
        sized = all(options.getNode(name).real() > 0 for name in ("stride", "shrinkNumber", "patchSize"))
        arrays = ("childs", "featureIds", "thresholds", "edgeBoundaries", "edgeBins")
        return sized and all(file.getNode(name).size() > 0 for name in arrays)
    except cv2.error:
        return False
