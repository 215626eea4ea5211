from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchseek.indexing.changes import IndexedPicture, compare, digest_of, gone_with, moves
from sketchseek.indexing.walk import Walk
from sketchseek.sources.objects import Stat

ROOT = b"/pictures"


def known(path: bytes, size: int = 1, modified: int = 10, **more: object) -> IndexedPicture:
    fields = {
        "id": path.hex(),
        "digest": b"d",
        "failure": None,
        "min_object_size": 0.3,
        "expanded": False,
        **more,
    }
    return IndexedPicture(path=path, size=size, modified=modified, **fields)  # type: ignore[arg-type]


def test_each_kind_of_change() -> None:
    rows = [
        known(b"/pictures/same"),
        known(b"/pictures/changed"),
        known(b"/pictures/gone"),
        known(b"/else/x"),
    ]
    files = {b"/pictures/same": Stat(1, 10), b"/pictures/changed": Stat(1, 11), b"/pictures/new": Stat(5, 5)}
    changes = compare(
        rows, Walk(files=files), [ROOT], forget_missing=False, expand=False, min_object_size=0.3
    )
    assert [row.path for row in changes.unchanged] == [b"/pictures/same"]
    assert [row.path for row in changes.changed] == [b"/pictures/changed"]
    assert [row.path for row in changes.vanished] == [b"/pictures/gone"]
    assert changes.new == [b"/pictures/new"]


def test_a_time_that_goes_backwards_is_a_change() -> None:
    changes = compare(
        [known(b"/pictures/a", modified=10)], Walk(files={b"/pictures/a": Stat(1, 3)}), [ROOT],
        forget_missing=False, expand=False, min_object_size=0.3,
    )  # fmt: skip
    assert len(changes.changed) == 1


def test_a_time_of_zero_says_nothing() -> None:
    """It is noted where a time could not be trusted; a file may have it, too."""
    row = known(ROOT + b"/a.jpg", size=7, modified=0)
    seen = Walk(files={row.path: Stat(7, 0)})
    changes = compare([row], seen, [ROOT], forget_missing=False, expand=False, min_object_size=0.3)
    assert changes.changed == [row]


def test_nothing_is_forgotten_when_the_root_is_missing_or_empty() -> None:
    for seen in (Walk(missing=[ROOT]), Walk(empty=[ROOT]), Walk(unseen={ROOT: "Permission denied"})):
        rows = [known(b"/pictures/a"), known(b"/pictures/b/c")]
        assert not compare(
            rows, seen, [ROOT], forget_missing=False, expand=False, min_object_size=0.3
        ).vanished
    assert (
        len(
            compare(
                rows, Walk(missing=[ROOT]), [ROOT], forget_missing=True, expand=False, min_object_size=0.3
            ).vanished
        )
        == 2
    )


def test_what_lies_below_an_unreadable_folder_is_kept_even_when_told_to_forget() -> None:
    rows = [known(b"/pictures/locked/a"), known(b"/pictures/b")]
    seen = Walk(unseen={b"/pictures/locked": "Permission denied"})
    changes = compare(rows, seen, [ROOT], forget_missing=True, expand=False, min_object_size=0.3)
    assert [row.path for row in changes.vanished] == [b"/pictures/b"]


def test_a_picture_that_could_not_be_opened_is_tried_again_and_a_damaged_one_is_not() -> None:
    rows = [
        known(b"/pictures/locked", digest=b"", failure="Permission denied"),
        known(b"/pictures/damaged", failure="cut short"),
    ]
    seen = Walk(files={row.path: Stat(1, 10) for row in rows})
    changes = compare(rows, seen, [ROOT], forget_missing=False, expand=False, min_object_size=0.3)
    assert [row.path for row in changes.changed] == [b"/pictures/locked"]
    assert [row.path for row in changes.unchanged] == [b"/pictures/damaged"]


def test_further_rows_of_one_path_go_away() -> None:
    rows = [known(b"/pictures/a", id="1"), known(b"/pictures/a", id="2")]
    changes = compare(
        rows,
        Walk(files={b"/pictures/a": Stat(1, 10)}),
        [ROOT],
        forget_missing=False,
        expand=False,
        min_object_size=0.3,
    )
    assert [row.id for row in changes.unchanged] == ["1"]
    assert [row.id for row in changes.duplicates] == ["2"]


def test_expansion_is_wanted_only_where_it_is_missing() -> None:
    rows = [known(b"/pictures/a", expanded=True), known(b"/pictures/b"), known(b"/pictures/c", failure="no")]
    seen = Walk(files={row.path: Stat(1, 10) for row in rows})
    changes = compare(rows, seen, [ROOT], forget_missing=False, expand=True, min_object_size=0.3)
    assert [row.path for row in changes.incomplete] == [b"/pictures/b"]


names = st.binary(min_size=1, max_size=2).map(lambda name: ROOT + b"/" + name.hex().encode())
stats = st.builds(Stat, st.integers(0, 2), st.integers(0, 2))


@given(st.dictionaries(names, stats), st.dictionaries(names, stats))
def test_every_picture_meets_exactly_one_fate(before: dict[bytes, Stat], now: dict[bytes, Stat]) -> None:
    rows = [known(path, stat.size, stat.modified) for path, stat in before.items()]
    changes = compare(rows, Walk(files=now), [ROOT], forget_missing=False, expand=False, min_object_size=0.3)
    old = [row.path for part in (changes.unchanged, changes.changed, changes.vanished) for row in part]
    assert sorted(old) == sorted(before)
    assert sorted([*changes.new, *(row.path for row in (*changes.unchanged, *changes.changed))]) == sorted(
        now
    )


def test_a_move_is_the_same_bytes_at_a_new_path_with_the_old_path_gone(tmp_path: Path) -> None:
    list_local = os.fsencode(tmp_path)
    (tmp_path / "new.jpg").write_bytes(b"content")
    (tmp_path / "other.jpg").write_bytes(b"CONTENT")
    new = [list_local + b"/new.jpg", list_local + b"/other.jpg"]
    seen = Walk(files={path: Stat(7, 1) for path in new})
    row = known(list_local + b"/old.jpg", size=7, digest=digest_of(b"content"))
    assert list(moves(new, seen, [row], [row])) == [(new[0], row, Stat(7, 0))], "it is young"
    os.utime(new[0], (1e9, 1e9))
    assert list(moves(new, seen, [row], [row])) == [(new[0], row, Stat(7, 10**18))], "as it is now"


def test_a_copy_is_not_a_move(tmp_path: Path) -> None:
    (tmp_path / "new.jpg").write_bytes(b"content")
    (tmp_path / "still.jpg").write_bytes(b"content")
    new = [os.fsencode(tmp_path / "new.jpg")]
    seen = Walk(files={new[0]: Stat(7, 1)})
    copied = known(os.fsencode(tmp_path / "still.jpg"), size=7, digest=digest_of(b"content"))
    assert not list(moves(new, seen, [copied], []))


def test_a_picture_is_followed_out_of_a_folder_that_is_gone_and_not_out_of_one_that_nobody_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new.jpg").write_bytes(b"content")
    new = [os.fsencode(tmp_path / "new.jpg")]
    seen = Walk(files={new[0]: Stat(7, 1)})
    row = known(os.fsencode(tmp_path / "gone" / "too" / "x.jpg"), size=7, digest=digest_of(b"content"))
    assert [pair[:2] for pair in moves(new, seen, [row], [])] == [(new[0], row)]
    assert gone_with(row.path) == os.fsencode(tmp_path / "gone")
    assert gone_with(new[0]) is None
    assert gone_with(b"s3://bucket/x.jpg") is None

    def times_out(path: bytes) -> None:
        raise TimeoutError(errno.ETIMEDOUT, "the drive does not answer")

    monkeypatch.setattr(os, "lstat", times_out)
    assert not list(moves(new, seen, [row], []))
