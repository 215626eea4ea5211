"""The benchmark of what an index survives, scaled down; tools/durability.py has the full size."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sketchseek import Index


@pytest.fixture(scope="module")
def durability() -> ModuleType:
    file = Path(__file__).parents[2] / "tools" / "durability.py"
    spec = importlib.util.spec_from_file_location("durability", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))  # it imports what lies beside it
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(file.parent))
    return module


def test_kill_at_eight_random_moments(durability: ModuleType) -> None:
    found = durability.kill(trials=8, pictures=16, seed=7)
    assert found["ok"], found


def test_twelve_damaged_files(durability: ModuleType) -> None:
    found = durability.damage(trials=12, pictures=12, seed=3)
    assert found["ok"], found


def test_sixteen_threads_share_one_index(durability: ModuleType) -> None:
    found = durability.threads(seconds=4, pictures=24)
    assert found["ok"], found


def test_eight_processes_index_remove_and_search_at_once(durability: ModuleType) -> None:
    found = durability.together(seconds=6, pictures=60)
    assert found["ok"], found
    assert found["searches"] > 0


def test_a_full_disk(durability: ModuleType) -> None:
    try:
        found = durability.full(pictures=120)
    except (PermissionError, FileNotFoundError) as error:
        pytest.skip(f"no file system may be mounted here: {error}")
    assert found["ok"], found


def test_a_read_only_folder(durability: ModuleType) -> None:
    try:
        found = durability.readonly()
    except (PermissionError, FileNotFoundError) as error:
        pytest.skip(f"no file system may be mounted here: {error}")
    assert found["ok"], found


def test_a_limit_on_file_sizes_is_a_sentence(tmp_path: Path, pictures: Path) -> None:
    index = tmp_path / "index"
    Index.create(index, detector="canny")
    words = [sys.executable, "-m", "sketchseek", "index", str(pictures), "--index", str(index)]
    limited = ["sh", "-c", 'ulimit -f 8 && exec "$@"', "sh", *words]
    done = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "may not grow further" in done.stderr
    assert "Traceback" not in done.stderr
    assert Index.open(index).add(pictures).added == 6


@pytest.mark.parametrize("files", [6, 8, 10, 12, 14])
def test_few_file_descriptors_are_a_sentence(tmp_path: Path, pictures: Path, files: int) -> None:
    """How many are enough depends on the machine; whatever is said, nobody is told of damage."""
    index = tmp_path / "index"
    Index.create(index, detector="canny").add(pictures / "inner")
    for words in (["index", str(pictures), "--jobs", "2"], ["info"], ["check"]):
        command = [sys.executable, "-m", "sketchseek", *words, "--index", str(index)]
        limited = ["sh", "-c", f'ulimit -n {files} && exec "$@"', "sh", *command]
        done = subprocess.run(limited, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1)
        assert "Traceback" not in done.stderr
        assert "damaged" not in done.stderr
    assert Index.open(index).add(pictures).failed == []
    assert len(Index.open(index)) == 6


def test_ctrl_c_commits_what_is_finished(tmp_path: Path, draw_picture: Any, durability: ModuleType) -> None:
    import signal

    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(1500):
        draw_picture(folder / f"{number}.png", number)
    process = durability.indexer(tmp_path / "index", folder, jobs=1)
    process.stdout.readline()
    while len(durability.committed(tmp_path / "index")) < 16:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    report = json.loads(out.splitlines()[-1])
    assert process.returncode == 1
    assert report["interrupted"]
    assert "run it again to go on" in err
    assert len(durability.paths_of(tmp_path / "index")) == report["added"] < 1500


def test_workers_end_with_a_killed_parent(tmp_path: Path, draw_picture: Any, durability: ModuleType) -> None:
    import time

    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(60):
        draw_picture(folder / f"{number}.png", number)
    process = durability.indexer(tmp_path / "index", folder)
    process.stdout.readline()
    children: list[int] = []
    while not children:
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            children = [int(word) for word in file.read().split()]
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{child}") and not _is_zombie(child) for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _is_zombie(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(") ", 1)[1].startswith("Z")
    except FileNotFoundError:
        return True
