from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sketchseek.errors import SketchseekError
from sketchseek.index import make_config
from sketchseek.indexing import workers as workers_module
from sketchseek.indexing.worker import Described, Failed, Gone, Reader, Task, Unchanged, read_steadily
from sketchseek.indexing.workers import Workers
from sketchseek.sources import sandbox
from sketchseek.storage.schema import IndexConfig


@pytest.fixture(scope="module")
def config() -> IndexConfig:
    return make_config("compact", "canny")


@pytest.fixture(scope="module")
def reader(config: IndexConfig) -> Reader:
    return Reader(config)


def test_a_picture_becomes_a_row(reader: Reader, tmp_path: Path, draw_picture: Any) -> None:
    path = draw_picture(tmp_path / "a.png")
    result = reader(Task(os.fsencode(path)))
    assert isinstance(result, Described)
    assert (result.width, result.height) == (96, 72)
    assert len(result.shape.code) == reader.settings.dimensions
    assert result.size == path.stat().st_size
    assert result.modified == path.stat().st_mtime_ns


def test_known_content_is_not_described_again(reader: Reader, tmp_path: Path, draw_picture: Any) -> None:
    path = os.fsencode(draw_picture(tmp_path / "a.png"))
    first = reader(Task(path))
    assert isinstance(first, Described)
    assert isinstance(reader(Task(path, first.digest)), Unchanged)
    assert isinstance(reader(Task(path, b"another")), Described)


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "empty"), (b"not a picture", "format"), (b"\x89PNG\r\n\x1a\n????", "")]
)
def test_what_is_no_picture_fails_with_a_reason(
    reader: Reader, tmp_path: Path, content: bytes, reason: str
) -> None:
    (tmp_path / "a.png").write_bytes(content)
    result = reader(Task(os.fsencode(tmp_path / "a.png")))
    assert isinstance(result, Failed)
    assert reason in result.reason
    assert result.digest


def test_pipes_folders_and_absences(reader: Reader, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    assert isinstance(reader(Task(os.fsencode(tmp_path / "pipe.png"))), Failed)
    assert isinstance(reader(Task(os.fsencode(tmp_path))), Failed)
    assert isinstance(reader(Task(os.fsencode(tmp_path / "gone.png"))), Gone)


def test_a_young_file_is_not_trusted_to_keep_its_time(tmp_path: Path, draw_picture: Any) -> None:
    young = draw_picture(tmp_path / "young.png", age_s=0)
    assert read_steadily(os.fsencode(young)).modified == 0
    future = draw_picture(tmp_path / "future.png", age_s=-3600)  # the clock has gone backwards since
    assert read_steadily(os.fsencode(future)).modified == 0
    old = draw_picture(tmp_path / "old.png")
    assert read_steadily(os.fsencode(old)).modified == old.stat().st_mtime_ns


def test_a_file_that_settles_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "growing.png"
    path.write_bytes(b"0" * 1000)
    settled = b"1" * 3_000_000

    def write() -> None:
        path.write_bytes(settled)

    writer = threading.Timer(0.05, write)
    writer.start()
    while writer.is_alive():
        content = read_steadily(os.fsencode(path)).data
        assert content in (b"0" * 1000, b"", settled) or set(content) == {ord("1")}
    assert read_steadily(os.fsencode(path)).data == settled


def test_a_file_that_never_settles_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "restless.png"
    path.write_bytes(b"0")
    real = os.fstat

    def restless(descriptor: int) -> os.stat_result:
        with path.open("ab") as file:
            file.write(b"more")
        return real(descriptor)

    monkeypatch.setattr(os, "fstat", restless)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    with pytest.raises(SketchseekError, match="kept changing"):
        read_steadily(os.fsencode(path))


_CRASH = """
import os, sys
from sketchseek.indexing import worker
real = worker.read_steadily
def read(path, *rest):
    if b"crash" in path: os.kill(os.getpid(), 11)
    if b"hang" in path:
        import time; time.sleep(60)
    return real(path, *rest)
worker.read_steadily = read
"""


def test_a_picture_that_ends_its_reader_costs_only_itself(
    config: IndexConfig, tmp_path: Path, draw_picture: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "START", _CRASH + sandbox.START)
    monkeypatch.setattr(workers_module, "PATIENCE_S", 2.0)
    names = ["1", "crash", "2", "3", "hang", "4", "5", "6", "7"]
    tasks = [Task(os.fsencode(draw_picture(tmp_path / f"{name}.png", i))) for i, name in enumerate(names)]
    with Workers(config, 2) as workers:
        results = {os.path.basename(r.path): r for r in workers.results(tasks) if r is not None}
    assert len(results) == len(names)
    crashed, hung = results.pop(b"crash.png"), results.pop(b"hang.png")
    assert isinstance(crashed, Failed)
    assert "SIGSEGV" in crashed.reason
    assert isinstance(hung, Failed)
    assert "more than 2 s" in hung.reason
    assert all(isinstance(result, Described) for result in results.values())


def test_another_version_of_the_detector_is_refused(
    config: IndexConfig, tmp_path: Path, draw_picture: Any
) -> None:
    from dataclasses import replace

    task = Task(os.fsencode(draw_picture(tmp_path / "a.png")))
    with (
        Workers(replace(config, detector_version="0"), 1) as workers,
        pytest.raises(SketchseekError, match=r"edge detector canny 0, and here is canny"),
    ):
        list(workers.results([task]))


def test_workers_go_when_they_are_no_longer_needed(
    config: IndexConfig, tmp_path: Path, draw_picture: Any
) -> None:
    tasks = [Task(os.fsencode(draw_picture(tmp_path / f"{i}.png", i))) for i in range(3)]
    with Workers(config, 2) as workers:
        next(workers.results(tasks))
        processes = [worker.process for worker in workers._workers]
    assert all(process.returncode is not None for process in processes)
