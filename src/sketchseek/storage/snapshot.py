"""What a search reads, in one file that is mapped into memory: no table has to be opened or copied.

A snapshot belongs to one version of the table. It is a cache: built from the table when it is missing,
and nothing is lost with it. The file is a line that says what it is, the length of a JSON header, the
header, and the arrays it lists, each at a multiple of 64 bytes.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .durable import exclusive, replace_file
from .store import Location, Recipe, Store, Version, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

MAGIC = b"sketchseek snapshot 3\n"
_ALIGNMENT = 64


@dataclass(frozen=True)
class Snapshot:
    """The pictures of one version, in the table's order.

    ids : (n,) bytes. paths : (m,) uint8, all paths after one another; path_ends : (n,) where each ends.
    width, height : (n,) int32. codes : (n, D) int8. norms : (n, S, 3) float32.
    frames : (n, 4) float32, x0, y0, x1, y1 of the part of the picture that its code describes, in its pixels.
    expansion : (n, E) float16, NaN for a picture that has none, or None.
    fragments : names of the files the rows came from, and of what was deleted in them.
    """

    version: int
    recipe: Recipe
    fragments: list[str]
    ids: NDArray[np.bytes_]
    paths: NDArray[np.uint8]
    path_ends: NDArray[np.int64]
    width: NDArray[np.int32]
    height: NDArray[np.int32]
    codes: NDArray[np.int8]
    norms: NDArray[np.float32]
    frames: NDArray[np.float32]
    expansion: NDArray[np.float16] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def path(self, number: int) -> str:
        """The path of a picture; bytes that are no text come as Python's file functions want them."""
        start = int(self.path_ends[number - 1]) if number else 0
        return os.fsdecode(self.paths[start : int(self.path_ends[number])].tobytes())

    @classmethod
    def of(cls, store: Store, before: Snapshot | None = None) -> Snapshot:
        """Read the table's present version; where rows were only added since `before`, only those."""
        current = store.current  # from start to end: the store may go on meanwhile
        recipe = current.recipe
        fragments = current.dataset.get_fragments()
        names = [f"{f.fragment_id} {f.deletion_file() or ''}" for f in fragments]
        grown = (
            before is not None
            and before.recipe == recipe
            and names[: len(before.fragments)] == before.fragments
        )
        old = before if grown else None
        parts = _read(current, fragments[len(old.fragments) :] if old is not None else fragments)
        lengths = np.concatenate([part.pop("path_lengths") for part in parts])
        if old is not None:
            parts.insert(0, {name: getattr(old, name) for name in parts[0]})
            lengths = np.concatenate([np.diff(old.path_ends, prepend=0), lengths])
        arrays = {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}
        arrays["path_ends"] = np.cumsum(lengths, dtype=np.int64)
        return cls(current.number, recipe, names, **arrays)

    @classmethod
    def load(cls, location: Location, version: int) -> Snapshot | None:
        """The snapshot of that version, mapped; None when there is none, or not a whole one."""
        try:
            with _file(location, version).open("rb") as file:
                if file.read(len(MAGIC)) != MAGIC:
                    return None
                header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
                if os.fstat(file.fileno()).st_size != header["bytes"]:
                    return None
                arrays: dict[str, Any] = {
                    name: _mapped(file, dtype, tuple(shape), offset)
                    for name, (dtype, shape, offset) in header["arrays"].items()
                }
        except (OSError, ValueError, KeyError):
            return None
        return cls(version, Recipe.from_json(header["recipe"]), header["fragments"], **arrays)

    def save(self, location: Location) -> None:
        """Write it beside the table, in place of older ones. A folder that can't be written gets none."""
        arrays = {name: getattr(self, name) for name in _NAMES if getattr(self, name) is not None}
        head, offsets, total = _header({"recipe": self.recipe.to_json(), "fragments": self.fragments}, arrays)
        folder = location.folder
        temporary = folder / "snapshot.tmp"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with exclusive(folder / "snapshot.lock"):
                try:
                    with temporary.open("wb") as file:
                        file.write(head)
                        for name, array in arrays.items():
                            file.seek(offsets[name])
                            file.write(np.ascontiguousarray(array).data)
                        file.truncate(total)
                    replace_file(temporary, _file(location, self.version))
                except BaseException:
                    temporary.unlink(missing_ok=True)
                    raise
                _remove_older(folder, self.version)


_NAMES = ("ids", "path_ends", "width", "height", "codes", "norms", "frames", "expansion", "paths")


def _file(location: Location, version: int) -> Path:
    return location.folder / f"snapshot-{version}.bin"


def _remove_older(folder: Path, version: int) -> None:
    for path in folder.glob("snapshot-*.bin"):
        number = path.stem.removeprefix("snapshot-")
        if number.isdigit() and int(number) < version:
            path.unlink(missing_ok=True)


def _read(version: Version, fragments: list[Any]) -> list[dict[str, NDArray[Any]]]:
    """The rows of some fragments that are pictures, batch by batch; one empty batch where there are none."""
    columns = ["id", "path", "width", "height", "code", "norms", "frame"]
    if version.recipe.expansion is not None:
        columns.append("expansion")
    parts = []
    if fragments:
        scanner = version.dataset.scanner(
            columns=columns, filter="failure IS NULL", fragments=fragments, scan_in_order=True
        )
        parts = [_arrays_of(batch, version.recipe) for batch in scanner.to_batches() if batch.num_rows]
    empty = schema_of(version.recipe).empty_table().select(columns)
    return parts or [_arrays_of(empty, version.recipe)]


def _arrays_of(batch: pa.RecordBatch | pa.Table, recipe: Recipe) -> dict[str, NDArray[Any]]:
    paths = batch["path"].to_pylist()
    arrays = {
        "ids": np.array(batch["id"].to_pylist(), "S16"),
        "paths": np.frombuffer(b"".join(paths), np.uint8),
        "path_lengths": np.array([len(path) for path in paths], np.int64),
        "width": batch["width"].to_numpy(),
        "height": batch["height"].to_numpy(),
        "codes": _matrix(batch["code"]).reshape(len(paths), recipe.dimension),
        "norms": _matrix(batch["norms"]).reshape(len(paths), recipe.n_norms // 3, 3),
        "frames": _matrix(batch["frame"]).reshape(len(paths), 4),
    }
    if recipe.expansion is not None:
        arrays["expansion"] = _expansion(batch["expansion"].to_pylist(), recipe.expansion.dimension)
    return arrays


def _matrix(column: Any) -> NDArray[Any]:
    chunked = getattr(column, "combine_chunks", lambda: column)()
    return chunked.flatten().to_numpy()  # type: ignore[no-any-return]


def _expansion(values: list[bytes | None], dimension: int) -> NDArray[np.float16]:
    out = np.full((len(values), dimension), np.nan, np.float16)
    for i, value in enumerate(values):
        if value is not None:
            out[i] = np.frombuffer(value, np.float16)
    return out


def _header(words: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> tuple[bytes, dict[str, int], int]:
    """The bytes before the arrays, where each array goes, and the length of the file."""
    size = 4096  # room for the header, whose length depends on the offsets in it
    while True:
        offsets, end = {}, size
        for name, array in arrays.items():
            offsets[name] = end
            end += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        listing = {name: (a.dtype.str, a.shape, offsets[name]) for name, a in arrays.items()}
        text = json.dumps({"bytes": end, **words, "arrays": listing}).encode()
        head = MAGIC + len(text).to_bytes(8, "little") + text
        if len(head) <= size:
            return head, offsets, end
        size *= 2


def _mapped(file: Any, dtype: str, shape: tuple[int, ...], offset: int) -> NDArray[Any]:
    if 0 in shape:
        return np.zeros(shape, dtype)
    return np.memmap(file, np.dtype(dtype), "r", offset, shape)
