"""The trained network as ONNX: normalisation folded in, a byte a weight with a scale for each output channel.

    python training/icons/export.py run.pt training/icons/icons.onnx
    python training/icons/export.py training/icons/icons.onnx src/sketchseek/embeddings/data/icons.bin

The second line writes the weights as the engine reads them (src/cpp/search/icons.hpp).

The graph takes `ink` (n, 1, 64, 64) and gives `embedding` (n, 128). Its nodes are, in order: the gradient
(Conv by Sobel's masks), its length (Mul, ReduceSum, Add, Sqrt), that blurred (Conv), Concat; then
convolutions and ReLU as in network.py, and the length made 1.
"""

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from network import SHAPES, Eye
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """Nodes and weights as they are added; every add gives the name of what it computes."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def add(self, kind: str, *inputs: str, **options: object) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name, **options))
        return name

    def constant(self, values: np.ndarray, name: str = "") -> str:
        name = name or f"constant{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def quantised(self, weight: np.ndarray) -> str:
        """A weight in whole numbers from -127 to 127, times a scale for each output channel."""
        axes = tuple(range(1, weight.ndim))
        scale = np.maximum(np.abs(weight).max(axis=axes), 1e-8) / 127
        whole = np.round(weight / scale.reshape(-1, *[1] * len(axes))).astype(np.int8)
        return self.add(
            "DequantizeLinear",
            self.constant(whole),
            self.constant(scale.astype(np.float32)),
            self.constant(np.zeros(len(scale), np.int8)),
            axis=0,
        )

    def convolution(self, x: str, part: torch.nn.Sequential) -> str:
        conv, norm = part
        factor = (norm.weight / (norm.running_var + norm.eps).sqrt()).detach().numpy()
        weight = conv.weight.detach().numpy() * factor[:, None, None, None]
        bias = norm.bias.detach().numpy() - norm.running_mean.numpy() * factor
        size, stride = conv.kernel_size[0], conv.stride[0]
        return self.add(
            "Conv", x, self.quantised(weight), self.constant(bias.astype(np.float32)),
            kernel_shape=[size, size], strides=[stride, stride], pads=[size // 2] * 4,
        )  # fmt: skip


def exported(network: Eye) -> onnx.ModelProto:
    """The network as a graph."""
    graph = Graph()
    x = "ink"
    if hasattr(network.edges, "sobel"):
        gradient = graph.add("Conv", x, graph.constant(network.edges.sobel.numpy()), pads=[1] * 4)
        squares = graph.add("Mul", gradient, gradient)
        total = graph.add("ReduceSum", squares, graph.constant(np.array([1], np.int64)), keepdims=1)
        length = graph.add("Sqrt", graph.add("Add", total, graph.constant(np.array(1e-6, np.float32))))
        soft = graph.add("Conv", length, graph.constant(network.edges.blur.numpy()), pads=[2] * 4)
        x = graph.add("Concat", x, length, soft, axis=1)
    x = graph.add("Relu", graph.convolution(x, network.stem))
    for block in network.stages:
        short = x if isinstance(block.short, torch.nn.Identity) else graph.convolution(x, block.short)
        x = graph.add("Relu", graph.convolution(x, block.first))
        x = graph.add("Relu", graph.add("Add", graph.convolution(x, block.second), short))
    if network.layout:
        x = graph.add("Flatten", graph.add("Relu", graph.convolution(x, network.squeeze)))
    else:
        x = graph.add("Flatten", graph.add("GlobalAveragePool", x))
    bias = graph.constant(network.last.bias.detach().numpy())
    x = graph.add("Gemm", x, graph.quantised(network.last.weight.detach().numpy()), bias, transB=1)
    length = graph.add("ReduceL2", x, graph.constant(np.array([1], np.int64)), keepdims=1)
    length = graph.add("Max", length, graph.constant(np.array(1e-12, np.float32)))
    graph.nodes.append(helper.make_node("Div", [x, length], ["embedding"], "embedding"))
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "icons",
            [helper.make_tensor_value_info("ink", TensorProto.FLOAT, ["n", 1, 64, 64])],
            [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", 128])],
            graph.weights,
        ),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=8,
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def quantised_layers(model: onnx.ModelProto) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Scales, biases and whole weights of each convolution and of the last layer."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    quantised = {
        node.output[0]: node.input for node in model.graph.node if node.op_type == "DequantizeLinear"
    }
    found = []
    for node in model.graph.node:
        if len(node.input) > 1 and node.input[1] in quantised:
            whole, scale, _ = (constants[name] for name in quantised[node.input[1]])
            found.append((scale, constants[node.input[2]], whole))
    return found


def stored_layers(file: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases, as numbers, of each convolution and of the last layer."""
    layers = quantised_layers(onnx.load(file))
    return [
        (whole * scale.reshape(-1, *[1] * (whole.ndim - 1)), bias.copy()) for scale, bias, whole in layers
    ]


def packed(model: onnx.ModelProto) -> bytes:
    """Of each convolution and the last layer: scales and biases (float32), then a byte a weight."""
    return b"".join(
        scale.astype("<f4").tobytes() + bias.astype("<f4").tobytes() + whole.tobytes()
        for scale, bias, whole in quantised_layers(model)
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("network", type=Path, help="weights of a run, or the graph")
    parser.add_argument("out", type=Path, help="the graph, or the engine's weights")
    args = parser.parse_args()
    if args.network.suffix == ".onnx":
        args.out.write_bytes(packed(onnx.load(args.network)))
        return
    stored = torch.load(args.network, map_location="cpu")
    network = Eye(*SHAPES[stored["shape"]], stored["head"], stored["edges"]).eval()
    network.load_state_dict(stored["network"])
    onnx.save(exported(network), args.out)

    import onnxruntime

    ink = torch.rand(16, 1, 64, 64) * (torch.rand(16, 1, 64, 64) > 0.7)
    found = onnxruntime.InferenceSession(args.out).run(None, {"ink": ink.numpy()})[0]
    with torch.no_grad():
        expected = network(ink).numpy()
    least = (found * expected).sum(axis=1).min()
    print(f"{args.out.stat().st_size:,} bytes; cosine with float32 at least {least:.5f}")


if __name__ == "__main__":
    main()
