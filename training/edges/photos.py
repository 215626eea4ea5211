"""Photos and their drawn boundaries, kept on the device and warped there."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

HEIGHT, WIDTH = 321, 481
SPREAD = 1.0
"""Boundaries are targets with Gaussian flanks of this many pixels: annotators don't agree to the pixel."""


def load_bsds(folders: list[Path], device: str) -> tuple[Tensor, Tensor]:
    """Pictures (n, 3, 321, 481), targets (n, 2, 321, 481), uint8; upright ones are turned on their side."""

    def read(jpeg: Path) -> tuple[Tensor, Tensor]:
        picture = np.asarray(Image.open(jpeg).convert("RGB"))
        bits = np.asarray(Image.open(jpeg.with_suffix(".png"))).astype(np.int32)
        if picture.shape[0] > picture.shape[1]:
            picture, bits = np.rot90(picture), np.rot90(bits)
        return torch.from_numpy(picture.transpose(2, 0, 1).copy()), torch.from_numpy(bits.copy())

    with ThreadPoolExecutor(16) as pool:
        read_all = list(pool.map(read, sorted(path for folder in folders for path in folder.glob("*.jpg"))))
    pictures = torch.stack([picture for picture, _ in read_all]).to(device)
    return pictures, torch.stack([consensus(bits.to(device)) for _, bits in read_all])


def consensus(bits: Tensor) -> Tensor:
    """Bit i of (h, w): annotator i's boundaries -> (2, h, w) uint8.

    With exp(-d^2 / 2), d the distance to an annotator's nearest boundary: its mean over annotators, and
    its maximum. Beyond 3 pixels it is 0.
    """
    drawn = torch.stack([(bits >> i) & 1 for i in range(16)]).float()
    drawn = drawn[drawn.any(2).any(1)]
    near = torch.zeros_like(drawn)
    padded = F.pad(drawn, (3, 3, 3, 3))
    height, width = bits.shape
    for dy in range(-3, 4):
        for dx in range(-3, 4):
            if dx * dx + dy * dy <= 9:
                moved = padded[:, 3 + dy : 3 + dy + height, 3 + dx : 3 + dx + width]
                near = torch.maximum(near, moved * math.exp(-(dx * dx + dy * dy) / (2 * SPREAD**2)))
    return (torch.stack([near.mean(0), near.amax(0)]) * 255).round().to(torch.uint8)


def load_unlabelled(folder: Path, size: int, device: str) -> Tensor:
    """Photos of a folder (n, 3, size, size) uint8, the shorter side scaled to `size`, the middle cut out."""

    def read(path: Path) -> Tensor:
        picture = Image.open(path).convert("RGB")
        scale = size / min(picture.size)
        picture = picture.resize([max(size, round(side * scale)) for side in picture.size])
        left, top = (picture.width - size) // 2, (picture.height - size) // 2
        cut = np.asarray(picture.crop((left, top, left + size, top + size)))
        return torch.from_numpy(cut.transpose(2, 0, 1).copy())

    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in {".jpg", ".jpeg", ".png"})
    with ThreadPoolExecutor(16) as pool:
        return torch.stack(list(pool.map(read, paths))).to(device)


def uniform(shape: tuple[int, ...], low: float, high: float, device: torch.device) -> Tensor:
    return torch.rand(shape, device=device) * (high - low) + low


def warp(maps: Tensor, side: int, log_zoom: tuple[float, float]) -> Tensor:
    """Cut (n, c, side, side) out of maps (n, c, h, w): any place, turn, mirror, and zoom of exp(log_zoom).

    What lies outside is the picture mirrored at its border, its boundaries with it.
    """
    n, _, height, width = maps.shape
    device = maps.device
    angle = uniform((n,), -math.pi, math.pi, device)
    zoom = torch.exp(uniform((n,), *log_zoom, device))
    mirror = torch.where(torch.rand(n, device=device) < 0.5, -1.0, 1.0)
    reach = side / (2 * zoom)
    room_x = (width / 2 - 0.7 * reach).clamp(min=0)
    room_y = (height / 2 - 0.7 * reach).clamp(min=0)
    x0 = uniform((n,), -1, 1, device) * room_x
    y0 = uniform((n,), -1, 1, device) * room_y
    c, s = torch.cos(angle) * reach, torch.sin(angle) * reach
    to_x = torch.stack([c * mirror, -s, x0], 1) * (2 / width)
    to_y = torch.stack([s * mirror, c, y0], 1) * (2 / height)
    grid = F.affine_grid(torch.stack([to_x, to_y], 1), [n, 1, side, side], align_corners=False)
    return F.grid_sample(maps, grid, mode="bilinear", padding_mode="reflection", align_corners=False)


def recolour(pictures: Tensor) -> Tensor:
    """Light, contrast, saturation, white balance, gamma, a little blur and noise; some pictures grey."""
    n, device = len(pictures), pictures.device
    shape = (n, 1, 1, 1)
    grey = pictures.mean(1, keepdim=True)
    saturation = uniform(shape, 0.4, 1.5, device)
    saturation = torch.where(torch.rand(shape, device=device) < 0.1, torch.zeros_like(saturation), saturation)
    pictures = grey + (pictures - grey) * saturation
    pictures = pictures * uniform((n, 3, 1, 1), 0.85, 1.15, device)
    middle = pictures.mean((1, 2, 3), keepdim=True)
    pictures = middle + (pictures - middle) * uniform(shape, 0.6, 1.4, device)
    pictures = (pictures + uniform(shape, -0.15, 0.15, device)).clamp(1e-4, 1)
    pictures = pictures ** torch.exp(uniform(shape, -0.35, 0.35, device))
    blurred = F.avg_pool2d(F.pad(pictures, (1, 1, 1, 1), mode="replicate"), 3, 1)
    pictures = torch.lerp(pictures, blurred, uniform(shape, -0.5, 0.6, device))
    noise = 0.03 * torch.rand(shape, device=device) ** 2
    return (pictures + noise * torch.randn_like(pictures)).clamp(0, 1)
