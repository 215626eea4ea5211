"""The network that ships: halves the picture four times, then comes back to its full size."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

WIDTHS = (16, 48, 96, 80)
"""Channels at 1/2, 1/4, 1/8 and 1/16 of the picture's size; multiples of 16 suit the processor."""
DEPTHS = (1, 3, 4, 3)
TOP_DOWN = (16, 32, 48, 48)
"""Channels on the way back, at the same sizes."""
GREY = 0.45
CONTRAST = 0.25


class Block(nn.Module):
    """A 5x5 convolution of each channel, then two 1x1 ones through twice the channels, added to the input."""

    def __init__(self, channels: int, dilation: int = 1) -> None:
        super().__init__()
        self.spread = nn.Conv2d(
            channels, channels, 5, padding=2 * dilation, dilation=dilation, groups=channels, bias=False
        )
        self.spread_norm = nn.BatchNorm2d(channels)
        self.up = nn.Conv2d(channels, 2 * channels, 1, bias=False)
        self.up_norm = nn.BatchNorm2d(2 * channels)
        self.down = nn.Conv2d(2 * channels, channels, 1, bias=False)
        self.down_norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        y = self.spread_norm(self.spread(x))
        y = F.relu(self.up_norm(self.up(y)))
        return x + self.down_norm(self.down(y))


class ConvNorm(nn.Sequential):
    """A convolution and its normalisation, then a ReLU where asked."""

    def __init__(self, before: int, after: int, size: int, stride: int = 1, relu: bool = True) -> None:
        layers: list[nn.Module] = [
            nn.Conv2d(before, after, size, stride, size // 2, bias=False),
            nn.BatchNorm2d(after),
        ]
        super().__init__(*layers, *([nn.ReLU()] if relu else []))


class EdgeNetwork(nn.Module):
    """Pictures (n, 3, h, w) in [0, 1], sides multiples of 16 -> logits (n, 1, h, w).

    While training also the logits of smaller sizes.
    """

    def __init__(self) -> None:
        super().__init__()
        before = 3
        self.shrink, self.stages, self.sideways, self.merge, self.aside = (nn.ModuleList() for _ in range(5))
        for level, (width, depth, top) in enumerate(zip(WIDTHS, DEPTHS, TOP_DOWN, strict=True)):
            self.shrink.append(ConvNorm(before, width, 3, stride=2))
            dilations = (1, 2, 3, 4) if level == 3 else (1,) * depth
            self.stages.append(nn.Sequential(*[Block(width, dilations[i]) for i in range(depth)]))
            self.sideways.append(ConvNorm(width, top, 1, relu=False))
            self.merge.append(Block(top))
            self.aside.append(nn.Conv2d(top, 1, 1))
            before = width
        self.descend = nn.ModuleList(
            ConvNorm(TOP_DOWN[i + 1], TOP_DOWN[i], 1, relu=False) for i in range(len(WIDTHS) - 1)
        )
        # Four numbers for each pixel at half the size are the four pixels at full size.
        self.last = nn.Conv2d(TOP_DOWN[0], 4, 3, padding=1)

    def forward(self, pictures: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = (pictures - GREY) / CONTRAST
        seen = []
        for shrink, stage in zip(self.shrink, self.stages, strict=True):
            x = stage(shrink(x))
            seen.append(x)
        asides: list[Tensor] = []
        y = self.merge[-1](self.sideways[-1](seen[-1]))
        for level in range(len(WIDTHS) - 2, -1, -1):
            if self.training:
                asides.append(self.aside[level + 1](y))
            y = F.interpolate(self.descend[level](y), scale_factor=2, mode="bilinear", align_corners=False)
            y = self.merge[level](F.relu(y + self.sideways[level](seen[level])))
        return F.pixel_shuffle(self.last(y), 2), asides
