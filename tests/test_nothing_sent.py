"""Nothing is sent, nor kept to be sent: commands leave nothing in a home but our own cache."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

pytestmark = pytest.mark.slow

STROKES = [[[0, 0], [100, 0], [100, 80], [0, 80], [0, 0]]]
CODE = "import sys; from sketchseek.cli import main; sys.exit(main())"
HABITS = ("ORT_DISABLE_TELEMETRY", "RAY_USAGE_STATS_ENABLED", "HF_HUB_DISABLE_TELEMETRY")


class Home:
    """Folders that begin empty, all those where libraries keep what they keep, and commands run with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", *HABITS))}
        places = {"HOME": "", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config"}
        places |= {"XDG_DATA_HOME": "data", "XDG_STATE_HOME": "state", "APPDATA": "roaming"}
        self.environment = {**kept, **{name: str(folder / inner) for name, inner in places.items()}}

    def start(self, *words: object, code: str = CODE) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, *map(str, words)]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment
        )

    def run(self, *words: object, code: str = CODE) -> str:
        process = self.start(*words, code=code)
        out, err = process.communicate()
        assert process.returncode == 0, err
        return out

    def left(self) -> list[str]:
        """What is there besides our own cache."""
        files = (path.relative_to(self.folder) for path in self.folder.rglob("*") if not path.is_dir())
        return sorted(map(str, (path for path in files if path.parts[:2] != ("cache", "sketchseek"))))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_no_command_leaves_anything_in_a_home(home: Home, pictures: Path, tmp_path: Path) -> None:
    where, drawing = tmp_path / "index", tmp_path / "square.json"
    drawing.write_text(json.dumps(STROKES))
    home.run("index", pictures, "--index", where, "--jobs", 2)
    assert home.left() == []
    assert json.loads(home.run("search", drawing, "--index", where, "--json"))["hits"]
    home.run("publish", tmp_path / "site", "--index", where)
    assert home.left() == []
    served = home.start("serve", "--index", where, "--port", 0)
    try:
        assert served.stdout is not None
        said = re.search(r"http://\S+", served.stdout.readline())
        assert said
        assert httpx.post(f"{said[0]}api/search", json={"strokes": STROKES}, timeout=60).json()["hits"]
        with open(pictures / "0.png", "rb") as picture:  # read by a child of the server
            assert httpx.post(f"{said[0]}api/search", files={"file": picture}, timeout=60).json()["hits"]
    finally:
        served.send_signal(signal.SIGTERM)
        served.communicate()
    assert home.left() == []


def test_the_demo_and_an_evaluation_leave_only_our_cache(home: Home, pictures: Path, tmp_path: Path) -> None:
    small = f"import pathlib, sketchseek.demo as d; d.chosen = lambda: [pathlib.Path({str(pictures)!r})]"
    assert "finds:" in home.run("demo", "--no-serve", code=f"{small}; {CODE}")
    (pictures / "square.json").write_text(json.dumps(STROKES))
    query = {"sketch": "square.json", "category": "square", "relevant": ["1.png", "3.png"]}
    (pictures / "groundtruth.json").write_text(json.dumps({"name": "small", "queries": [query], "boxes": {}}))
    assert json.loads(home.run("evaluate", pictures, "--jobs", 1, "--json"))["queries"] == 1
    assert (home.folder / "cache" / "sketchseek").is_dir(), "this is what may be there"
    assert home.left() == []


def test_who_has_set_a_habit_wants_it() -> None:
    code = "import os, sys, sketchseek; print(*map(os.environ.get, sys.argv[1:]))"
    environment = {name: value for name, value in os.environ.items() if name not in HABITS}
    said = [
        subprocess.check_output([sys.executable, "-c", code, *HABITS], env=environment | chosen, text=True)
        for chosen in ({}, {"ORT_DISABLE_TELEMETRY": "0", "RAY_USAGE_STATS_ENABLED": "1"})
    ]
    assert [words.split() for words in said] == [["1", "0", "1"], ["0", "1", "1"]]
