"""`sketchseek serve` as a process: how it starts, what it says, how it ends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from sketchseek import Index
from sketchseek.errors import AddressError
from sketchseek.server import listen

pytestmark = pytest.mark.slow


def test_term_finishes_what_is_under_way(start_server: Callable, shape_index: Path, star) -> None:
    server = start_server(shape_index, "--verbose")
    httpx.post(f"{server.url}api/search", json={"strokes": star})
    body = json.dumps({"strokes": star}).encode()
    lines = ["POST /api/search HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}"])
    begun = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(5)]
    for connection in begun:  # requests that are half sent
        connection.sendall(f"{head}\r\n\r\n".encode() + body[:20])
    time.sleep(0.3)
    server.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    with pytest.raises(ConnectionRefusedError):  # nobody new is let in
        socket.create_connection(("127.0.0.1", server.port), timeout=2)
    for connection in begun:
        connection.sendall(body[20:])
        answer = connection.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["hits"]
        connection.close()
    server.process.wait(20)
    log = server.stop()
    assert "Traceback" not in log
    noted = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert [line["path"] for line in noted] == ["/api/search"] * 6
    assert {"time", "client", "method", "path", "status", "bytes", "ms"} == set(noted[0])


def test_many_at_once(server, star) -> None:
    def ask(number: int) -> int:
        moved = [[[x + number, y] for x, y in stroke] for stroke in star]
        query = {"strokes": moved, "page": f"page-{number % 10}"}
        return httpx.post(f"{server.url}api/search", json=query, timeout=30).status_code

    with ThreadPoolExecutor(20) as people:
        statuses = set(people.map(ask, range(100)))
    assert statuses <= {200, 409}
    assert 200 in statuses


def test_another_host_gets_a_token(start_server: Callable, shape_index: Path) -> None:
    server = start_server(shape_index, "--host", "0.0.0.0")
    assert "?token=" in server.url
    local = f"http://127.0.0.1:{server.port}"
    assert httpx.get(f"{local}/api/index").status_code == 401
    with httpx.Client(base_url=local, follow_redirects=True) as browser:
        assert browser.get("/", params={"token": server.url.partition("token=")[2]}).status_code == 200
        assert browser.get("/api/index").json()["pictures"] == 8


def test_a_taken_port_is_said_in_a_sentence(server, shape_index: Path) -> None:
    command = [sys.executable, "-m", "sketchseek", "serve", "--index", str(shape_index)]
    done = subprocess.run(
        [*command, "--port", str(server.port)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


def serve_command(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """`sketchseek serve`, where it is expected to fail; `before` is run first, in the same process."""
    code = f"import sys\n{before}\nfrom sketchseek.cli import main\nsys.exit(main(['serve', *sys.argv[1:]]))"
    command = [sys.executable, "-c", code, "--port", "0", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("token", ["", "  "])
def test_an_empty_token_is_wrong_usage(shape_index: Path, token: str) -> None:
    done = serve_command("--index", str(shape_index), "--host", "0.0.0.0", "--token", token)
    assert done.returncode == 2
    assert "The token is empty" in done.stderr


@pytest.mark.parametrize("module", ["uvicorn", "fastapi", "starlette", "pydantic", "python_multipart"])
def test_without_its_extra(shape_index: Path, module: str) -> None:
    done = serve_command("--index", str(shape_index), before=f"sys.modules[{module!r}] = None")
    assert done.returncode == 1
    assert done.stderr == "sketchseek: Serving needs the extra: pip install 'sketchseek[server]'.\n"


def limit_files(number: int) -> str:
    return f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({number}, {number}))"


def test_too_few_files_are_said_in_a_sentence(shape_index: Path) -> None:
    done = serve_command("--index", str(shape_index), before=limit_files(40))
    assert done.returncode == 1
    assert "Only 40 files may be open at once" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_crowd_does_not_take_the_last_files(start_server: Callable, shape_index: Path, star) -> None:
    server = start_server(shape_index, before=limit_files(90))
    crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(150)]
    time.sleep(1)
    for connection in crowd:
        connection.close()
    deadline = time.monotonic() + 30
    status = 0
    while status != 200 and time.monotonic() < deadline:
        try:
            status = httpx.post(f"{server.url}api/search", json={"strokes": star}).status_code
        except httpx.TransportError:
            time.sleep(0.2)
    assert status == 200
    assert "Traceback" not in server.stop()


def test_ctrl_c_ends_it_quietly(start_server: Callable, shape_index: Path) -> None:
    server = start_server(shape_index)
    time.sleep(1)
    server.process.send_signal(signal.SIGINT)
    server.process.wait(20)
    assert "Traceback" not in server.stop()


def test_answers_do_not_wait_for_confirmation() -> None:
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_an_address_that_is_taken_is_named_once() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(AddressError, match=rf"^Cannot listen on 127\.0\.0\.1, port {port} \([^(]+\)\.$"):
            listen("127.0.0.1", port)


def test_a_server_says_when_the_network_of_its_index_is_not_there(
    start_server: Callable, shape_pictures: Path, tmp_path: Path, vector_model: Callable[..., bytes]
) -> None:
    network = tmp_path / "network.onnx"
    network.write_bytes(vector_model())
    index = Index.create(tmp_path / "index", detector="canny", expansion=f"onnx:{network}")
    index.add(shape_pictures, jobs=1)
    assert "By shape alone" not in start_server(tmp_path / "index").stop()
    network.unlink()
    said = start_server(tmp_path / "index").stop()
    assert "By shape alone, though the index knows what its pictures depict" in said
