"""The edge network's graph in torch, for a graphics processor: the same weights and the same operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...errors import SketchseekError


class TorchGraph:
    """An ONNX graph of the few operations that the network has, run on a device.

    weights : the file's bytes. device : "cuda", or "cpu" to compare with onnxruntime.
    """

    def __init__(self, weights: bytes, device: str) -> None:
        import onnx
        from onnx import helper, numpy_helper

        graph = onnx.load_from_string(weights).graph
        unknown = sorted({node.op_type for node in graph.node} - OPERATIONS.keys())
        if unknown:
            raise SketchseekError(
                f"The edge network has operations that are not known here: {', '.join(unknown)}."
            )
        self._device = device
        self._input, self._output = graph.input[0].name, graph.output[0].name
        known = {i.name: torch.from_numpy(numpy_helper.to_array(i).copy()) for i in graph.initializer}
        self._nodes = []
        for node in graph.node:
            options = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Constant":
                known[node.output[0]] = torch.from_numpy(numpy_helper.to_array(options["value"]).copy())
            elif node.op_type == "Cast" and node.input[0] in known:  # weights are stored in float16
                known[node.output[0]] = known[node.input[0]].to(_DTYPES[options["to"]])
            else:
                self._nodes.append((OPERATIONS[node.op_type], list(node.input), node.output[0], options))
        # What decides shapes stays in the host's memory: asking the device for it would wait.
        self._known = {name: a.to(device) if a.is_floating_point() else a for name, a in known.items()}

    def __call__(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(h, w, 3) uint8, sides that the network can halve -> (h, w) float32 in [0, 1]."""
        values = dict(self._known)
        # Without TF32: its ten bits would move points that are as strong as the threshold.
        with torch.inference_mode(), torch.backends.cudnn.flags(allow_tf32=False):
            values[self._input] = torch.from_numpy(pixels).to(self._device)
            for operation, inputs, output, options in self._nodes:
                values[output] = operation([values[name] if name else None for name in inputs], options)
            strength: NDArray[np.float32] = values[self._output].float().cpu().numpy()
        return strength


_DTYPES = {1: torch.float32, 10: torch.float16}


def _convolve(inputs: list[Any], options: dict[str, Any]) -> Any:
    x, weight, *bias = inputs
    top, left, bottom, right = options["pads"]
    if (top, left) != (bottom, right):
        x, top, left = torch.nn.functional.pad(x, (left, right, top, bottom)), 0, 0
    return torch.nn.functional.conv2d(
        x,
        weight,
        bias[0] if bias else None,
        stride=options["strides"],
        padding=(top, left),
        dilation=options["dilations"],
        groups=options["group"],
    )


def _resize(inputs: list[Any], options: dict[str, Any]) -> Any:
    x, _, scales, *sizes = inputs
    if options["mode"] != b"linear" or options["coordinate_transformation_mode"] != b"half_pixel":
        raise SketchseekError("The edge network enlarges in a way that is not known here.")
    wanted = sizes[0][2:] if sizes else [n * s for n, s in zip(x.shape[2:], scales[2:], strict=True)]
    size = [round(float(n)) for n in wanted]
    return torch.nn.functional.interpolate(x, size=size, mode="bilinear", align_corners=False)


OPERATIONS: dict[str, Callable[[list[Any], dict[str, Any]], Any]] = {
    "Add": lambda i, o: i[0] + i[1],
    "Cast": lambda i, o: i[0].to(_DTYPES[o["to"]]),
    "Constant": lambda i, o: o["value"],
    "Conv": _convolve,
    "DepthToSpace": lambda i, o: torch.nn.functional.pixel_shuffle(i[0], o["blocksize"]),
    "Div": lambda i, o: i[0] / i[1],
    "Gather": lambda i, o: i[0].select(o["axis"], int(i[1])),
    "Mul": lambda i, o: i[0] * i[1],
    "Relu": lambda i, o: torch.relu(i[0]),
    "Resize": _resize,
    "Sigmoid": lambda i, o: torch.sigmoid(i[0]),
    "Sub": lambda i, o: i[0] - i[1],
    "Transpose": lambda i, o: i[0].permute(o["perm"]),
    "Unsqueeze": lambda i, o: i[0].unsqueeze(int(i[1])),
}
