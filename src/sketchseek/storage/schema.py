"""What a row holds, what gave it, and how rows from before get the columns that came later.

An index of an older schema is read as it is: what its rows lack is derived while reading. `Store.upgrade`
writes the same into it, as columns beside those it has, without reading a picture again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import OtherPlaceError
from ..shape.engine import _engine
from ..shape.settings import Settings
from ..shape.windows import MIN_OBJECT_SIZE, WHOLE

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_VERSION = 7
OLDEST_SCHEMA = 2
WITH_SLOTS = 100
"""Added to the number where columns have a slot in their names, or two networks theirs: older programs
refuse that."""
SLOTS = ("", "_2")
EMBEDDING = "icon_embedding"
"""The column of embeddings of line art and flat art (`embeddings.icons`)."""
EMBEDDING_BYTES: int = _engine.EMBEDDING
METADATA_KEY = b"sketchseek"


@dataclass(frozen=True)
class Expansion:
    """Which embedding of pictures the expansion column holds, as float16.

    tokens : the version of those in the tokens column; empty where none are wanted, None if not decided.
    token_bytes : their length.
    slot : the end of its columns' names: while one network takes the place of another, both have columns.
    """

    name: str
    version: str
    dimension: int
    tokens: str | None = None
    token_bytes: int = 0
    slot: str = SLOTS[0]

    @property
    def columns(self) -> tuple[str, str]:
        """Those of the table that hold embeddings and tokens."""
        return f"expansion{self.slot}", f"tokens{self.slot}"

    def is_comparable(self, other: Expansion) -> bool:
        """Whether these are embeddings of the same network."""
        return (self.name, self.version) == (other.name, other.version)


@dataclass(frozen=True)
class IndexConfig:
    """Everything that gave the vectors of an index. Vectors of two indexes compare when these are equal."""

    preset: str
    settings: dict[str, Any]
    dimension: int
    n_norms: int
    detector: str
    detector_version: str
    expansion: Expansion | None = None
    min_object_size: float = MIN_OBJECT_SIZE
    """The smallest share of a picture at which a thing is found: which windows it gets (`shape.windows`)."""
    successor: Expansion | None = None
    """What takes the place of `expansion` once every picture has it."""

    @property
    def wanted(self) -> Expansion | None:
        """What a row is to have."""
        return self.successor or self.expansion

    def to_json(self) -> str:
        """One line of JSON; fields have the names that the first schema gave them."""
        fields = asdict(self)
        fields["smallest"] = fields.pop("min_object_size")
        if self.successor is not None or (self.expansion is not None and self.expansion.slot):
            return json.dumps({"schema": SCHEMA_VERSION + WITH_SLOTS, **fields}, sort_keys=True)
        del fields["successor"]
        if self.expansion is not None:
            del fields["expansion"]["slot"]
        return json.dumps({"schema": SCHEMA_VERSION, **fields}, sort_keys=True)

    def without_tokens(self) -> IndexConfig:
        """The same, whatever was decided about tokens, and whatever is about to come."""
        if self.expansion is None:
            return self
        bare = replace(self.expansion, tokens=None, token_bytes=0, slot=SLOTS[0])
        return replace(self, expansion=bare, successor=None)

    @classmethod
    def from_json(cls, text: str | bytes) -> IndexConfig:
        """Read what `to_json` of this version or an older one wrote, and refuse what a newer one did."""
        schema_number(text)
        fields = json.loads(text)
        del fields["schema"]
        if "smallest" in fields:
            fields["min_object_size"] = fields.pop("smallest")
        for name in ("expansion", "successor"):
            if fields.get(name) is not None:
                fields[name] = Expansion(**fields[name])
        return cls(**fields)


def schema_number(text: str | bytes) -> int:
    """The schema that a config in JSON belongs to."""
    schema = json.loads(text).get("schema")
    number = schema % WITH_SLOTS if isinstance(schema, int) else 0
    if number not in range(OLDEST_SCHEMA, SCHEMA_VERSION + 1):
        raise OtherPlaceError(
            f"This index has schema {schema}, and this sketchseek reads {OLDEST_SCHEMA} to {SCHEMA_VERSION}: "
            "update sketchseek, or index the pictures again in another place."
        )
    return number


def settings_of(config: IndexConfig) -> Settings:
    """What the vectors share with a query."""
    try:
        return Settings.from_json(config.settings)
    except (TypeError, ValueError) as error:
        raise OtherPlaceError(
            "This index was made by another version of sketchseek, with settings unknown to this one: "
            "index the pictures again in another place."
        ) from error


def schema_of(config: IndexConfig) -> pa.Schema:
    """The table's columns. Paths are bytes: a file name need not be text."""
    import pyarrow as pa

    expansion, tokens = config.expansion.columns if config.expansion else ("expansion", "tokens")
    coming = config.successor.columns if config.successor else ()
    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("path", pa.binary(), nullable=False),
            pa.field("size", pa.int64(), nullable=False),
            pa.field("modified", pa.int64(), nullable=False),  # nanoseconds; 0: not to be trusted
            pa.field("digest", pa.binary(), nullable=False),
            pa.field("width", pa.int32(), nullable=False),
            pa.field("height", pa.int32(), nullable=False),
            pa.field("thumbnail", pa.binary()),
            pa.field("code", pa.list_(pa.int8(), config.dimension)),
            pa.field("norms", pa.list_(pa.float32(), config.n_norms)),
            pa.field("frame", pa.list_(pa.float32(), 4)),  # the part of the picture that the code describes
            pa.field(expansion, pa.binary()),
            pa.field("failure", pa.string()),  # why the picture could not be read; the rest is then empty
            pa.field("is_line_art", pa.bool_()),
            pa.field("thumbnail_sum", pa.int64()),
            pa.field("windows", pa.binary()),  # codes of the windows after the first, one after the other
            pa.field("window_frames", pa.binary()),  # the same of their frames, of four float32 each
            pa.field("smallest", pa.float64()),  # what the windows were made for
            pa.field(tokens, pa.binary()),  # what is where in the picture; all of one length
            pa.field("keywords", pa.string()),  # of the file's metadata, one per line; null: not read yet
            # what the icon network sees, a byte per number; none: it is no such picture; null: not seen yet.
            # Another network's go into another column.
            pa.field(EMBEDDING, pa.binary()),
            *(pa.field(name, pa.binary()) for name in coming),
        ],
        metadata={METADATA_KEY: config.to_json().encode()},
    )


@dataclass(frozen=True)
class Added:
    """A column that came with a schema.

    reads : columns that rows from before have. derive : a batch of those -> the column; nulls for what can't
    be had from them, which a run of `index` may then fill in.
    """

    schema: int
    name: str
    reads: tuple[str, ...]
    derive: Callable[[pa.RecordBatch], pa.Array]


def to_read(columns: Iterable[str], schema: int) -> list[str]:
    """The columns of a table of that schema that `completed` makes these of."""
    names = list(columns)
    for added in reversed(ADDED):
        if added.schema > schema and added.name in names:
            names.remove(added.name)
            names += [name for name in added.reads if name not in names]
    return names


def completed(batch: pa.RecordBatch, schema: int) -> pa.RecordBatch:
    """A batch of a table of that schema, with what came later and can be had from its columns."""
    for added in ADDED:
        if added.schema > schema and set(added.reads) <= set(batch.schema.names):
            batch = batch.append_column(added.name, added.derive(batch))
    return batch


def added_since(schema: int) -> list[str]:
    """The names of the columns that a table of that schema lacks."""
    return [added.name for added in ADDED if added.schema > schema]


def thumbnail_sum(thumbnail: bytes | None) -> int | None:
    """What tells whether a thumbnail is what it was."""
    return None if thumbnail is None else zlib.crc32(thumbnail)


def _is_line_art(batch: pa.RecordBatch) -> pa.Array:
    """Of line art, a row has always described less than the whole picture: the ink."""
    import numpy as np
    import pyarrow as pa

    frames = batch["frame"].flatten().to_numpy().reshape(-1, 4)
    size = np.stack([batch["width"].to_numpy(), batch["height"].to_numpy()], axis=1)
    return pa.array((frames != np.hstack([0 * size, size])).any(axis=1))


def _thumbnail_sum(batch: pa.RecordBatch) -> pa.Array:
    import pyarrow as pa

    return pa.array([thumbnail_sum(value.as_py()) for value in batch["thumbnail"]], pa.int64())


def _no_bytes(batch: pa.RecordBatch) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(len(batch), pa.binary())


def _no_text(batch: pa.RecordBatch) -> pa.Array:
    import pyarrow as pa

    return pa.nulls(len(batch), pa.string())


def _whole(batch: pa.RecordBatch) -> pa.Array:
    import pyarrow as pa

    return pa.array([WHOLE] * len(batch), pa.float64())


ADDED = (
    Added(3, "is_line_art", ("frame", "width", "height"), _is_line_art),
    Added(3, "thumbnail_sum", ("thumbnail",), _thumbnail_sum),
    Added(4, "windows", ("id",), _no_bytes),
    Added(4, "window_frames", ("id",), _no_bytes),
    Added(4, "smallest", ("id",), _whole),
    Added(5, "tokens", ("id",), _no_bytes),
    Added(6, "keywords", ("id",), _no_text),
    Added(7, EMBEDDING, ("id",), _no_bytes),
)
"""From the oldest to the newest; a later one may be derived from an earlier one."""
