"""Results become rows, in batches that are on disk before they are counted.

A batch is decided against the newest version of the table, inside the writer's turn: a picture that
another process has added meanwhile isn't added twice, and a row that is not what it was when the run looked
at it is neither moved, nor merged with, nor forgotten.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import DamagedError, SketchseekError
from ..sources.objects import Stat
from ..storage.durable import uninterrupted
from ..storage.location import reading
from ..storage.schema import EMBEDDING, Expansion, schema_of, thumbnail_sum
from ..storage.store import Change, Store
from .changes import IndexedPicture
from .report import Report
from .worker import Described, Failed, Unchanged

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 256
BATCH_S = 2.0
TIDY_COMMITS = 64
_OF_CONTENT = ("id", "path", "size", "modified", "digest")
_COLUMNS = ["id", "path", "size", "modified", "digest", "failure", "smallest"]


@dataclass(frozen=True, slots=True)
class Move:
    """A picture that is now at `path`, with the row it has."""

    path: bytes
    row: IndexedPicture
    stat: Stat


Item = Described | Failed | Unchanged | Move


@dataclass
class _Decided:
    """What a batch comes to: the change, rows then known, rows that left their paths, and what to count."""

    change: Change
    known: list[IndexedPicture] = field(default_factory=list)
    left: list[IndexedPicture] = field(default_factory=list)
    added: int = 0
    refreshed: int = 0
    unchanged: int = 0
    expanded: int = 0
    described: int = 0
    moved: int = 0
    failed: list[tuple[bytes, str]] = field(default_factory=list)


def read_known(store: Store) -> list[IndexedPicture]:
    """What the table knows, without vectors."""
    columns = {name: name for name in _COLUMNS}
    columns |= {"keyworded": "keywords IS NOT NULL", "embedded": f"{EMBEDDING} IS NOT NULL"}
    wanted = store.config.wanted
    if wanted is not None:
        columns["expanded"] = " AND ".join(f"{name} IS NOT NULL" for name in _filled(wanted))
    with reading(store.location):
        return _known_of(store.dataset.to_table(columns=columns))


def _known_of(table: pa.Table) -> list[IndexedPicture]:
    lists = {name: table[name].to_pylist() for name in table.column_names}
    expanded = lists.get("expanded") or [False] * len(table)
    columns = (*(lists[name] for name in _COLUMNS), expanded, lists["keyworded"], lists["embedded"])
    return [IndexedPicture(*row) for row in zip(*columns, strict=True)]


def _by_path(known: Iterable[IndexedPicture]) -> dict[bytes, IndexedPicture]:
    rows: dict[bytes, IndexedPicture] = {}
    for row in known:
        rows.setdefault(row.path, row)
    return rows


def keep_tidy(store: Store) -> None:
    """Housekeeping: the pictures are safe without it, unless it finds that they are not."""
    try:
        store.tidy()
    except DamagedError:
        raise
    except SketchseekError:
        pass


class Commits:
    """Collects results and commits them; `known` follows what the table knows, by path."""

    def __init__(self, store: Store, known: Iterable[IndexedPicture], report: Report) -> None:
        self.known = _by_path(known)
        self._store = store
        self._network = store.config.wanted
        self._version = store.version
        self._report = report
        self._items: dict[bytes, Item] = {}
        self._since = time.monotonic()
        self._commits = 0

    def add(self, item: Item) -> None:
        """Take a result; commits when a batch is full or has waited long enough."""
        if not self._items:
            self._since = time.monotonic()
        self._items[item.path] = item
        if len(self._items) >= BATCH_ROWS:
            self.flush()
        else:
            self.flush_if_due()

    def flush_if_due(self) -> None:
        """Commit what has waited for two seconds."""
        if self._items and time.monotonic() - self._since > BATCH_S:
            self.flush()

    def flush(self) -> None:
        """Commit what there is, and count it once it is on disk."""
        if self._items:
            with uninterrupted():
                self._flush()

    def _flush(self) -> None:
        decided = _Decided(Change())

        def prepare() -> Change:
            nonlocal decided
            decided = self._decide()
            return decided.change

        if self._store.commit(prepare):
            self._follow(decided.known, decided.left)
        self._items.clear()
        self._report.added += decided.added
        self._report.refreshed += decided.refreshed
        self._report.unchanged += decided.unchanged
        self._report.expanded += decided.expanded
        self._report.described += decided.described
        self._report.moved += decided.moved
        for path, reason in decided.failed:
            self._report.add_failure(path, reason)
        self._commits += 1
        if self._commits % TIDY_COMMITS == 0:
            keep_tidy(self._store)

    def forget(self, rows: Sequence[IndexedPicture], count: bool = True) -> None:
        """Forget pictures that are no longer there, unless another process has just moved or read them."""
        if not rows:
            return
        before = {row.id: row for row in rows}
        still: list[IndexedPicture] = []

        def prepare() -> Change:
            self._catch_up()
            still[:] = [row for row in read_known(self._store) if _is_still(row, before.get(row.id))]
            return Change(forget=[row.id for row in still])

        with uninterrupted():
            if self._store.commit(prepare):
                self._follow((), still)
            if count:
                self._report.forgotten += sum(row.failure is None for row in still)

    def _catch_up(self) -> None:
        """Inside a turn: read what others have committed since the last time."""
        if self._store.version != self._version:
            self.known = _by_path(read_known(self._store))
            self._version = self._store.version

    def _follow(self, written: Iterable[IndexedPicture], forgotten: Iterable[IndexedPicture]) -> None:
        """After a commit: know what it changed. A commit that met others is left for `_catch_up`."""
        if self._store.version != self._version + 1:
            return
        self._version = self._store.version
        for row in forgotten:
            if row.path in self.known and self.known[row.path].id == row.id:
                del self.known[row.path]
        for row in written:
            self.known[row.path] = row

    def _decide(self) -> _Decided:
        self._catch_up()
        decided = _Decided(Change())
        rows: list[dict[str, Any]] = []
        rewritten: dict[str, Item] = {}
        forget: list[str] = []
        for path, item in self._items.items():
            row = self.known.get(path)
            if isinstance(item, Move):
                if row is None and _is_still(self.known.get(item.row.path), item.row):
                    rewritten[item.row.id] = item
                continue  # another process has added it at the new path, or its row is of something else
            if isinstance(item, Unchanged):
                if row is None or row.digest != item.digest:
                    continue
                found = (item.expansion, item.shape, item.keywords, item.embedding)
                lacked = any(x is not None for x in found)
                if lacked or (item.size, item.modified) != (row.size, row.modified):
                    rewritten[row.id] = item
                elif row.failure is None:
                    decided.unchanged += 1
                else:
                    decided.failed.append((path, row.failure))
                continue
            if row is not None and isinstance(item, Failed) and _is_kept(row, item):
                decided.failed.append((path, item.reason))
                continue
            if row is not None and _agrees(row, item):
                _count_unchanged(decided, item)
                continue
            identifier = row.id if row is not None else secrets.token_hex(8)
            if row is not None:
                forget.append(row.id)
            rows.append(row_of(identifier, item, self._columns()))
            decided.known.append(_known(identifier, item))
            if isinstance(item, Failed):
                decided.failed.append((path, item.reason))
            elif row is None or row.failure is not None:
                decided.added += 1
            else:
                decided.refreshed += 1
        tables = []
        if rows:
            tables.append(table_of(rows, self._store))
        if rewritten:
            tables.append(self._rewrite(rewritten, decided, forget))
        decided.change = Change(_concatenated(tables), forget)
        return decided

    def _columns(self) -> Sequence[str]:
        """Where what this run's network has seen goes; nowhere, where others have changed their mind."""
        config, mine = self._store.config, self._network
        for there in (config.successor, config.expansion):
            if mine is not None and there is not None and there.is_comparable(mine):
                return there.columns
        return ()

    def _rewrite(self, items: dict[str, Item], decided: _Decided, forget: list[str]) -> pa.Table:
        """The rows of pictures whose content is the same, with another path, time or expansion."""
        rows = self._store.whole_rows(list(items)).to_pylist()
        wanted, columns = self._store.config.wanted, self._columns()
        for row in rows:
            item = items[row["id"]]
            forget.append(row["id"])
            row["path"] = item.path
            if isinstance(item, Move):
                decided.left.append(item.row)
                row["size"], row["modified"] = item.stat.size, item.stat.modified
                decided.moved += 1
            elif isinstance(item, Unchanged):
                row["size"], row["modified"] = item.size, item.modified
                for name, value in zip(columns, (item.expansion, item.tokens), strict=False):
                    row[name] = value or row[name]
                row["keywords"] = row["keywords"] if item.keywords is None else item.keywords
                row[EMBEDDING] = row[EMBEDDING] if item.embedding is None else item.embedding
                if item.shape is not None:
                    row.update(item.shape.columns())
                if row["failure"] is not None:
                    decided.failed.append((item.path, row["failure"]))
                elif item.expansion is not None:
                    decided.expanded += 1
                elif item.shape is not None:
                    decided.described += 1
                else:
                    decided.unchanged += 1
            expanded = wanted is not None and all(row[name] is not None for name in _filled(wanted))
            looked = (row["keywords"] is not None, row[EMBEDDING] is not None)
            values = [*(row[name] for name in _COLUMNS), expanded, *looked]
            decided.known.append(IndexedPicture(*values))
        return table_of(rows, self._store)


def _is_still(row: IndexedPicture | None, before: IndexedPicture | None) -> bool:
    """Whether a row is about the same content at the same path as before."""
    if row is None or before is None:
        return False
    return all(getattr(row, name) == getattr(before, name) for name in _OF_CONTENT)


def _is_kept(row: IndexedPicture, item: Failed) -> bool:
    """Whether a row is good in spite of a failure: the machine failed, or it once read the same content."""
    return row.failure is None and item.digest in (b"", row.digest)


def _agrees(row: IndexedPicture, item: Described | Failed) -> bool:
    """Whether the row already says all that the result says."""
    if isinstance(item, Failed):
        return (row.digest, row.size, row.modified, row.failure) == (
            item.digest, item.size, item.modified, item.reason,
        )  # fmt: skip
    return (
        row.failure is None
        and (row.digest, row.size, row.modified) == (item.digest, item.size, item.modified)
        and (row.expanded or item.expansion is None)
        and not row.lacks_windows(item.shape.min_object_size)
    )


def _count_unchanged(decided: _Decided, item: Described | Failed) -> None:
    if isinstance(item, Failed):
        decided.failed.append((item.path, item.reason))
    else:
        decided.unchanged += 1


def _known(identifier: str, item: Described | Failed) -> IndexedPicture:
    failure = item.reason if isinstance(item, Failed) else None
    expanded = isinstance(item, Described) and item.expansion is not None
    min_object_size = item.shape.min_object_size if isinstance(item, Described) else None
    return IndexedPicture(
        identifier, item.path, item.size, item.modified, item.digest, failure, min_object_size, expanded
    )


def _filled(wanted: Expansion) -> Sequence[str]:
    """The columns that are to have something."""
    return wanted.columns[: 2 if wanted.tokens else 1]


def row_of(identifier: str, item: Described | Failed, columns: Sequence[str]) -> dict[str, Any]:
    """columns : where what the network has seen goes."""
    row: dict[str, Any] = {"id": identifier, "width": 0, "height": 0, "failure": None}
    names = {
        "reason": "failure",
        "embedding": EMBEDDING,
        **dict(zip(("expansion", "tokens"), columns, strict=False)),
    }
    for name in item.__slots__:
        row[names.get(name, name)] = getattr(item, name)
    if isinstance(item, Described):
        row.update(item.shape.columns())
    row["thumbnail_sum"] = thumbnail_sum(row.get("thumbnail"))
    return row


def table_of(rows: list[dict[str, Any]], store: Store) -> pa.Table:
    """Rows by their columns' names as the table takes them; a column that a row lacks is empty."""
    import numpy as np
    import pyarrow as pa

    config = store.config
    schema = schema_of(config)
    dtypes = {
        "code": (np.int8, config.dimension),
        "norms": (np.float32, config.n_norms),
        "frame": (np.float32, 4),
    }
    columns = []
    for column in schema:
        values = [row.get(column.name) for row in rows]
        if column.name in dtypes:
            dtype, length = dtypes[column.name]
            columns.append(_vectors(values, dtype, length))
        else:
            columns.append(pa.array(values, column.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _vectors(values: list[Any], dtype: Any, length: int) -> pa.Array:
    """Fixed-size lists from raw bytes or lists; a failed picture's is all zeros."""
    import numpy as np
    import pyarrow as pa

    out = np.zeros((len(values), length), dtype)
    for i, value in enumerate(values):
        if value is not None:
            out[i] = np.frombuffer(value, dtype) if isinstance(value, bytes) else value
    return pa.FixedSizeListArray.from_arrays(pa.array(out.ravel()), length)


def _concatenated(tables: list[Any]) -> pa.Table | None:
    import pyarrow as pa

    return pa.concat_tables(tables) if tables else None
