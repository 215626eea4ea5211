"""Views of icons made on the GPU: icons a little changed, and as if somebody had drawn them."""

import torch
from torch import Tensor
from torch.nn import functional

SIDE, LONGER = 64, 56


def icon_views(ink: Tensor) -> Tensor:
    """Icons (n, 1, 64, 64) as another set might have drawn them: other line widths, outlines for areas."""
    ink = outlined(ink, share=0.25)
    ink = warped(ink, turn=0.04, stretch=0.06, shear=0.03, bend=0.25)
    return fitted(width_changed(ink))


def rough_views(ink: Tensor, strength: float = 1.0, mirrored: float = 0.0) -> Tensor:
    """Icons as a hasty hand draws them, a share of them mirrored."""
    ink = flipped(outlined(ink, share=0.8), mirrored)
    ink = warped(ink, turn=0.14 * strength, stretch=0.17 * strength, shear=0.1 * strength, bend=strength)
    ink = dropped(ink, share=0.4)
    return fitted(width_changed(ink, thin=0.6))


def doodle_views(ink: Tensor, mirrored: float = 0.0) -> Tensor:
    """Real doodles, drawn a little otherwise."""
    ink = warped(flipped(ink, mirrored), turn=0.1, stretch=0.12, shear=0.07, bend=0.5)
    ink = dropped(ink, share=0.15)
    return fitted(width_changed(ink))


def outlined(ink: Tensor, share: float) -> Tensor:
    """A share of the pictures with their areas hollowed out: lines up to four pixels stay as they are."""
    inner = eroded(eroded(ink, 3), 3)
    thick = eroded(inner, 3)
    lines = torch.where(chance(ink, 0.5), ink - inner, ink - thick).clamp(0, 1)
    return torch.where(chance(ink, share), lines, ink)


def warped(ink: Tensor, turn: float, stretch: float, shear: float, bend: float) -> Tensor:
    """Turned, stretched, bent: smooth random fields at three sizes, of another strength in every picture."""
    n, device = len(ink), ink.device

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, device=device)

    angle, aspect, slant = normal(n) * turn, normal(n) * stretch, normal(n) * shear
    cos, sin = angle.cos(), angle.sin()
    wide, high = (aspect / 2).exp(), (-aspect / 2).exp()
    matrix = torch.zeros(n, 2, 3, device=device)
    matrix[:, 0, 0], matrix[:, 0, 1] = cos * wide, (-sin + slant) * wide
    matrix[:, 1, 0], matrix[:, 1, 1] = sin * high, cos * high
    grid = functional.affine_grid(1.2 * matrix, [n, 1, SIDE, SIDE], align_corners=False)
    strength = bend * torch.rand(n, 1, 1, 1, device=device) * 1.5
    for points, size in ((3, 0.1), (6, 0.05), (16, 0.016)):
        field = functional.interpolate(
            normal(n, 2, points, points), (SIDE, SIDE), mode="bicubic", align_corners=True
        )
        grid = grid + (size * strength * field).permute(0, 2, 3, 1)
    return functional.grid_sample(ink, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def flipped(ink: Tensor, share: float) -> Tensor:
    """A share of the pictures mirrored: who draws from memory lets things look to the other side."""
    return torch.where(chance(ink, share), ink.flip(3), ink)


def width_changed(ink: Tensor, thin: float = 0.3) -> Tensor:
    """Thinner or thicker lines, sharp or soft; no line is thinned away."""
    thinner = eroded(ink, 3)
    keeps = thinner.sum(dim=(1, 2, 3), keepdim=True) > 0.4 * ink.sum(dim=(1, 2, 3), keepdim=True)
    ink = torch.where(chance(ink, thin) & keeps, thinner, ink)
    thicker = functional.max_pool2d(ink, 3, 1, 1)
    ink = torch.where(chance(ink, 0.25), thicker, ink)
    soft = functional.avg_pool2d(ink, 3, 1, 1, count_include_pad=True)
    ink = torch.where(chance(ink, 0.5), soft, ink)
    level = 0.25 + 0.25 * torch.rand(len(ink), 1, 1, 1, device=ink.device)
    sharp = ((ink - level) * 3 + 0.5).clamp(0, 1)
    return torch.where(chance(ink, 0.7), sharp, ink)


def dropped(ink: Tensor, share: float) -> Tensor:
    """A share of the pictures without what lies in a few random spots."""
    noise = functional.interpolate(
        torch.randn(len(ink), 1, 6, 6, device=ink.device), (SIDE, SIDE), mode="bilinear", align_corners=True
    )
    return torch.where(chance(ink, share) & (noise > 1.1), 0, ink)


def fitted(ink: Tensor) -> Tensor:
    """Cropped to the ink and brought to the size in which the network sees everything."""
    ink = ink / ink.amax(dim=(1, 2, 3), keepdim=True).clamp_min(0.1)
    there = ink[:, 0] >= 0.25
    low, high = [], []
    for axis in (1, 2):  # columns (x), then rows (y)
        any_ink = there.any(dim=axis)
        low.append(any_ink.float().argmax(dim=1))
        high.append(SIDE - any_ink.flip(1).float().argmax(dim=1))
    low, high = torch.stack(low, 1).float(), torch.stack(high, 1).float()
    scale = (high - low).amax(dim=1).clamp_min(4) / LONGER
    middle = (low + high) / SIDE - 1
    matrix = torch.zeros(len(ink), 2, 3, device=ink.device)
    matrix[:, 0, 0] = matrix[:, 1, 1] = scale
    matrix[:, :, 2] = middle
    grid = functional.affine_grid(matrix, list(ink.shape), align_corners=False)
    return functional.grid_sample(ink, grid, mode="bilinear", padding_mode="zeros", align_corners=False)


def eroded(ink: Tensor, size: int) -> Tensor:
    """The least ink around each pixel."""
    return -functional.max_pool2d(-ink, size, 1, size // 2)


def chance(ink: Tensor, share: float) -> Tensor:
    """True for about that share of the pictures."""
    return torch.rand(len(ink), 1, 1, 1, device=ink.device) < share
