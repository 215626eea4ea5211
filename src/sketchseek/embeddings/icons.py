"""Embeddings of line art: a small network of our own, to which icons and doodles of one thing are alike.

It sees 64 x 64 numbers of ink and gives 128; the engine runs it, here and in browsers
(src/cpp/search/icons.hpp), from the weights that training/icons leaves. An index keeps an embedding of each
picture that is line art or flat art, a byte a number; where most pictures are, they are part of the first
ranking.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..shape.engine import _engine
from ..shape.engine.native import build_name

SIDE: Final[int] = _engine.INK_SIDE
"""Pixels each way that the network sees."""
LONGER: Final[int] = _engine.INK_LONGER
"""The longer side of the ink there; it is in the middle."""
_CORE = json.loads(_engine.description())["constants"]
DIMENSION: Final[int] = _engine.EMBEDDING
BLEND: Final[float] = _CORE["icon blend"]
"""What it weighs beside shape alone, both as z-scores."""
BLEND_BESIDE: Final[float] = _CORE["icon blend beside"]
"""The same beside shape and what a larger network says."""
UNSEEN: Final[float] = _CORE["icon unseen"]
"""Of how far a picture stands out without it: what it says of one that it has not seen, a photograph."""
SAME: Final[float] = _CORE["same"]
"""A picture whose shape has this cosine with the drawing looks the same, whatever it depicts."""
MOST_PIECES: Final = 60
"""Pieces of ink that a picture of one thing falls into at most; a page of text has hundreds."""
WEIGHTS: Final = "icons.bin"
_FAINT = 0.1  # of 1: a picture without ink darker than this is empty
_INK = 0.25  # of the darkest: from here on a pixel counts when the ink is cropped
_LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)

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
    return _engine.icon_ink(*_flat(strokes), width).reshape(SIDE, SIDE)


def embed_ink(inks: Plane) -> Plane:
    """Embeddings (n, 128) of length 1 of ink (n, 64, 64) as `fit` and `draw` give it; zeros for none."""
    return network().of_ink(np.ascontiguousarray(inks, np.float32)).reshape(len(inks), DIMENSION)


def embed_picture(pixels: NDArray[np.uint8]) -> Plane:
    """What a picture (h, w, 3) or (h, w) shows, as (128,) numbers of length 1; zeros for nothing."""
    seen: Plane = embed_ink(fit(ink_of(pixels))[None])[0]
    return seen


def embed_drawing(strokes: Sequence[ArrayLike]) -> Plane:
    """The same of strokes, polylines (n, 2) each: seen in two widths."""
    return network().of_strokes(*_flat(strokes))


def as_stored(embedding: Plane) -> NDArray[np.int8]:
    """An embedding as an index keeps it: whole numbers, the largest 127 from 0, of any length."""
    largest = max(float(np.abs(embedding).max()), 1e-12)
    return np.round(embedding * (127 / largest)).astype(np.int8)


def stored_embedding(pixels: NDArray[np.uint8], *, is_line_art: bool) -> bytes:
    """What an index keeps of a picture (h, w, 3): no bytes where it is neither line art nor flat art, or
    shows many things, as a page of text does: the network sees a picture as one."""
    from .flat_art import is_flat_art  # with OpenCV, which searching does not need

    if not (is_line_art or is_flat_art(pixels)) or pieces(pixels) > MOST_PIECES:
        return b""
    return as_stored(embed_picture(pixels)).tobytes()


def pieces(pixels: NDArray[np.uint8]) -> int:
    """Into how many connected pieces the ink of a picture (h, w, 3) falls."""
    import cv2

    ink = ink_of(pixels)
    return int(cv2.connectedComponents((ink >= _INK * max(float(ink.max()), _FAINT)).astype(np.uint8))[0]) - 1


@cache
def network() -> _engine.IconNetwork:
    """The network, loaded once."""
    return _engine.IconNetwork(weights(), build_name())


def weights() -> bytes:
    """What it has learned, as `publish` sends it, too."""
    return Path(__file__).with_name("data").joinpath(WEIGHTS).read_bytes()


def _flat(strokes: Sequence[ArrayLike]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Points of all strokes, and how many each has."""
    lines = [np.asarray(stroke, np.float64).reshape(-1, 2) for stroke in strokes]
    points = np.concatenate([np.zeros((0, 2)), *lines])
    return np.ascontiguousarray(points), np.array([len(line) for line in lines], np.int32)


def _averages(length: int, step: float) -> Plane:
    """Weights (64, length): row i averages the `step` pixels that pixel i of the 64 covers."""
    start = length / 2 + (np.arange(SIDE) - SIDE / 2) * step
    pixels = np.arange(length)
    covered = np.minimum(start[:, None] + step, pixels + 1) - np.maximum(start[:, None], pixels)
    return np.asarray(np.maximum(covered, 0) / step, np.float32)
