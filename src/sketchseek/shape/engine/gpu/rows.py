"""The rows of a collection on one device: all of them, or as many as fit, the others passing through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from triton.runtime.errors import OutOfResources

from ...settings import FULL
from .columns import ColumnOrder, Columns, Tensor, on
from .kernels import best_alignment

PADDING: Final = 128
"""Counts of rows are padded to a multiple of this."""
CHUNK: Final = 1 << 20
"""Rows that are copied to the device at a time."""


@dataclass(frozen=True)
class Tiling:
    """How the kernel is cut: rows of a program, warps, tiles of columns on their way, a long row unrolled."""

    rows: int
    warps: int
    stages: int
    unrolled: bool = False


SHORT_ROWS: Final = {
    "int8": (Tiling(128, 8, 2), Tiling(64, 4, 1)),
    "float16": (Tiling(128, 8, 2), Tiling(64, 4, 1)),
    "float32": (Tiling(128, 8, 2), Tiling(64, 4, 1)),
}
LONG_ROWS: Final = {
    "int8": (Tiling(128, 8, 3, unrolled=True), Tiling(128, 8, 3), Tiling(64, 4, 2)),
    "float16": (Tiling(128, 8, 2), Tiling(64, 4, 1)),
    "float32": (Tiling(128, 8, 3), Tiling(64, 4, 1)),
}
"""The fastest that were tried on an H200 (docs/research/gpu.md), then what needs less of a device."""


@dataclass(frozen=True)
class DeviceRows:
    """Rows laid out for the kernel, `count` of them and blank ones up to a multiple of `PADDING`.

    values : (padded, 2 * half) int8 or float32. inverse : (S, padded) float32, 1 / norm, 0 for a blank row.
    length : (padded,) float32, of the values as they are.
    """

    count: int
    values: Tensor
    inverse: Tensor
    length: Tensor

    @classmethod
    def empty(cls, count: int, kernels: int, layout: ColumnOrder, dtype: Any, device: str) -> DeviceRows:
        """Room for so many rows, all of them blank."""
        padded = -(-count // PADDING) * PADDING
        return cls(
            count,
            torch.zeros((padded, len(layout.order)), dtype=dtype, device=device),
            torch.zeros((kernels, padded), device=device),
            torch.zeros(padded, device=device),
        )

    def fill(self, begin: int, vectors: Tensor, norms: Tensor, order: Tensor) -> None:
        """Put in rows from `begin` on: vectors (m, D), norms (m, S), on the same device."""
        part = slice(begin, begin + len(vectors))
        padded = torch.nn.functional.pad(vectors, (0, 1))
        torch.index_select(padded, 1, order, out=self.values[part])
        self.length[part] = vectors.to(torch.float32).square().sum(dim=1).sqrt()
        self.inverse[:, part] = torch.where(norms > 0, 1 / norms, torch.zeros_like(norms)).T

    def take(self, ids: Tensor) -> DeviceRows:
        """Some of the rows, by their numbers."""
        padding = torch.zeros(-len(ids) % PADDING, dtype=ids.dtype, device=ids.device)
        which = torch.cat([ids, padding])
        return DeviceRows(
            len(ids),
            self.values.index_select(0, which),
            self.inverse.index_select(1, which),
            self.length.index_select(0, which),
        )

    def align(self, columns: Columns, layout: ColumnOrder, tiling: Tiling, out: Tensor) -> None:
        """Write each query's best alignment with each row to `out` (queries, count), or a bound of it."""
        padded = len(self.values)
        queries, tiles, parts, width, _ = columns.values.shape
        with on(str(self.values.device)):
            best_alignment[(padded // tiling.rows,)](
                self.values,
                self.inverse,
                self.length,
                columns.values,
                columns.kernel,
                columns.scale,
                columns.error,
                out,
                self.count,
                out.stride(0),
                padded,
                queries,
                tiles,
                HALF=layout.half,
                DEPTH=layout.depth,
                PARTS=parts,
                MIRROR=columns.mirror,
                UNROLLED=tiling.unrolled,
                BLOCK_M=tiling.rows,
                BLOCK_N=width,
                num_warps=tiling.warps,
                num_stages=tiling.stages,
            )


class Shard:
    """Rows of a collection, in host memory, with a copy on a device as far as it has room.

    vectors : (n, D) int8 or float32. norms : (n, S, 3). room : bytes for the copy.
    """

    def __init__(
        self,
        vectors: NDArray[Any],
        norms: NDArray[np.float32],
        layout: ColumnOrder,
        device: str,
        room: int,
    ) -> None:
        self.layout, self.device = layout, device
        self._vectors, self._norms = vectors, norms
        self._dtype = torch.int8 if vectors.dtype == np.int8 else torch.float32
        self._order = torch.from_numpy(layout.order).to(device)
        self._tilings = dict(SHORT_ROWS if layout.half == layout.depth else LONG_ROWS)
        kernels = norms.shape[1]
        each = len(layout.order) * vectors.itemsize + 4 * (kernels + 1)
        fits = min(len(vectors), max(0, room) // each)
        self._resident = DeviceRows.empty(fits, kernels, layout, self._dtype, device)
        for begin, chunk, its_norms in self._chunks(0, fits):
            self._resident.fill(begin, chunk, its_norms, self._order)

    def __len__(self) -> int:
        return len(self._vectors)

    @property
    def resident(self) -> int:
        """How many rows the device holds; the others are copied there for each pass."""
        return self._resident.count

    def align(self, columns: Columns) -> Tensor:
        """(queries, n) on the device: each query's best alignment with every row, or a bound of it."""
        out = torch.empty((len(columns.values), len(self)), device=self.device)
        self._launch(self._resident, columns, out)
        for begin, vectors, norms in self._chunks(self.resident, len(self)):
            passing = DeviceRows.empty(len(vectors), norms.shape[1], self.layout, self._dtype, self.device)
            passing.fill(0, vectors, norms, self._order)
            self._launch(passing, columns, out[:, begin : begin + len(vectors)])
        return out

    def align_some(self, ids: Tensor, columns: Columns) -> Tensor:
        """The same for some rows, by their numbers: (queries, m)."""
        out = torch.empty((len(columns.values), len(ids)), device=self.device)
        self._launch(self._take(ids), columns, out)
        return out

    def wait(self) -> None:
        """Until the device has done what it was told."""
        if self.device.startswith("cuda"):
            torch.cuda.current_stream(self.device).synchronize()

    def _launch(self, rows: DeviceRows, columns: Columns, out: Tensor) -> None:
        """Align by the fastest tiling that the device has the means for."""
        while rows.count > 0:
            tiling, *others = self._tilings[columns.operand]
            try:
                rows.align(columns, self.layout, tiling, out)
                return
            except OutOfResources:
                if not others:
                    raise
                self._tilings[columns.operand] = tuple(others)

    def _take(self, ids: Tensor) -> DeviceRows:
        """Some rows, by their numbers, on the device."""
        if self.resident == len(self):
            return self._resident.take(ids)
        which = ids.cpu().numpy()
        rows = DeviceRows.empty(len(which), self._norms.shape[1], self.layout, self._dtype, self.device)
        vectors = torch.from_numpy(np.ascontiguousarray(self._vectors[which])).to(self.device)
        rows.fill(0, vectors, self._lengths(which).to(self.device), self._order)
        return rows

    def _chunks(self, begin: int, end: int) -> Iterator[tuple[int, Tensor, Tensor]]:
        """Rows on the device, some at a time: where they begin, vectors, norms.

        While the device works on one chunk the next is copied, from memory that the copying can lock.
        """
        if begin >= end:
            return
        on_gpu = self.device.startswith("cuda")
        size = min(CHUNK, end - begin)
        stages = [
            torch.empty((size, self._vectors.shape[1]), dtype=self._dtype, pin_memory=on_gpu)
            for _ in range(2 if on_gpu else 1)
        ]
        if on_gpu:
            copying = torch.cuda.Stream(self.device)
            copied = [torch.cuda.Event() for _ in stages]
        for number, start in enumerate(range(begin, end, size)):
            part = slice(start, min(start + size, end))
            which = number % len(stages)
            if on_gpu:
                copied[which].synchronize()  # what this stage held last is on the device
            stage = stages[which][: part.stop - part.start]
            stage.numpy()[...] = self._vectors[part]
            norms = self._lengths(part)
            if not on_gpu:
                yield start, stage, norms
                continue
            with torch.cuda.stream(copying):
                vectors, norms = (a.to(self.device, non_blocking=True) for a in (stage, norms))
                copied[which].record()
            current = torch.cuda.current_stream(self.device)
            current.wait_event(copied[which])
            for tensor in (vectors, norms):
                tensor.record_stream(current)
            yield start, vectors, norms

    def _lengths(self, which: Any) -> Tensor:
        """(m, S): the norms of some rows."""
        return torch.from_numpy(np.ascontiguousarray(self._norms[which][:, :, FULL]))
