"""Read all of an index, say what is damaged, and bring it back from the pictures.

A row is given up only for one that takes its place in the same commit: what the snapshot knows of the
picture, or its path alone, both marked so that the picture is read again as soon as it is there.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import DamagedError, SketchseekError
from ..sources.picture import THUMBNAIL_SIDE
from ..sources.sandbox import Children, LimitError, machine_failed
from ..storage.location import Location, no_index, reading
from ..storage.schema import schema_of, thumbnail_sum
from ..storage.snapshot import Snapshot
from ..storage.store import Store
from .commits import read_known, table_of
from .run import IndexingOptions, update

if TYPE_CHECKING:
    import pyarrow as pa

MEMORY = 4 << 30
PATIENCE_S = 30.0
"""What reading a damaged file may take."""
GREY = (200, 200, 200)
REFUSED = b"!"
WAITING = "What the index knew of it was damaged; it is read again when it is there."
"""Why a picture of which the path alone is left can't be found."""


@dataclass
class Check:
    """What was found, and what became of it.

    pictures : how many there are afterwards, 0 when they can't all be read. problems : a sentence each.
    lost : pictures whose rows can't be relied on. restored : how many of them were read again. kept : of
    those out of reach, how many are found by what the snapshot knew of them. waiting : how many are not,
    until they are there. repaired : whether all is well afterwards, but for pictures lost and not restored.
    """

    pictures: int = 0
    problems: list[str] = field(default_factory=list)
    lost: int = 0
    restored: int = 0
    kept: int = 0
    waiting: int = 0
    repaired: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As `check --json` prints it."""
        return {
            "pictures": self.pictures,
            "problems": self.problems,
            "lost": self.lost,
            "restored": self.restored,
            "kept": self.kept,
            "waiting": self.waiting,
            "repaired": self.repaired,
        }

    def sentences(self) -> list[str]:
        """For people."""
        said = list(self.problems)
        if self.lost:
            said.append(f"Of {self.lost:,} lost pictures, {self.restored:,} were read again.")
        if self.kept:
            said.append(
                f"{self.kept:,} are out of reach: the index keeps what it knew of them until they are there."
            )
        if self.waiting:
            said.append(f"{self.waiting:,} are out of reach, and can't be found until they are there again.")
        if self.repaired and self.restored + self.kept + self.waiting < self.lost:
            said.append(_come_back(self.lost - self.restored - self.kept - self.waiting))
        return said


def _come_back(count: int) -> str:
    """The sentence for pictures that nothing names any more."""
    return f"{count:,} are named by nothing: they come back when the folders are indexed in which they are."


def check(where: str | os.PathLike[str], *, repair: bool = False, jobs: int | None = None) -> Check:
    """Read everything in an index. With `repair`, what is damaged is given up and made again."""
    location = Location(where)
    found = Check()
    if not location.exists():
        raise no_index(location)
    if location.repair(unread=repair):
        found.problems.append("The newest manifest was lost or changed; it was put back.")
    sealed = location.is_uri or location.seal() is not None
    if not sealed:
        found.problems.append("The seal, which holds the checksums, is missing or damaged.")
    store = Store.open(location.text)
    damaged = _damaged(store)
    found.problems += damaged.values()
    with reading(location):
        kept = Snapshot.is_kept(location, store.current.identity)
        spoilt = kept and Snapshot.read(location, store.current.identity) is None
    if spoilt:
        found.problems.append("The snapshot, which is made from the table, is damaged.")
    found.lost = sum(
        _rows(fragment) for fragment in store.dataset.get_fragments() if _files(fragment) in damaged
    )
    if repair:
        if damaged:
            _restore(store, set(damaged), found, jobs)
        if not sealed:
            store.seal()
        if found.problems:
            Snapshot.of(store).save(location)
        found.repaired = True
    if repair or not damaged:
        found.pictures = len(Snapshot.of(store))
    return found


Files = tuple[str, ...]


def _files(fragment: Any) -> Files:
    """What a fragment is known by, whatever is deleted of it."""
    return tuple(file.path for file in fragment.data_files())


def _damaged(store: Store) -> dict[Files, str]:
    """Fragments of the newest version that can't be relied on, and why.

    Others may write meanwhile, and take away files that are of no use any more: what is damaged is looked at
    once more in the newest version, until there is none newer.
    """
    found: dict[Files, str] | None = None
    while True:
        there = {_files(fragment): fragment for fragment in store.dataset.get_fragments()}
        suspects = there.keys() if found is None else there.keys() & found.keys()
        reasons = {files: _why(store, there[files]) for files in there if files in suspects}
        found = {files: reason for files, reason in reasons.items() if reason is not None}
        if not found or not store.refresh():
            return found


def _why(store: Store, fragment: Any) -> str | None:
    """Why a fragment can't be relied on, by its files' checksums, then by all its rows; None when it can."""
    columns = schema_of(store.config).names
    try:
        for name, reason in store.current.differing([fragment], again=True):
            return f"{name}: {reason}."
        for batch in store.current.batches(columns, fragments=[fragment]):
            for row in batch.select(["path", "thumbnail", "thumbnail_sum"]).to_pylist():
                if thumbnail_sum(row["thumbnail"]) != row["thumbnail_sum"]:
                    return f"The thumbnail of {os.fsdecode(row['path'])} has changed."
    except DamagedError as error:
        return str(error)
    return None


def _rows(fragment: Any) -> int:
    """How many rows a fragment has, by the manifest alone."""
    deleted = fragment.metadata.deletion_file.num_deleted_rows if fragment.metadata.deletion_file else 0
    return int(fragment.metadata.physical_rows - deleted)


def _restore(store: Store, suspects: set[Files], found: Check, jobs: int | None) -> None:
    """Give up damaged fragments for marked rows, and read those of their pictures again that are there."""
    rows: list[dict[str, Any]] = []
    readable = _Readable(store, suspects)
    thumbnails, paths = readable.thumbnails(), readable.paths()  # before the turn: others wait for it

    def prepare() -> tuple[list[int], pa.Table | None]:
        """Inside the writer's turn: whatever was found before, only what is damaged now is given up."""
        fragments = store.dataset.get_fragments()
        damaged = [f for f in fragments if _files(f) in suspects and _why(store, f) is not None]
        numbers = [fragment.fragment_id for fragment in damaged]
        others = [f for f in fragments if f.fragment_id not in numbers]
        rows[:] = _marked(store, others, thumbnails, paths) if damaged else []
        found.lost = sum(map(_rows, damaged))
        return numbers, table_of(rows, store) if rows else None

    try:
        store.replace(prepare)
    except SketchseekError as error:
        unnamed = found.lost - len(rows)
        if unnamed > 0:  # whether or not the commit went through: no later run will say it
            raise type(error)(f"{error} {_come_back(unnamed)}") from error
        raise
    there = [row["path"] for row in rows if os.path.isfile(row["path"])]
    if there:
        update(store, there, IndexingOptions(jobs))
    marked = {row["id"] for row in rows}
    now = [row for row in read_known(store) if row.id in marked]
    found.restored = sum(bool(row.digest) for row in now)
    found.waiting = sum(not row.digest and row.failure is not None for row in now)
    found.kept = len(now) - found.restored - found.waiting


def _marked(
    store: Store, others: list[Any], thumbnails: dict[str, bytes], paths: dict[str, bytes]
) -> list[dict[str, Any]]:
    """Rows for the pictures of damaged fragments, without digest and time, by which they'd be left alone.

    others : the fragments that are whole. thumbnails, paths : by ids, what could be read of the damaged ones.
    """
    taken = {i for batch in store.current.batches(["id"], fragments=others) for i in batch["id"].to_pylist()}
    with reading(store.location):  # nothing is given up while the system keeps this from us
        snapshot = Snapshot.read(store.location, store.current.identity)
    if snapshot is not None:
        ids = [identifier.decode() for identifier in snapshot.ids.tolist()]
        rows = list(snapshot.rows(n for n, identifier in enumerate(ids) if identifier not in taken))
        for row in rows:
            row["thumbnail"] = thumbnails.get(row["id"]) or _blank(row["width"], row["height"])
    else:
        bare = {"width": 0, "height": 0, "failure": WAITING}
        rows = [{"id": i, "path": path, **bare} for i, path in paths.items() if i not in taken]
    for row in rows:
        row.update(size=0, modified=0, digest=b"", thumbnail_sum=thumbnail_sum(row.get("thumbnail")))
    return rows


class _Readable:
    """What can still be read of damaged files, by a process of its own: they may ask for any memory."""

    def __init__(self, store: Store, damaged: Iterable[Files]) -> None:
        there = {_files(fragment): fragment for fragment in store.dataset.get_fragments()}
        self._asked = [(store, there[files]) for files in damaged if files in there]
        self._children = Children(
            f"{__name__}:read_damaged", memory=MEMORY, seconds=PATIENCE_S, patience=2 * PATIENCE_S
        )

    def paths(self) -> dict[str, bytes]:
        """Paths by ids; those of rows that are deleted, too, where that can't be told any more."""
        return {
            row["id"]: row["path"]
            for row in self._rows(["id", "path"])
            if re.fullmatch("[0-9a-f]{16}", row["id"] or "") and row["path"]
        }

    def thumbnails(self) -> dict[str, bytes]:
        """Thumbnails by ids, those that are what they were."""
        return {
            row["id"]: row["thumbnail"]
            for row in self._rows(["id", "thumbnail", "thumbnail_sum"])
            if row["thumbnail"] is not None and thumbnail_sum(row["thumbnail"]) == row["thumbnail_sum"]
        }

    def _rows(self, columns: list[str]) -> Iterator[dict[str, Any]]:
        try:
            for store, fragment in self._asked:
                yield from self._rows_of(store, fragment, columns)
        finally:
            self._children.close()

    def _rows_of(self, store: Store, fragment: Any, columns: list[str]) -> list[dict[str, Any]]:
        import pyarrow as pa

        deletion = fragment.deletion_file()
        spoilt = deletion and any(n == deletion for n, _ in store.current.differing([fragment], again=True))
        words = {"table": store.location.table, "version": store.version, "columns": columns}
        words |= {"fragment": fragment.fragment_id, "file": fragment.data_files()[0].path}
        for way in ["deleted too"] if spoilt else ["as they are", "deleted too"]:
            try:
                answer = self._children.ask(json.dumps({**words, "way": way}).encode())
            except LimitError:
                continue
            except SketchseekError as error:
                if machine_failed(error):  # it says nothing about the file: nothing is given up
                    raise
                continue
            if answer[:1] == REFUSED:
                raise SketchseekError(answer[1:].decode())
            with suppress(pa.ArrowInvalid):
                rows: list[dict[str, Any]] = pa.ipc.open_stream(answer).read_all().to_pylist()
                return rows
        return []


def read_damaged(message: bytes) -> bytes:
    """Columns of a damaged fragment, as an Arrow stream; whatever it does, it does to this process alone.

    Or `REFUSED` and a sentence, where the system did not let one read them.
    """
    import lance
    import pyarrow as pa
    from lance.file import LanceFileReader

    words = json.loads(message)
    try:
        with reading(Location(os.path.dirname(words["table"]))):
            if words["way"] == "deleted too":
                path = f"{words['table']}/data/{words['file']}"
                found = LanceFileReader(path, columns=words["columns"]).read_all().to_table()
            else:
                dataset = lance.dataset(words["table"], version=words["version"])
                found = dataset.get_fragment(words["fragment"]).to_table(columns=words["columns"])
    except DamagedError:
        raise
    except SketchseekError as error:
        return REFUSED + str(error).encode()
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, found.schema) as writer:
        writer.write_table(found)
    return bytes(out.getvalue())


def _blank(width: int, height: int) -> bytes:
    """A thumbnail of a picture that was lost with the row: plain grey."""
    from PIL import Image

    scale = THUMBNAIL_SIDE / max(width, height, THUMBNAIL_SIDE)
    out = io.BytesIO()
    Image.new("RGB", (max(1, int(width * scale)), max(1, int(height * scale))), GREY).save(out, "WEBP")
    return out.getvalue()
