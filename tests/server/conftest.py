"""Servers to talk to: one in this process, for what is asked; one of its own, for what it survives."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from sketchseek.server.app import create_app

STAR = [(50, 0), (61, 36), (98, 36), (68, 58), (79, 94), (50, 72), (21, 94), (32, 58), (2, 36), (39, 36)]


@pytest.fixture(scope="session")
def star() -> list[list[list[float]]]:
    """A drawing of a star: one closed stroke."""
    return [[[float(x), float(y)] for x, y in (*STAR, STAR[0])]]


@pytest.fixture(scope="session")
def client(shape_index: Path) -> Iterator[TestClient]:
    with TestClient(create_app(shape_index), base_url="http://127.0.0.1:8000") as client:
        yield client


class Server:
    """`sketchseek serve` in a process of its own."""

    def __init__(self, index: Path, *arguments: str, before: str = "") -> None:
        # A file: a pipe that nobody empties would stop the server.
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        code = f"import sys\n{before}\nfrom sketchseek.cli import main\nsys.exit(main())"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "serve", "--index", str(index), "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, said
        self.url = found[0]

    @property
    def port(self) -> int:
        return int(re.search(r":(\d+)/", self.url)[1])

    def resident_mb(self) -> float:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def stop(self) -> str:
        """End it as a service manager would; what it wrote to its log."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(40)
        self.log.seek(0)
        return self.log.read()


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(index: Path, *arguments: str, before: str = "") -> Server:
        started.append(Server(index, *arguments, before=before))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def server(start_server: Callable[..., Server], shape_index: Path) -> Server:
    return start_server(shape_index)
