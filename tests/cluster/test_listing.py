"""Folders listed on the nodes of a cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from comparing import NODE, eventually
from s3server import KEYS

from sketchseek import Index
from sketchseek.indexing.walk import absolute, walk

pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")

from sketchseek.cluster import listing
from sketchseek.cluster.listing import ClusterListings, list_folders
from sketchseek.cluster.workers import ClusterWorkers

Noted = Callable[[], list[tuple[int, str]]]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """600 folders, with all that a walk meets."""
    root, other = tmp_path / "many", tmp_path / "other"
    for number in range(150):
        for name in ("", "a", "a/b"):
            (root / f"{number}" / name).mkdir(parents=True, exist_ok=True)
            (root / f"{number}" / name / f"{number}.jpg").write_bytes(b"x" * number)
        (root / f"{number}" / "empty").mkdir()
        (other / f"{number}").mkdir(parents=True)
        (other / f"{number}" / "6.png").write_bytes(b"y")
    for name in (".git/1.jpg", "node_modules/2.jpg", "drafts/3.jpg", "7/drafts/4.jpg", "8/notes.txt"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(b"x")
    (root / "link").symlink_to(other)
    (root / "9" / "again").symlink_to(other / "9")
    (root / "10" / "up").symlink_to(root)
    (root / "11" / "loop").symlink_to(root / "11" / "loop")
    (root / "12" / "gone.jpg").symlink_to(root / "nowhere.jpg")
    (other / "13" / "back").symlink_to(other)
    return root


@pytest.fixture
def by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hand over at once; small batches, so that all workers get some."""
    monkeypatch.setattr(listing, "ALONE_S", -1.0)
    monkeypatch.setattr(listing, "BATCH", 8)


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Noted:
    """Workers note which process of which node lists, for each batch, before they do it.

    They wait while there is a file `hold`, and look at an object store where this process does; `found` has
    as many letters as they have seen pictures.
    """
    notes, hold = tmp_path / "notes", tmp_path / "hold"
    notes.touch()
    store = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}

    def noting(folders: list[bytes], rules: Any) -> Any:
        import ray

        os.environ.update(store)
        with notes.open("a") as file:
            file.write(f"{os.getpid()} {ray.get_runtime_context().get_node_id()}\n")
        ends = time.monotonic() + 60
        while hold.exists() and time.monotonic() < ends:
            time.sleep(0.02)
        found = list_folders(folders, rules)
        with notes.with_name("found").open("a") as file:
            file.write("x" * sum(len(each.files) for each in found[1]))
        return found

    monkeypatch.setattr(listing, "list_folders", noting)
    return lambda: [
        (int(pid), node) for pid, node in (line.split() for line in notes.read_text().splitlines())
    ]


def test_the_walk_is_that_of_one_machine(cluster: Any, many: Path, by_workers: None, noted: Noted) -> None:
    roots = [
        absolute(place) for place in (many, many / "5", many / "drafts", many / "none", many / "8/8.jpg")
    ]
    for exclude in ((), ("drafts", "1*/a")):
        expected = walk(roots, exclude)
        assert len(expected.files) > 300
        assert walk(roots, exclude, ClusterListings()) == expected
    assert len({node for _, node in noted()}) > 1, "several nodes have listed"


def test_a_short_walk_asks_no_worker(
    cluster: Any, many: Path, by_workers: None, noted: Noted, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = absolute(many / "5")
    assert walk([few], listings=ClusterListings()) == walk([few])
    monkeypatch.setattr(listing, "ALONE_S", 3600.0)
    assert walk([absolute(many)], listings=ClusterListings()) == walk([absolute(many)])
    assert not noted()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The URI of a folder with 40 folders, in an object store that this process finds."""
    boto3 = pytest.importorskip("boto3", reason="moto is not installed: make test-cluster installs it")
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint}.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")
    name = uuid.uuid4().hex
    for number in range(40):
        for key in (f"{number}/{number}.jpg", f"{number}/a/é {number}.png", f"{number}/.b/c.png"):
            client.put_object(Bucket="pictures", Key=f"{name}/{key}", Body=b"x" * number)
    return f"s3://pictures/{name}".encode()


@pytest.fixture
def place(request: pytest.FixtureRequest) -> bytes:
    """A folder, or one of an object store."""
    found = request.getfixturevalue(request.param)
    return found if isinstance(found, bytes) else absolute(found)


@pytest.mark.parametrize("place", ["many", "bucket"], indirect=True)
def test_a_node_is_killed_while_it_lists(
    cluster: Any, place: bytes, by_workers: None, noted: Noted, tmp_path: Path
) -> None:
    import ray

    list_local = ray.get_runtime_context().get_node_id()
    hold = tmp_path / "hold"
    hold.touch()
    killed: list[int] = []

    def kill() -> None:
        assert eventually(lambda: any(node != list_local for _, node in noted()), 120)
        pid, name = next((pid, node) for pid, node in noted() if node != list_local)
        node = next(node for node in cluster.worker_nodes if node.node_id == name)
        os.kill(pid, signal.SIGKILL)
        cluster.remove_node(node, allow_graceful=False)
        killed.append(pid)
        hold.unlink()

    thread = threading.Thread(target=kill)
    thread.start()
    seen = walk([place, place + b"-none"], ["4/*"], ClusterListings())
    thread.join()
    cluster.add_node(**NODE)
    assert killed
    assert seen == walk([place, place + b"-none"], ["4/*"])
    assert len(seen.files) > 70
    assert not seen.unseen
    assert (tmp_path / "found").read_text(), "workers have seen some of them"


def test_what_waits_for_workers_is_little(
    cluster: Any, many: Path, by_workers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    real = listing._Shared._assign

    def counted(self: Any, pool: Any) -> None:
        real(self, pool)
        given.append(sum(len(asked.folders) for asked in self._asked.values()))

    monkeypatch.setattr(listing._Shared, "_assign", counted)
    assert walk([absolute(many)], listings=ClusterListings()) == walk([absolute(many)])
    assert 0 < max(given) <= 3 * listing.AHEAD * listing.BATCH + listing.LISTED_AT_ONCE


def test_what_workers_cannot_list_is_listed_here(
    cluster: Any, many: Path, by_workers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(folders: list[bytes], rules: Any) -> Any:
        """A node on which something else is where the folder is here, or nothing."""
        found = list_folders(folders, rules)
        for number, (folder, each) in enumerate(zip(folders, found[1], strict=True)):
            each.files, each.folders, each.links = {}, [], []
            each.entries, each.unseen = (0, {}) if number % 2 else (3, {folder: "Permission denied"})
        return found

    def other(folders: list[bytes], rules: Any) -> Any:
        return "0.0", []

    def broken(folders: list[bytes], rules: Any) -> Any:
        raise ValueError(folders)

    expected = walk([absolute(many)])
    for fault in (blind, other, broken):
        monkeypatch.setattr(listing, "list_folders", fault)
        assert walk([absolute(many)], listings=ClusterListings()) == expected


def test_workers_that_are_late_are_waited_for_no_longer(
    cluster: Any, many: Path, by_workers: None, noted: Noted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PATIENCE_S", 1.0)
    (tmp_path / "hold").touch()
    assert walk([absolute(many)], listings=ClusterListings()) == walk([absolute(many)])
    waiting: deque[bytes] = deque([absolute(many)])
    walked = ClusterListings()(waiting, listing.Rules(absolute(many)))
    next(walked)
    walked.close()  # type: ignore[attr-defined]


def test_an_index_is_made_with_both(
    cluster: Any, tmp_path: Path, draw_picture: Any, by_workers: None, noted: Noted
) -> None:
    for number in range(40):
        (tmp_path / "pictures" / f"{number}").mkdir(parents=True)
        draw_picture(tmp_path / "pictures" / f"{number}" / "1.png", number)
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    report = index.add(tmp_path / "pictures", workers=ClusterWorkers, listings=ClusterListings())
    assert (report.added, report.failed) == (40, [])
    assert noted()
    again = index.add(tmp_path / "pictures", workers=ClusterWorkers, listings=ClusterListings())
    assert (again.added, again.unchanged, again.forgotten) == (0, 40, 0)
