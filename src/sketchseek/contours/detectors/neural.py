"""Our own network, trained on BSDS500 and on generated strokes (training/edges), run by onnxruntime."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..line_art import VERSION

STRIDE: Final = 16
"""The network halves its input four times: both sides must be multiples of this."""
ENLARGED: Final = 1.2
"""Pictures are shown to the network at this size: ODS on validation pictures .730 instead of .722."""


class Neural:
    """The default detector. Its version is the fingerprint of its weights, and the size they see."""

    name = "neural"

    def __init__(self) -> None:
        import onnxruntime

        weights = files(__package__).joinpath("edges.onnx").read_bytes()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # pictures are spread over processes instead
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name
        self.version = f"{hashlib.sha256(weights).hexdigest()[:12]}-{ENLARGED}-{VERSION}"

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(h, w, 3) uint8 RGB -> (h, w) float32 in [0, 1]."""
        height, width = pixels.shape[:2]
        size = max(1, round(width * ENLARGED)), max(1, round(height * ENLARGED))
        shown = cv2.resize(pixels, size, interpolation=cv2.INTER_CUBIC)
        down, right = -size[1] % STRIDE, -size[0] % STRIDE
        padded = np.pad(shown, ((0, down), (0, right), (0, 0)), mode="symmetric")
        outputs: list[Any] = self._session.run(None, {self._input: padded})
        seen = outputs[0][: size[1], : size[0]]
        strength: NDArray[np.float32] = cv2.resize(seen, (width, height), interpolation=cv2.INTER_AREA)
        return strength
