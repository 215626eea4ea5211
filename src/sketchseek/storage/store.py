"""The index on disk: a Lance table with a row for each picture, and all that gave its vectors.

A change is one transaction: its files are written, synced, committed, and the commit synced, so a row
that was acknowledged is on disk. Writers of one local index take turns at a lock, for the few
milliseconds of a commit; readers never wait. In an object store there is no lock, and Lance's own
optimistic commits keep the table whole; a picture that two writers added at once is then there twice
until the next `index` run, which keeps one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NoIndexError, OtherPlaceError, SketchseekError
from .durable import exclusive, replace_file, sync_files
from .schema import (
    METADATA_KEY,
    SCHEMA_VERSION,
    Expansion,
    Recipe,
    added_since,
    completed,
    schema_number,
    schema_of,
    to_read,
)

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

TABLE = "pictures.lance"
LOCK = "lock"
KEEP_OLD_VERSIONS = timedelta(minutes=10)  # a reader that opened a version may go on reading it
MANY_FRAGMENTS = 32
_LAST_VERSION = 2**64 - 1  # Lance counts down from here in the names of its manifests
_MANIFEST_NAME = re.compile(r"\d{20}\.manifest")
_MANIFEST_END = b"LANC"


@dataclass(frozen=True)
class Change:
    """Rows to write, and ids whose present rows go away. One transaction."""

    rows: pa.Table | None = None
    forget: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(self.forget) or (self.rows is not None and len(self.rows) > 0)


class Location:
    """A folder on this machine, or a URI of an object store."""

    def __init__(self, where: str | os.PathLike[str]) -> None:
        text = os.fspath(where)
        self.is_uri = re.match(r"[a-z][a-z0-9+.-]+://", text) is not None
        self.text = text.rstrip("/") if self.is_uri else os.path.abspath(text)

    def __str__(self) -> str:
        return self.text

    @property
    def table(self) -> str:
        """Where the Lance table is."""
        return f"{self.text}/{TABLE}"

    @property
    def folder(self) -> Path:
        """The local folder; for a URI, a cache folder of its own on this machine."""
        if not self.is_uri:
            return Path(self.text)
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "sketchseek" / hashlib.blake2b(self.text.encode(), digest_size=12).hexdigest()

    def exists(self) -> bool:
        """Whether an index is there."""
        if not self.is_uri:
            return self.latest_version() is not None
        try:
            Store.open(self.text)
        except SketchseekError:
            return False
        return True

    def manifests(self) -> list[Path]:
        """The manifests of a local table, one a version, from the newest to the oldest.

        What others leave beside them, as macOS does its `._` files, is passed over.
        """
        if self.is_uri:
            return []
        folder = f"{self.table}/_versions"
        try:
            names = os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise _unreadable(self, error) from error
        return [Path(folder, name) for name in sorted(names) if _MANIFEST_NAME.fullmatch(name)]

    def latest_version(self) -> int | None:
        """The newest committed version, read from file names alone; None where that takes Lance."""
        manifests = self.manifests()
        return _number(manifests[0]) if manifests else None

    def identity(self, manifest: Path | None = None) -> str | None:
        """What the newest version, or a manifest's, is known by; None where there is none or it takes Lance.

        A manifest names files that no other table has, and the time of its commit.
        """
        for path in [manifest] if manifest is not None else self.manifests():
            try:
                return _identity(_number(path), path.read_bytes())
            except FileNotFoundError:
                continue  # an old version that another process has just taken away
            except OSError as error:
                raise _unreadable(self, error) from error
        return None


@dataclass(frozen=True)
class Version:
    """One version of the table. Nothing moves it on, so that any number of threads may read it."""

    dataset: lance.LanceDataset
    recipe: Recipe
    schema: int
    identity: str
    """What no other version of this or another table has; empty when that can't be said any more."""

    @classmethod
    def of(cls, dataset: lance.LanceDataset, location: Location) -> Version:
        """What was opened there."""
        words = _words_of(dataset, location)
        if location.is_uri:
            files = [repr(fragment.metadata) for fragment in dataset.get_fragments()]
            content = repr((dataset.schema.metadata, files)).encode()
            identity = _identity(dataset.version, content)
        else:
            identity = location.identity(_manifest(location, dataset.version)) or ""
        return cls(dataset, Recipe.from_json(words), schema_number(words), identity)

    @property
    def number(self) -> int:
        """Counts the commits."""
        return int(self.dataset.version)

    def batches(
        self, columns: Iterable[str], where: str | None = None, fragments: list[Any] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Columns of every row, or of the rows that an SQL condition picks, in the table's order.

        Those that came after this version's schema are derived; what they are derived from comes along.
        """
        names = to_read(columns, self.schema)
        scanner = self.dataset.scanner(columns=names, filter=where, fragments=fragments, scan_in_order=True)
        for batch in scanner.to_batches():
            yield completed(batch, self.schema)


class Store:
    """Rows of pictures in a Lance table; see the module for what it promises.

    Threads may read from one Store while it goes to newer versions; a thread that writes has its own.
    """

    def __init__(self, location: Location, dataset: lance.LanceDataset) -> None:
        self.location = location
        self.current = Version.of(dataset, location)

    @classmethod
    def create(cls, where: str | os.PathLike[str], recipe: Recipe) -> Store:
        """Make an empty index; one that another process has just made is opened instead."""
        import lance

        location = Location(where)
        schema = schema_of(recipe)
        with in_words(location):
            if not location.is_uri:
                location.folder.mkdir(parents=True, exist_ok=True)
            with _turn(location):
                try:
                    dataset = lance.write_dataset(
                        schema.empty_table(),
                        location.table,
                        schema=schema,
                        mode="create",
                        enable_v2_manifest_paths=True,
                    )
                except OSError as error:
                    if "already exists" not in str(error):
                        raise
                    dataset = lance.dataset(location.table)
                if not location.is_uri:
                    _sync_manifest(location)
        return cls(location, dataset)

    @classmethod
    def open(cls, where: str | os.PathLike[str]) -> Store:
        """Open an index that is there; a sentence says so when none is."""
        import lance

        location = Location(where)
        _put_torn_manifest_aside(location)
        try:
            dataset = lance.dataset(location.table)
        except (ValueError, OSError) as error:
            if "not found" in str(error).lower() or "does not exist" in str(error).lower():
                raise no_index(location) from error
            raise _unreadable(location, error) from error
        return cls(location, dataset)

    @property
    def dataset(self) -> lance.LanceDataset:
        """The version that this object reads, for Lance."""
        return self.current.dataset

    @property
    def recipe(self) -> Recipe:
        """Everything that gave the vectors."""
        return self.current.recipe

    @property
    def version(self) -> int:
        """The number of the version that this object reads."""
        return self.current.number

    def refresh(self) -> bool:
        """Go to the newest version; True when that is another one."""
        before = self.current.identity
        if not self.location.is_uri and self.location.identity() == before:
            return False
        self.current = Version.of(self._opened_anew(), self.location)
        return self.current.identity != before

    def _opened_anew(self) -> lance.LanceDataset:
        """The newest version, for one call alone: what other threads read is never moved nor written with."""
        import lance

        return lance.dataset(self.location.table)

    def table(self, columns: list[str], where: str | None = None) -> pa.Table:
        """Columns of every row, or of the rows an SQL condition picks."""
        import pyarrow as pa

        current = self.current
        empty = schema_of(current.recipe).empty_table().select(columns)
        batches = [batch.select(columns) for batch in current.batches(columns, where)]
        return pa.Table.from_batches(batches) if batches else empty

    def rows(self, ids: Collection[str], columns: list[str]) -> pa.Table:
        """Columns of the rows with these ids, in the table's order."""
        quoted = ", ".join("'" + identifier.replace("'", "''") + "'" for identifier in ids)
        return self.table([*columns, "id"] if "id" not in columns else columns, f"id IN ({quoted})")

    def bytes_on_disk(self) -> int:
        """What the index takes; in an object store, what its newest version takes."""
        if self.location.is_uri:
            return sum(f.file_size_bytes or 0 for g in self.dataset.get_fragments() for f in g.data_files())
        return sum(p.stat().st_size for p in self.location.folder.rglob("*") if p.is_file())

    def commit(self, prepare: Callable[[], Change]) -> Change:
        """Commit what `prepare` says about the newest version; returns when it is on disk.

        `prepare` runs when no other writer can come between (again, where a commit met another one).
        """
        for attempt in range(20):
            with in_words(self.location), _turn(self.location):
                self.refresh()
                self._upgrade()
                change = prepare()
                if not change:
                    return change
                try:
                    self._apply(change)
                    return change
                except OSError as error:
                    if attempt == 19 or "conflict" not in str(error).lower():
                        raise
        raise AssertionError("unreachable")

    def _apply(self, change: Change) -> None:
        import lance
        from lance.fragment import write_fragments

        updated, removed = self._without(change.forget)
        new = []
        if change.rows is not None and len(change.rows) > 0:
            new = write_fragments(change.rows, self.location.table, schema=change.rows.schema, mode="append")
        self._sync_data(new)
        if not self.location.is_uri:
            root = Path(self.location.table)
            sync_files(root / fragment.deletion_file.path(fragment.id) for fragment in updated)
        operation: lance.LanceOperation.BaseOperation
        if not updated and not removed:
            operation = lance.LanceOperation.Append(new)
        elif not new:
            operation = lance.LanceOperation.Delete(updated, removed, "id")
        else:
            operation = lance.LanceOperation.Update(removed, updated, new, update_mode="rewrite_rows")
        self._committed(lance.LanceDataset.commit(self.location.table, operation, read_version=self.version))

    def _without(self, ids: Collection[str]) -> tuple[list[Any], list[int]]:
        """The fragments as they are without these rows, and those of which nothing is left."""
        if not ids:
            return [], []
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        table = self.dataset.to_table(columns=["id"], with_row_address=True)
        found = pc.is_in(table["id"], pa.array(list(ids), pa.string()))
        addresses = table["_rowaddr"].filter(found).to_numpy()
        updated, removed = [], []
        for fragment_id in np.unique(addresses >> 32):
            offsets = addresses[addresses >> 32 == fragment_id] & 0xFFFFFFFF
            fragment = self.dataset.get_fragment(int(fragment_id)).delete_rows(offsets.tolist())
            if fragment is None:
                removed.append(int(fragment_id))
            else:
                updated.append(fragment)
        return updated, removed

    def _committed(self, dataset: lance.LanceDataset) -> None:
        self.current = Version.of(dataset, self.location)
        if not self.location.is_uri:
            _sync_manifest(self.location)

    def upgrade(self) -> None:
        """Give an index of an older schema the columns that came later.

        What could not be read before is forgotten, to be tried once more: older schemas did not tell a
        damaged picture from a moment without memory.
        """
        if self.current.schema < SCHEMA_VERSION:
            unread = self.table(["id"], "failure IS NOT NULL")["id"].to_pylist()
            self.commit(lambda: Change(forget=unread))

    def _upgrade(self) -> None:
        """The same inside a turn, but for what could not be read. Cut short, it goes on."""
        import lance
        import pyarrow as pa

        current = self.current
        if current.schema == SCHEMA_VERSION:
            return
        dataset = self._opened_anew()
        names = [name for name in added_since(current.schema) if name not in dataset.schema.names]
        merged = [
            fragment.merge_columns(
                lambda batch: completed(batch, current.schema).select(names),
                columns=to_read(names, current.schema),
            )
            for fragment in (dataset.get_fragments() if names else ())
        ]
        if merged:
            fragments = [fragment for fragment, _ in merged]
            self._sync_data(fragments)
            operation = lance.LanceOperation.Merge(fragments, merged[-1][1])
            dataset = lance.LanceDataset.commit(self.location.table, operation, read_version=dataset.version)
        elif names:  # there is no row yet
            dataset.add_columns(pa.schema([f for f in schema_of(current.recipe) if f.name in names]))
        dataset.update_schema_metadata({METADATA_KEY.decode(): current.recipe.to_json()})
        self._committed(dataset)

    def _sync_data(self, fragments: Iterable[Any]) -> None:
        if not self.location.is_uri:
            data = Path(self.location.table) / "data"
            sync_files(data / file.path for fragment in fragments for file in fragment.files)

    def set_expansion(self, expansion: Expansion) -> None:
        """Say which descriptor the expansion column holds from now on."""
        self._set(expansion=expansion)

    def set_smallest(self, smallest: float) -> None:
        """Say what the views of pictures are made for from now on."""
        self._set(smallest=smallest)

    def _set(self, **changes: Any) -> None:
        with in_words(self.location), _turn(self.location):
            self.refresh()
            self._upgrade()
            dataset = self._opened_anew()
            recipe = replace(self.recipe, **changes)
            dataset.update_schema_metadata({METADATA_KEY.decode(): recipe.to_json()})
            self._committed(dataset)

    def tidy(self, keep: timedelta = KEEP_OLD_VERSIONS) -> None:
        """Merge small fragments and drop old versions and orphans, when there are enough of them.

        Runs inside a writer's turn, so no file that another writer is about to commit is taken for an
        orphan. In an object store, where there are no turns, orphans wait for Lance's own seven days.
        """
        with in_words(self.location), _turn(self.location):
            dataset = self._opened_anew()
            self._merge_fragments(dataset)
            dataset.cleanup_old_versions(keep, delete_unverified=not self.location.is_uri)

    def _merge_fragments(self, dataset: lance.LanceDataset) -> None:
        from lance.optimize import Compaction

        fragments = dataset.get_fragments()
        live = {f.fragment_id: f.physical_rows - f.num_deletions for f in fragments}
        worn = {f.fragment_id for f in fragments if f.num_deletions > f.physical_rows // 5}
        small = _worth_merging(live)
        chosen = worn | (small if len(small) >= MANY_FRAGMENTS else set())
        if not chosen:
            return
        options = {"excluded_fragment_ids": [i for i in live if i not in chosen], "batch_size": 1024}
        results = [task.execute(dataset) for task in Compaction.plan(dataset, options).tasks]
        if not results:
            return
        if not self.location.is_uri:
            data = Path(self.location.table) / "data"
            new = [f for r in results for f in json.loads(r.json())["new_fragments"]]
            sync_files(data / file["path"] for fragment in new for file in fragment["files"])
        Compaction.commit(dataset, results)
        dataset.checkout_latest()
        self._committed(dataset)


def _worth_merging(rows: dict[int, int]) -> set[int]:
    """Fragments that are small beside each other, so that a row is rewritten a logarithm of times."""
    chosen: set[int] = set()
    total = 0
    for fragment, n in sorted(rows.items(), key=lambda item: item[1]):
        if len(chosen) >= MANY_FRAGMENTS // 2 and n > 2 * total:
            break
        chosen.add(fragment)
        total += n
    return chosen


def no_index(location: Location) -> SketchseekError:
    """The sentence for a place where no index is."""
    return NoIndexError(f"There is no index in {location}.")


def _words_of(dataset: lance.LanceDataset, location: Location) -> bytes:
    """The recipe and schema as the table has them."""
    words: bytes | None = (dataset.schema.metadata or {}).get(METADATA_KEY)
    if words is None:
        raise OtherPlaceError(f"{location} holds a table that sketchseek did not make.")
    return words


def _turn(location: Location) -> Any:
    return nullcontext() if location.is_uri else exclusive(location.folder / LOCK)


def _manifest(location: Location, version: int) -> Path:
    return Path(location.table, "_versions", f"{_LAST_VERSION - version:020d}.manifest")


def _number(manifest: Path) -> int:
    return _LAST_VERSION - int(manifest.stem)


def _identity(version: int, content: bytes) -> str:
    return f"{version}-{hashlib.blake2b(content, digest_size=12).hexdigest()}"


def _sync_manifest(location: Location) -> None:
    sync_files(location.manifests()[:1])


def _put_torn_manifest_aside(location: Location) -> None:
    """Move a last manifest that a power cut left unfinished out of the way: nobody was told that it is there.

    Only the newest, and only one that was read and found torn: a manifest that can't be read may be whole,
    and the one below was acknowledged.
    """
    try:
        if not any(_is_torn(manifest) for manifest in location.manifests()[:1]):
            return
    except OSError as error:
        raise _unreadable(location, error) from error
    with in_words(location), _turn(location):
        torn = [manifest for manifest in location.manifests()[:2] if _is_torn(manifest)]
        if len(torn) > 1:
            raise OtherPlaceError(
                f"The index in {location} is damaged: its last two manifests are cut short. "
                "Restore a copy of the folder, or index the pictures again in another place."
            )
        for manifest in torn:
            replace_file(manifest, location.folder / f"torn-{manifest.name}")


def _is_torn(manifest: Path) -> bool:
    """Whether it is short or lacks its end."""
    try:
        with manifest.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - len(_MANIFEST_END)))
            return file.read() != _MANIFEST_END
    except FileNotFoundError:
        return False  # taken away since it was listed


def _unreadable(location: Location, error: BaseException) -> SketchseekError:
    return SketchseekError(f"Cannot read the index in {location}: {_reason(error)}.")


@contextmanager
def in_words(location: Location) -> Iterator[None]:
    """Turn what the disk says into a sentence."""
    try:
        yield
    except OSError as error:
        text = str(error)
        if "No space left" in text or "os error 28" in text or "Disk quota" in text:
            raise SketchseekError(
                f"The disk that holds the index in {location} is full: make room and run it again; "
                "what was already indexed is safe."
            ) from error
        if "File too large" in text or "os error 27" in text:
            raise SketchseekError(
                f"The index in {location} may not grow further (a limit on file sizes): raise it and run it "
                "again; what was already indexed is safe."
            ) from error
        if re.search(r"Read-only file system|Permission denied|os error (30|13)\b", text):
            raise OtherPlaceError(
                f"Cannot write the index in {location}: the folder is read-only for you."
            ) from error
        raise SketchseekError(f"Cannot write the index in {location}: {_reason(error)}.") from error


def _reason(error: BaseException) -> str:
    """One line without a full stop. Lance appends its own source positions; people need none of them."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    first = (str(error).splitlines() or [repr(error)])[0]
    return re.sub(r",? ?\S+\.rs:\d+:\d+.*", "", first).rstrip(". ")
