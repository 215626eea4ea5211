"""An eye for line art: a small network of our own, to which icons and doodles of a thing are alike.

The search does not use it yet: no index stores its embeddings, and no ranking asks for them.
Everything before the network is plain arithmetic on 64 x 64 numbers, so that a browser can repeat it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SketchseekError

SIDE: Final = 64
"""Pixels each way that the network sees."""
LONGER: Final = 56
"""The longer side of the ink there; it is in the middle."""
DIMENSION: Final = 128
WIDTHS: Final = (2.5, 4.5)
"""Strokes are drawn once with each of these widths, in pixels; the embedding is that of the sum."""
_FAINT = 0.1  # of 1: a picture without ink darker than this is empty
_INK = 0.25  # of the darkest: from here on a pixel counts when the ink is cropped
_LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)
WEIGHTS = Path(__file__).parent / "data" / "icons.onnx"

Plane = NDArray[np.float32]


def ink_of(pixels: NDArray[np.uint8]) -> Plane:
    """How far each pixel is from the ground, in [0, 1].

    The mean of two distances: that of the colour channel that differs most, which sees yellow on white, and
    that of luminance, which sees black on yellow.

    Parameters
    ----------
    pixels : (h, w, 3) or (h, w)
        The ground is the median colour of the outermost pixels.
    """
    colour = pixels.astype(np.float32) / 255
    if colour.ndim == 2:
        colour = np.repeat(colour[:, :, None], 3, axis=2)
    frame = np.concatenate([colour[0], colour[-1], colour[:, 0], colour[:, -1]])
    apart = colour - np.median(frame, axis=0)
    ink: Plane = (np.abs(apart).max(axis=2) + np.abs(apart @ _LUMINANCE)) / 2
    return ink


def fit(ink: Plane) -> Plane:
    """Ink (h, w) in [0, 1], cropped, as area averages: longer side 56, amid (64, 64), the darkest 1.

    A picture without ink gives zeros.
    """
    darkest = float(ink.max(initial=0))
    if not darkest >= _FAINT:
        return np.zeros((SIDE, SIDE), np.float32)
    ink = ink / darkest
    rows, columns = (np.flatnonzero((ink >= _INK).any(axis=axis)) for axis in (1, 0))
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    step = max(ink.shape) / LONGER  # pixels of the picture in one of the 64
    across, down = _averages(ink.shape[1], step), _averages(ink.shape[0], step)
    small: Plane = (down @ ink.astype(np.float32) @ across.T).astype(np.float32)
    return np.asarray(np.minimum(small / max(float(small.max()), _FAINT), 1), np.float32)


def draw(strokes: Sequence[ArrayLike], width: float) -> Plane:
    """Polylines (n, 2) drawn as `fit` has ink: (64, 64) in [0, 1].

    A pixel's ink is 1 within the line and falls to 0 over one pixel at its border; the box of the lines'
    middles has the longer side 56 - `width`.
    """
    lines = [np.asarray(stroke, np.float64).reshape(-1, 2) for stroke in strokes]
    lines = [line for line in lines if len(line)]
    if not lines:
        return np.zeros((SIDE, SIDE), np.float32)
    points = np.concatenate(lines)
    if not np.isfinite(points).all():
        raise SketchseekError("A drawing has a point that is no number.")
    low, high = points.min(axis=0), points.max(axis=0)
    scale = (LONGER - width) / max(float((high - low).max()), 1e-9)
    nearest = np.full((SIDE, SIDE), np.inf, np.float32)
    grid = np.arange(SIDE, dtype=np.float32)
    for line in lines:
        # A pixel's middle is a whole number; a point alone is a dot.
        placed = ((line - (low + high) / 2) * scale + (SIDE - 1) / 2).astype(np.float32)
        for start, end in zip(placed[: max(len(line) - 1, 1)], placed[min(1, len(line) - 1) :], strict=True):
            _approach(nearest, grid, start, end, width)
    return np.asarray(np.clip(width / 2 + 0.5 - np.sqrt(nearest), 0, 1), np.float32)


def embed(shown: NDArray[Any] | Sequence[ArrayLike]) -> Plane:
    """What a picture or a drawing shows, as (128,) numbers of length 1; zeros where nothing is shown.

    Parameters
    ----------
    shown : uint8 image (h, w) or (h, w, 3), or a sequence of strokes, (n, 2) each
    """
    if isinstance(shown, np.ndarray) and shown.dtype == np.uint8:
        return normalised(embed_ink(fit(ink_of(shown))[None])[0])
    return normalised(embed_ink(np.stack([draw(list(shown), width) for width in WIDTHS])).sum(axis=0))


def embed_ink(inks: Plane) -> Plane:
    """Embeddings (n, 128) of ink (n, 64, 64) as `fit` and `draw` give it."""
    found: Plane = _network().run(None, {"ink": inks[:, None]})[0]
    found[~inks.any(axis=(1, 2))] = 0
    return found


def normalised(vector: Plane) -> Plane:
    """The vector with length 1; zeros stay."""
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), np.float32)


def _averages(length: int, step: float) -> Plane:
    """Weights (64, length): row i averages the `step` pixels that pixel i of the 64 covers."""
    start = length / 2 + (np.arange(SIDE) - SIDE / 2) * step
    pixels = np.arange(length)
    covered = np.minimum(start[:, None] + step, pixels + 1) - np.maximum(start[:, None], pixels)
    return np.asarray(np.maximum(covered, 0) / step, np.float32)


def _approach(nearest: Plane, grid: Plane, start: Plane, end: Plane, width: float) -> None:
    """Lower squared distances (64, 64) to those from one segment, where it can colour anything."""
    reach = width / 2 + 1
    (x0, y0), (x1, y1) = np.minimum(start, end) - reach, np.maximum(start, end) + reach
    left, right = np.searchsorted(grid, (x0, x1))
    top, bottom = np.searchsorted(grid, (y0, y1))
    x, y = grid[left:right] - start[0], (grid[top:bottom] - start[1])[:, None]
    dx, dy = end - start
    along = np.clip((x * dx + y * dy) / max(float(dx * dx + dy * dy), 1e-12), 0, 1)
    squared = (x - along * dx) ** 2 + (y - along * dy) ** 2
    part = nearest[top:bottom, left:right]
    np.minimum(part, squared, out=part)


@cache
def _network() -> Any:
    import os

    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(WEIGHTS, options, providers=["CPUExecutionProvider"])
