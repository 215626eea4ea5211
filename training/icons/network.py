"""The network: 64 x 64 numbers of ink in, 128 numbers of length 1 out. 3 x 3 convolutions and ReLU."""

import torch
from torch import Tensor, nn
from torch.nn import functional

DIMENSION = 128
SHAPES = {
    "small": ((24, 48, 96, 160), (1, 2, 2, 1)),
    "middle": ((32, 64, 128, 224), (1, 2, 2, 1)),
    "large": ((40, 80, 160, 288), (1, 2, 2, 1)),
    "deep": ((32, 64, 128, 192), (2, 3, 4, 2)),
    "giant": ((96, 192, 384, 640), (2, 3, 4, 2)),
}
"""Widths and blocks of each stage."""


class Edges(nn.Module):
    """Ink (n, 1, h, w) -> ink, the length of its gradient (Sobel), and that length blurred."""

    def __init__(self) -> None:
        super().__init__()
        across = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 4
        self.register_buffer("sobel", torch.stack([across, across.T])[:, None], persistent=False)
        row = torch.tensor([1.0, 4, 6, 4, 1]) / 16
        self.register_buffer("blur", torch.outer(row, row)[None, None], persistent=False)

    def forward(self, ink: Tensor) -> Tensor:
        gradient = functional.conv2d(ink, self.sobel.to(ink.dtype), padding=1)
        length = (gradient * gradient).sum(dim=1, keepdim=True).add(1e-6).sqrt()
        soft = functional.conv2d(length, self.blur.to(ink.dtype), padding=2)
        return torch.cat([ink, length, soft], dim=1)


class Block(nn.Module):
    """Two convolutions beside a short cut."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = convolution(before, after, 3, stride)
        self.second = convolution(after, after, 3, 1)
        self.short = convolution(before, after, 1, stride) if stride > 1 or before != after else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.second(functional.relu(self.first(x))) + self.short(x))


class Eye(nn.Module):
    """Widths and blocks of the stages at 32, 16, 8 and 4 pixels; `head`: "mean" or "layout" of the last."""

    def __init__(
        self,
        widths: tuple[int, ...] = (32, 64, 128, 224),
        blocks: tuple[int, ...] = (1, 2, 2, 1),
        head: str = "layout",
        edges: bool = True,
    ) -> None:
        super().__init__()
        self.edges = Edges() if edges else nn.Identity()
        self.stem = convolution(3 if edges else 1, widths[0], 3, 2)
        stages: list[nn.Module] = []
        before = widths[0]
        for at, (width, count) in enumerate(zip(widths, blocks, strict=True)):
            for i in range(count):
                stages.append(Block(before, width, 2 if at and not i else 1))
                before = width
        self.stages = nn.Sequential(*stages)
        few = 64
        self.squeeze = convolution(before, few, 1, 1) if head == "layout" else nn.Identity()
        self.layout = head == "layout"
        self.last = nn.Linear(few * 16 if self.layout else before, DIMENSION)

    def in_order(self) -> list[nn.Module]:
        """Layers with weights, as the exported graph has them: a block's short cut is its first."""
        found: list[nn.Module] = [self.stem]
        for block in self.stages:
            found += [block.short, block.first, block.second]
        return [*found, self.squeeze, self.last]

    def forward(self, ink: Tensor) -> Tensor:
        x = self.stages(functional.relu(self.stem(self.edges(ink))))
        x = functional.relu(self.squeeze(x)).flatten(1) if self.layout else x.mean(dim=(2, 3))
        return functional.normalize(self.last(x).float(), dim=1)


def convolution(before: int, after: int, size: int, stride: int) -> nn.Sequential:
    """A convolution with its normalisation, which `export.py` folds into it."""
    return nn.Sequential(nn.Conv2d(before, after, size, stride, size // 2, bias=False), nn.BatchNorm2d(after))
