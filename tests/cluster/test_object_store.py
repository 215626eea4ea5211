"""An index in an object store: the local one's tests, writers at once, killed ones, a store in trouble."""

from __future__ import annotations

import inspect
import multiprocessing
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from s3server import KEYS, troubled

import test_index
from sketchseek import Index, Sketch, SketchseekError
from sketchseek.cli import main
from sketchseek.storage.store import Store

boto3 = pytest.importorskip("boto3", reason="moto is not installed: make test-cluster installs it")
pytest.importorskip("moto", reason="moto is not installed: make test-cluster installs it")


@pytest.fixture(autouse=True)
def _keys(endpoint: str, tmp_path: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:  # its own: a test may undo what it did to the other
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint, "XDG_CACHE_HOME": str(tmp_path)}.items():
            patch.setenv(name, value)
        yield


@pytest.fixture
def where() -> str:
    return f"s3://pictures/{uuid.uuid4().hex}"


@pytest.fixture
def index(where: str) -> Index:
    return Index.create(where, detector="canny", expansion=False)


square, with_a_small_square = test_index.square, test_index.with_a_small_square

ELSEWHERE = {
    "test_a_table_that_was_made_again_is_another": "removes the index's folder",
    "test_an_index_of_the_schema_before_is_searched_as_it_is_and_upgraded_by_the_next_run": "copies a folder",
    "test_an_index_from_before_gets_windows_by_the_next_run_reading_each_picture_once": "copies a folder",
    "test_a_snapshot_cut_short_under_a_running_index_is_made_again": "writes into the index's folder",
}
"""Tests of a local index's files."""

for _name, _test in inspect.getmembers(test_index, inspect.isfunction):
    _takes_index = _name.startswith("test_") and "index" in inspect.signature(_test).parameters
    if _takes_index and _name not in ELSEWHERE:
        globals()[_name] = _test


def ids_of(where: str) -> list[bytes]:
    return Store.open(where).table(["path"])["path"].to_pylist()


def _add(where: str, folder: str, barrier: Any) -> None:
    index = Index.open(where)
    barrier.wait()
    index.add(folder, jobs=1)


def test_writers_at_once_add_each_picture_once(
    index: Index, where: str, tmp_path: Path, draw_picture: Any
) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    for number in range(24):
        draw_picture(folder / f"{number}.png", number)
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    writers = [context.Process(target=_add, args=(where, str(folder), barrier)) for _ in range(3)]
    for writer in writers:
        writer.start()
    seen = []
    while any(writer.is_alive() for writer in writers):
        paths = ids_of(where)
        seen.append(len(paths))
        assert len(paths) == len(set(paths)), "not even for a moment"
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert len(ids_of(where)) == 24
    assert len(seen) > 1


def test_a_commit_for_an_older_version_is_made_again(index: Index, where: str, pictures: Path) -> None:
    from sketchseek.storage.store import Change

    one, other = Store.open(where), Store.open(where)
    index.add(pictures)
    rows = Store.open(where).table(list(one.dataset.schema.names))
    asked = []

    def prepare() -> Change:
        asked.append(one.version)
        if len(asked) == 1:  # another comes between
            other.commit(lambda: Change(forget=[rows["id"][0].as_py()]))
        return Change(forget=[rows["id"][1].as_py()])

    one.commit(prepare)
    assert len(asked) == 2, "the first try was for a version that was not the newest any more"
    assert len(ids_of(where)) == 4


_KILLED_AT = """
import os, signal, sys
import lance
from sketchseek.storage import store
step = sys.argv[3]
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
if step == "before the files":
    store.Store._apply = die
elif step == "before the commit":
    lance.LanceDataset.commit = die
elif step == "after the commit":
    real = lance.LanceDataset.commit
    def commit(*a, **k):
        real(*a, **k)
        die()
    lance.LanceDataset.commit = commit
elif step == "before it is known":
    store.Store._committed = die
elif step == "while tidying":
    store.Store._merge_fragments = die
from sketchseek import Index
Index.open(sys.argv[1]).add(sys.argv[2], jobs=1)
"""


@pytest.mark.parametrize(
    "step",
    ["before the files", "before the commit", "after the commit", "before it is known", "while tidying"],
)
def test_a_writer_is_killed(index: Index, where: str, pictures: Path, step: str, square: Sketch) -> None:
    command = [sys.executable, "-c", _KILLED_AT, where, str(pictures), step]
    ended = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert len(ids_of(where)) in (0, 6)
    index.add(pictures)
    assert sorted(map(os.path.basename, ids_of(where))) == [b"%d.png" % n for n in range(6)]
    assert len(index.search(square)) == 6


def test_a_store_that_fails_and_is_slow(
    endpoint: str, where: str, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Index.create(where, detector="canny", expansion=False)
    with troubled(endpoint, fails=0.15, delay=0.05) as (address, met):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)

        said: list[str] = []

        def add() -> None:
            for _ in range(20):
                try:
                    Index.open(where).add(pictures, jobs=1)
                    return
                except SketchseekError as error:  # the same request has failed four times
                    said.append(str(error))

        add()
        (pictures / "0.png").unlink()
        add()
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    paths = ids_of(where)
    assert len(paths) == len(set(paths)) == 5
    assert len(met) > 3, "there was trouble"
    assert all("does not answer" in sentence for sentence in said)


def test_a_store_that_goes_away_is_said(
    index: Index, where: str, pictures: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    index.add(pictures)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    for command in (["info"], ["index", str(pictures)]):
        assert main([*command, "--index", where]) == 1
        said = capsys.readouterr().err.strip().splitlines()
        assert len(said) == 1
        assert "does not answer" in said[0]


def test_no_credentials_no_bucket_and_no_index_are_a_sentence_each(
    where: str, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def said(*command: str) -> str:
        assert main([*command]) == 1
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1, lines
        return str(lines[0])

    assert "There is not an index in s3://" in said("info", "--index", where)
    for command in (("info",), ("index", str(pictures))):
        assert "There is no bucket 'nowhere'" in said(*command, "--index", "s3://nowhere/index")
    assert "kind of URI is not known" in said("info", "--index", "gopher://x/y")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for command in (("info",), ("index", str(pictures))):
        assert "There are no credentials for" in said(*command, "--index", where)


def test_damage_is_found_and_said(
    index: Index, endpoint: str, where: str, pictures: Path, capsys: Any
) -> None:
    index.add(pictures)
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    prefix = where.removeprefix("s3://pictures/")
    list_objects = client.list_objects_v2(Bucket="pictures", Prefix=f"{prefix}/pictures.lance/data/")[
        "Contents"
    ]
    client.put_object(Bucket="pictures", Key=list_objects[0]["Key"], Body=b"nothing of use")
    assert main(["check", "--index", where]) == 1
    assert "check --repair" in capsys.readouterr().err
    assert main(["check", "--repair", "--index", where]) == 0
    Index.open(where).add(pictures)
    assert len(ids_of(where)) == 6


def test_an_index_in_a_bucket_on_a_cluster(
    index: Index, where: str, pictures: Path, square: Sketch, endpoint: str
) -> None:
    """In a process of its own: nodes of the cluster that other tests share have no keys."""
    index.add(pictures)
    program = f"""
import json, sys
from sketchseek.cluster.connection import connect
from sketchseek.cluster.fleet import ClusterOptions
from sketchseek.cluster.index import ClusterIndex
from sketchseek import Index, Sketch
sketch = Sketch.from_strokes([[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]])
with connect("local"), ClusterIndex.spread({where!r}, ClusterOptions(shards=2, deadline=60)) as index:
    spread, alone = index.search(sketch), Index.open({where!r}).search(sketch)
    print(json.dumps([[hit.to_dict() for hit in hits] for hits in (spread, alone)]))
"""
    pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    import json

    spread, alone = json.loads(done.stdout)
    assert spread == alone
    assert len(spread) == 6
