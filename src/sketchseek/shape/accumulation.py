"""`describe` for many sets of points at once, on a graphics processor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..contours.points import Points
from .settings import RADIANS, Floats, Settings


def describe_together(parts: Sequence[Points], settings: Settings, device: str) -> Floats:
    """(n, D): what `describe` gives for each part, but for the order of float32 sums."""
    most = max(map(len, parts))
    given = np.zeros((4, len(parts), most), np.float32)  # points of no weight fill up the shorter ones
    for i, part in enumerate(parts):
        given[:, i, : len(part)] = part.x, part.y, part.angle, part.weight
    with torch.inference_mode():
        x, y, angle, weight = torch.from_numpy(given).to(device)
        xs, ys = (_components(a * RADIANS, settings.frequencies) for a in (x, y))
        os = _components(2 * angle, settings.orientation_frequencies) * weight[:, None]
        yo = (ys[:, :, None] * os[:, None]).flatten(1, 2)
        found: Floats = (xs @ yo.transpose(1, 2)).flatten(1).cpu().numpy()
    return found


def _components(x: Any, frequencies: Sequence[float]) -> Any:
    """(n, points) -> (n, D, points): `maps.components.components`, the first axis kept."""
    phase = x[:, None] * torch.tensor(frequencies[1:], dtype=x.dtype, device=x.device)[:, None]
    waves = torch.stack([phase.cos(), phase.sin()], dim=2).flatten(1, 2)
    return torch.cat([torch.ones_like(x)[:, None], waves], dim=1)
