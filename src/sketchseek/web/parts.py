"""Bytes -> files with names of their own content, so that a stale copy of one is never taken for another."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError

PACKED = 1 << 18
"""Bytes of thumbnails in a file: a search shows some twenty, and a thousand pictures take a few requests."""


@dataclass
class Parts:
    """The files of a site's data, written as they come."""

    site: Path
    written: set[str] = field(default_factory=set)

    def add(self, kind: str, data: bytes) -> dict[str, Any]:
        """Write a file; its name and its size."""
        name = f"data/{kind}-{hashlib.blake2b(data, digest_size=8).hexdigest()}.bin"
        put(self.site / name, data)
        self.written.add(name)
        return {"file": name, "bytes": len(data)}

    def add_packed(self, kind: str, data: bytes) -> dict[str, Any]:
        """The same, compressed. A browser's own decompression compares the checksum that gzip ends with."""
        out = io.BytesIO()
        with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as file:
            file.write(data)
        return {**self.add(kind, out.getvalue()), "unpacked": len(data)}

    def add_pieces(
        self, kind: str, pieces: Iterable[bytes], room: int = PACKED
    ) -> tuple[list[dict[str, Any]], NDArray[np.int32]]:
        """Write what there is of each picture, one after the other, into files; these, and each length."""
        files, lengths = [], []
        for run in packed(pieces, room):
            files.append({**self.add(kind, b"".join(run)), "pictures": len(run)})
            lengths += [len(piece) for piece in run]
        return files, np.array(lengths, np.int32)


def coded(column: list[str]) -> dict[str, Any] | None:
    """Texts of which many are the same: the different ones, and which of them each is; -1 for none."""
    values = sorted(set(column) - {""})
    number = {value: i for i, value in enumerate(values)} | {"": -1}
    return {"values": values, "of": [number[text] for text in column]} if values else None


def distinct(codes: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """The rows without those that are there already, and for each row which of them it is.

    Icons are made of the same parts again and again.
    """
    rows = np.ascontiguousarray(codes).view(np.dtype((np.void, codes.shape[1]))).ravel()
    _, first, which = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int32)
    place[order] = np.arange(len(order))
    return codes[first[order]], place[which.ravel()]


def packed(pieces: Iterable[bytes], room: int = PACKED) -> Iterator[list[bytes]]:
    """Runs of pieces that fit into `room`; a larger one is alone."""
    run: list[bytes] = []
    size = 0
    for piece in pieces:
        if run and size + len(piece) > room:
            yield run
            run, size = [], 0
        run.append(piece)
        size += len(piece)
    if run:
        yield run


def put(path: Path, data: bytes) -> None:
    """Write a file in one step: who serves the folder meanwhile never sends half of it."""
    temporary = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise SketchseekError(f"Cannot write {path}: {error.strerror}.") from error
