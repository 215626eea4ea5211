"""A network's ONNX graph in torch, for a graphics processor: the same weights and the same operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import SketchseekError

SHAPES: Final = 64
"""Inputs' shapes whose work is recorded; pictures of one longer side have fewer."""


class TorchGraph:
    """An ONNX graph of the few operations that our networks have, run on a device.

    On a graphics processor the work for an input's shape is recorded when it comes a second time, and then
    replayed: otherwise launching the many small operations takes far longer than doing them.

    model : the file's bytes. device : "cuda", or "cpu" to compare with onnxruntime.
    tf32 : whether a card may multiply numbers of ten bits, which is faster; sums are in float32 either way.
    """

    def __init__(self, model: bytes, device: str, *, tf32: bool = False) -> None:
        import onnx
        from onnx import helper, numpy_helper

        graph = onnx.load_from_string(model).graph
        unknown = sorted({node.op_type for node in graph.node} - OPERATIONS.keys())
        if unknown:
            raise SketchseekError(
                f"The network has operations that are not known here: {', '.join(unknown)}."
            )
        self._device, self._tf32 = device, tf32
        self._input, self._outputs = graph.input[0].name, [output.name for output in graph.output]
        known = {i.name: torch.from_numpy(numpy_helper.to_array(i).copy()) for i in graph.initializer}
        self._nodes: list[_Node] = []
        for node in graph.node:
            options = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Constant":
                known[node.output[0]] = torch.from_numpy(numpy_helper.to_array(options["value"]).copy())
            elif node.op_type == "Cast" and node.input[0] in known:  # weights are stored in float16
                known[node.output[0]] = known[node.input[0]].to(_DTYPES[options["to"]])
            else:
                operation = OPERATIONS[node.op_type]
                self._nodes.append(_Node(operation, list(node.input), list(node.output), options, []))
        last = {name: node for node in self._nodes for name in node.inputs}
        for name, node in last.items():
            if name not in known and name not in self._outputs:
                node.done_with.append(name)
        # What decides shapes stays in the host's memory: asking the device for it would wait.
        sizes = {name for node in graph.node if node.op_type == "Resize" for name in node.input[1:]}
        self._known = {
            name: a.to(device) if a.is_floating_point() and name not in sizes else a
            for name, a in known.items()
        }
        self._seen: set[tuple[int, ...]] = set()
        self._recorded: dict[tuple[int, ...], tuple[Any, Any, Any]] = {}
        self._pool: Any = None

    def __call__(self, pixels: NDArray[Any]) -> NDArray[np.float32]:
        """What the graph's input takes -> what its first output gives."""
        return self.outputs(pixels, 1)[0]

    def outputs(self, pixels: NDArray[Any], count: int) -> list[NDArray[np.float32]]:
        """What the graph's input takes -> what its first outputs give."""
        with torch.inference_mode(), _precision(self._tf32):
            given = torch.from_numpy(np.ascontiguousarray(pixels))
            found = self._replayed(given) if self._device.startswith("cuda") else self._run(given)
            return [tensor.float().cpu().numpy() for tensor in found[:count]]

    def _run(self, given: Any) -> Any:
        """The operations, one after the other; what no later one asks for is let go."""
        values = self._known | {self._input: given}
        for node in self._nodes:
            made = node.operation([values[name] if name else None for name in node.inputs], node.options)
            values |= zip(node.outputs, made if isinstance(made, tuple) else (made,), strict=True)
            for name in node.done_with:
                values.pop(name, None)
        return [values[name] for name in self._outputs]

    def _replayed(self, given: Any) -> Any:
        shape = tuple(given.shape)
        if shape not in self._recorded:
            if shape not in self._seen or len(self._recorded) >= SHAPES:
                self._seen.add(shape)
                return self._run(given.to(self._device))
            self._recorded[shape] = self._record(given)
        place, found, work = self._recorded[shape]
        place.copy_(given)
        work.replay()
        return found

    def _record(self, given: Any) -> tuple[Any, Any, Any]:
        """Where the input is to be put, where the outputs will be, and what leads from one to the other."""
        place, work = given.to(self._device), torch.cuda.CUDAGraph()
        with torch.cuda.graph(work, pool=self._pool, capture_error_mode="thread_local"):
            found = self._run(place)
        self._pool = work.pool()  # shared: no two shapes are at work at once
        return place, found, work


@dataclass(frozen=True)
class _Node:
    """An operation. done_with : what no later one asks for."""

    operation: Callable[[list[Any], dict[str, Any]], Any]
    inputs: list[str]
    outputs: list[str]
    options: dict[str, Any]
    done_with: list[str]


@contextmanager
def _precision(tf32: bool) -> Iterator[None]:
    """Products of ten bits, or not, for a while."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    try:
        with torch.backends.cudnn.flags(allow_tf32=tf32):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


_DTYPES = {1: torch.float32, 10: torch.float16}


def _convolve(inputs: list[Any], options: dict[str, Any]) -> Any:
    x, weight, *bias = inputs
    stride = options.get("strides", [1, 1])
    dilation = options.get("dilations", [1, 1])
    if options.get("auto_pad") == b"SAME_UPPER":
        (top, bottom), (left, right) = (
            _same_upper(*sizes) for sizes in zip(x.shape[2:], weight.shape[2:], stride, dilation, strict=True)
        )
    else:
        top, left, bottom, right = options.get("pads", [0, 0, 0, 0])
    if (top, left) != (bottom, right):
        x, top, left = torch.nn.functional.pad(x, (left, right, top, bottom)), 0, 0
    return torch.nn.functional.conv2d(
        x,
        weight,
        bias[0] if bias else None,
        stride=stride,
        padding=(top, left),
        dilation=dilation,
        groups=options.get("group", 1),
    )


def _same_upper(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Zeros before and after that leave ceil(size / stride), the odd one after."""
    zeros = max(0, (-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size)
    return zeros // 2, zeros - zeros // 2


def _resize(inputs: list[Any], options: dict[str, Any]) -> Any:
    x, _, scales, *sizes = inputs
    if options["mode"] != b"linear" or options["coordinate_transformation_mode"] != b"half_pixel":
        raise SketchseekError("The network enlarges in a way that is not known here.")
    wanted = sizes[0][2:] if sizes else [n * s for n, s in zip(x.shape[2:], scales[2:], strict=True)]
    size = [round(float(n)) for n in wanted]
    return torch.nn.functional.interpolate(x, size=size, mode="bilinear", align_corners=False)


def _reshape(inputs: list[Any], options: dict[str, Any]) -> Any:
    x, shape = inputs
    return x.reshape([n or x.shape[i] for i, n in enumerate(shape.tolist())])


def _slice(inputs: list[Any], options: dict[str, Any]) -> Any:
    x, starts, ends, axes = inputs
    for start, end, axis in zip(starts.tolist(), ends.tolist(), axes.tolist(), strict=True):
        x = x.narrow(axis, start, min(end, x.shape[axis]) - start)
    return x


def _layer_norm(inputs: list[Any], options: dict[str, Any]) -> Any:
    x, weight, bias = inputs
    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, options["epsilon"])


def _max_pool(inputs: list[Any], options: dict[str, Any]) -> Any:
    return torch.nn.functional.max_pool2d(inputs[0], options["kernel_shape"], options["strides"])


OPERATIONS: dict[str, Callable[[list[Any], dict[str, Any]], Any]] = {
    "Add": lambda i, o: i[0] + i[1],
    "Cast": lambda i, o: i[0].to(_DTYPES[o["to"]]),
    "Clip": lambda i, o: torch.clamp(*i),
    "Concat": lambda i, o: torch.cat(i, o["axis"]),
    "Constant": lambda i, o: o["value"],
    "Conv": _convolve,
    "DepthToSpace": lambda i, o: torch.nn.functional.pixel_shuffle(i[0], o["blocksize"]),
    "Div": lambda i, o: i[0] / i[1],
    "Erf": lambda i, o: torch.erf(i[0]),
    "Expand": lambda i, o: i[0].expand(i[1].tolist()),
    "Gather": lambda i, o: i[0].select(o["axis"], int(i[1])),
    "Identity": lambda i, o: i[0],
    "LayerNormalization": _layer_norm,
    "LpNormalization": lambda i, o: torch.nn.functional.normalize(i[0], o["p"], o["axis"]),
    "MatMul": lambda i, o: i[0] @ i[1],
    "MaxPool": _max_pool,
    "Mul": lambda i, o: i[0] * i[1],
    "ReduceMean": lambda i, o: i[0].mean(o["axes"], keepdim=bool(o["keepdims"])),
    "Relu": lambda i, o: torch.relu(i[0]),
    "Reshape": _reshape,
    "Resize": _resize,
    "Shape": lambda i, o: torch.tensor(i[0].shape[o["start"] : o["end"]]),
    "Sigmoid": lambda i, o: torch.sigmoid(i[0]),
    "Slice": _slice,
    "Softmax": lambda i, o: torch.softmax(i[0], o["axis"]),
    "Split": lambda i, o: torch.split(i[0], i[1].tolist(), o["axis"]),
    "Squeeze": lambda i, o: i[0].squeeze(i[1].tolist()),
    "Sub": lambda i, o: i[0] - i[1],
    "Transpose": lambda i, o: i[0].permute(o["perm"]),
    "Unsqueeze": lambda i, o: i[0].unsqueeze(int(i[1])),
}
