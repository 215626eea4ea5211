"""The command line on a cluster, and what it says when there is none."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from comparing import alive, eventually, same_hits, write
from s3server import KEYS

from sketchseek import Index, Sketch
from sketchseek.cli import main
from sketchseek.cluster import connection

STROKES = [[[50, 0], [100, 45], [85, 45], [85, 95], [15, 95], [15, 45], [0, 45], [50, 0]]]


@pytest.fixture
def drawing(tmp_path: Path) -> Path:
    path = tmp_path / "house.json"
    path.write_text(json.dumps(STROKES))
    return path


def run(*words: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sketchseek", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=200, env={**os.environ, **environment}, check=False
    )


def test_without_ray_it_says_how_to_get_it(
    collection: Path, drawing: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "find_spec", lambda _: None)
    for command in (
        ["search", drawing, "--index", collection],
        ["serve", "--index", collection],
        ["index", drawing.parent, "--index", collection],
        ["cluster", "status"],
    ):
        assert main([*map(str, command), "--cluster", "local"]) == 1
        assert "pip install 'sketchseek[cluster]'" in capsys.readouterr().err


def test_an_address_where_nobody_is(tmp_path: Path, collection: Path, drawing: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    for address, said in (
        (f"127.0.0.1:{free}", "No Ray cluster answers at"),
        ("nonsense", "is not the address of a Ray cluster"),
        ("host:99999", "is not the address of a Ray cluster"),
    ):
        found = run("search", drawing, "--index", collection, "--cluster", address)
        assert found.returncode == 1
        lines = found.stderr.strip().splitlines()
        assert len(lines) == 1
        assert said in lines[0]
    found = run("cluster", "status", RAY_ADDRESS=f"127.0.0.1:{free}")  # of a cluster that was killed
    assert found.returncode == 1
    assert re.fullmatch(r"sketchseek: This machine is part of no Ray cluster: .*\.", found.stderr.strip())
    new = tmp_path / "new"
    assert run("index", drawing.parent, "--index", new, "--cluster", f"127.0.0.1:{free}").returncode == 1
    assert not new.exists(), "nothing was made for a run that could not begin"


class TestOnACluster:
    @pytest.fixture(autouse=True)
    def _needs_ray(self) -> None:
        pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")

    def test_search_and_status(self, cluster: Any, collection: Path, drawing: Path) -> None:
        found = run(
            "search", drawing, "--index", collection, "--cluster", cluster.address,
            "--shards", 2, "--deadline", 60, "--json", "-k", 5,
        )  # fmt: skip
        assert found.returncode == 0, found.stderr
        answer = json.loads(found.stdout)
        right = Index.open(collection).search(Sketch.from_strokes(STROKES), 5)
        assert answer["covered"] == 1.0
        assert [hit["id"] for hit in answer["hits"]] == [hit.id for hit in right]
        assert [hit["score"] for hit in answer["hits"]] == [hit.score for hit in right]
        status = run("cluster", "status", "--cluster", cluster.address, "--json")
        assert status.returncode == 0, status.stderr
        assert len(json.loads(status.stdout)["nodes"]) >= 3

    def test_a_store_that_cannot_be_read_is_one_sentence_and_nothing_runs(
        self,
        cluster: Any,
        drawing: Path,
        endpoint: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint, "HOME": str(tmp_path)}.items():
            monkeypatch.setenv(name, value)

        def said(where: str) -> str:
            words = ["search", drawing, "--index", where, "--cluster", cluster.address, "--shards", 1]
            assert main([str(word) for word in words]) == 1
            lines = capsys.readouterr().err.strip().splitlines()
            assert len(lines) == 1, lines
            return str(lines[0])

        where = f"s3://pictures/{tmp_path.name}"
        assert "There is not an index in" in said(where)
        assert "There is no bucket 'nowhere'" in said("s3://nowhere/index")
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
            assert "does not answer" in said(where)
        Index.create(where, detector="canny", expansion=False)
        assert "A node of the cluster says: There are no credentials" in said(where), "nodes have no keys"
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        assert "There are no credentials" in said(where)
        assert eventually(lambda: _status(where) == [], 30), "nothing is left running"

    def test_a_cluster_of_its_own_keeps_nothing_in_a_home(self, pictures: Path, tmp_path: Path) -> None:
        """Neither Ray nor what its workers load, which is not told by the environment that starts them."""
        habits = ("ORT_DISABLE_TELEMETRY", "RAY_USAGE_STATS_ENABLED", "HF_HUB_DISABLE_TELEMETRY", "XDG_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(habits)}
        home = tmp_path / "home"
        home.mkdir()
        words = ["index", pictures, "--index", tmp_path / "index", "--cluster", "local", "--jobs", 1]
        command = [sys.executable, "-m", "sketchseek", *map(str, words)]
        subprocess.run(command, env={**kept, "HOME": str(home)}, check=True, capture_output=True, timeout=200)
        left = [path.relative_to(home) for path in home.rglob("*") if not path.is_dir()]
        assert [path for path in left if path.parts[:2] != (".cache", "sketchseek")] == []

    def test_a_cluster_sends_no_usage_statistics(self) -> None:
        from ray._common.usage import usage_lib

        import sketchseek  # noqa: F401

        assert not usage_lib.usage_stats_enabled()

    def test_another_version_of_ray_is_one_sentence(
        self, cluster: Any, collection: Path, drawing: Path
    ) -> None:
        from ray.experimental.internal_kv import _internal_kv_get, _internal_kv_put

        key, space = b"CLUSTER_METADATA", b"cluster"
        real = _internal_kv_get(key, namespace=space)
        other = {**json.loads(real), "ray_version": "2.0.0"}
        _internal_kv_put(key, json.dumps(other).encode(), overwrite=True, namespace=space)
        try:
            found = run("search", drawing, "--index", collection, "--cluster", cluster.address)
        finally:
            _internal_kv_put(key, real, overwrite=True, namespace=space)
        assert found.returncode == 1
        assert re.search(r"runs Ray 2\.0\.0 on Python .*: they have to be the same\.$", found.stderr.strip())
        assert "Traceback" not in found.stderr

    def test_another_version_of_sketchseek_is_one_sentence(
        self, cluster: Any, collection: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from sketchseek.cluster import fleet
        from sketchseek.cluster.index import ClusterIndex

        monkeypatch.setattr(fleet, "__version__", "9.9.9")
        with pytest.raises(connection.ClusterError, match=r"sketchseek .*, and here is 9\.9\.9"):
            ClusterIndex.spread(collection, fleet.ClusterOptions(shards=1, device="auto"))
        assert eventually(lambda: _status(collection) == [], 15), "nothing is left running"

    def test_serving_is_the_same_page_and_api(self, cluster: Any, synthetic: Any, tmp_path: Path) -> None:
        where = tmp_path / "served"
        Index.create(where, "compact", detector="canny", expansion=False)
        write(where, synthetic(range(60)))
        command = [sys.executable, "-m", "sketchseek", "serve", "--index", str(where), "--port", "0"]
        options = ["--cluster", cluster.address, "--shards", "3", "--deadline", "30"]
        server = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split()[-1]

            def ask(path: str, body: Any = None) -> Any:
                data = None if body is None else json.dumps(body).encode()
                request = urllib.request.Request(
                    address + path, data, {"content-type": "application/json"} if data else {}
                )
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return answer.read()

            found = json.loads(ask("api/search", {"strokes": STROKES, "k": 10}))
            right = Index.open(where).search(Sketch.from_strokes(STROKES), 10)
            assert [(h["id"], h["score"]) for h in found["hits"]] == [(h.id, h.score) for h in right]
            assert found["covered"] == 1.0
            assert b"<html" in ask("")
            metrics = ask("metrics").decode()
            assert metrics.count('sketchseek_shard_up{shard="') == 3
            assert re.search(
                r'sketchseek_shard_questions_total\{shard="0",replica="0",question="top"\} \d', metrics
            ) or ('question="rows"' in metrics)
            write(where, synthetic(range(60, 90)))
            assert eventually(
                lambda: json.loads(ask("api/search", {"strokes": STROKES}))["pictures"] == 90, 60
            )
            status = run("cluster", "status", "--cluster", cluster.address)
            assert f"{where}" in status.stdout
            pids = [row["pid"] for row in _status(where)]
            assert len(pids) == 3
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(timeout=60)
        assert code == 0
        assert eventually(lambda: not any(map(alive, pids)), 30), "nothing is left running"

    def test_a_cluster_on_this_machine(
        self, collection: Path, drawing: Path, tmp_path: Path, pictures: Path
    ) -> None:
        index = tmp_path / "local"
        words = ["index", pictures, "--index", index, "--detector", "canny", "--no-expansion"]
        made = run(*words, "--cluster", "local", OF_TEST=str(tmp_path))
        assert made.returncode == 0, made.stderr
        assert len(Index.open(index)) == 6
        assert eventually(lambda: not _processes(tmp_path), 30), "the cluster ended with the command"
        assert made.stdout == ""

    def test_restart_is_a_command(self, cluster: Any, collection: Path) -> None:
        from sketchseek.cluster.fleet import ClusterOptions
        from sketchseek.cluster.index import ClusterIndex

        sketch = Sketch.from_strokes(STROKES)
        right = Index.open(collection).search(sketch)
        options = ClusterOptions(shards=1, replicas=2, deadline=60.0)
        with ClusterIndex.spread(collection, options) as index:
            assert eventually(lambda: {row["state"] for row in index.fleet.status()} == {"ready"}, 60)
            before = {row["pid"] for row in index.fleet.status()}
            words = ["cluster", "restart", "--index", collection, "--cluster", cluster.address]
            command = [
                sys.executable,
                "-m",
                "sketchseek",
                *map(str, words),
                "--shards",
                "1",
                "--replicas",
                "2",
            ]
            with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as restart:
                while restart.poll() is None:
                    assert same_hits(index.search(sketch), right), "nothing is left out meanwhile"
                    time.sleep(0.02)
                assert restart.stderr is not None
                assert restart.returncode == 0, restart.stderr.read()
            assert same_hits(index.search(sketch), right)
            after = {row["pid"] for row in index.fleet.status()}
            assert len(after) == 2
            assert before.isdisjoint(after)


def _status(where: Any) -> list[dict[str, Any]]:
    """Of the shards of an index."""
    from sketchseek.cluster.status import status

    return [row for row in status()["shards"] if row.get("index") == str(where)]


def _processes(of_test: Path) -> list[int]:
    """Those on this machine that a command was the beginning of."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and f"OF_TEST={of_test}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return [pid for pid in found if alive(pid)]
