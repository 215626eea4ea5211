"""A trained network as ONNX: normalisation folded in, weights stored in half precision."""

from __future__ import annotations

import argparse
import copy
import io
from pathlib import Path

import numpy as np
import onnx
import torch
from network import EdgeNetwork
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval


class Shipped(nn.Module):
    """uint8 (h, w, 3) -> strength (h, w) in [0, 1]; `slope` and `shift` calibrate the logits."""

    def __init__(self, network: EdgeNetwork, slope: float, shift: float) -> None:
        super().__init__()
        self.network, self.slope, self.shift = network, slope, shift

    def forward(self, pixels: Tensor) -> Tensor:
        pictures = pixels.permute(2, 0, 1)[None].to(torch.float32) / 255
        return torch.sigmoid(self.slope * self.network(pictures)[0] + self.shift)[0, 0]


def fold_norms(module: nn.Module) -> None:
    """Fold each BatchNorm2d into the convolution registered just before it."""
    previous: tuple[str, nn.Conv2d] | None = None
    for name, child in list(module.named_children()):
        if isinstance(child, nn.BatchNorm2d) and previous is not None:
            setattr(module, previous[0], fuse_conv_bn_eval(previous[1], child))
            setattr(module, name, nn.Identity())
        fold_norms(child)
        previous = (name, child) if isinstance(child, nn.Conv2d) else None


def export(network: EdgeNetwork, path: Path, slope: float = 1.0, shift: float = 0.0) -> int:
    """Write the ONNX file; gives its size in bytes."""
    network = copy.deepcopy(network).cpu().float().eval()
    fold_norms(network)
    written = io.BytesIO()
    torch.onnx.export(
        Shipped(network, slope, shift).eval(),
        (torch.zeros(64, 64, 3, dtype=torch.uint8),),
        written,
        input_names=["pixels"],
        output_names=["strength"],
        dynamic_axes={"pixels": {0: "height", 1: "width"}, "strength": {0: "height", 1: "width"}},
        opset_version=17,
        dynamo=False,
    )
    model = onnx.load_from_string(written.getvalue())
    halve_weights(model)
    model.doc_string = ""
    for node in model.graph.node:
        node.doc_string = ""
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    return path.stat().st_size


def halve_weights(model: onnx.ModelProto) -> None:
    """Large float32 weights become float16 ones with a cast, which the runtime does once, on loading."""
    casts = []
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.data_type != TensorProto.FLOAT or values.size < 16:
            continue
        name = tensor.name
        tensor.CopyFrom(numpy_helper.from_array(values.astype(np.float16), name + "_half"))
        casts.append(helper.make_node("Cast", [name + "_half"], [name], to=TensorProto.FLOAT))
    nodes = [*casts, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, help="edges.pt, as train.py writes it")
    parser.add_argument("onnx", type=Path)
    parser.add_argument("--slope", type=float, default=1.0)
    parser.add_argument("--shift", type=float, default=0.0)
    options = parser.parse_args()
    network = EdgeNetwork()
    network.load_state_dict(torch.load(options.weights, map_location="cpu", weights_only=True))
    size = export(network, options.onnx, options.slope, options.shift)
    print(f"{size} bytes, {sum(p.numel() for p in network.parameters())} parameters")


if __name__ == "__main__":
    main()
