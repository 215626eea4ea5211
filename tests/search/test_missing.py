"""Pictures that are not there any more come last, and say so."""

from __future__ import annotations

import io
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from sketchseek import Index, Sketch
from sketchseek.search import missing
from sketchseek.search.terminal import print_hits

SQUARE = Sketch.from_strokes([[[0, 0], [100, 0], [100, 80], [0, 80], [0, 0]]])


def test_what_is_missing_comes_last_and_is_marked(pictures: Path, tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", detector="canny")
    index.add(pictures, jobs=1)
    before = index.search(SQUARE)
    assert [hit.missing for hit in before] == [False] * 6
    for hit in (before[0], before[2]):
        Path(hit.picture).unlink()
    hits = index.search(SQUARE)
    assert [hit.id for hit in hits] == [before[i].id for i in (1, 3, 4, 5, 0, 2)]
    assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5, 6]
    assert [hit.to_dict()["missing"] for hit in hits] == [False] * 4 + [True] * 2
    assert hits.present == before.present
    out = io.StringIO()
    print_hits(hits, out, pictures=False)
    assert [line.endswith("(not there)") for line in out.getvalue().splitlines()[1:]] == [False] * 4 + [
        True
    ] * 2
    assert [hit.rank for hit in index.search(SQUARE, k=2, offset=1)] == [2, 3]


def test_a_drive_that_hangs_does_not_hold_up_searches(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.create(tmp_path / "index", detector="canny")
    index.add(pictures, jobs=1)
    expected = [hit.id for hit in index.search(SQUARE)]
    answers, real = threading.Event(), os.stat
    monkeypatch.setattr(missing, "PATIENCE_S", 0.01)

    def hangs(path: Any, *more: Any, **words: Any) -> Any:
        if str(path).startswith(str(pictures)):
            answers.wait(60)
        return real(path, *more, **words)

    monkeypatch.setattr(os, "stat", hangs)
    threads = threading.active_count()
    for _ in range(3):
        assert [hit.id for hit in index.search(SQUARE)] == expected
    assert threading.active_count() == threads + 1, "one waits for the drive, not one for each search"
    answers.set()
