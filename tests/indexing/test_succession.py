"""One network takes the place of another, in the same place, in as many runs as it takes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sketchseek import Index
from sketchseek.networks import catalog
from sketchseek.storage.schema import SCHEMA_VERSION, IndexConfig, schema_number

pytestmark = pytest.mark.slow

PICTURES = 6
TRIANGLE = [[[0, 0], [10, 0], [5, 8], [0, 0]]]
KILLED = """
import os, signal, sys
from sketchseek import Index
from sketchseek.indexing import commits
commits.BATCH_ROWS = 1
index = Index.open(sys.argv[1])
index.enable_expansion(sys.argv[2])
index.add(jobs=1, progress=lambda done, of: done == 3 and os.kill(os.getpid(), signal.SIGKILL))
"""


@pytest.fixture
def pictures(tmp_path: Path, draw_picture: Any) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(PICTURES):
        draw_picture(folder / f"{i}.png", i)
    return folder


@pytest.fixture
def network(tmp_path: Path, vector_model: Callable[..., bytes]) -> Callable[[str], str]:
    """A function that makes a network of that name."""

    def make(name: str) -> str:
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(vector_model())
        return f"onnx:{path}"

    return make


@pytest.fixture
def index(tmp_path: Path, pictures: Path, network: Callable[[str], str]) -> Index:
    made = Index.create(tmp_path / "index", "compact", detector="canny", expansion=network("old"))
    made.add(pictures, jobs=1)
    return made


def shapes(index: Index) -> dict[str, bytes]:
    """What is known of pictures but for what they depict, by id."""
    snapshot = index.snapshot
    rows = {row["id"]: row for row in snapshot.rows(range(len(snapshot)))}
    return {name: row["path"] + row["code"] + row["windows"] for name, row in rows.items()}


def described(index: Index) -> int:
    """How many pictures have embeddings of what searches go by."""
    stored = index.snapshot.expansion
    assert stored is not None
    return int(np.isfinite(stored).all(axis=1).sum())


def test_shapes_and_ids_stay_and_searches_go_by_the_new_network(
    index: Index, network: Callable[[str], str]
) -> None:
    before, new = shapes(index), network("new")
    index.enable_expansion(new)
    assert index.info()["successor"] == {"name": new, "pictures": 0}
    report = index.add(jobs=1)
    assert (report.expanded, report.added, report.refreshed) == (PICTURES, 0, 0)
    assert report.succession == f"Searches go by {new} from now on."
    assert shapes(index) == before
    assert (index.info()["expansion"], index.info()["successor"]) == (new, None)
    assert described(index) == PICTURES
    columns = index.store.dataset.schema.names
    assert [name for name in columns if "expansion" in name] == ["expansion_2"]  # the old ones are gone
    assert len(index.search(TRIANGLE, expand=1)) == PICTURES
    again = Index.open(index.location)
    assert described(again) == PICTURES
    assert again.add(jobs=1).expanded == 0
    again.enable_expansion(network("old"))  # and back
    assert again.add(jobs=1).expanded == PICTURES
    assert again.info()["expansion"] == network("old")
    assert shapes(again) == before


def test_killed_half_way_it_is_searched_as_before_and_goes_on(
    index: Index, network: Callable[[str], str], pictures: Path, draw_picture: Any
) -> None:
    old, new, before = index.info()["expansion"], network("new"), shapes(index)
    done = subprocess.run([sys.executable, "-c", KILLED, index.location, new], check=False)
    assert done.returncode == -signal.SIGKILL
    index.refresh()
    info = index.info()
    assert info["expansion"] == old
    assert 0 < info["successor"]["pictures"] < PICTURES
    assert described(index) == PICTURES
    assert shapes(index) == before
    assert len(index.search(TRIANGLE, expand=1)) == PICTURES
    draw_picture(pictures / "more.png", 7)
    index.enable_expansion(new)  # as the command does that goes on
    report = index.add(jobs=1)
    assert (report.expanded, report.added) == (PICTURES - info["successor"]["pictures"], 1)
    assert index.info()["expansion"] == new
    assert described(index) == PICTURES + 1
    assert {name: index_shape for name, index_shape in shapes(index).items() if name in before} == before


def test_pictures_elsewhere_are_waited_for_unless_they_are_gone(
    index: Index, network: Callable[[str], str], tmp_path: Path, draw_picture: Any
) -> None:
    old, new = index.info()["expansion"], network("new")
    other = tmp_path / "other"
    other.mkdir()
    draw_picture(other / "0.png", 9)
    index.add(other, jobs=1)
    index.enable_expansion(new)
    report = index.add(other, jobs=1)
    assert f"{PICTURES} pictures in other folders" in report.succession
    assert index.info()["expansion"] == old
    (tmp_path / "pictures").rename(tmp_path / "away")  # a drive that is not mounted
    assert index.add(other, jobs=1).succession.startswith(f"Searches go by {new}")
    assert described(index) == 1
    assert len(index) == PICTURES + 1
    (tmp_path / "away").rename(tmp_path / "pictures")
    assert index.add(jobs=1).expanded == PICTURES


def test_a_run_that_began_before_writes_nothing_in_the_wrong_place(
    index: Index, network: Callable[[str], str], pictures: Path, draw_picture: Any
) -> None:
    """As `index --watch` does, which knows only the network before."""
    new = network("new")
    draw_picture(pictures / "more.png", 8)
    changed = []

    def meanwhile(done: int, _: int) -> None:
        if not changed:
            changed.append(done)
            Index.open(index.location).enable_expansion(new)

    index.add(jobs=1, progress=meanwhile)
    index.refresh()
    assert index.info()["successor"] == {"name": new, "pictures": 0}
    assert described(index) == PICTURES + 1


def test_it_can_be_given_up(index: Index, network: Callable[[str], str]) -> None:
    old = index.info()["expansion"]
    index.enable_expansion(network("new"))
    index.enable_expansion(old)
    assert index.add(jobs=1).expanded == 0
    assert index.info()["successor"] is None
    assert "expansion_2" not in Index.open(index.location).store.dataset.schema.names
    assert described(index) == PICTURES


def test_older_programs_are_told(index: Index, network: Callable[[str], str]) -> None:
    assert json.loads(index.config.to_json())["schema"] == SCHEMA_VERSION
    assert "slot" not in index.config.to_json()
    index.enable_expansion(network("new"))
    assert json.loads(index.config.to_json())["schema"] > SCHEMA_VERSION
    assert schema_number(index.config.to_json()) == SCHEMA_VERSION
    assert IndexConfig.from_json(index.config.to_json()) == index.config


def test_a_stronger_network_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    def installed(*list_local: bool) -> None:
        rows = [{"name": n, "here": h} for n, h in zip(("efficientnet", "dinov2"), list_local, strict=True)]
        monkeypatch.setattr(catalog, "listing", lambda: rows)

    installed(True, True)
    wanted = "sketchseek index --expansion dinov2 --index '/my pictures'"
    assert catalog.stronger("efficientnet", "/my pictures") == wanted
    assert catalog.stronger("dinov2", "/x") is None
    assert catalog.stronger("onnx:/own.onnx", "/x") is None
    installed(True, False)
    assert catalog.stronger(None, "/my pictures") == f"sketchseek network add dinov2 && {wanted}"
    installed(False, False)
    assert catalog.stronger(None, "/x") is None
