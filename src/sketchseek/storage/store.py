"""The index on disk: a Lance table with a row for each picture, and all that gave its vectors.

A change is one transaction: its files are written, synced, committed, and the commit synced, so a row
that was acknowledged is on disk. Writers of one local index take turns at a lock, for the few
milliseconds of a commit; readers never wait. In an object store there is no lock: a commit there is
refused when another was made since the version it is for, and is then made again for that one.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import DamagedError, OtherPlaceError, SketchseekError
from .checksum import checksum_of_file
from .durable import sync_files
from .location import Location, damaged, in_words, is_absent, no_index, reading, unreadable, version_of
from .schema import (
    METADATA_KEY,
    SCHEMA_VERSION,
    SLOTS,
    Expansion,
    IndexConfig,
    added_since,
    completed,
    schema_number,
    schema_of,
    to_read,
)
from .seal import NAME as SEAL
from .seal import Seal, identity_of

if TYPE_CHECKING:
    import lance
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_ATTEMPTS = 100
T = TypeVar("T")
KEEP_OLD_VERSIONS = timedelta(minutes=10)  # a reader that opened a version may go on reading it
MANY_FRAGMENTS = 32
LITTLE = 2**31  # bytes that are verified before they are read, a second or two


@dataclass(frozen=True)
class Change:
    """Rows to write, and ids whose present rows go away. One transaction."""

    rows: pa.Table | None = None
    forget: Collection[str] = ()

    def __bool__(self) -> bool:
        return bool(self.forget) or (self.rows is not None and len(self.rows) > 0)


@dataclass(frozen=True)
class Version:
    """One version of the table. Nothing moves it on, so that any number of threads may read it."""

    location: Location
    dataset: lance.LanceDataset
    config: IndexConfig
    schema: int
    identity: str
    """What no other version of this or another table has; empty when that can't be said any more."""

    @classmethod
    def of(cls, dataset: lance.LanceDataset, location: Location) -> Version:
        """What was opened there."""
        words = _words_of(dataset, location)
        content: bytes | None
        if location.is_uri:
            files = [repr(fragment.metadata) for fragment in dataset.get_fragments()]
            content = repr((dataset.schema.metadata, files)).encode()
        else:
            try:
                content = location.manifest(dataset.version).read_bytes()
            except OSError:
                content = None  # an old version that another process has just taken away
        identity = "" if content is None else identity_of(dataset.version, content)
        with reading(location):
            return cls(location, dataset, IndexConfig.from_json(words), schema_number(words), identity)

    @property
    def number(self) -> int:
        """Counts the commits."""
        return int(self.dataset.version)

    def batches(
        self,
        columns: Iterable[str],
        where: str | None = None,
        fragments: list[Any] | None = None,
        part: range | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Columns of every row, or of the rows that an SQL condition picks, in the table's order.

        Those that came after this version's schema are derived; what they are derived from comes along.
        part : of the rows picked, only those from its start to its stop.
        """
        names = to_read(columns, self.schema)
        chosen = {} if part is None else {"offset": part.start, "limit": len(part)}
        self.verify_little(fragments)
        with reading(self.location):
            scanner = self.dataset.scanner(
                columns=names, filter=where, fragments=fragments, scan_in_order=True, **chosen
            )
            for batch in scanner.to_batches():
                yield completed(batch, self.schema)

    def verify_little(self, fragments: list[Any] | None = None) -> None:
        """Verify fragments, or all, unless they are so large that this would take long.

        Lance trusts what it reads: a flipped bit may ask for so much memory that the process ends.
        """
        if not self.location.is_uri:
            there = self.dataset.get_fragments() if fragments is None else fragments
            if sum(f.file_size_bytes or 0 for g in there for f in g.data_files()) <= LITTLE:
                self.verify(there)

    def verify(self, fragments: Iterable[Any]) -> None:
        """Raise DamagedError unless the files of these fragments are what was written."""
        for name, reason in self.differing(fragments):
            raise damaged(self.location, f"{name}: {reason}")

    def differing(self, fragments: Iterable[Any], again: bool = False) -> Iterator[tuple[str, str]]:
        """Files of these fragments that are not what was written, and why.

        One that was found to be so, and has the same time since, is not read once more unless `again`.
        """
        seal = self.location.seal()
        if seal is None:
            return
        table = Path(self.location.table)
        for name in _files_of(fragments):
            state = _state(table / name)
            if again or state is None or state not in _verified:
                try:
                    reason = seal.differs(table, name)
                except OSError as error:
                    raise unreadable(self.location, error) from error
                if reason is not None:
                    yield name, reason
                elif state is not None:
                    _verified.add(state)


_verified: set[tuple[str, int, int, int]] = set()


def _state(path: Path) -> tuple[str, int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return str(path), found.st_ino, found.st_size, found.st_mtime_ns


def _files_of(fragments: Iterable[Any]) -> Iterator[str]:
    """Names inside the table's folder."""
    for fragment in fragments:
        yield from (f"data/{file.path}" for file in fragment.data_files())
        if fragment.deletion_file():
            yield fragment.deletion_file()


class Store:
    """Rows of pictures in a Lance table; see the module for what it promises.

    Threads may read from one Store while it goes to newer versions; a thread that writes has its own.
    """

    def __init__(self, location: Location, dataset: lance.LanceDataset) -> None:
        self.location = location
        self.current = Version.of(dataset, location)

    @classmethod
    def create(cls, where: str | os.PathLike[str], config: IndexConfig) -> Store:
        """Make an empty index; one that another process has just made is opened instead."""
        import lance

        location = Location(where)
        schema = schema_of(config)
        with in_words(location):
            if not location.is_uri:
                location.folder.mkdir(parents=True, exist_ok=True)
            with location.turn():
                if not location.is_uri and not location.exists():
                    (location.folder / SEAL).unlink(missing_ok=True)  # of a table that was here
                try:
                    lance.write_dataset(
                        schema.empty_table(),
                        location.table,
                        schema=schema,
                        mode="create",
                        enable_v2_manifest_paths=True,
                    )
                except OSError as error:
                    if "already exists" not in str(error):
                        raise
                store = cls(location, _opened(location))
                store._committed(store.dataset)
        return store

    @classmethod
    def open(cls, where: str | os.PathLike[str]) -> Store:
        """Open an index that is there; a sentence says so when none is."""
        location = Location(where)
        location.repair()
        return cls(location, _opened(location))

    @property
    def dataset(self) -> lance.LanceDataset:
        """The version that this object reads, for Lance."""
        return self.current.dataset

    @property
    def config(self) -> IndexConfig:
        """Everything that gave the vectors."""
        return self.current.config

    @property
    def version(self) -> int:
        """The number of the version that this object reads."""
        return self.current.number

    def refresh(self) -> bool:
        """Go to the newest version; True when that is another one."""
        before = self.current.identity
        if not self.location.is_uri and self.location.identity() == before:
            return False
        self.location.repair()
        self.current = Version.of(_opened(self.location), self.location)
        return self.current.identity != before

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """A writer's turn, with the newest version to write to."""
        with in_words(self.location), self.location.turn():
            self.location.repair_in_turn()
            if self.location.is_uri or self.location.identity() != self.current.identity:
                self.current = Version.of(_opened(self.location), self.location)
            self._upgrade()
            yield

    def table(self, columns: list[str], where: str | None = None) -> pa.Table:
        """Columns of every row, or of the rows an SQL condition picks."""
        import pyarrow as pa

        current = self.current
        empty = schema_of(current.config).empty_table().select(columns)
        batches = [batch.select(columns) for batch in current.batches(columns, where)]
        return pa.Table.from_batches(batches) if batches else empty

    def rows(self, ids: Collection[str], columns: list[str]) -> pa.Table:
        """Columns of the rows with these ids, in the table's order."""
        quoted = ", ".join("'" + identifier.replace("'", "''") + "'" for identifier in ids)
        return self.table([*columns, "id"] if "id" not in columns else columns, f"id IN ({quoted})")

    def whole_rows(self, ids: Collection[str]) -> pa.Table:
        """All columns of the rows with these ids, to be written again: their files are verified first."""
        import numpy as np

        touched = set(np.unique(self._addresses(ids) >> 32).tolist())
        self.current.verify(f for f in self.dataset.get_fragments() if f.fragment_id in touched)
        return self.rows(ids, schema_of(self.config).names)

    def _addresses(self, ids: Collection[str]) -> NDArray[np.uint64]:
        """Where the rows with these ids are: the fragment in the upper half, the row in it in the lower."""
        import pyarrow as pa
        import pyarrow.compute as pc

        self.current.verify_little()
        with reading(self.location):
            table = self.dataset.to_table(columns=["id"], with_row_address=True)
            found = pc.is_in(table["id"], pa.array(list(ids), pa.string()))
            addresses: NDArray[np.uint64] = table["_rowaddr"].filter(found).to_numpy()
        return addresses

    def check_lengths(self) -> None:
        """Raise DamagedError when a file is gone or cut short. Little is read: flipped bits are not seen."""
        seal = self.location.seal()
        if seal is None or seal.identity != self.current.identity:
            return
        try:
            missing = seal.missing(Path(self.location.table))
        except OSError as error:
            raise unreadable(self.location, error) from error
        for name in missing:
            raise damaged(self.location, f"{name}: it is gone or cut short")

    def seal(self) -> None:
        """Note the checksums of files that have none noted."""
        with self._turn():
            self._committed(_opened(self.location))

    def bytes_on_disk(self) -> int:
        """What the index takes; in an object store, what its newest version takes."""
        if self.location.is_uri:
            return sum(f.file_size_bytes or 0 for g in self.dataset.get_fragments() for f in g.data_files())

        def unless_gone(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):  # of a version before: another process writes
                raise unreadable(self.location, error) from error

        total = 0
        for folder, _, names in os.walk(self.location.folder, onerror=unless_gone):
            for name in names:
                try:
                    total += os.stat(os.path.join(folder, name)).st_size
                except OSError as error:
                    unless_gone(error)
        return total

    def commit(self, prepare: Callable[[], Change]) -> Change:
        """Commit what `prepare` says about the newest version; returns when it is on disk.

        `prepare` runs when no other writer can come between (again, where a commit met another one).
        """

        def work() -> Change:
            change = prepare()
            if change:
                self._apply(change)
            return change

        return self._in_turn(work)

    def _in_turn(self, work: Callable[[], T]) -> T:
        """Do what ends in a commit in a writer's turn; once more where it met that of another writer."""
        for attempt in range(_ATTEMPTS):
            with self._turn():
                try:
                    return work()
                except OSError as error:
                    if "conflict" not in str(error).lower():
                        raise
            time.sleep(random.uniform(0, 0.02 * min(attempt + 1, 50)))  # so that each has its turn
        raise SketchseekError(f"Others write to the index in {self.location} all the time: try again later.")

    def _apply(self, change: Change) -> None:
        self._write(change.rows, *self._without(change.forget))

    def _write(self, rows: pa.Table | None, updated: list[Any], removed: list[int]) -> None:
        """Commit new rows, fragments that are otherwise now, and that some are no more."""
        import lance
        from lance.fragment import write_fragments

        new = []
        if rows is not None and len(rows) > 0:
            new = write_fragments(rows, self.location.table, schema=rows.schema, mode="append")
        self._sync_data(new)
        if not self.location.is_uri:
            root = Path(self.location.table)
            sync_files(root / fragment.deletion_file.path(fragment.id) for fragment in updated)
        operation: lance.LanceOperation.BaseOperation
        if self.location.is_uri:
            operation = self._alone(updated, removed, new)
        elif not updated and not removed:
            operation = lance.LanceOperation.Append(new)
        elif not new:
            operation = lance.LanceOperation.Delete(updated, removed, "id")
        else:
            operation = lance.LanceOperation.Update(removed, updated, new, update_mode="rewrite_rows")
        self._committed(lance.LanceDataset.commit(self.location.table, operation, read_version=self.version))

    def _alone(self, updated: list[Any], removed: list[int], new: list[Any]) -> Any:
        """A change as an operation that Lance refuses when any other was committed since this version.

        Lance lets two writers append at once, and would let both add the same picture. But nothing goes
        together with a merge, which names all fragments, and may not leave one out; nor do two updates of the
        same fragment: where fragments go, the first is named as updated by everybody.
        """
        import lance

        present = sorted((f.metadata for f in self.dataset.get_fragments()), key=lambda f: int(f.id))
        changed = {fragment.id: fragment for fragment in updated}
        if removed:
            first = present[0]
            if first.id not in removed:
                changed.setdefault(first.id, first)
            return lance.LanceOperation.Update(
                removed, list(changed.values()), new, update_mode="rewrite_rows"
            )
        for number, fragment in enumerate(new, present[-1].id + 1 if present else 0):
            fragment.id = number
        kept = [changed.get(fragment.id, fragment) for fragment in present]
        return lance.LanceOperation.Merge([*kept, *new], self.dataset.lance_schema)

    def _without(self, ids: Collection[str]) -> tuple[list[Any], list[int]]:
        """The fragments as they are without these rows, and those of which nothing is left."""
        if not ids:
            return [], []
        import numpy as np

        addresses = self._addresses(ids)
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
        """Go to the version that was just committed, once it and its seal are on disk."""
        version = Version.of(dataset, self.location)
        if not self.location.is_uri:
            manifest, table = self.location.manifest(version.number), Path(self.location.table)
            sync_files([manifest])
            before = self.location.seal()
            known = before.renewed(table, most=LITTLE) if before is not None else {}
            names = _files_of(dataset.get_fragments())
            sums = {name: known.get(name) or checksum_of_file(table / name) for name in names}
            Seal(version.number, manifest.read_bytes(), sums).save(self.location.folder)
        self.current = version

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
        if current.schema >= SCHEMA_VERSION:
            self._drop_leftovers()
            return
        dataset = _opened(self.location)
        names = [name for name in added_since(current.schema) if name not in dataset.schema.names]
        with reading(self.location):
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
            dataset.add_columns(pa.schema([f for f in schema_of(current.config) if f.name in names]))
        dataset.update_schema_metadata({METADATA_KEY.decode(): current.config.to_json()})
        self._committed(dataset)

    def _sync_data(self, fragments: Iterable[Any]) -> None:
        if not self.location.is_uri:
            data = Path(self.location.table) / "data"
            sync_files(data / file.path for fragment in fragments for file in fragment.files)

    def _drop_leftovers(self) -> None:
        """Take away columns of a network that another has taken the place of, or was about to."""
        names = schema_of(self.config).names
        leftovers = [name for name in self.dataset.schema.names if name not in names]
        if leftovers:
            dataset = _opened(self.location)
            dataset.drop_columns(leftovers)
            self._committed(dataset)

    def set_expansion(self, expansion: Expansion) -> None:
        """Say which embedding the expansion column holds from now on."""
        self._set(expansion=expansion)

    def set_successor(self, successor: Expansion | None) -> None:
        """Make room for what is to take the place of the embeddings; None gives that up.

        Each step is a commit; cut short between them, the columns are leftovers, and the next turn takes
        them away.
        """
        present = self.config.expansion
        if self.config.successor is not None:
            self._set(successor=None)
        if successor is None or present is None:
            return
        coming = replace(successor, slot=next(slot for slot in SLOTS if slot != present.slot))

        def work() -> None:
            import pyarrow as pa

            dataset = _opened(self.location)
            dataset.add_columns(pa.schema([pa.field(name, pa.binary()) for name in coming.columns]))
            config = replace(self.config, successor=coming)
            dataset.update_schema_metadata({METADATA_KEY.decode(): config.to_json()})
            self._committed(dataset)

        self._in_turn(work)

    def succeed(self) -> None:
        """Let the successor take its place: from this one commit on, searches go by it."""
        self._set(expansion=self.config.successor, successor=None)
        with self._turn():  # which takes the old columns away
            pass

    def set_min_object_size(self, min_object_size: float) -> None:
        """Say what the windows of pictures are made for from now on."""
        self._set(min_object_size=min_object_size)

    def _set(self, **changes: Any) -> None:
        def work() -> None:
            dataset = _opened(self.location)
            config = replace(self.config, **changes)
            dataset.update_schema_metadata({METADATA_KEY.decode(): config.to_json()})
            self._committed(dataset)

        self._in_turn(work)

    def replace(self, prepare: Callable[[], tuple[Collection[int], pa.Table | None]]) -> None:
        """Give up fragments for rows that take the place of theirs, in one commit.

        `prepare` looks at the newest version when no other writer can come between, and says which fragments,
        by their ids, and which rows.
        """

        def work() -> None:
            gone, rows = prepare()
            if gone:
                self._write(rows, [], sorted(gone))

        self._in_turn(work)

    def tidy(self, keep: timedelta = KEEP_OLD_VERSIONS) -> None:
        """Merge small fragments and drop old versions and orphans, when there are enough of them.

        Runs inside a writer's turn, so no file that another writer is about to commit is taken for an
        orphan. In an object store, where there are no turns, orphans wait for Lance's own seven days.
        """
        with self._turn():
            dataset = _opened(self.location)
            self._merge_fragments(dataset)
            try:
                self._clean_up(dataset, keep)
            except DamagedError:
                self._put_unreadable_versions_aside()
                self._clean_up(dataset, keep)

    def _clean_up(self, dataset: lance.LanceDataset, keep: timedelta) -> None:
        with reading(self.location):
            dataset.cleanup_old_versions(keep, delete_unverified=not self.location.is_uri)

    def _put_unreadable_versions_aside(self) -> None:
        """Older versions that are damaged: nothing is lost with them, but no others could be cleaned away."""
        import lance

        for manifest in self.location.manifests()[1:]:
            try:
                with reading(self.location):
                    lance.dataset(self.location.table, version=version_of(manifest)).get_fragments()
            except DamagedError:
                os.replace(manifest, self.location.folder / f"damaged-{manifest.name}")

    def _merge_fragments(self, dataset: lance.LanceDataset) -> None:
        from lance.optimize import Compaction

        fragments = dataset.get_fragments()
        live = {f.fragment_id: f.physical_rows - f.num_deletions for f in fragments}
        worn = {f.fragment_id for f in fragments if f.num_deletions > f.physical_rows // 5}
        small = _worth_merging(live)
        chosen = worn | (small if len(small) >= MANY_FRAGMENTS else set())
        if not chosen:
            return
        self.current.verify(f for f in fragments if f.fragment_id in chosen)
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


def _opened(location: Location) -> lance.LanceDataset:
    """The newest version, for one call alone: what other threads read is never moved nor written with."""
    import lance

    if not location.is_uri and not location.manifests():
        raise no_index(location)
    with reading(location):
        try:
            return lance.dataset(location.table)
        except (ValueError, OSError) as error:
            if location.is_uri and is_absent(error):
                raise no_index(location) from error
            raise


def _words_of(dataset: lance.LanceDataset, location: Location) -> bytes:
    """The config and schema as the table has them."""
    words: bytes | None = (dataset.schema.metadata or {}).get(METADATA_KEY)
    if words is None:
        raise OtherPlaceError(f"{location} holds a table that sketchseek did not make.")
    return words
