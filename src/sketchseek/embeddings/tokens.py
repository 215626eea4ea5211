"""What is where in a picture: tokens, in a few bytes each, and how well a drawing's meet them.

A network's map says what is in each cell of a picture. A drawing has such tokens where it has lines. It is
laid over a picture in a few sizes, both ways round, at every place; each of its tokens meets the nearest of
the 3 x 3 cells around where it comes to lie, and the score is the weighted mean of their cosines at the best
place. So the very photograph that was drawn stands out among others of the same thing.

The engine has the meeting (src/cpp/tokens.cpp); tests/reference/tokens.py is the same, to be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from ..shape.engine import _engine
from ..shape.engine.native import build_name

CELLS: Final[int] = _engine.TOKEN_CELLS
"""Tokens of a picture, at most."""
MOST_ACROSS: Final[int] = _engine.TOKEN_CELLS_ACROSS
"""Cells of a picture's side, at most."""
ACROSS: Final = 16
"""Cells of a drawing's page, each way."""
SCALES: Final = (1.0, 0.82, 0.67, 0.55, 0.45)
"""Sizes in which a drawing is laid over a picture: cells of its page for each of the drawing's."""
INKED: Final = 0.03
"""A cell of a drawing has a token if so much of it is ink."""
NAMES: Final = ("pictures", "drawings", "projection", "centroids")
_BLOCK: Final[int] = _engine.CODE_BLOCK  # cells whose codes lie side by side
_OVERHANG = 0  # cells that the drawing may stand over a side of the picture

Codes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Meetings:
    """How well a drawing's tokens meet those of n pictures, and where they do best.

    score : (n,) the weighted mean of cosines; 0 for a picture without tokens. mirrored : (n,) whether the
    drawing lies there the other way round. scale : (n,) one of `SCALES`. row, column : (n,) the cell of the
    picture that the first row and column with lines come to lie on; may be less than 0.
    """

    score: Floats
    mirrored: NDArray[np.bool_]
    scale: Floats
    row: NDArray[np.int16]
    column: NDArray[np.int16]


@dataclass(frozen=True)
class Patches:
    """Which cells of a picture m tokens of a drawing meet, where the drawing lies best.

    boxes : (m, 4) x0, y0, x1, y1 of each cell, in widths and heights of the picture. cosines : (m,).
    weights : (m,) their shares of the drawing; less than 1 together where some of it lies outside.
    """

    boxes: Floats
    cosines: Floats
    weights: Floats


class DrawnTokens:
    """A drawing's tokens, ready to meet those of pictures.

    tokens : (p, d), of length 1. weights : (p,). places : (p, 2), rows and columns of `ACROSS` each way.
    centroids : (parts, 16, d / parts), those of the pictures' codes.
    """

    def __init__(self, tokens: Floats, weights: Floats, places: NDArray[np.int32], centroids: Floats) -> None:
        self.tokens, self.weights, self.places, self._centroids = tokens, weights, places, centroids
        self._engine = _engine.PreparedTokens(
            np.ascontiguousarray(tokens, np.float32),
            np.ascontiguousarray(weights, np.float32),
            np.ascontiguousarray(places, np.int32),
            ACROSS,
            np.ascontiguousarray(centroids, np.float32),
            list(SCALES),
            mirror=True,
            overhang=_OVERHANG,
        )

    def meet(self, codes: Codes) -> Meetings:
        """Lay the drawing over pictures, (n, bytes) as `TokenSpace.encode` gives them; zeros: none."""
        score, (mirrored, size, row, column) = self._best(codes)
        scale = np.asarray(SCALES, np.float32)[size]
        return Meetings(score, mirrored.astype(bool), scale, row, column)

    def patches(self, codes: Codes) -> Patches | None:
        """Which cells of one picture (bytes,) they meet, each the nearest of 3 x 3; None where it has
        none."""
        rows, columns = rows_and_columns(codes)
        if not rows * columns:
            return None
        (mirrored,), (size,), (row,), (column,) = self._best(codes[None])[1]
        down, across = self.places.T
        page = np.stack([down, ACROSS - 1 - across if mirrored else across], axis=1)
        at = np.rint(SCALES[size] * page).astype(int)
        at += (row, column) - at.min(axis=0)
        inside = np.flatnonzero(((at >= 0) & (at < (rows, columns))).all(axis=1))
        around = at[inside, None] + np.indices((3, 3)).reshape(2, 9).T - 1
        there = ((around >= 0) & (around < (rows, columns))).all(axis=2)
        cells = decoded(codes, self._centroids)[around[..., 0] % rows, around[..., 1] % columns]
        cosines = np.where(there, np.einsum("md,mkd->mk", self.tokens[inside], cells), -np.inf)
        best = around[np.arange(len(inside)), cosines.argmax(axis=1)]
        corners = np.concatenate([best[:, ::-1], best[:, ::-1] + 1], axis=1)
        boxes = (corners / (columns, rows, columns, rows)).astype(np.float32)
        return Patches(boxes, cosines.max(axis=1), self.weights[inside] / self.weights.sum())

    def _best(self, codes: Codes) -> tuple[Floats, NDArray[np.int16]]:
        """Of each picture the score; and which way round, size, row and column, (4, n)."""
        score, place = self._engine.meet(np.ascontiguousarray(codes), build_name())
        return score, place.reshape(-1, 4).T


class TokenSpace:
    """What was learned about the tokens of a network (training/tokens).

    learned : ``pictures`` and ``drawings`` (2, c), the means of maps' cells by kind, photographs and flat
    art; ``projection`` (c, d); ``centroids`` (parts, 16, d / parts).
    """

    def __init__(self, learned: Mapping[str, NDArray[Any]]) -> None:
        for missing in [name for name in NAMES if name not in learned]:
            raise SketchseekError(f"What was learned about tokens lacks {missing!r}: see training/tokens.")
        self._means, self._drawings, self._projection, self.centroids = (
            np.asarray(learned[name], np.float32) for name in NAMES
        )
        parts, _, length = self.centroids.shape
        if parts * length != self._projection.shape[1] or parts % 2 or parts < 4:
            raise SketchseekError("What was learned about tokens does not fit together: see training/tokens.")
        digest = hashlib.sha256(b"2")  # the number changes with anything below that changes codes
        for name in ("pictures", "projection", "centroids"):
            digest.update(np.ascontiguousarray(learned[name]).tobytes())
        self.version: str = digest.hexdigest()[:16]
        """Changes whenever the codes would."""
        self.bytes: int = CELLS * parts // 2
        """Of a picture's tokens."""
        self.channels: int = self._projection.shape[0]
        """Of the maps that tokens are taken from."""

    def encode(self, features: Floats, size: tuple[int, int], kind: int = 0) -> Codes:
        """The tokens of a picture, of its map (c, y, x) and its own height and width: (bytes,)."""
        rows, columns = grid(*size)
        tokens = self._tokens(resampled(features, rows, columns), self._means[kind])
        parts = len(self.centroids)
        nearest = np.empty((CELLS, parts), np.uint8)
        nearest[len(tokens) :] = 0
        split = tokens.reshape(len(tokens), parts, -1)
        for part in range(parts):
            nearest[: len(tokens), part] = np.argmax(
                split[:, part] @ self.centroids[part].T - self._half_squares[part], axis=1
            )
        packed = nearest[:, ::2] | nearest[:, 1::2] << 4
        blocks = packed.reshape(-1, _BLOCK, parts // 2).transpose(0, 2, 1)
        # Two bytes of the last cell say how many there are; if it is one, it counts as the cell before it.
        blocks[-1, -2:, -1] = rows, columns
        return np.ascontiguousarray(blocks).ravel()

    def draw(self, features: Floats, ink: Floats, kind: int = 0) -> DrawnTokens | None:
        """The tokens of a drawing, of its map (c, y, x) and its ink's share of each of `ACROSS` x `ACROSS`
        cells; None for a drawing without ink."""
        places = np.argwhere(ink > INKED)
        if not len(places):
            places = np.argwhere(ink == ink.max()) if ink.max() > 0 else places
        if not len(places):
            return None
        at = places[:, 0], places[:, 1]
        cells = resampled(features, ACROSS, ACROSS).reshape(ACROSS, ACROSS, -1)[at]
        tokens = self._tokens(cells, self._drawings[kind])
        return DrawnTokens(
            tokens, np.sqrt(ink[at]).astype(np.float32), places.astype(np.int32), self.centroids
        )

    @cached_property
    def _half_squares(self) -> Floats:
        return np.asarray(np.square(self.centroids).sum(axis=2) / 2, np.float32)

    def _tokens(self, cells: Floats, mean: Floats) -> Floats:
        """Cells of a map (n, c) -> (n, d), of length 1."""
        tokens = (cells - mean) @ self._projection
        length = np.linalg.norm(tokens, axis=1, keepdims=True)
        return np.asarray(tokens / np.maximum(length, 1e-9), np.float32)


def rows_and_columns(codes: Codes) -> tuple[int, int]:
    """How many a picture's tokens are, each way; none where it has none."""
    return int(codes[-1 - _BLOCK]), int(codes[-1])


def decoded(codes: Codes, centroids: Floats) -> Floats:
    """A picture's tokens (rows, columns, d), as its codes (bytes,) have them."""
    rows, columns = rows_and_columns(codes)
    parts = len(centroids)
    pairs = codes.reshape(-1, parts // 2, _BLOCK).transpose(0, 2, 1).reshape(-1, parts // 2)
    each = np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(-1, parts)[: rows * columns]
    if len(each) == CELLS:
        each[-1] = each[-2]  # two bytes of the last say how many there are
    return np.asarray(centroids[np.arange(parts), each].reshape(rows, columns, -1), np.float32)


def grid(height: float, width: float) -> tuple[int, int]:
    """Rows and columns of a picture's tokens: as square as can be, at most `CELLS` of them."""
    rows = (CELLS * height / width) ** 0.5
    columns = CELLS / rows
    fit = min(1.0, MOST_ACROSS / max(rows, columns))
    return max(int(rows * fit + 1e-6), 1), max(int(columns * fit + 1e-6), 1)


def resampled(features: Floats, rows: int, columns: int) -> Floats:
    """A map (c, y, x) -> (rows columns, c), linearly, by as wide a filter as what it shrinks by."""
    channels, height, width = features.shape
    if (height, width) != (rows, columns):
        down, across = _filter(height, rows), _filter(width, columns)
        features = np.matmul(down, np.matmul(features.astype(np.float32), across.T))
    return np.ascontiguousarray(features.reshape(channels, -1).T, np.float32)


def ink_of(page: NDArray[np.uint8]) -> Floats:
    """A drawing (side, side, 3) on white -> the share of ink in each of `ACROSS` x `ACROSS` cells."""
    side = page.shape[0]
    share = 1 - page[:, :, 0].astype(np.float32) / 255
    cell = side // ACROSS
    return np.asarray(share.reshape(ACROSS, cell, ACROSS, cell).mean(axis=(1, 3)), np.float32)


@cache
def _filter(before: int, after: int) -> Floats:
    """(after, before): what each of the old cells counts for each of the new ones."""
    step = before / after
    middle = (np.arange(after) + 0.5) * step - 0.5
    weights = np.maximum(1 - np.abs(np.arange(before) - middle[:, None]) / max(step, 1.0), 0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float32)
