"""VGG16, the network of the paper's own experiments, from a weights file that the user supplies.

References
----------
Simonyan and Zisserman, "Very deep convolutional networks for large-scale image recognition", ICLR 2015.
"""

from ..errors import SketchseekError
from .graph import Graph
from .weights import Tensors

# Configuration D of the paper: how many convolutions stand before each halving.
_STAGES = (2, 2, 3, 3, 3)


def build(tensors: Tensors) -> bytes:
    """Write the convolutional part, up to its last pooling layer, as an ONNX model.

    Parameters
    ----------
    tensors : dict of str to ndarray
        ``features.N.weight`` (out, in, 3, 3) and ``features.N.bias`` (out,) as torchvision numbers them:
        activations and pooling layers count. Any number of channels.

    Returns
    -------
    bytes
        A model from (n, 3, h, w) to (n, channels, h // 32, w // 32), float32.
    """
    graph = Graph("vgg16")
    x, number = "picture", 0
    try:
        for convolutions in _STAGES:
            for _ in range(convolutions):
                layer = f"features.{number}"
                x = graph.relu(graph.convolution(x, tensors[f"{layer}.weight"], tensors[f"{layer}.bias"]))
                number += 2
            x = graph.halve(x)
            number += 1
    except KeyError as missing:
        raise SketchseekError(
            f"The weights file has no tensor {missing}: it is not VGG16 as torchvision names it."
        ) from None
    return graph.model()
