"""A picture -> one vector that says what is in it. Networks behind one small protocol."""

import hashlib
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from sketchseek.errors import SketchseekError
from sketchseek.expansion import efficientnet, vgg16
from sketchseek.expansion.crow import crow
from sketchseek.expansion.weights import read_tensors

# What the networks saw in training: EfficientNet-Lite wants [-1, 1], most others ImageNet's statistics.
_PLUS_MINUS_ONE = (np.full(3, 127.0, np.float32), np.full(3, 128.0, np.float32))
_IMAGENET = (
    np.array([123.675, 116.28, 103.53], np.float32),
    np.array([58.395, 57.12, 57.375], np.float32),
)
_STRIDE = 32


class PictureDescriber(Protocol):
    """What the index asks of a network."""

    @property
    def name(self) -> str:
        """How the user calls it."""

    @property
    def version(self) -> str:
        """Changes whenever the vectors would: vectors of two versions are never compared."""

    @property
    def dimension(self) -> int:
        """Length of a descriptor."""

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Describe one picture: (h, w, 3) RGB -> (dimension,), of length 1."""


class OnnxDescriber:
    """A network in ONNX: its feature map pooled by CroW, or its vector taken as it is.

    Parameters
    ----------
    name : str
    model : bytes
        An ONNX model from (n, 3, h, w) to (n, c, y, x) or (n, c).
    longer_side : int
        Pictures are brought to this size, each side rounded to a multiple of 32; a model with a fixed size
        gets that one.
    normalisation : tuple of two ndarrays of shape (3,)
        Mean and standard deviation of the colours, of 0..255, that the network was trained with.
    """

    def __init__(
        self,
        name: str,
        model: bytes,
        *,
        longer_side: int = 224,
        normalisation: tuple[NDArray[np.float32], NDArray[np.float32]] = _IMAGENET,
    ) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # one process per core instead
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise SketchseekError(f"The picture network {name} could not be loaded ({error}).") from error
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1 or len(inputs[0].shape) != 4 or len(outputs[0].shape) not in (2, 4):
            raise SketchseekError(
                f"The picture network {name} must take one picture (n, 3, h, w)"
                " and give a feature map (n, c, y, x) or a vector (n, c) first."
            )
        self._input, self._output = inputs[0].name, outputs[0].name
        self._fixed: tuple[Any, ...] = tuple(inputs[0].shape[2:])
        self._longer_side, self._normalisation = longer_side, normalisation
        self.name = name
        self.version = hashlib.sha256(model).hexdigest()[:16]
        self.dimension = len(self(np.full((_STRIDE, _STRIDE, 3), 127, np.uint8)))

    def _size(self, height: int, width: int) -> tuple[int, int]:
        if all(isinstance(side, int) for side in self._fixed):
            return self._fixed[0], self._fixed[1]
        scale = self._longer_side / max(height, width) / _STRIDE
        return max(round(height * scale), 1) * _STRIDE, max(round(width * scale), 1) * _STRIDE

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Describe one picture: (h, w, 3) RGB -> (dimension,), of length 1."""
        height, width = self._size(*pixels.shape[:2])
        resized = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA)
        mean, deviation = self._normalisation
        normalised = (resized.astype(np.float32) - mean) / deviation
        (features,) = self._session.run([self._output], {self._input: normalised.transpose(2, 0, 1)[None]})
        if features.ndim == 4:
            return crow(np.maximum(features[0], 0))
        return np.asarray(features[0] / max(float(np.linalg.norm(features[0])), 1e-6), np.float32)


def get_describer(name: str = "efficientnet", model: Path | None = None) -> PictureDescriber:
    """Load a describer by its name.

    Parameters
    ----------
    name : {"efficientnet", "vgg16", "onnx"}
    model : Path, optional
        The weights file (``.pth``, ``.npz``) or, for any of the names, an ``.onnx`` model. EfficientNet
        needs none.
    """
    if name not in ("efficientnet", "vgg16", "onnx"):
        raise SketchseekError(f"There is no picture descriptor {name!r}; choose efficientnet, vgg16 or onnx.")
    if model is None and name != "efficientnet":
        raise SketchseekError(f"The picture descriptor {name} needs a file: give the path of its weights.")
    normalisation = _PLUS_MINUS_ONE if name == "efficientnet" else _IMAGENET
    if model is not None and (model.suffix == ".onnx" or name == "onnx"):
        try:
            return OnnxDescriber(name, model.read_bytes(), normalisation=normalisation)
        except OSError as error:
            raise SketchseekError(
                f"The picture network {model} could not be read ({error.strerror})."
            ) from error
    tensors = read_tensors(model or efficientnet.shipped_weights())
    build = vgg16.build if name == "vgg16" else efficientnet.build
    return OnnxDescriber(name, build(tensors), normalisation=normalisation)
