"""The networks of src/sketchseek/networks in torch, for training: the same weights, the same embeddings.

Each is made from the tensors of its weights file, and has

side : of the square that a drawing is shown in
stored : what its scales and offsets are called in the file of what was learned
norms : the names of all scales and offsets of its normalisation layers, in the order they are stored together
photo(pixels) : (h, w, 3) uint8 -> (1, 3, y, x), a photo as the network takes it
paper(ink) : (b, 1, y, x), 1 where a line is -> (b, 3, y, x), a drawing as the network takes it
forward : (b, 3, y, x) -> (b, c), embeddings of length 1
"""

from __future__ import annotations

import re

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

Tensors = dict[str, np.ndarray]
SIDE = 224


class Layer(nn.Module):
    """A convolution without bias and its batch normalisation."""

    def __init__(self, tensors: Tensors, convolution: str, norm: str, stride: int = 1) -> None:
        super().__init__()
        kernel = torch.tensor(tensors[f"{convolution}.weight"])
        self.register_buffer("kernel", kernel)
        self.stride, self.groups = stride, len(kernel) if "_depthwise" in convolution else 1
        self.norm = norm
        self.register_buffer("mean", torch.tensor(tensors[f"{norm}.running_mean"]))
        self.register_buffer("variance", torch.tensor(tensors[f"{norm}.running_var"]))
        self.weight = nn.Parameter(torch.tensor(tensors[f"{norm}.weight"]))
        self.bias = nn.Parameter(torch.tensor(tensors[f"{norm}.bias"]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k = self.kernel.shape[-1]
        padding = []
        for size in (x.shape[-1], x.shape[-2]):
            pad = max((-(-size // self.stride) - 1) * self.stride + k - size, 0)
            padding += [pad // 2, pad - pad // 2]
        x = F.conv2d(F.pad(x, padding), self.kernel.to(x.dtype), stride=self.stride, groups=self.groups)
        return F.batch_norm(x, self.mean, self.variance, self.weight, self.bias, eps=1e-3)


class EfficientNet(nn.Module):
    """EfficientNet-Lite2 up to its last feature map, pooled by CroW."""

    side, stored = SIDE, "batch_norm"

    def __init__(self, tensors: Tensors) -> None:
        super().__init__()
        self.norms = sorted(name for name in tensors if re.search(r"_bn\d\.(weight|bias)$", name))
        self.stem = Layer(tensors, "_conv_stem", "_bn0", 2)
        self.blocks = nn.ModuleList()
        count = 1 + max(int(n.split(".")[1]) for n in tensors if n.startswith("_blocks."))
        widths = [len(tensors[f"_blocks.{i}._project_conv.weight"]) for i in range(count)]
        starts = [i for i in range(1, count) if widths[i] != widths[i - 1]]
        halving = {starts[0], starts[1], starts[2], starts[4]}
        for number in range(count):
            block = f"_blocks.{number}."
            stride = 2 if number in halving else 1
            layers = [
                Layer(tensors, f"{block}_depthwise_conv", f"{block}_bn1", stride),
                Layer(tensors, f"{block}_project_conv", f"{block}_bn2"),
            ]
            if number:
                layers.insert(0, Layer(tensors, f"{block}_expand_conv", f"{block}_bn0"))
            self.blocks.append(nn.ModuleList(layers))
        self.head = Layer(tensors, "_conv_head", "_bn1")

    def photo(self, pixels: torch.Tensor) -> torch.Tensor:
        scale = 320 / max(pixels.shape) / 32
        size = [max(round(side * scale), 1) * 32 for side in pixels.shape[:2]]
        return (_resized(pixels, size) - 127) / 128

    def paper(self, ink: torch.Tensor) -> torch.Tensor:
        return (((1 - ink) * 255 - 127) / 128).expand(-1, 3, -1, -1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu6(self.stem(x))
        for layers in self.blocks:
            y = x
            for layer in layers[:-1]:
                y = F.relu6(layer(y))
            y = layers[-1](y)
            x = x + y if x.shape == y.shape else y
        return crow(F.relu6(self.head(x)).float())

    def learned(self) -> Tensors:
        """All scales and offsets by name."""
        found = {}
        for layer in self.modules():
            if isinstance(layer, Layer):
                found |= {f"{layer.norm}.{p}": _array(getattr(layer, p)) for p in ("weight", "bias")}
        return found


class Norm(nn.Module):
    """Layer normalisation: the only thing that is learned."""

    def __init__(self, tensors: Tensors, name: str) -> None:
        super().__init__()
        self.norm = name
        self.weight = nn.Parameter(torch.tensor(tensors[f"{name}.weight"]))
        self.bias = nn.Parameter(torch.tensor(tensors[f"{name}.bias"]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x.float(), self.weight.shape, self.weight, self.bias, 1e-6)


class Linear(nn.Module):
    """A layer that stays as it is, scaled."""

    def __init__(self, tensors: Tensors, name: str, scale: str | None = None) -> None:
        super().__init__()
        factor = tensors[scale] if scale else np.float32(1)
        self.register_buffer("weight", torch.tensor((tensors[f"{name}.weight"].T * factor).T.copy()))
        self.register_buffer("bias", torch.tensor(tensors[f"{name}.bias"] * factor))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight, self.bias)


class Block(nn.Module):
    """Attention, then a perceptron, each with a normalisation before and a residual around it."""

    def __init__(self, tensors: Tensors, name: str, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = Norm(tensors, f"{name}norm1"), Norm(tensors, f"{name}norm2")
        self.qkv = Linear(tensors, f"{name}attn.qkv")
        self.proj = Linear(tensors, f"{name}attn.proj", f"{name}ls1.gamma")
        self.fc1 = Linear(tensors, f"{name}mlp.fc1")
        self.fc2 = Linear(tensors, f"{name}mlp.fc2", f"{name}ls2.gamma")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(n, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, tokens, width)
        x = x + self.proj(attended)
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Dinov2(nn.Module):
    """A vision transformer: its class token and a share of its mean patch."""

    side, stored = SIDE, "layer_norm"

    def __init__(self, tensors: Tensors, mean_patch: float = 0.7) -> None:
        super().__init__()
        tensors = {name: np.asarray(value, np.float32) for name, value in tensors.items()}
        self.mean_patch = mean_patch
        self.norms = sorted(n for n in tensors if re.search(r"(^|\.)norm\d?\.(weight|bias)$", n))
        self.patch = Linear(tensors, "patch_embed.proj")
        width = tensors["cls_token"].shape[-1]
        count = 1 + max(int(n.split(".")[1]) for n in tensors if n.startswith("blocks."))
        self.blocks = nn.ModuleList(Block(tensors, f"blocks.{i}.", width // 64) for i in range(count))
        self.norm = Norm(tensors, "norm")
        positions = torch.tensor(tensors["pos_embed"])
        grid, side = round((positions.shape[1] - 1) ** 0.5), SIDE // self.patch.weight.shape[-1]
        # The factor as the authors' code has it, with a tenth of a patch more than there is.
        resized = F.interpolate(
            positions[:, 1:].reshape(1, grid, grid, width).permute(0, 3, 1, 2),
            scale_factor=(side + 0.1) / grid, mode="bicubic",
        )  # fmt: skip
        self.register_buffer("positions", resized.flatten(2).transpose(1, 2))
        self.register_buffer("token", torch.tensor(tensors["cls_token"]) + positions[:, :1])
        self.register_buffer("mean", torch.tensor([123.675, 116.28, 103.53])[:, None, None])
        self.register_buffer("deviation", torch.tensor([58.395, 57.12, 57.375])[:, None, None])

    def photo(self, pixels: torch.Tensor) -> torch.Tensor:
        return (_resized(pixels, [SIDE, SIDE]) - self.mean) / self.deviation

    def paper(self, ink: torch.Tensor) -> torch.Tensor:
        return ((1 - ink) * 255 - self.mean) / self.deviation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.conv2d(x, self.patch.weight, self.patch.bias, stride=self.patch.weight.shape[-1])
        x = x.flatten(2).transpose(1, 2).float() + self.positions
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        both = [F.normalize(x[:, 0], dim=1), self.mean_patch * F.normalize(x[:, 1:].mean(1), dim=1)]
        return F.normalize(torch.cat(both, 1), dim=1)

    def learned(self) -> Tensors:
        """All scales and offsets by name."""
        found = {}
        for norm in self.modules():
            if isinstance(norm, Norm):
                found |= {f"{norm.norm}.{p}": _array(getattr(norm, p)) for p in ("weight", "bias")}
        return found


def crow(features: torch.Tensor) -> torch.Tensor:
    """(b, c, h, w) -> (b, c), of length 1. How rare a channel is counts as given."""
    total = features.sum(1)
    spatial = (total / total.flatten(1).norm(dim=1).clamp_min(1e-6)[:, None, None]).clamp_min(1e-9).sqrt()
    filled = (features > 0).float().mean((2, 3))
    rarity = torch.log((filled.shape[1] * 1e-6 + filled.sum(1, keepdim=True)) / (1e-6 + filled))
    return F.normalize((features * spatial[:, None]).sum((2, 3)) * rarity, dim=1)


def _resized(pixels: torch.Tensor, size: list[int]) -> torch.Tensor:
    image = pixels.permute(2, 0, 1)[None].float()
    return F.interpolate(image, size, mode="bilinear", antialias=True, align_corners=False)


def _array(parameter: nn.Parameter) -> np.ndarray:
    return parameter.detach().cpu().numpy()


NETWORKS = {"efficientnet": EfficientNet, "dinov2": Dinov2}
