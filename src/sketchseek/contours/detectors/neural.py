"""Our own network, trained on BSDS500 and on generated strokes (training/edges), run by onnxruntime."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .line_art import drawn_lines

STRIDE: Final = 16
"""The network halves its input four times: both sides must be multiples of this."""


class Neural:
    """The default detector. Its version is the fingerprint of its weights."""

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
        self.version = hashlib.sha256(weights).hexdigest()[:12]

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(h, w, 3) uint8 RGB -> (h, w) float32 in [0, 1]."""
        drawn = drawn_lines(pixels)
        if drawn is not None:
            return drawn
        height, width = pixels.shape[:2]
        down, right = -height % STRIDE, -width % STRIDE
        padded = np.pad(pixels, ((0, down), (0, right), (0, 0)), mode="symmetric")
        outputs: list[Any] = self._session.run(None, {self._input: padded})
        strength: NDArray[np.float32] = outputs[0][:height, :width]
        return strength
