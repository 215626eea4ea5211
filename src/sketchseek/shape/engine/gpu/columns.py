"""A query's translated drawings, as the columns of a matrix product.

Moving a drawing by (dx, dy) turns the (cos, sin) parts of each of its frequencies (equation `tripol1`), so
that a component of the moved drawing is a sum of four of the drawing's own, times products of cos(w d) and
sin(w d) that are the same for every drawing: `Grid` keeps those, and a drawing's columns are four
multiplications of a matrix by a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from ...descriptor import mirror_signs
from ...query import Query
from ...settings import FULL, RADIANS, Settings
from .kernels import translate

Tensor = Any
"""A torch.Tensor: torch is not typed where it is not installed."""

SHORT: Final = 128
"""Halves of at most so many components are multiplied in one step, longer ones in steps of `STEP`."""
STEP: Final = 64
LEAST: Final = 32  # what a product of bytes must have
OPERANDS: Final = ("int8", "float16", "float32")
"""What columns multiply in. Codes are exact in each, so that float32 is a sum of two float16 for them."""
PEAKS: Final = {"int8": 127.0, "float16": 1024.0, "float32": 1.0}
"""A tile's largest number as it is stored: in float16 so that the second of two has bits to spare."""
TILE: Final = 64
"""Columns of a tile."""


@dataclass(frozen=True)
class ColumnOrder:
    """Where a row's components lie: those that mirroring keeps, zeros, those whose sign it changes, zeros.

    order : (2 * half,) component at each place, D where there is a zero.
    half : components of each kind with their zeros, a multiple of `depth`, the components of one product.
    """

    order: NDArray[np.int64]
    half: int
    depth: int

    @classmethod
    def of(cls, settings: Settings) -> ColumnOrder:
        """The layout of the rows that have these settings."""
        signs = mirror_signs(settings)
        kinds = [np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)]
        longest = max(map(len, kinds))
        depth = STEP if longest > SHORT else max(LEAST, 1 << (longest - 1).bit_length())
        half = -(-longest // depth) * depth
        order = np.full((2, half), settings.dimensions, np.int64)
        for line, kind in zip(order, kinds, strict=True):
            line[: len(kind)] = kind
        return cls(order.ravel(), half, depth)


@dataclass(frozen=True)
class Columns:
    """The columns of a batch of drawings, in tiles of one pose each. Every tensor is on one device.

    values : (queries, tiles, parts, tile, 2 * half). kernel : (tiles,) int32, whose norm a tile belongs to.
    scale : (queries, tiles), what a tile's products are multiplied with. error : (queries, tiles), the
    longest difference between a column and what stands for it. mirror : whether both mirrors are tried.
    """

    operand: str
    values: Tensor
    kernel: Tensor
    scale: Tensor
    error: Tensor
    mirror: bool

    def of(self, query: int) -> Columns:
        """One query of the batch."""
        one = slice(query, query + 1)
        return Columns(
            self.operand, self.values[one], self.kernel, self.scale[one], self.error[one], self.mirror
        )


class Grid:
    """The translations of every pose at one rotation, in tiles; a pose's last tile repeats its last one."""

    def __init__(self, query: Query, layout: ColumnOrder, device: str) -> None:
        settings = query.settings
        self._layout, self._device = layout, device
        self._poses, self._dimensions = len(settings.scales), settings.dimensions
        moves, pose = [], []
        for p in range(self._poses):
            d = query.translations(p) * RADIANS
            both = np.stack(np.meshgrid(d, d, indexing="ij")).reshape(2, -1)
            moves.append(np.pad(both, [(0, 0), (0, -both.shape[1] % TILE)], mode="edge"))
            pose += [p] * (moves[-1].shape[1] // TILE)
        at = np.unravel_index(np.arange(settings.dimensions), settings.shape)
        (x_parts, x_other), (y_parts, y_other) = (
            _turned(d[:, None], a, np.asarray(settings.frequencies))
            for d, a in zip(np.concatenate(moves, axis=1), at[:2], strict=True)
        )
        parts = np.stack([i * j for i in x_parts for j in y_parts]).astype(np.float32)
        sources = [np.ravel_multi_index((i, j, at[2]), settings.shape) for i in x_other for j in y_other]
        self._parts = self._to(np.pad(parts, [(0, 0), (0, 0), (0, 1)])[:, :, layout.order])
        padded = np.pad(sources, [(0, 0), (0, 1)], constant_values=settings.dimensions)
        self._sources = self._to(padded[:, layout.order].astype(np.int32))
        self._pose = self._to(np.asarray(pose, np.int32))
        self._kernels = self._to(query.kernels[: self._poses][pose])

    def drawings(self, queries: Sequence[Query], codes: bool) -> Tensor:
        """(queries, P, D + 1): some queries that have as many poses, not translated, the last column 0.

        codes : whether rows are one-byte codes, whose steps are folded in.
        """
        steps = queries[0].settings.component_scales if codes else np.float32(1)
        units = np.zeros((len(queries), len(queries[0]), self._dimensions + 1), np.float32)
        for unit, query in zip(units, queries, strict=True):
            unit[:, :-1] = _units(query) * steps
        return self._to(units)

    def columns(self, drawings: Tensor, operand: str, codes: bool, mirror: bool) -> Columns:
        """The columns of some `drawings`, in one of `OPERANDS`."""
        rotations, tiles = drawings.shape[1] // self._poses, len(self._pose)
        exact = operand == "float32"
        stored = "float16" if exact and codes else operand
        parts, length = 2 if exact and codes else 1, len(self._layout.order)
        shape = (len(drawings), rotations * tiles)
        made = Columns(
            operand,
            values=torch.empty(
                (*shape, parts, TILE, length), dtype=getattr(torch, stored), device=self._device
            ),
            kernel=self._kernels if rotations == 1 else self._kernels.repeat(rotations),
            scale=torch.empty(shape, device=self._device),
            error=torch.empty(shape, device=self._device),
            mirror=mirror,
        )
        with on(self._device):
            translate[(tiles, len(drawings) * rotations)](
                drawings,
                self._parts,
                self._sources,
                self._pose,
                made.values,
                made.scale,
                made.error,
                self._poses,
                self._dimensions,
                tiles,
                PEAK=PEAKS[stored],
                PARTS=parts,
                TILE=TILE,
                LENGTH=length,
                STEP=self._layout.depth,
                EXACT=exact,
            )
        return made

    def _to(self, values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)


def on(device: str) -> AbstractContextManager[Any]:
    """What a kernel is launched in: the device must be the current one."""
    return torch.cuda.device(device) if device.startswith("cuda") else nullcontext()


def _units(query: Query) -> NDArray[np.float32]:
    """(P, D): the query side of norm 1; zeros for a blank drawing."""
    lengths = query.norms[:, [FULL]]
    unit: NDArray[np.float32] = query.vectors * np.divide(
        1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0
    )
    return unit


def _turned(
    d: NDArray[np.float64], at: NDArray[np.intp], frequencies: NDArray[np.float64]
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.intp]]]:
    """What a translation along one axis makes of a component: factors of itself and of its partner.

    d : (T, 1) radians. at : (D,) which of [1, cos w1, sin w1, ...] each component is along the axis. Moved
    by d, a cosine becomes cos(w d) times itself minus sin(w d) times its sine; a sine, plus its cosine.
    """
    phase = d * frequencies[(at + 1) // 2]
    sign = np.where(at % 2 == 1, -1.0, 1.0)
    partner = np.where(at == 0, 0, np.where(at % 2 == 1, at + 1, at - 1))
    return [np.cos(phase), sign * np.sin(phase)], [at, partner]
