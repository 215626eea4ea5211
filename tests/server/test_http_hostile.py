"""What strangers send: each gets its 4xx, and the server goes on."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.slow

STAR = [[50, 0], [61, 36], [98, 36], [68, 58], [79, 94], [50, 72], [21, 94], [32, 58], [2, 36], [39, 36]]


@pytest.fixture(scope="module")
def http(server) -> Iterator[httpx.Client]:
    """Asked for something ordinary first: what is loaded for that is not what an attack costs."""
    with httpx.Client(base_url=server.url, timeout=30) as client:
        picture = io.BytesIO()
        Image.fromarray(np.eye(64, dtype=np.uint8) * 255).save(picture, "PNG")
        for file in (picture.getvalue(), SVG + b'<path d="M0 0L9 9L0 9Z"/></svg>'):
            for path in ("/api/search", "/api/sketch"):
                client.post(path, files={"picture": file})
        yield client
        answer = client.post("/api/search", json={"strokes": [STAR]})
        assert answer.status_code == 200
        assert answer.json()["hits"]


def post(http: httpx.Client, body: str | bytes, kind: str = "application/json") -> httpx.Response:
    return http.post("/api/search", content=body, headers={"content-type": kind})


@pytest.mark.parametrize(
    "path",
    [
        "/api/pictures/..%2f..%2f..%2fetc%2fpasswd",
        "/api/pictures/../../../etc/passwd",
        "/api/pictures/%2e%2e/%2e%2e/etc/passwd/thumbnail",
        "/api/pictures//etc/passwd",
        "/api/pictures/%00",
        "/api/pictures/' OR 1=1 --",
        "/api/pictures/id%27%29%20OR%20%28%27a%27%3D%27a/thumbnail",
        "/api/pictures/" + "a" * 5000,
        "/api/pictures/\u202e/contours",
        "/page/../app.py",
        "/page/%2e%2e%2fapp.py",
        "/page/....//app.py",
        "//evil.example/",
        "/%",
    ],
)
def test_path_tricks(http: httpx.Client, server, path: str) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        line = f"GET {path.replace(' ', '%20')} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        raw.sendall(line.encode())
        answer = raw.makefile("rb").read()
    assert 400 <= int(answer.split()[1]) < 500, answer
    assert b"root:" not in answer


def deep(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "body",
    [
        "",
        "null",
        "[]",
        "{",
        "\x00",
        '{"strokes": null}',
        '{"strokes": "draw"}',
        '{"strokes": []}',
        '{"strokes": [[]]}',
        '{"strokes": [[[1, 2, 3]]]}',
        '{"strokes": [[[1]]]}',
        '{"strokes": [[["1", "2"]]]}',
        '{"strokes": [[[true, false], [1, 2]]]}',
        '{"strokes": [[[NaN, 1], [2, 2]]]}',
        '{"strokes": [[[Infinity, 1], [2, 2]]]}',
        '{"strokes": [[[1e999, 1], [2, 2]]]}',
        '{"strokes": [[[1e300, 1], [2, 2]]]}',
        '{"strokes": [[[1, 1], [1, 1]]]}',
        '{"strokes": [[[1, 1], [2, 2]]], "k": 0}',
        '{"strokes": [[[1, 1], [2, 2]]], "k": 1e9}',
        '{"strokes": [[[1, 1], [2, 2]]], "k": "20"}',
        '{"strokes": [[[1, 1], [2, 2]]], "k": 99999999999999999999999999}',
        '{"strokes": [[[1, 1], [2, 2]]], "offset": -1}',
        '{"strokes": [[[1, 1], [2, 2]]], "offset": 499, "k": 100}',
        '{"strokes": [[[1, 1], [2, 2]]], "picked": ["../../etc/passwd"]}',
        '{"strokes": [[[1, 1], [2, 2]]], "mirror": "yes"}',
        '{"strokes": [[[1, 1], [2, 2]]], "path": "/etc/passwd"}',
        '{"strokes": [[[1, 1], [2, 2]]], "page": "\\u0000"}',
        f'{{"strokes": {deep(100_000)}}}',
        deep(400_000),
    ],
    ids=lambda body: body[:40],
)
def test_wrong_bodies(http: httpx.Client, body: str) -> None:
    answer = post(http, body)
    assert answer.status_code in (400, 413, 422), answer.text
    assert isinstance(answer.json()["detail"], str)
    assert len(answer.content) < 1000


def test_bytes_that_are_no_text(http: httpx.Client) -> None:
    assert post(http, b'{"strokes": "\xff\xfe"}').status_code == 422


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "image/png", "", "multipart/mixed"]
)
def test_other_kinds_of_bodies(http: httpx.Client, kind: str) -> None:
    assert post(http, "{}", kind).status_code == 415


@pytest.mark.parametrize(
    "kind", ["multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=x"]
)
def test_broken_forms(http: httpx.Client, kind: str) -> None:
    for body in (b"", b"--x", b"--x\r\n\r\n", b"--x\r\nContent-Disposition: form-data\r\n\r\nhello\r\n--x--"):
        assert post(http, body, kind).status_code in (400, 422)


def test_ten_megabytes_of_strokes(http: httpx.Client, server) -> None:
    before = server.resident_mb()
    many = json.dumps({"strokes": [[[i, i % 7] for i in range(900_000)]]})
    assert len(many) > 10e6
    assert post(http, many).status_code == 413
    within = json.dumps({"strokes": [[[i, i % 7] for i in range(70_000)]]})
    assert len(within) < 2**20
    assert post(http, within).status_code == 422
    scattered = json.dumps({"strokes": [[[i, i % 7] for i in range(19)] for _ in range(1001)]})
    assert post(http, scattered).status_code == 422
    assert server.resident_mb() - before < 150


def test_an_endless_body(http: httpx.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(2000):
            yield b" " * 65536

    status = 0
    with contextlib.suppress(httpx.TransportError):  # cut off after four times the cap
        status = http.post(
            "/api/search", content=pieces(), headers={"content-type": "application/json"}
        ).status_code
    assert status in (0, 413)
    assert http.get("/api/health").status_code == 200


def bomb_png(side: int) -> bytes:
    """A PNG of side x side pixels in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(b"\0" * (side // 8 + 1) * min(side, 20_000), 9)
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def nested_uses(levels: int) -> str:
    groups = '<path id="g0" d="M0 0L9 9" stroke="#000"/>'
    for i in range(1, levels):
        groups += f'<g id="g{i}">' + f'<use href="#g{i - 1}"/>' * 10 + "</g>"
    return f'<svg xmlns="http://www.w3.org/2000/svg"><defs>{groups}</defs><use href="#g{levels - 1}"/></svg>'


SVG = b'<svg xmlns="http://www.w3.org/2000/svg">'
BOMBS = {
    "png of 3.6 gigapixels": bomb_png(60_000),
    "png of 100 megapixels": bomb_png(10_000),
    "svg of nested uses": nested_uses(12).encode(),
    "svg of entities": b'<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><svg>&b;&b;</svg>',
    "svg that reads a file": b'<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg>&x;</svg>',
    "svg with an image": SVG + b'<image href="file:///etc/passwd" width="9" height="9"/></svg>',
    "svg with a huge path": SVG + b'<path d="M0 0' + b"L1e9 1e9L0 0" * 300_000 + b'"/></svg>',
    "svg of a million elements": SVG + b"<g>" * 1_000_000,
    "nothing": b"",
    "noise": bytes(range(256)) * 400,
    "cut jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + b"\x00" * 100,
    "json of nonsense": b'{"strokes": [[[1e400, 0], ["a", {}]]]}',
    "deep json": b"[" * 500_000,
    "html": b"<html><script>alert(1)</script></html>",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs(http: httpx.Client, server, name: str) -> None:
    before = server.resident_mb()
    for path in ("/api/search", "/api/sketch"):
        answer = http.post(path, files={"picture": (name, BOMBS[name])})
        assert answer.status_code == 422, answer.text
        assert "Traceback" not in answer.text
    assert server.resident_mb() - before < 100


def test_a_white_picture_of_many_pixels(http: httpx.Client) -> None:
    file = io.BytesIO()
    Image.new("1", (5600, 5600), 1).save(file, "PNG")
    answer = http.post("/api/sketch", files={"picture": file.getvalue()})
    assert answer.status_code == 422
    assert "blank" in answer.text


def test_an_upload_over_its_cap(http: httpx.Client, server) -> None:
    before = server.resident_mb()
    answer = http.post("/api/sketch", files={"picture": b"\0" * (25 << 20)})
    assert answer.status_code == 413
    assert server.resident_mb() - before < 100


def test_many_files_and_fields(http: httpx.Client) -> None:
    two = [("a", ("a.png", b"x")), ("b", ("b.png", b"y"))]
    assert http.post("/api/search", files=two).status_code in (400, 422)
    fields = {f"field{i}": "x" for i in range(1000)}
    assert http.post("/api/search", files={"a": b"x"}, data=fields).status_code in (400, 422)


@pytest.mark.timeout(60)
def test_slow_senders(server) -> None:
    """One sends its headers a byte at a time, one its body; both are shown the door, others are served."""
    headers = socket.create_connection(("127.0.0.1", server.port))
    body = socket.create_connection(("127.0.0.1", server.port))
    silent = socket.create_connection(("127.0.0.1", server.port))
    lines = ["POST /api/search HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    body.sendall("\r\n".join((*lines, "Content-Length: 9", "", "{")).encode())
    began = time.monotonic()
    refused = None
    for byte in b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"a" * 100:
        try:
            headers.sendall(bytes([byte]))
        except OSError:
            refused = time.monotonic() - began
            break
        assert httpx.get(f"{server.url}api/health").status_code == 200
        time.sleep(0.25)
    assert refused is not None
    assert refused < 14
    body.settimeout(5)
    assert body.recv(100).startswith(b"HTTP/1.1 408")
    silent.settimeout(5)
    assert silent.recv(1) == b""
    for connection in (headers, body, silent):
        connection.close()


def closed_within(connection: socket.socket, seconds: float) -> bool:
    """Whether the server ends the connection, to which a byte is sent every half second."""
    end = time.monotonic() + seconds
    connection.settimeout(0.5)
    while time.monotonic() < end:
        try:
            connection.sendall(b"x")
            if connection.recv(65536) == b"":
                return True
            time.sleep(0.5)
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.fixture(scope="module")
def locked(start_server, shape_index):
    """A server that asks for a token."""
    return start_server(shape_index, "--token", "secret")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("path", ["/api/search", "/", "/api/health", "/nowhere", "/api/index"])
def test_answered_before_the_body_and_dripping(locked, server, path: str) -> None:
    """A body that nobody reads may not hold a connection, with a token or without."""

    def drip(port: int, framing: str) -> bool:
        first = "4f\r\n" if "k" in framing else "x"
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", framing, "", first]
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall("\r\n".join(lines).encode())
            connection.settimeout(10)
            assert connection.recv(65536).startswith((b"HTTP/1.1 4", b"HTTP/1.1 2"))
            return closed_within(connection, 20)

    ports = (locked.port, server.port) if path != "/api/search" else (locked.port,)
    framings = ("Content-Length: 99999999", "Transfer-Encoding: chunked")
    kinds = [(port, framing) for port in ports for framing in framings]
    with ThreadPoolExecutor(len(kinds)) as pool:  # each waits for the server, not for the others
        assert all(pool.map(drip, *zip(*kinds, strict=True))), kinds


def test_a_refused_upload_hears_why(locked) -> None:
    local = f"http://127.0.0.1:{locked.port}"
    for _ in range(5):
        answer = httpx.post(f"{local}/api/sketch", files={"picture": b"\0" * (4 << 20)}, timeout=30)
        assert answer.status_code == 401


def test_crowds_of_connections(server) -> None:
    crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(300)]
    try:
        statuses = set()
        for connection in crowd[:3]:
            connection.sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            connection.settimeout(10)
            statuses.add(connection.recv(12))
        assert statuses <= {b"HTTP/1.1 200", b"HTTP/1.1 503"}
    finally:
        for connection in crowd:
            connection.close()
    time.sleep(0.5)
    assert httpx.get(f"{server.url}api/health").status_code == 200


def test_clients_that_leave_in_the_middle_of_a_body(start_server, shape_index) -> None:
    server = start_server(shape_index)
    for kind in ("application/json", "multipart/form-data; boundary=x"):
        head = f"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.port)) as raw:
                raw.sendall(f"{head}Content-Length: 1000\r\n\r\n--x\r\n".encode())
    with httpx.Client(base_url=server.url, timeout=30) as client:
        for _ in range(100):
            said = client.get("/metrics").text
            if said.count('status="499"') or 'status="500"' in said:
                break
            time.sleep(0.1)
    assert 'status="500"' not in said
    assert server.stop() == ""


def test_two_ways_to_say_where_a_body_ends(server) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(
            b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        )
        answer = raw.makefile("rb").read()
    assert answer.split()[1] == b"400", answer
    assert b"Transfer-Encoding" in answer
