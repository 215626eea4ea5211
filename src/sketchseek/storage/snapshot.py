"""What a search reads, in one file: no table has to be opened or decoded.

A snapshot belongs to one version of one table. It is a cache: built from the table when it is missing or
anything about it is wrong, and nothing is lost with it. The file is a line that says what it is, the length
and the digest of a JSON header, the header, and the arrays it lists, each at a multiple of 64 bytes and with
a checksum of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from ..shape.descriptor import norms
from .checksum import checksum, checksum_of_part, digest
from .durable import exclusive, replace_file
from .location import Location
from .schema import EMBEDDING, EMBEDDING_BYTES, IndexConfig, schema_of, settings_of

if TYPE_CHECKING:
    import pyarrow as pa

    from .store import Store, Version

MAGIC = b"sketchseek snapshot 7\n"
_MAGIC_OF_OLD_SUMS = b"sketchseek snapshot 6\n"
COPIED_BYTES = 2**28
"""A file up to this long is read into memory, where nothing can happen to it; a longer one is mapped."""
_ALIGNMENT = 64
_DIGEST = 16
_FRAME_BYTES = 16


@dataclass(frozen=True)
class Snapshot:
    """The pictures of one version, in the table's order, and their windows, picture after picture.

    ids : (n,) bytes. paths : (m,) uint8, all paths after one another; path_ends : (n,) where each ends.
    keywords, keyword_ends : the same of keywords, in UTF-8, one per line.
    width, height : (n,) int32. is_line_art : (n,) bool. windows : (n,) int32, how many each has.
    icon_codes : (n, 128) int8 of line art and flat art, zeros for others.
    codes : (v, D) int8. norms : (v, S, 3) float32.
    frames : (v, 4) float32, x0, y0, x1, y1 of the part of its picture that each describes, in its pixels.
    expansion : (n, E) float16, NaN for a picture that has none, or None.
    tokens : (n, bytes) uint8, zeros for a picture that has none, or None.
    version, identity : of the table's version (see `Version`).
    fragments : names of the files the rows came from, and of what was deleted in them.
    mapping : the file that the arrays are mapped from; None when they are in memory.
    """

    version: int
    identity: str
    config: IndexConfig
    fragments: list[str]
    ids: NDArray[np.bytes_]
    paths: NDArray[np.uint8]
    path_ends: NDArray[np.int64]
    keywords: NDArray[np.uint8]
    keyword_ends: NDArray[np.int64]
    width: NDArray[np.int32]
    height: NDArray[np.int32]
    is_line_art: NDArray[np.bool_]
    icon_codes: NDArray[np.int8]
    windows: NDArray[np.int32]
    codes: NDArray[np.int8]
    norms: NDArray[np.float32]
    frames: NDArray[np.float32]
    expansion: NDArray[np.float16] | None = None
    tokens: NDArray[np.uint8] | None = None
    mapping: _Mapping | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def pictures(self) -> NDArray[np.int32]:
        """(v,) the number of the picture that each window is of."""
        return np.repeat(np.arange(len(self), dtype=np.int32), self.windows)

    def path(self, number: int) -> str:
        """The path of a picture; bytes that are no text come as Python's file functions want them."""
        return os.fsdecode(_text(self.paths, self.path_ends, number))

    def keywords_of(self, number: int) -> str:
        """The keywords in a picture's file, one per line."""
        return _text(self.keywords, self.keyword_ends, number).decode()

    def rows(self, numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
        """What it knows of pictures, as columns of the table: all but size, time, digest and thumbnail."""
        ends = np.cumsum(self.windows, dtype=np.int64)
        for number in numbers:
            first = int(ends[number] - self.windows[number])
            others = slice(first + 1, int(ends[number]))
            yield {
                "id": self.ids[number].decode(),
                "path": os.fsencode(self.path(number)),
                "width": int(self.width[number]),
                "height": int(self.height[number]),
                "is_line_art": bool(self.is_line_art[number]),
                "code": self.codes[first].tobytes(),
                "norms": self.norms[first].tobytes(),
                "frame": self.frames[first].tobytes(),
                "windows": self.codes[others].tobytes(),
                "window_frames": self.frames[others].tobytes(),
                "smallest": self.config.min_object_size,
                "keywords": self.keywords_of(number),
                EMBEDDING: self.icon_codes[number].tobytes() if self.icon_codes[number].any() else None,
                **self._depicted(number),
            }

    def _depicted(self, number: int) -> dict[str, bytes]:
        """Of a picture, what the network's columns of the table hold."""
        found: dict[str, bytes] = {}
        if self.config.expansion is not None:
            vectors, codes = self.config.expansion.columns
            if self.expansion is not None and not np.isnan(self.expansion[number]).any():
                found[vectors] = self.expansion[number].tobytes()
            if self.tokens is not None and self.tokens[number].any():
                found[codes] = self.tokens[number].tobytes()
        return found

    def is_intact(self) -> bool:
        """Whether the file that it is mapped from was not written to: cut short, it would end the program."""
        return self.mapping is None or self.mapping.is_intact()

    @classmethod
    def of(cls, store: Store, before: Snapshot | None = None) -> Snapshot:
        """Read the table's present version; where rows were only added since `before`, only those."""
        current = store.current  # from start to end: the store may go on meanwhile
        config = current.config
        fragments = current.dataset.get_fragments()
        names = [fragment_name(fragment) for fragment in fragments]
        grown = (
            before is not None
            and before.config == config
            and names[: len(before.fragments)] == before.fragments
            and (before.mapping is None or before.mapping.is_whole())
        )
        old = before if grown else None
        parts = read_pictures(current, fragments[len(old.fragments) :] if old is not None else fragments)
        lengths = {name: [part.pop(f"{name}_lengths") for part in parts] for name in TEXTS}
        if old is not None:
            parts.insert(0, {name: getattr(old, name) for name in parts[0]})
            for name in TEXTS:
                lengths[name].insert(0, np.diff(getattr(old, f"{name}_ends"), prepend=0))
        arrays: dict[str, Any] = {
            name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])
        }
        for name in TEXTS:
            arrays[f"{name}_ends"] = np.cumsum(np.concatenate(lengths[name]), dtype=np.int64)
        return cls(current.number, current.identity, config, names, **arrays)

    @classmethod
    def load(cls, location: Location, identity: str) -> Snapshot | None:
        """The snapshot of that version; None when there is none, or anything about it is wrong."""
        try:
            return cls.read(location, identity)
        except OSError:
            return None

    @classmethod
    def read(cls, location: Location, identity: str) -> Snapshot | None:
        """The same; OSError where the system doesn't let one read it, which says nothing about the file."""
        try:
            with _file(location, identity).open("rb") as file:
                return cls._from(file, identity)
        except (FileNotFoundError, ValueError, LookupError, TypeError, SketchseekError):
            return None

    @classmethod
    def is_kept(cls, location: Location, identity: str) -> bool:
        """Whether there is a file for that version, whatever is in it; OSError when it can't be opened."""
        try:
            with _file(location, identity).open("rb"):
                return True
        except FileNotFoundError:
            return False

    @classmethod
    def _from(cls, file: BufferedReader, identity: str) -> Snapshot | None:
        if file.read(len(MAGIC)) not in (MAGIC, _MAGIC_OF_OLD_SUMS):
            return None
        size = os.fstat(file.fileno()).st_size
        length, expected = int.from_bytes(file.read(8), "little"), file.read(_DIGEST)
        head = file.read(min(length, size))
        if digest(head) != expected:
            return None
        header = json.loads(head)
        if header["identity"] != identity or header["bytes"] != size:
            return None
        config = IndexConfig.from_json(header["recipe"])
        names = {_IN_FILES.get(name, name): name for name in _LAYOUT}
        listing = [_Entry(names.get(name, name), *entry) for name, entry in header["arrays"].items()]
        n = header["arrays"]["ids"][1][0]
        _check_layout(listing, n, config, size)
        mapping = None
        if size <= COPIED_BYTES:
            content = np.empty(size, np.uint8)  # of large pages, which `read` does not ask the system for
            file.seek(0)
            if file.readinto(content.data) != size or not all(
                checksum(content[e.offset : e.end], e.sum) == e.sum for e in listing
            ):
                return None
        else:
            mapping = _Mapping(file, listing)
            if not mapping.has_its_sums():
                return None
            content = np.memmap(file, np.uint8, "r")
        arrays = {entry.name: entry.of(content) for entry in listing}
        for text in TEXTS:
            ends, letters = arrays[f"{text}_ends"], arrays[f"{text}s"]
            if (np.diff(ends, prepend=0) < 0).any() or int(ends[-1] if n else 0) != len(letters):
                return None
        if (arrays["windows"] < 1).any() or arrays["windows"].sum() != len(arrays["codes"]):
            return None
        version = int(header["version"])
        return cls(version, identity, config, list(header["fragments"]), mapping=mapping, **arrays)

    def save(self, location: Location) -> None:
        """Write it beside the table, in place of older ones. A folder that can't be written gets none."""
        if not self.identity:
            return
        known = {name: getattr(self, name) for name in _LAYOUT}
        arrays = {_IN_FILES.get(name, name): array for name, array in known.items() if array is not None}
        words = {
            "identity": self.identity,
            "version": self.version,
            "recipe": self.config.to_json(),
            "fragments": self.fragments,
        }
        head, offsets, total = _header(words, arrays)
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
                    replace_file(temporary, _file(location, self.identity))
                except BaseException:
                    temporary.unlink(missing_ok=True)
                    raise
                _remove_others(location, self.version, self.identity)


@dataclass(frozen=True)
class _Entry:
    """An array in a file."""

    name: str
    dtype: str
    shape: list[int]
    offset: int
    sum: str

    @property
    def end(self) -> int:
        return self.offset + int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize

    def of(self, content: NDArray[np.uint8]) -> NDArray[Any]:
        """The array, out of the file's bytes."""
        return content[self.offset : self.end].view(self.dtype).reshape(self.shape)


class _Mapping:
    """A file that arrays are mapped from, kept open to see what happens to it."""

    def __init__(self, file: IO[bytes], listing: list[_Entry]) -> None:
        self._descriptor = os.dup(file.fileno())
        self._listing = listing
        self._state = self._look()

    def __del__(self) -> None:
        os.close(self._descriptor)

    def _look(self) -> tuple[int, int]:
        found = os.fstat(self._descriptor)
        return found.st_size, found.st_mtime_ns

    def is_intact(self) -> bool:
        """Whether size and time are as they were."""
        return self._look() == self._state

    def is_whole(self) -> bool:
        """Whether every array could be read and has its checksum."""
        try:
            return self.has_its_sums()
        except OSError:
            return False

    def has_its_sums(self) -> bool:
        """Whether every array has its checksum. Read, not mapped: there a disk's error would be a signal."""
        return self.is_intact() and all(
            checksum_of_part(self._descriptor, entry.offset, entry.end, entry.sum) == entry.sum
            for entry in self._listing
        )


_LAYOUT: dict[str, tuple[str, Callable[[IndexConfig], tuple[int, ...]]]] = {
    "ids": ("|S16", lambda _: ()),
    "path_ends": ("<i8", lambda _: ()),
    "keyword_ends": ("<i8", lambda _: ()),
    "width": ("<i4", lambda _: ()),
    "height": ("<i4", lambda _: ()),
    "is_line_art": ("|b1", lambda _: ()),
    "icon_codes": ("|i1", lambda _: (EMBEDDING_BYTES,)),
    "windows": ("<i4", lambda _: ()),
    "codes": ("|i1", lambda config: (config.dimension,)),
    "norms": ("<f4", lambda config: (config.n_norms // 3, 3)),
    "frames": ("<f4", lambda _: (4,)),
    "expansion": ("<f2", lambda config: (config.expansion.dimension if config.expansion else 0,)),
    "tokens": ("|u1", lambda config: (config.expansion.token_bytes if config.expansion else 0,)),
    "paths": ("|u1", lambda _: ()),
    "keywords": ("|u1", lambda _: ()),
}
"""Type of each array, and its shape after the first axis."""
_IN_FILES = {"windows": "views"}
"""Arrays that files know by an earlier name."""
_OF_WINDOWS = ("codes", "norms", "frames")
TEXTS = ("path", "keyword")
"""Arrays of letters, with an s, and what says where in them the text of each picture ends."""


def _check_layout(listing: list[_Entry], n: int, config: IndexConfig, size: int) -> None:
    """Raise ValueError unless the file lists the arrays that a snapshot has, inside itself."""
    stored = {"expansion": config.expansion, "tokens": config.expansion and config.expansion.tokens}
    expected = set(_LAYOUT) - {name for name, there in stored.items() if not there}
    if {entry.name for entry in listing} != expected:
        raise ValueError("not the arrays of a snapshot")
    windows = next(entry.shape[0] for entry in listing if entry.name == "codes")
    for entry in listing:
        dtype, shape = _LAYOUT[entry.name]
        is_text = entry.name[:-1] in TEXTS
        length = windows if entry.name in _OF_WINDOWS else entry.shape[0] if is_text else n
        fits = tuple(entry.shape) == (length, *shape(config))
        aligned = entry.offset >= 0 and entry.offset % _ALIGNMENT == 0
        if entry.dtype != dtype or not fits or not aligned or min(entry.shape) < 0 or entry.end > size:
            raise ValueError(f"not the array {entry.name} of a snapshot")


def _file(location: Location, identity: str) -> Path:
    return location.folder / f"snapshot-{identity}.bin"


def _remove_others(location: Location, version: int, identity: str) -> None:
    """Older ones, and those of versions that are not there (of a table that was)."""
    newest = location.latest_version() or version
    for path in location.folder.glob("snapshot-*.bin"):
        number = path.stem.removeprefix("snapshot-").partition("-")[0]
        of_now = number.isdigit() and version < int(number) <= newest
        if path != _file(location, identity) and not of_now:
            path.unlink(missing_ok=True)


def fragment_name(fragment: Any) -> str:
    """What a fragment's rows are known by: its files, and what was deleted in them."""
    files = " ".join(file.path for file in fragment.data_files())
    return f"{fragment.fragment_id} {files} {fragment.deletion_file() or ''}"


def read_pictures(
    version: Version, fragments: list[Any], *, vectors: bool = True, part: range | None = None
) -> list[dict[str, NDArray[Any]]]:
    """The rows of some fragments that are pictures, batch by batch; one empty batch where there are none.

    vectors : with codes, norms and expansion. part : of those pictures, only these, in the table's order.
    """
    columns = [
        "id",
        "path",
        "width",
        "height",
        "is_line_art",
        "frame",
        "window_frames",
        "keywords",
        EMBEDDING,
    ]
    if vectors:
        columns += ["code", "norms", "windows"]
        columns += _depicted(version.config)
    parts = []
    if fragments:
        version.verify(fragments)
        batches = version.batches(columns, "failure IS NULL", fragments, part)
        parts = [_arrays_of(batch, version.config, vectors) for batch in batches if batch.num_rows]
    empty = schema_of(version.config).empty_table().select(columns)
    return parts or [_arrays_of(empty, version.config, vectors)]


def _arrays_of(
    batch: pa.RecordBatch | pa.Table, config: IndexConfig, vectors: bool = True
) -> dict[str, NDArray[Any]]:
    paths = batch["path"].to_pylist()
    keywords = [(text or "").encode() for text in batch["keywords"].to_pylist()]
    arrays = {
        "ids": np.array(batch["id"].to_pylist(), "S16"),
        "paths": np.frombuffer(b"".join(paths), np.uint8),
        "path_lengths": np.array([len(path) for path in paths], np.int64),
        "keywords": np.frombuffer(b"".join(keywords), np.uint8),
        "keyword_lengths": np.array([len(text) for text in keywords], np.int64),
        "width": batch["width"].to_numpy(),
        "height": batch["height"].to_numpy(),
        "is_line_art": np.array(batch["is_line_art"].to_pylist(), bool),
        "icon_codes": _bytes_of(batch[EMBEDDING].to_pylist(), EMBEDDING_BYTES).view(np.int8),
        **_windows_of(batch, config, vectors),
    }
    if vectors and config.expansion is not None:
        expansion, tokens = config.expansion.columns
        arrays["expansion"] = _expansion(batch[expansion].to_pylist(), config.expansion.dimension)
        if config.expansion.tokens:
            arrays["tokens"] = _bytes_of(batch[tokens].to_pylist(), config.expansion.token_bytes)
    return arrays


def _depicted(config: IndexConfig) -> list[str]:
    """The columns that say what pictures depict."""
    if config.expansion is None:
        return []
    return list(config.expansion.columns[: 2 if config.expansion.tokens else 1])


def _windows_of(
    batch: pa.RecordBatch | pa.Table, config: IndexConfig, vectors: bool
) -> dict[str, NDArray[Any]]:
    """All windows, picture after picture: the first of each, then its windows."""
    n, dimension = batch.num_rows, config.dimension
    frames = [v or b"" for v in batch["window_frames"].to_pylist()]
    lengths = np.array([len(v) for v in frames], np.int64)
    counts = lengths // _FRAME_BYTES
    codes = [v or b"" for v in batch["windows"].to_pylist()] if vectors else []
    whole_codes = not vectors or [len(v) for v in codes] == (counts * dimension).tolist()
    if (counts * _FRAME_BYTES != lengths).any() or not whole_codes:
        raise SketchseekError("A row of the index is damaged: its windows have no whole number of bytes.")
    first = np.cumsum(counts + 1) - counts - 1
    is_first = np.zeros(n + int(counts.sum()), bool)
    is_first[first] = True
    parts: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {
        "frames": (
            _matrix(batch["frame"]).reshape(n, 4),
            np.frombuffer(b"".join(frames), np.float32).reshape(-1, 4),
        )
    }
    if vectors:
        windows = np.frombuffer(b"".join(codes), np.int8).reshape(-1, dimension)
        parts["codes"] = (_matrix(batch["code"]).reshape(n, dimension), windows)
        own = _matrix(batch["norms"]).reshape(n, config.n_norms // 3, 3)
        parts["norms"] = (own, _norms(windows, config))
    arrays: dict[str, NDArray[Any]] = {"windows": (counts + 1).astype(np.int32)}
    for name, (whole, others) in parts.items():
        arrays[name] = np.empty((len(is_first), *whole.shape[1:]), whole.dtype)
        arrays[name][is_first], arrays[name][~is_first] = whole, others
    return arrays


def _norms(windows: NDArray[np.int8], config: IndexConfig) -> NDArray[np.float32]:
    if len(windows) == 0:
        return np.zeros((0, config.n_norms // 3, 3), np.float32)
    return norms(windows, settings_of(config))


def _matrix(column: Any) -> NDArray[Any]:
    chunked = getattr(column, "combine_chunks", lambda: column)()
    return chunked.flatten().to_numpy()  # type: ignore[no-any-return]


def _text(letters: NDArray[np.uint8], ends: NDArray[np.int64], number: int) -> bytes:
    start = int(ends[number - 1]) if number else 0
    return letters[start : int(ends[number])].tobytes()


def _expansion(values: list[bytes | None], dimension: int) -> NDArray[np.float16]:
    out = np.full((len(values), dimension), np.nan, np.float16)
    for i, value in enumerate(values):
        if value is not None:
            out[i] = np.frombuffer(value, np.float16)
    return out


def _bytes_of(values: list[bytes | None], size: int) -> NDArray[np.uint8]:
    """(n, size), zeros for what is none."""
    out = np.zeros((len(values), size), np.uint8)
    for i, value in enumerate(values):
        if value is not None and len(value) == size:
            out[i] = np.frombuffer(value, np.uint8)
    return out


def _header(words: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> tuple[bytes, dict[str, int], int]:
    """The bytes before the arrays, where each array goes, and the length of the file."""
    sums = {name: checksum(np.ascontiguousarray(a).reshape(-1).view(np.uint8)) for name, a in arrays.items()}
    size = 4096  # room for the header, whose length depends on the offsets in it
    while True:
        offsets, end = {}, size
        for name, array in arrays.items():
            offsets[name] = end
            end += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        listing = {name: (a.dtype.str, a.shape, offsets[name], sums[name]) for name, a in arrays.items()}
        text = json.dumps({"bytes": end, **words, "arrays": listing}).encode()
        head = MAGIC + len(text).to_bytes(8, "little") + digest(text) + text
        if len(head) <= size:
            return head, offsets, end
        size *= 2
