"""A picture -> one vector that says what is in it. Networks behind one small protocol."""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from . import efficientnet, vgg16
from .crow import crow
from .drawing import RENDERINGS, render
from .weights import Tensors, read_tensors

# What the networks saw in training: EfficientNet-Lite wants [-1, 1], most others ImageNet's statistics.
PLUS_MINUS_ONE = (np.full(3, 127.0, np.float32), np.full(3, 128.0, np.float32))
_IMAGENET = (
    np.array([123.675, 116.28, 103.53], np.float32),
    np.array([58.395, 57.12, 57.375], np.float32),
)
_STRIDE = 32
PICTURE_SIDE = 320
DRAWING_SIDE = 224


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
        """Describe one picture: (h, w, 3) RGB -> (dimension,)."""

    def drawing(self, strokes: Sequence[NDArray[np.float32]]) -> NDArray[np.float32] | None:
        """Describe a drawing, centred on the mean of drawings, of length 1; None where nobody learned how."""


class Network:
    """A network in ONNX: its feature map pooled by CroW, or its vector taken as it is.

    Parameters
    ----------
    name : str
    model : bytes
        An ONNX model from (n, 3, h, w) to (n, c, y, x) or (n, c).
    normalisation : tuple of two ndarrays of shape (3,)
        Mean and standard deviation of the colours, of 0..255, that the network was trained with.
    """

    def __init__(
        self,
        name: str,
        model: bytes,
        normalisation: tuple[NDArray[np.float32], NDArray[np.float32]] = _IMAGENET,
    ) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # one process per core instead
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise SketchseekError(
                f"The picture network {name} is not a model that onnxruntime can load ({_line(error)})."
            ) from error
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        if len(inputs) != 1 or len(inputs[0].shape) != 4 or len(outputs[0].shape) not in (2, 4):
            raise SketchseekError(
                f"The picture network {name} must take one picture (n, 3, h, w)"
                " and give a feature map (n, c, y, x) or a vector (n, c) first."
            )
        self._input, self._output = inputs[0].name, outputs[0].name
        self._fixed: tuple[Any, ...] = tuple(inputs[0].shape[2:])
        self._normalisation = normalisation

    def __call__(self, pixels: NDArray[np.uint8], longer_side: int) -> NDArray[np.float32]:
        """Describe one picture (h, w, 3) at about the size asked for, by a vector of length 1."""
        height, width = self._size(pixels.shape[0], pixels.shape[1], longer_side)
        resized = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA)
        mean, deviation = self._normalisation
        normalised = (resized.astype(np.float32) - mean) / deviation
        (features,) = self._session.run([self._output], {self._input: normalised.transpose(2, 0, 1)[None]})
        return crow(np.maximum(features[0], 0)) if features.ndim == 4 else unit(features[0])

    def _size(self, height: int, width: int, longer_side: int) -> tuple[int, int]:
        """The model's own size if it has one, else both sides rounded to multiples of its stride."""
        if all(isinstance(side, int) for side in self._fixed):
            return self._fixed[0], self._fixed[1]
        scale = longer_side / max(height, width) / _STRIDE
        return max(round(height * scale), 1) * _STRIDE, max(round(width * scale), 1) * _STRIDE


class OnnxDescriber:
    """Any network: its vectors as they are. It looks at pictures only."""

    def __init__(self, name: str, version: str, network: Network) -> None:
        self.name, self.version = name, version
        self._network = network
        self.dimension = len(self(np.full((_STRIDE, _STRIDE, 3), 127, np.uint8)))

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Describe one picture: (h, w, 3) RGB -> (dimension,), of length 1."""
        return self._network(pixels, PICTURE_SIDE)

    def drawing(self, strokes: Sequence[NDArray[np.float32]]) -> None:
        """Nobody learned what drawings look like to this network."""


class EfficientNetDescriber:
    """EfficientNet-Lite0, reduced to the components in which pictures differ most.

    Drawings go through the same network with other batch normalisation, learned so that a drawing lands
    where the picture that it shows does (training/drawings).
    """

    name = "efficientnet"

    def __init__(self, tensors: Tensors, learned: Tensors | None = None) -> None:
        self._tensors = tensors
        self._learned = learned or _learned()
        self._pictures = Network(self.name, efficientnet.build(tensors), PLUS_MINUS_ONE)
        self._drawings: Network | None = None
        self._projection = self._learned["projection"].astype(np.float32)
        self.dimension = self._projection.shape[1]
        self.version = fingerprint(tensors | {"projection": self._learned["projection"]})

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Describe one picture: (h, w, 3) RGB -> (dimension,)."""
        return self._pictures(pixels, PICTURE_SIDE) @ self._projection

    def drawing(self, strokes: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Describe a drawing, centred on the mean of drawings, of length 1."""
        if self._drawings is None:
            adapted = efficientnet.with_batch_norm(self._tensors, self._learned["batch_norm"])
            self._drawings = Network(self.name, efficientnet.build(adapted), PLUS_MINUS_ONE)
        seen = [self._drawings(render(strokes, r, DRAWING_SIDE), DRAWING_SIDE) for r in RENDERINGS]
        return unit((unit(np.mean(seen, axis=0)) - self._learned["drawings"]) @ self._projection)


def get_describer(name: str = "efficientnet", model: Path | None = None) -> PictureDescriber:
    """Load a describer by its name.

    Parameters
    ----------
    name : str
        ``efficientnet``, ``vgg16:FILE`` or ``onnx:FILE``.
    model : Path, optional
        The weights file (``.pth``, ``.npz``) or ``.onnx`` model, where the name does not say it.
    """
    kind, _, file = name.partition(":")
    path = model or (Path(file).expanduser().absolute() if file else None)
    if kind == "efficientnet":
        return EfficientNetDescriber(read_tensors(path or efficientnet.shipped_weights()))
    if kind not in ("vgg16", "onnx"):
        raise SketchseekError(
            f"There is no picture network {name!r}; choose efficientnet, vgg16:FILE or onnx:FILE."
        )
    if path is None:
        raise SketchseekError(f"The picture network {kind} needs a file: say {kind}:FILE.")
    called = f"{kind}:{path}"
    if path.suffix != ".onnx":
        tensors = read_tensors(path)
        return OnnxDescriber(called, fingerprint(tensors), Network(called, vgg16.build(tensors)))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SketchseekError(f"The picture network {path} can't be read: {error.strerror}.") from error
    return OnnxDescriber(called, hashlib.sha256(content).hexdigest()[:16], Network(called, content))


def fingerprint(tensors: Tensors) -> str:
    """Sixteen digits that change with any weight, and with the size at which pictures are looked at."""
    digest = hashlib.sha256(str(PICTURE_SIDE).encode())
    for name in sorted(tensors):
        digest.update(name.encode() + np.ascontiguousarray(tensors[name]).tobytes())
    return digest.hexdigest()[:16]


def usual_mean(name: str) -> NDArray[np.float32] | None:
    """The mean of pictures in general as a network describes them, (dimension,), if anybody learned it."""
    if name != EfficientNetDescriber.name:
        return None
    learned = _learned()
    return np.asarray(learned["pictures"].astype(np.float32) @ learned["projection"].astype(np.float32))


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vector at length 1."""
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-9), np.float32)


@cache
def _learned() -> Tensors:
    """What training/drawings learned: see its README."""
    with resources.as_file(resources.files("sketchseek.depiction") / "data" / "efficientnet.npz") as path:
        return read_tensors(path)


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
