"""What one process decided is compared with what others have committed since."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sketchseek import Index
from sketchseek.indexing.commits import Commits, Move, read_known
from sketchseek.indexing.report import Report
from sketchseek.indexing.worker import Reader, Task, Unchanged
from sketchseek.sources.objects import Stat
from sketchseek.storage.store import Store


class Meanwhile:
    """A process that looked at an index of one picture, which another one has read again since."""

    def __init__(self, folder: Path, draw_picture: Any) -> None:
        self.path = folder / "pictures" / "a.png"
        self.path.parent.mkdir()
        draw_picture(self.path, 1)
        self.index = Index.create(folder / "index", detector="canny")
        self.index.add(self.path, jobs=1)
        self.store = Store.open(folder / "index")
        (self.row,) = read_known(self.store)
        described = Reader(self.store.config)(Task(self.row.path))
        self.shape: Any = getattr(described, "shape")  # noqa: B009
        self.report = Report()
        self.commits = Commits(self.store, [self.row], self.report)

    def content_changes(self, draw_picture: Any) -> Any:
        draw_picture(self.path, 2, age_s=1800)
        assert self.index.add(self.path, jobs=1).refreshed == 1
        return self.all()

    def all(self) -> Any:
        store = Store.open(self.store.location.text)
        return store.table(["id", "path", "digest", "modified", "code", "windows"]).to_pylist()


@pytest.fixture
def meanwhile(tmp_path: Path, draw_picture: Any) -> Meanwhile:
    return Meanwhile(tmp_path, draw_picture)


def test_a_move_does_not_take_the_row_of_other_content(meanwhile: Meanwhile, draw_picture: Any) -> None:
    expected = meanwhile.content_changes(draw_picture)
    moved = Move(os.fsencode(meanwhile.path.with_name("moved.png")), meanwhile.row, Stat(1, 1))
    meanwhile.commits.add(moved)
    meanwhile.commits.flush()
    assert meanwhile.report.moved == 0
    assert meanwhile.all() == expected


def test_nor_a_row_that_another_has_moved(meanwhile: Meanwhile) -> None:
    list_local, there = meanwhile.path.with_name("here.png"), meanwhile.path.with_name("there.png")
    meanwhile.path.rename(list_local)
    assert meanwhile.index.add(meanwhile.path.parent, jobs=1).moved == 1
    expected = meanwhile.all()
    meanwhile.commits.add(Move(os.fsencode(there), meanwhile.row, Stat(1, 1)))
    meanwhile.commits.flush()
    assert meanwhile.all() == expected


@pytest.mark.parametrize("with_shape", [False, True])
def test_what_was_the_same_is_not_written_onto_other_content(
    meanwhile: Meanwhile, draw_picture: Any, with_shape: bool
) -> None:
    expected = meanwhile.content_changes(draw_picture)
    row = meanwhile.row
    shape = meanwhile.shape if with_shape else None
    meanwhile.commits.add(Unchanged(row.path, row.size, row.modified, digest=row.digest, shape=shape))
    meanwhile.commits.flush()
    assert meanwhile.all() == expected


def test_a_picture_that_another_has_read_since_is_not_forgotten(
    meanwhile: Meanwhile, draw_picture: Any
) -> None:
    expected = meanwhile.content_changes(draw_picture)
    meanwhile.commits.forget([meanwhile.row])
    assert (meanwhile.report.forgotten, meanwhile.all()) == (0, expected)
    assert meanwhile.row.path in meanwhile.commits.known, "a later batch must not add it again"


def test_what_has_not_changed_is_moved_merged_and_forgotten(meanwhile: Meanwhile) -> None:
    moved = os.fsencode(meanwhile.path.with_name("moved.png"))
    row = meanwhile.row
    meanwhile.commits.add(Unchanged(row.path, row.size, 5, digest=row.digest))
    meanwhile.commits.flush()
    (row,) = read_known(meanwhile.store)
    assert row.modified == 5
    meanwhile.commits.add(Move(moved, row, Stat(row.size, 7)))
    meanwhile.commits.flush()
    (row,) = read_known(meanwhile.store)
    assert (row.path, row.modified) == (moved, 7)
    meanwhile.commits.forget([row])
    assert meanwhile.all() == []
