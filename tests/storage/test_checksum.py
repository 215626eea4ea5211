"""What is on disk is known by checksums that see every byte in its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketchseek import Index, Sketch
from sketchseek.errors import DamagedError
from sketchseek.indexing.repair import check
from sketchseek.storage import checksum as module
from sketchseek.storage import seal as seal_module
from sketchseek.storage.checksum import checksum, checksum_of_file, checksum_of_part, is_of_old_kind
from sketchseek.storage.seal import Seal
from sketchseek.storage.store import Store

SQUARE = Sketch.from_strokes([[[0, 0], [100, 0], [100, 80], [0, 80], [0, 0]]])
OLD = ""  # a checksum without the mark of today's kind


def swap_words(content: bytearray, one: int, other: int) -> None:
    one, other = 8 * one, 8 * other
    content[one : one + 8], content[other : other + 8] = content[other : other + 8], content[one : one + 8]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["words", "sectors", "rotated", "flips"]), st.data())
def test_whatever_changes_places_changes_it(seed: int, how: str, data: st.DataObject) -> None:
    """All of these leave the sums of words alone, as the old kind saw them."""
    content = bytearray(np.random.default_rng(seed).integers(0, 256, 3 * 4096 + 100, np.uint8).tobytes())
    before = bytes(content)
    page = 4096 * data.draw(st.integers(0, 2))
    if how == "words":
        swap_words(
            content, page // 8 + data.draw(st.integers(0, 255)), page // 8 + data.draw(st.integers(256, 511))
        )
    elif how == "sectors":
        content[page : page + 1024] = content[page + 512 : page + 1024] + content[page : page + 512]
    elif how == "rotated":
        content[page : page + 4096] = content[page + 8 : page + 4096] + content[page : page + 8]
    else:
        words = np.frombuffer(content[page : page + 4096], np.uint64).copy()
        words[data.draw(st.integers(0, 255))] += np.uint64(1)
        words[data.draw(st.integers(256, 511))] -= np.uint64(1)
        content[page : page + 4096] = words.tobytes()
    whole = [np.frombuffer(each, np.uint8) for each in (before, bytes(content))]
    assert (checksum(whole[0]) == checksum(whole[1])) == (before == bytes(content))


def test_it_is_the_same_of_memory_a_part_and_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", 8192)
    content = np.random.default_rng(0).integers(0, 256, 3 * 8192 + 77, np.uint8)
    (tmp_path / "file").write_bytes(content.tobytes())
    for like in (OLD, checksum(content)):
        total = checksum(content, like)
        assert is_of_old_kind(total) == (like == OLD)
        assert checksum_of_file(tmp_path / "file", like) == f"{len(content)}-{total}"
        with open(tmp_path / "file", "rb") as file:
            assert checksum_of_part(file.fileno(), 0, len(content), like) == total


@pytest.fixture
def where(pictures: Path, tmp_path: Path) -> Path:
    Index.create(tmp_path / "index", detector="canny", expansion=False).add(pictures, jobs=1)
    return tmp_path / "index"


def age(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give an index the seal and the snapshot that the version before wrote."""
    from sketchseek.storage import snapshot

    with monkeypatch.context() as patch:
        patch.setattr(module, "_KIND", "no such kind:")
        patch.setattr(snapshot, "checksum", lambda content: checksum(content, OLD))
        patch.setattr(snapshot, "MAGIC", snapshot._MAGIC_OF_OLD_SUMS)
        snapshot.Snapshot.of(Store.open(where)).save(Store.open(where).location)
    seal = Seal.read(where)
    assert seal is not None
    table = where / "pictures.lance"
    sums = {name: checksum_of_file(table / name, OLD) for name in seal.sums}
    with monkeypatch.context() as patch:
        patch.setattr(seal_module, "_MAGIC", seal_module._MAGIC_OF_OLD_SUMS)
        Seal(seal.version, seal.manifest, sums).save(where)


def data_file(where: Path) -> Path:
    (path,) = (where / "pictures.lance" / "data").iterdir()
    return path


def test_words_that_changed_places_are_found_and_mended(where: Path, pictures: Path) -> None:
    expected = {hit.picture: hit.score for hit in Index.open(where).search(SQUARE)}
    content = bytearray(data_file(where).read_bytes())
    words = np.frombuffer(content[:4096], np.uint64)
    other = int(np.flatnonzero(words != words[0])[0])
    swap_words(content, 0, other)
    data_file(where).write_bytes(content)
    assert len(check(where).problems) == 1
    assert Index.open(where, repair=True).add(pictures, jobs=1).repaired
    assert {hit.picture: hit.score for hit in Index.open(where).search(SQUARE)} == expected


def test_a_snapshot_whose_words_changed_places_is_made_again(where: Path) -> None:
    expected = {hit.picture: hit.score for hit in Index.open(where).search(SQUARE)}
    (snapshot,) = where.glob("snapshot-*.bin")
    content = snapshot.read_bytes()
    start = content.index(b'{"')
    header, _ = json.JSONDecoder().raw_decode(content[start:].decode("latin-1"))
    offset = header["arrays"]["codes"][2]
    changed = bytearray(content)
    changed[offset : offset + 4096] = content[offset + 8 : offset + 4096] + content[offset : offset + 8]
    assert changed != content
    snapshot.write_bytes(changed)
    assert check(where).problems == ["The snapshot, which is made from the table, is damaged."]
    assert {hit.picture: hit.score for hit in Index.open(where).search(SQUARE)} == expected


def test_an_index_from_before_is_held_to_its_sums_until_it_is_written(
    where: Path, pictures: Path, tmp_path: Path, draw_picture: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(where, monkeypatch)
    seal, snapshot = (where / "seal").read_bytes(), next(where.glob("snapshot-*.bin")).read_bytes()
    assert seal.startswith(b"sketchseek seal 1\n")
    assert snapshot.startswith(b"sketchseek snapshot 6\n")
    assert check(where).problems == []
    assert len(Index.open(where).search(SQUARE)) == 6
    assert ((where / "seal").read_bytes(), next(where.glob("snapshot-*.bin")).read_bytes()) == (
        seal,
        snapshot,
    )
    whole = data_file(where).read_bytes()
    data_file(where).write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    with pytest.raises(DamagedError):
        Store.open(where).table(["path"])
    data_file(where).write_bytes(whole)
    draw_picture(pictures / "new.png", 40)
    assert Index.open(where).add(pictures, jobs=1).added == 1
    renewed = Seal.read(where)
    assert renewed is not None
    assert len(renewed.sums) == 2
    assert not any(map(is_of_old_kind, renewed.sums.values()))
    assert check(where).problems == []


def test_what_was_damaged_before_keeps_the_sum_that_says_so(
    where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    age(where, monkeypatch)
    whole = data_file(where).read_bytes()
    data_file(where).write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
    store = Store.open(where)
    store.seal()
    seal = Seal.read(where)
    assert seal is not None
    assert all(map(is_of_old_kind, seal.sums.values()))
    assert len(check(where).problems) == 1
