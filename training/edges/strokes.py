"""Generated line art: free labels. A stroke's contour is its middle, a filled shape's its boundary."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

CORNERS = 32
"""Segments of each curve."""
THIN = (1.0, 14.0)
"""Strokes of these widths, in pixels, have one contour along their middle."""


def curve(n: int, side: int, device: str) -> tuple[Tensor, Tensor]:
    """Curves (n, CORNERS + 1, 2) in pixels, and whether each is closed (n,).

    Cubic arcs, polygonal lines, ellipses with wavy radius, rectangles and regular polygons.
    """
    t = torch.linspace(0, 1, CORNERS + 1, device=device)[None, :, None]
    rand = lambda *shape: torch.rand(shape, device=device)  # noqa: E731
    # Cubic Bézier arcs.
    p = (rand(n, 4, 2) * 1.3 - 0.15) * side
    bezier = (
        (1 - t) ** 3 * p[:, :1]
        + 3 * (1 - t) ** 2 * t * p[:, 1:2]
        + 3 * (1 - t) * t**2 * p[:, 2:3]
        + t**3 * p[:, 3:]
    )
    # Lines through 2 to 5 corners.
    corners = (rand(n, 5, 2) * 1.2 - 0.1) * side
    legs = torch.randint(1, 5, (n, 1), device=device)
    along = t[..., 0] * legs
    leg = along.floor().long().clamp(max=3)
    leg = torch.minimum(leg, legs - 1)
    start = torch.gather(corners, 1, leg[..., None].expand(-1, -1, 2))
    end = torch.gather(corners, 1, leg[..., None].expand(-1, -1, 2) + 1)
    lines = torch.lerp(start, end, (along - leg)[..., None])
    # Closed: superellipse-like, polygonal or wavy outlines, turned and placed.
    phi = 2 * math.pi * t[..., 0]
    sides = torch.randint(3, 7, (n, 1), device=device)
    to_edge = torch.remainder(phi, 2 * math.pi / sides) - math.pi / sides
    polygon = torch.cos(math.pi / sides) / torch.cos(to_edge)
    wave = 1 + 0.3 * rand(n, 1) * torch.cos(
        torch.randint(2, 6, (n, 1), device=device) * phi + 6.3 * rand(n, 1)
    )
    kind = rand(n, 1)
    radius = torch.where(kind < 0.35, polygon, torch.where(kind < 0.7, wave, torch.ones_like(phi)))
    size = side * 0.5 * torch.exp(-2.2 * rand(n, 1))
    aspect = torch.exp(1.6 * rand(n, 1) - 0.8)
    x, y = radius * torch.cos(phi) * size * aspect, radius * torch.sin(phi) * size / aspect
    turn = 2 * math.pi * rand(n, 1)
    centre = (rand(n, 1, 2) * 0.9 + 0.05) * side
    loop = torch.stack(
        [x * torch.cos(turn) - y * torch.sin(turn), x * torch.sin(turn) + y * torch.cos(turn)], 2
    )
    choice = rand(n)
    closed = choice > 0.55
    chosen = torch.where((choice < 0.3)[:, None, None], bezier, lines)
    return torch.where(closed[:, None, None], loop + centre, chosen), closed


def distances(curves: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """Distance of each pixel's centre to each curve, and the inside of its closing: (n, side, side)."""
    axis = torch.arange(side, device=curves.device) + 0.5
    y, x = axis[None, :, None], axis[None, None, :]
    least = torch.full((len(curves), side, side), 1e9, device=curves.device)
    inside = torch.zeros_like(least, dtype=torch.bool)
    for i in range(curves.shape[1] - 1):
        ax, ay = curves[:, i, 0, None, None], curves[:, i, 1, None, None]
        ex, ey = curves[:, i + 1, 0, None, None] - ax, curves[:, i + 1, 1, None, None] - ay
        share = (((x - ax) * ex + (y - ay) * ey) / (ex * ex + ey * ey + 1e-6)).clamp(0, 1)
        least = torch.minimum(least, (x - ax - share * ex) ** 2 + (y - ay - share * ey) ** 2)
        crosses = (ay > y) != (ay + ey > y)
        inside ^= crosses & (x < ax + ex * (y - ay) / torch.where(ey == 0, torch.ones_like(ey), ey))
    return least.sqrt(), inside


def scenes(n: int, side: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Layers of line art to be laid over any ground.

    Gives colour and cover (n, 4, side, side) uint8, target (n, 1, side, side) uint8 with the flanks of
    a drawn boundary, and care (n, 1, side, side) uint8: 0 where the answer is left open.
    """
    rand = lambda *shape: torch.rand(shape, device=device)  # noqa: E731
    rgb = torch.zeros(n, 3, side, side, device=device)
    cover = torch.zeros(n, 1, side, side, device=device)
    target, care = torch.zeros_like(cover), torch.ones_like(cover)
    low, high = math.log(THIN[0]), math.log(THIN[1])
    usual_width = torch.exp(low + (high - low) * rand(n))
    usual_colour = rand(n, 3)
    one_pen = rand(n) < 0.6
    only_strokes = rand(n) < 0.6
    items = torch.randint(1, 11, (n,), device=device)
    for item in range(10):
        drawn = (item < items).float()[:, None, None]
        curves, closed = curve(n, side, device)
        away, inside = distances(curves, side)
        filled = closed & (rand(n) < 0.6) & ~only_strokes
        outlined = filled & (rand(n) < 0.3)
        own_width = torch.exp(low + (high - low) * rand(n))
        width = torch.where(one_pen, usual_width, own_width)[:, None, None]
        # A filled shape is a band of no width with its inside.
        signed = torch.where(inside, -away, away)
        depth = torch.where(filled[:, None, None], -signed, width / 2 - away)
        ink = (depth + 0.5).clamp(0, 1) * (1 - 0.4 * (rand(n) ** 3)[:, None, None]) * drawn
        colour = torch.where((one_pen & ~filled)[:, None], usual_colour, rand(n, 3))[:, :, None, None]
        ink = ink[:, None]
        alike = ((rgb / cover.clamp(min=1e-3) - colour).abs().amax(1, keepdim=True) < 0.25) & (cover > 0.5)
        rgb, cover = rgb * (1 - ink) + colour * ink, cover + (1 - cover) * ink
        target = torch.where((ink > 0.5) & ~alike, torch.zeros_like(target), target)
        ridge = torch.exp(-(away**2) / 2)[:, None] * (away < 3)[:, None] * drawn[:, None]
        target = torch.maximum(target, ridge)
        care = torch.where(
            (ridge > 0.05) & alike,
            torch.zeros_like(care),
            torch.where(ink > 0.5, torch.ones_like(care), care),
        )
        # An outline of its own colour round a filled shape: its middle is the shape's boundary.
        rim = ((1.5 - away + 0.5).clamp(0, 1) * outlined[:, None, None] * drawn)[:, None]
        rim_colour = (1 - colour + 0.3 * rand(n, 3)[:, :, None, None]).clamp(0, 1)
        rgb, cover = rgb * (1 - rim) + rim_colour * rim, cover + (1 - cover) * rim
    layer = torch.cat([rgb / cover.clamp(min=1e-3), cover], 1).clamp(0, 1)
    as_bytes = lambda a: (a * 255).round().to(torch.uint8)  # noqa: E731
    return as_bytes(layer), as_bytes(target), care.to(torch.uint8)


def plain_ground(n: int, side: int, device: torch.device) -> Tensor:
    """Paper: white or any colour, with a little shading and grain; or colours that flow into each other."""
    kind = torch.rand(n, 1, 1, 1, device=device)
    colour = torch.rand(n, 3, 1, 1, device=device)
    ground = torch.where(kind < 0.4, torch.ones_like(colour), colour).expand(-1, -1, side, side)
    flow = F.interpolate(torch.rand(n, 3, 7, 7, device=device), size=(side, side), mode="bicubic")
    ground = torch.where(kind > 0.75, flow, ground)
    slope = (torch.rand(n, 1, 2, device=device) - 0.5) * (torch.rand(n, 1, 1, device=device) < 0.4)
    axis = torch.linspace(-0.5, 0.5, side, device=device)
    shade = slope[..., 0, None, None] * axis[None, None, :, None] + slope[..., 1, None, None] * axis
    grain = 0.04 * torch.rand(n, 1, 1, 1, device=device) ** 2
    return (ground + shade + grain * torch.randn(n, 3, side, side, device=device)).clamp(0, 1)


def lay_over(
    ground: Tensor, boundaries: Tensor, layer: Tensor, target: Tensor, care: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Line art (floats in [0, 1]) over a ground that has its own boundaries: picture, target, care.

    Ink that hardly differs from the ground under it is left open.
    """
    rgb, cover = layer[:, :3], layer[:, 3:]
    picture = torch.lerp(ground, rgb, cover)
    unseen = ((rgb - ground).abs().amax(1, keepdim=True) < 0.2) & (cover > 0.05)
    here = target > 0.05
    care = torch.where(here & unseen, torch.zeros_like(care), care)
    return picture, torch.where((cover > 0.5) | here, target.expand_as(boundaries), boundaries), care
