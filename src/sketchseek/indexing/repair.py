"""Read all of an index, say what is damaged, and bring it back from the pictures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import DamagedError, SketchseekError
from ..storage.location import Location, no_index, reading
from ..storage.schema import schema_of, thumbnail_sum
from ..storage.seal import Seal
from ..storage.snapshot import Snapshot
from ..storage.store import Store
from .run import IndexingOptions, update


@dataclass
class Check:
    """What was found, and what became of it.

    pictures : how many there are afterwards, 0 when they can't all be read. problems : a sentence each.
    lost : pictures whose rows can't be read. restored : how many of them were read again.
    repaired : whether all is well afterwards, but for pictures lost and not restored.
    """

    pictures: int = 0
    problems: list[str] = field(default_factory=list)
    lost: int = 0
    restored: int = 0
    repaired: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As `check --json` prints it."""
        return {
            "pictures": self.pictures,
            "problems": self.problems,
            "lost": self.lost,
            "restored": self.restored,
            "repaired": self.repaired,
        }

    def sentences(self) -> list[str]:
        """For people."""
        said = list(self.problems)
        if self.lost:
            said.append(f"Of {self.lost:,} lost pictures, {self.restored:,} were read again.")
        if self.repaired and self.restored < self.lost:
            said.append("The others come back when the folders are indexed in which they are.")
        return said


def check(where: str | os.PathLike[str], *, repair: bool = False, jobs: int | None = None) -> Check:
    """Read everything in an index. With `repair`, what is damaged is given up and made again."""
    location = Location(where)
    found = Check()
    if not location.exists():
        raise no_index(location)
    if location.mend(unread=repair):
        found.problems.append("The newest manifest was lost or changed; it was put back.")
    sealed = location.is_uri or Seal.read(location.folder) is not None
    if not sealed:
        found.problems.append("The seal, which holds the checksums, is missing or damaged.")
    store = Store.open(location.text)
    damaged = dict(_damaged_fragments(store))
    found.problems += damaged.values()
    snapshot = Snapshot.load(location, store.current.identity)
    with reading(location):
        kept = Snapshot.is_kept(location, store.current.identity)
    if kept and snapshot is None:
        found.problems.append("The snapshot, which is made from the table, is damaged.")
    found.lost = sum(_rows(store, number) for number in damaged)
    if repair:
        if damaged:
            found.restored = _restore(store, damaged, snapshot, jobs)
        if not sealed:
            store.seal()
        if found.problems:
            Snapshot.of(store).save(location)
        found.repaired = True
    if repair or not damaged:
        found.pictures = len(Snapshot.of(store))
    return found


def repair(location: Location, error: DamagedError, jobs: int | None = None) -> Check:
    """Mend what an error speaks of; the error itself where nothing is found to be mended."""
    found = check(location.text, repair=True, jobs=jobs)
    if not found.problems:
        raise error
    return found


def _damaged_fragments(store: Store) -> Iterator[tuple[int, str]]:
    """Fragments that can't be relied on, and why: by their files' checksums, then by reading all rows."""
    columns = schema_of(store.recipe).names
    for fragment in store.dataset.get_fragments():
        try:
            for name, reason in store.current.differing([fragment], again=True):
                raise DamagedError(f"{name}: {reason}.")
            for batch in store.current.batches(columns, fragments=[fragment]):
                for row in batch.select(["path", "thumbnail", "thumbnail_sum"]).to_pylist():
                    if thumbnail_sum(row["thumbnail"]) != row["thumbnail_sum"]:
                        raise DamagedError(f"The thumbnail of {os.fsdecode(row['path'])} has changed.")
        except DamagedError as error:
            yield fragment.fragment_id, str(error)


def _rows(store: Store, fragment: int) -> int:
    """How many rows a fragment has, by the manifest alone."""
    metadata = store.dataset.get_fragment(fragment).metadata
    deleted = metadata.deletion_file.num_deleted_rows if metadata.deletion_file else 0
    return int(metadata.physical_rows - deleted)


def _restore(store: Store, damaged: dict[int, str], snapshot: Snapshot | None, jobs: int | None) -> int:
    """Give up the fragments, and read those of their pictures again that can be named; how many came back."""
    if snapshot is not None:
        paths = {os.fsencode(snapshot.path(i)) for i in range(len(snapshot))}
    else:
        paths = {path for number in damaged for path in _paths_in(store, number)}
    store.drop(damaged)
    paths -= set(store.table(["path"])["path"].to_pylist())
    there = sorted(path for path in paths if os.path.isfile(path))
    return update(store, there, IndexingOptions(jobs)).added if there else 0


def _paths_in(store: Store, fragment: int) -> Iterator[bytes]:
    """What can still be read of a fragment's paths, rows that were deleted included."""
    from lance.file import LanceFileReader

    for file in store.dataset.get_fragment(fragment).data_files():
        try:
            with reading(store.location):
                reader = LanceFileReader(f"{store.location.table}/data/{file.path}", columns=["path"])
                yield from reader.read_all().to_table()["path"].to_pylist()
                return
        except SketchseekError:
            continue
