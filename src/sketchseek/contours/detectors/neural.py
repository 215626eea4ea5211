"""Our own network, trained on BSDS500 and on generated strokes (training/edges), by onnxruntime or torch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib.resources import files
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from ..line_art import VERSION

STRIDE: Final = 16
"""The network halves its input four times: both sides must be multiples of this."""
ENLARGED: Final = 1.2
"""Pictures are shown to the network at this size: ODS on validation pictures .730 instead of .722."""


class Neural:
    """The default detector. Its version is the fingerprint of its weights, and the size they see.

    device : "cpu" for onnxruntime, "cuda" for torch on a graphics processor.
    """

    name = "neural"

    def __init__(self, file: str = "", device: str = "cpu") -> None:
        weights = files(__package__).joinpath("edges.onnx").read_bytes()
        self.version = f"{hashlib.sha256(weights).hexdigest()[:12]}-{ENLARGED}-{VERSION}"
        self._network: Callable[[NDArray[np.uint8]], NDArray[np.float32]]
        if device == "cuda":
            from ...networks.torch_graph import TorchGraph

            # Without TF32: its ten bits would move points that are as strong as the threshold.
            self._network = TorchGraph(weights, device)
            return
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # pictures are spread over processes instead
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        self._network = lambda pixels: session.run(None, {name: pixels})[0]

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(h, w, 3) uint8 RGB -> (h, w) float32 in [0, 1]."""
        height, width = pixels.shape[:2]
        size = max(1, round(width * ENLARGED)), max(1, round(height * ENLARGED))
        shown = cv2.resize(pixels, size, interpolation=cv2.INTER_CUBIC)
        down, right = -size[1] % STRIDE, -size[0] % STRIDE
        padded = np.pad(shown, ((0, down), (0, right), (0, 0)), mode="symmetric")
        seen = self._network(padded)[: size[1], : size[0]]
        strength: NDArray[np.float32] = cv2.resize(seen, (width, height), interpolation=cv2.INTER_AREA)
        return strength
