from __future__ import annotations

import errno
import hashlib
import json
import multiprocessing
import os
import random
import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

from sketchseek.errors import DamagedError, SketchseekError
from sketchseek.storage import durable
from sketchseek.storage import snapshot as snapshot_module
from sketchseek.storage import store as store_module
from sketchseek.storage.location import Location
from sketchseek.storage.schema import (
    SCHEMA_VERSION,
    Expansion,
    IndexConfig,
    added_since,
    schema_of,
    thumbnail_sum,
)
from sketchseek.storage.snapshot import Snapshot
from sketchseek.storage.store import Change, Store, Version

CONFIG = IndexConfig("compact", {"frequencies": [0.0, 1.5]}, 4, 9, "canny", "1")


def rows(ids: Sequence[str], config: IndexConfig = CONFIG, **columns: Sequence[Any]) -> pa.Table:
    n = len(ids)
    values: dict[str, Any] = {
        "id": ids,
        "path": [b"/p/" + i.encode() for i in ids],
        "size": [1] * n,
        "modified": [1] * n,
        "digest": [b"d"] * n,
        "width": [30] * n,
        "height": [20] * n,
        "thumbnail": [b"t" * 2000] * n,
        "code": [[1, 2, 3, 4]] * n,
        "norms": [[0.5] * 9] * n,
        "frame": [[0, 0, 30, 20]] * n,
        "expansion": [None] * n,
        "failure": [None] * n,
        "is_line_art": [False] * n,
        "thumbnail_sum": [thumbnail_sum(b"t" * 2000)] * n,
        "windows": [None] * n,
        "window_frames": [None] * n,
        "smallest": [0.3] * n,
        "tokens": [None] * n,
        "keywords": [f"word {i}" for i in ids],
        "icon_embedding": [bytes(range(128))] * n,
        **columns,
    }
    schema = schema_of(config)
    return pa.Table.from_arrays([pa.array(values[f.name], f.type) for f in schema], schema=schema)


def ids_in(store: Store) -> list[str]:
    return sorted(store.table(["id"])["id"].to_pylist())


def add(store: Store, *ids: str, forget: Sequence[str] = ()) -> None:
    store.commit(lambda: Change(rows(ids) if ids else None, forget))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "index", CONFIG)


def test_rows_come_back_and_the_config_with_them(store: Store) -> None:
    add(store, "a", "b")
    again = Store.open(store.location.text)
    assert ids_in(again) == ["a", "b"]
    assert again.config == CONFIG
    assert again.version == store.version == store.location.latest_version()


def test_a_change_is_one_transaction(store: Store) -> None:
    add(store, "a", "b", "c")
    before = store.version
    store.commit(lambda: Change(rows(["a"], size=[99]), forget=["a", "c", "not there"]))
    assert store.version == before + 1
    assert ids_in(store) == ["a", "b"]
    assert store.rows(["a"], ["size"])["size"].to_pylist() == [99]


def test_a_fragment_may_lose_all_its_rows(store: Store) -> None:
    add(store, "a")
    add(store, "b")
    add(store, forget=["a", "b"])
    assert ids_in(Store.open(store.location.text)) == []
    add(store, "c", forget=["b"])
    assert ids_in(store) == ["c"]


def test_nothing_to_change_commits_nothing(store: Store) -> None:
    before = store.version
    store.commit(Change)
    assert store.version == before


def test_two_stores_see_each_others_rows_before_they_change_anything(store: Store) -> None:
    other = Store.open(store.location.text)
    add(store, "a")
    seen: list[list[str]] = []

    def prepare() -> Change:
        seen.append(ids_in(other))
        return Change(rows(["b"]))

    other.commit(prepare)
    assert seen == [["a"]]
    assert store.refresh()
    assert not store.refresh()
    assert ids_in(store) == ["a", "b"]


def test_files_are_on_disk_before_the_commit_and_the_manifest_before_it_is_acknowledged(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, "a", "b")
    events: list[str] = []
    fsync, commit = os.fsync, lance.LanceDataset.commit

    def recorded_fsync(descriptor: int) -> None:
        events.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    def recorded_commit(*args: Any, **options: Any) -> Any:
        events.append("commit")
        return commit(*args, **options)

    monkeypatch.setattr(durable.os, "fsync", recorded_fsync)
    monkeypatch.setattr(lance.LanceDataset, "commit", staticmethod(recorded_commit))
    add(store, "c", forget=["a"])
    at = events.index("commit")
    kinds = [os.path.splitext(event)[1] or os.path.basename(event) for event in events]
    assert sorted(kinds[:at]) == [".arrow", ".lance", "_deletions", "data"]
    assert kinds[at + 1 :] == [".manifest", "_versions", ".tmp", "index"], "the seal comes last"


def manifests(store: Store) -> list[Path]:
    """From the newest to the oldest."""
    return sorted((Path(store.location.table) / "_versions").glob("*.manifest"))


def test_a_manifest_torn_by_a_power_cut_is_put_aside(store: Store) -> None:
    """Nobody was told of it: the seal is that of the version before, or of an index that has none."""
    add(store, "a")
    seal = store.location.folder / "seal"
    for before in (seal.read_bytes(), None):
        add(store, "b")
        newest = manifests(store)[0]
        whole = newest.read_bytes()
        for torn in (b"", b"LA", whole[:20]):
            newest.write_bytes(torn)
            seal.unlink(missing_ok=True) if before is None else seal.write_bytes(before)
            again = Store.open(store.location.text)
            assert ids_in(again) == ["a"]
            assert (store.location.folder / f"torn-{newest.name}").read_bytes() == torn
            newest.write_bytes(whole)
        store = Store.open(store.location.text)
        assert ids_in(store) == ["a", "b"]
        add(store, forget=["b"])


@pytest.mark.parametrize("damage", ["cut", "flip", "gone", "all gone"])
def test_a_manifest_that_was_acknowledged_is_put_back(store: Store, damage: str) -> None:
    add(store, "a")
    add(store, "b")
    newest = manifests(store)[0]
    whole = newest.read_bytes()
    if damage == "cut":
        newest.write_bytes(whole[:-20])
    elif damage == "flip":
        newest.write_bytes(whole[:40] + bytes([whole[40] ^ 1]) + whole[41:])
    else:
        for manifest in manifests(store) if damage == "all gone" else [newest]:
            manifest.unlink()
    assert Location(store.location.text).exists()
    assert Location(store.location.text).identity() == store.current.identity
    other = Store.open(store.location.text)
    assert ids_in(other) == ["a", "b"]
    assert manifests(other)[0].read_bytes() == whole
    newest.unlink()
    add(store, "c")  # a writer puts it back, too
    assert ids_in(store) == ids_in(Store.open(store.location.text)) == ["a", "b", "c"]


def test_a_table_that_somebody_took_away_is_not_put_back(store: Store) -> None:
    add(store, "a")
    shutil.rmtree(store.location.table)
    assert not Location(store.location.text).exists()
    with pytest.raises(SketchseekError, match="There is not an index"):
        Store.open(store.location.text)
    add(Store.create(store.location.text, CONFIG), "b")
    assert ids_in(Store.open(store.location.text)) == ["b"]


def test_no_more_than_the_newest_manifest_is_put_aside(store: Store) -> None:
    add(store, "a")
    add(store, "b")
    (store.location.folder / "seal").unlink()
    before = manifests(store)
    for manifest in before[:2]:
        manifest.write_bytes(b"")
    for _ in range(2):
        with pytest.raises(SketchseekError, match=r"is damaged: its last two manifests are cut short"):
            Store.open(store.location.text)
    assert manifests(store) == before


def test_an_old_version_that_is_damaged_keeps_nobody_from_cleaning_up(store: Store) -> None:
    for name in "abc":
        add(store, name)
    middle = manifests(store)[1]
    content = bytearray(middle.read_bytes())
    for at in range(8, len(content) - 24, 3):
        content[at] ^= 0xFF
    middle.write_bytes(content)
    store.tidy(keep=timedelta(0))
    assert len(manifests(store)) == 1
    assert ids_in(Store.open(store.location.text)) == ["a", "b", "c"]


def test_what_others_leave_in_the_folder_is_passed_over(store: Store) -> None:
    """macOS leaves `._` files on disks of other kinds."""
    add(store, "a")
    for file in [file for file in store.location.folder.rglob("*") if file.is_file()]:
        file.with_name("._" + file.name).write_bytes(b"\0\5\26\7 Mac OS X")
    assert Location(store.location.text).exists()
    again = Store.open(store.location.text)
    add(again, "b", forget=["a"])
    again.tidy()
    assert ids_in(Store.open(store.location.text)) == ["b"]


def test_a_folder_whose_name_is_no_text_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(SketchseekError, match="is not text"):
        Location(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))


def damage_file(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        at = content.index(bytes([1, 2, 3, 4])) if how == "code" else len(content) // 3
        path.write_bytes(content[:at] + bytes([content[at] ^ 16]) + content[at + 1 :])


@pytest.mark.parametrize("how", ["gone", "cut", "flip", "code"])
@pytest.mark.parametrize("kind", ["data", "_deletions"])
def test_damage_is_said_and_copied_nowhere(store: Store, kind: str, how: str) -> None:
    add(store, "a", "b", "c", "d")
    add(store, forget=["a", "b"])
    version = store.version
    Store.open(store.location.text).current.verify(store.dataset.get_fragments())
    (file,) = (Path(store.location.table) / kind).iterdir()
    damage_file(file, "flip" if kind == "_deletions" and how == "code" else how)
    for spoilt in (store, Store.open(store.location.text)):
        with pytest.raises(DamagedError, match=r"is damaged: "):
            Snapshot.of(spoilt)
        with pytest.raises(DamagedError):
            spoilt.tidy()  # would merge what is left of the fragment into a new file
    assert store.location.latest_version() == version
    store.replace(lambda: ([0], None))
    assert ids_in(Store.open(store.location.text)) == []


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.ENOMEM])
def test_a_manifest_that_cannot_be_read_stays_where_it_is(
    store: Store, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Whoever runs the tests as root may read every file, so the refusal is simulated."""
    add(store, "a")
    add(store, "b")
    before = manifests(store)
    real = Path.open

    def refuse(path: Path, *arguments: Any, **options: Any) -> Any:
        if path.suffix == ".manifest":
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", refuse)
        with pytest.raises(SketchseekError, match=f"Cannot read the index in .*: {os.strerror(number)}"):
            Store.open(store.location.text)
    assert manifests(store) == before
    assert ids_in(Store.open(store.location.text)) == ["a", "b"]


def test_tidying_merges_fragments_and_takes_orphans_away(store: Store) -> None:
    for number in range(store_module.MANY_FRAGMENTS + 3):
        add(store, f"{number:03d}")
    reader = Store.open(store.location.text)
    data = Path(store.location.table) / "data"
    orphan = data / "0123456789abcdef.lance"
    orphan.write_bytes(b"left by a killed process")
    store.tidy()
    assert len(store.dataset.get_fragments()) == 1
    assert len(ids_in(store)) == store_module.MANY_FRAGMENTS + 3
    assert not orphan.exists()
    assert len(ids_in(reader)) == store_module.MANY_FRAGMENTS + 3, "a reader of the old version goes on"
    store.tidy(keep=timedelta(0))
    assert len(list(data.iterdir())) == 1
    assert len(list((data.parent / "_versions").glob("*.manifest"))) == 1


def test_a_large_fragment_is_not_rewritten_for_a_few_small_ones() -> None:
    sizes = {0: 500_000, **dict.fromkeys(range(1, 40), 256)}
    assert store_module._worth_merging(sizes) == set(range(1, 40))


def test_rows_mostly_forgotten_leave_the_disk(store: Store) -> None:
    ids = [f"{number:03d}" for number in range(50)]
    add(store, *ids)
    add(store, forget=ids[:40])
    store.tidy()
    assert ids_in(store) == ids[40:]
    assert store.dataset.get_fragments()[0].physical_rows == 10


def test_no_index_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SketchseekError, match="There is not an index in"):
        Store.open(tmp_path / "nowhere")


def test_a_newer_schema_is_refused_in_words(store: Store) -> None:
    newer = {**json.loads(CONFIG.to_json()), "schema": 99}
    store.dataset.update_schema_metadata({"sketchseek": json.dumps(newer)})
    with pytest.raises(SketchseekError, match=r"schema 99.*update sketchseek"):
        Store.open(store.location.text)


def to_schema_2(store: Store) -> None:
    lance.dataset(store.location.table).drop_columns(added_since(2))
    words = json.dumps({**json.loads(CONFIG.to_json()), "schema": 2})
    lance.dataset(store.location.table).update_schema_metadata({"sketchseek": words})


def test_an_empty_index_is_upgraded_and_one_whose_upgrade_was_cut_short(store: Store) -> None:
    to_schema_2(store)
    add(Store.open(store.location.text), "a")
    again = Store.open(store.location.text)
    assert (again.current.schema, again.table(["id", "is_line_art"]).to_pylist()) == (
        SCHEMA_VERSION, [{"id": "a", "is_line_art": False}],
    )  # fmt: skip
    words = json.dumps({**json.loads(CONFIG.to_json()), "schema": 2})  # the columns are there, that is all
    lance.dataset(store.location.table).update_schema_metadata({"sketchseek": words})
    again = Store.open(store.location.text)
    assert again.table(["is_line_art"])["is_line_art"].to_pylist() == [False]
    again.upgrade()
    add(again, "b")
    assert Store.open(store.location.text).current.schema == SCHEMA_VERSION
    assert ids_in(again) == ["a", "b"]


def test_an_upgrade_is_on_disk_before_it_is_acknowledged_and_happens_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store, "a", "b")
    to_schema_2(store)
    synced: list[str] = []
    fsync = os.fsync

    def recorded(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(durable.os, "fsync", recorded)
    again = Store.open(store.location.text)
    assert again.current.schema == 2
    assert again.table(["is_line_art", "thumbnail_sum"]).to_pylist() == 2 * [
        {"is_line_art": False, "thumbnail_sum": thumbnail_sum(b"t" * 2000)}
    ]
    again.upgrade()
    assert {f.path for f in again.dataset.get_fragments()[0].data_files()} & {*map(os.path.basename, synced)}
    assert again.location.manifests()[0].name in map(os.path.basename, synced)
    assert (again.current.schema, again.config) == (SCHEMA_VERSION, CONFIG)
    version = again.version
    again.upgrade()
    assert again.version == version
    add(again, "c", forget=["a"])
    assert ids_in(Store.open(store.location.text)) == ["b", "c"]


def test_a_table_of_somebody_else_is_refused(tmp_path: Path) -> None:
    lance.write_dataset(pa.table({"x": [1]}), str(tmp_path / "index" / "pictures.lance"))
    with pytest.raises(SketchseekError, match="did not make"):
        Store.open(tmp_path / "index")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("No space left on device (os error 28)", "is full"),
        ("Read-only file system (os error 30)", "read-only"),
        ("Permission denied (os error 13)", "read-only"),
        ("something else, rust/lance/src/x.rs:12:3", "something else\\.$"),
    ],
)
def test_what_the_disk_says_becomes_a_sentence(store: Store, text: str, sentence: str) -> None:
    def prepare() -> Change:
        raise OSError(text)

    with pytest.raises(SketchseekError, match=sentence):
        store.commit(prepare)


def test_expansion_can_be_named_later(store: Store) -> None:
    store.set_expansion(Expansion("net", "7", 3))
    add(store, "a")
    assert Store.open(store.location.text).config.expansion == Expansion("net", "7", 3)


def test_an_object_store_works_the_same(tmp_path: Path) -> None:
    where = f"file-object-store://{tmp_path}/index"
    assert not Location(where).exists()
    store = Store.create(where, CONFIG)
    assert Location(where).exists()
    add(store, "a", "b")
    add(store, "c", forget=["a"])
    store.tidy()
    again = Store.open(where)
    assert ids_in(again) == ["b", "c"]
    assert len(Snapshot.of(again)) == 2
    assert not (tmp_path / "index" / "lock").exists()


def _create(where: str, ready: Any) -> None:
    ready.wait()
    Store.create(where, CONFIG)


def test_two_processes_may_create_one_index(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Barrier(2)
    processes = [context.Process(target=_create, args=(str(tmp_path / "i"), ready)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert ids_in(Store.open(tmp_path / "i")) == []


class TestSnapshot:
    def test_it_is_the_table_without_what_failed(self, store: Store) -> None:
        table = rows(["a", "b", "c"], path=[b"/one", b"/\xff two", b"/3"], failure=[None, None, "damaged"])
        store.commit(lambda: Change(table))
        snapshot = Snapshot.of(store)
        assert [snapshot.path(i) for i in range(len(snapshot))] == ["/one", "/\udcff two"]
        assert snapshot.ids.tolist() == [b"a", b"b"]
        assert snapshot.codes.tolist() == [[1, 2, 3, 4]] * 2
        assert snapshot.norms.shape == (2, 3, 3)

    def test_a_file_gives_back_what_was_saved(self, store: Store) -> None:
        store.set_expansion(Expansion("net", "7", 3))
        vector = np.array([1, 2, 3], np.float16).tobytes()
        table = rows(["a", "b"], store.config, expansion=[vector, None])
        store.commit(lambda: Change(table))
        saved = Snapshot.of(store)
        saved.save(store.location)
        loaded = Snapshot.load(store.location, store.current.identity)
        assert loaded is not None
        assert loaded.config == store.config
        for name in ("ids", "paths", "path_ends", "width", "height", "codes", "norms", "frames", "expansion"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(saved, name))
        assert loaded.is_intact()

    def test_an_empty_index_has_one_too(self, store: Store) -> None:
        Snapshot.of(store).save(store.location)
        loaded = Snapshot.load(store.location, store.current.identity)
        assert loaded is not None
        assert len(loaded) == 0

    def test_a_damaged_file_is_none(self, store: Store) -> None:
        add(store, "a")
        Snapshot.of(store).save(store.location)
        file = store.location.folder / f"snapshot-{store.current.identity}.bin"
        whole = file.read_bytes()
        for damaged in (b"", whole[:-1], b"x" + whole[1:], whole[:60]):
            file.write_bytes(damaged)
            assert Snapshot.load(store.location, store.current.identity) is None

    @pytest.mark.parametrize("copied_bytes", [0, 2**28], ids=["mapped", "copied"])
    def test_a_flipped_bit_is_none_and_is_copied_nowhere(
        self, store: Store, monkeypatch: pytest.MonkeyPatch, copied_bytes: int
    ) -> None:
        """But in the room between the arrays, where nothing is."""
        monkeypatch.setattr(snapshot_module, "COPIED_BYTES", copied_bytes)
        store.set_expansion(Expansion("net", "7", 3))
        vector = np.array([1, 2, 3], np.float16).tobytes()
        store.commit(lambda: Change(rows(["a", "b"], store.config, expansion=[vector, None])))
        Snapshot.of(store).save(store.location)
        file = store.location.folder / f"snapshot-{store.current.identity}.bin"
        whole = file.read_bytes()
        room = {at for at, byte in enumerate(whole) if byte == 0}
        used = [at for at in range(len(whole)) if at not in room]
        pick = random.Random(0)
        for at in pick.sample(used, 300):
            damaged = bytearray(whole)
            damaged[at] ^= 1 << pick.randrange(8)
            file.write_bytes(damaged)
            assert Snapshot.load(store.location, store.current.identity) is None, at
        file.write_bytes(whole)
        before = Snapshot.load(store.location, store.current.identity)
        assert before is not None
        if copied_bytes == 0:
            assert isinstance(before.codes, np.memmap)
        damaged = bytearray(whole)
        damaged[damaged.index(bytes([1, 2, 3, 4]))] ^= 64
        file.write_bytes(damaged)
        add(store, "c")
        assert Snapshot.of(store, before).codes.tolist() == [[1, 2, 3, 4]] * 3

    def test_a_strange_header_is_none(self, store: Store) -> None:
        """Even one with the right digest: types, shapes and places that no snapshot has."""
        add(store, "a", "b")
        saved = Snapshot.of(store)
        saved.save(store.location)
        file = store.location.folder / f"snapshot-{store.current.identity}.bin"
        whole = file.read_bytes()
        start = len(snapshot_module.MAGIC) + 24
        length = int.from_bytes(whole[start - 24 : start - 16], "little")
        header = json.loads(whole[start : start + length])
        strange: list[Any] = [[], {}, None, {**header, "recipe": "{}"}, {**header, "identity": "other"}]
        for name, (dtype, shape, offset, total) in header["arrays"].items():
            for entry in (
                [dtype, shape, offset + 64, total],
                [dtype, shape, -64, total],
                [dtype, [*shape, 1], offset, total],
                [dtype, [-1 for _ in shape], offset, total],
                [dtype, [10**9, *shape[1:]], offset, total],
                ["|O", shape, offset, total],
                [dtype],
                None,
            ):
                strange.append({**header, "arrays": {**header["arrays"], name: entry}})
            strange.append({**header, "arrays": {k: v for k, v in header["arrays"].items() if k != name}})
        for words in strange:
            text = json.dumps(words).encode()
            digest = hashlib.blake2b(text, digest_size=16).digest()
            head = snapshot_module.MAGIC + len(text).to_bytes(8, "little") + digest + text
            file.write_bytes(head + bytes(4096 - len(head)) + whole[4096:])
            assert Snapshot.load(store.location, store.current.identity) is None, words

    def test_it_is_of_one_table(self, store: Store) -> None:
        """A number alone doesn't make it so: the table may have been removed and made again."""
        add(store, "a")
        before = store.version
        Snapshot.of(store).save(store.location)
        shutil.rmtree(store.location.table)
        again = Store.create(store.location.text, CONFIG)
        add(again, "b")
        assert again.version == before
        assert Snapshot.load(again.location, again.current.identity) is None
        assert store.refresh()
        assert ids_in(store) == ["b"]

    def test_saving_takes_older_ones_away(self, store: Store) -> None:
        Snapshot.of(store).save(store.location)
        add(store, "a")
        Snapshot.of(store).save(store.location)
        assert [f.name for f in store.location.folder.glob("snapshot-*")] == [
            f"snapshot-{store.current.identity}.bin"
        ]

    def test_rows_that_were_only_added_are_all_that_is_read(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(store, "a", "b")
        before = Snapshot.of(store)
        store.commit(lambda: Change(rows(["c", "d"], path=[b"/longer path", b"/x"], failure=[None, "no"])))
        read: list[int] = []
        real = snapshot_module.read_pictures

        def counted(version: Version, fragments: list[Any]) -> Any:
            read.append(len(fragments))
            return real(version, fragments)

        monkeypatch.setattr(snapshot_module, "read_pictures", counted)
        grown, whole = Snapshot.of(store, before), Snapshot.of(store)
        add(store, "e", forget=["a"])
        changed, anew = Snapshot.of(store, grown), Snapshot.of(store)
        assert read == [1, 2, 3, 3], "a deletion makes it read everything"
        for one, other in ((grown, whole), (changed, anew)):
            for name in ("ids", "paths", "path_ends", "width", "codes", "norms", "frames", "fragments"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert [grown.path(i) for i in range(3)] == ["/p/a", "/p/b", "/longer path"]
        assert changed.ids.tolist() == [b"b", b"c", b"e"]

    def test_it_is_of_one_version_while_the_table_moves_on(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        add(store, "a", "b")
        before = store.version
        real = snapshot_module.read_pictures

        def meanwhile(*arguments: Any) -> Any:
            read = real(*arguments)
            add(store, "c", forget=["a"])
            return read

        monkeypatch.setattr(snapshot_module, "read_pictures", meanwhile)
        snapshot = Snapshot.of(store)
        assert (snapshot.version, snapshot.ids.tolist()) == (before, [b"a", b"b"])


def test_nothing_is_read_that_is_not_what_was_written(store: Store) -> None:
    """Lance trusts what it reads: a flipped bit may ask for a terabyte of memory, which ends the process."""
    for name in "ab":
        add(store, name)
    victim = sorted(Path(store.location.table, "data").glob("*.lance"))[0]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    with pytest.raises(DamagedError, match="changed"):
        Store.open(store.location.text).table(["id"])
