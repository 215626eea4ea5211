"""What several areas' tests need."""

from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does, before anything imports NumPy

import pytest
from PIL import Image, ImageDraw

Draw = Callable[..., Path]


@pytest.fixture(scope="session")
def draw_picture() -> Draw:
    """A function that draws a small picture, different for each number, in a file that is not new."""

    def draw(path: Path | str | bytes, number: int = 0, age_s: float = 3600.0) -> Path:
        image = Image.new("RGB", (96, 72), (235, 235, 225))
        pen = ImageDraw.Draw(image)
        x, y = 8 + 7 * (number % 5), 6 + 5 * (number // 5 % 5)
        shape = (pen.ellipse, pen.rectangle)[number % 2]
        shape((x, y, x + 30 + number % 7, y + 24 + number % 11), fill=(40, 60 + number % 190, 90))
        pen.line((2, 70, 90 - number % 60, 50), fill=(number % 256, 0, 0), width=3)
        image.save(os.fsdecode(path), "PNG")
        status = os.stat(path)
        os.utime(path, (status.st_atime - age_s, status.st_mtime - age_s))
        return Path(os.fsdecode(path))

    return draw


@pytest.fixture
def pictures(tmp_path: Path, draw_picture: Draw) -> Path:
    """A folder of six pictures, two of them in a folder of their own."""
    folder = tmp_path / "pictures"
    (folder / "inner").mkdir(parents=True)
    for number in range(6):
        draw_picture((folder / "inner" if number > 3 else folder) / f"{number}.png", number)
    return folder


@pytest.fixture(scope="session")
def shape_pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Solid shapes on plain ground, each in its own place, in every kind of file that a server must know."""
    folder = tmp_path_factory.mktemp("shapes")
    drawn = {
        "star.jpg": (480, 360, STAR, 320, (120, 20)),
        "star-small.png": (300, 400, STAR, 260, (20, 120)),
        "house.webp": (400, 400, HOUSE, 260, (60, 100)),
        "arrow.gif": (500, 300, ARROW, 330, (30, 20)),
        "arrow-right.png": (500, 300, [(100 - x, y) for x, y in ARROW], 330, (140, 20)),
        "bolt.tiff": (320, 320, BOLT, 220, (50, 40)),
        "cross.bmp": (360, 360, CROSS, 240, (70, 60)),
    }
    for name, (width, height, shape, size, (x0, y0)) in drawn.items():
        image = Image.new("RGB", (width, height), (236, 230, 218))
        corners = [(x0 + x * size / 100, y0 + y * size / 100) for x, y in shape]
        ImageDraw.Draw(image).polygon(corners, fill=(52, 74, 110))
        image.save(folder / name)
    points = " ".join(f"{x},{y}" for x, y in HOUSE)
    (folder / "house.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300" onload="alert(1)">'
        '<script>alert(2)</script><rect width="400" height="300" fill="#eee"/>'
        f'<polygon points="{points}" transform="translate(20 30) scale(2.2)" fill="#345"/></svg>'
    )
    return folder


@pytest.fixture(scope="session")
def shape_index(shape_pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of them."""
    from sketchseek import Index

    where = tmp_path_factory.mktemp("shape-index") / "index"
    report = Index.create(where, detector="canny", expansion=False).add([shape_pictures])
    assert not report.failed
    return where


@pytest.fixture(scope="session")
def vector_model() -> Callable[..., bytes]:
    """A function that writes a network in ONNX: its embedding is the picture's mean colour."""

    def make(size: tuple[str | int, str | int] = ("h", "w")) -> bytes:
        onnx = pytest.importorskip("onnx")
        number, helper = onnx.TensorProto.FLOAT, onnx.helper
        graph = helper.make_graph(
            [
                helper.make_node("GlobalAveragePool", ["x"], ["mean"]),
                helper.make_node("Flatten", ["mean"], ["y"]),
            ],
            "colours",
            [helper.make_tensor_value_info("x", number, ["n", 3, *size])],
            [helper.make_tensor_value_info("y", number, ["n", 3])],
        )
        opset = helper.make_opsetid("", 17)
        model: bytes = helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()
        return model

    return make


class ReverseProxy(BaseHTTPRequestHandler):
    """Passes requests under `prefix` on to `port`, as nginx and Caddy do; everything else is 404."""

    port: int
    prefix: str
    strips: bool
    added: dict[str, str]
    protocol_version = "HTTP/1.1"

    def pass_on(self) -> None:
        path = self.path.removeprefix(self.prefix) if self.strips else self.path
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {
            name: self.headers[name] for name in self.headers if name.lower() != "connection"
        } | self.added
        headers["x-forwarded-for"] = f"{self.headers.get('x-forwarded-for', '')}, {self.client_address[0]}"
        upstream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        if self.path.partition("?")[0].startswith(self.prefix):
            upstream.request(self.command, path, body, headers)
            answer = upstream.getresponse()
            status, fields, content = answer.status, answer.getheaders(), answer.read()
        else:
            status, fields, content = 404, [], b""
        upstream.close()
        self.send_response_only(status)
        for name, value in fields:
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = pass_on  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def reverse_proxy() -> Iterator[Callable[..., str]]:
    """A function that puts a reverse proxy before the server on a port, and gives its address."""
    with ExitStack() as stack:

        def start(port: int, prefix: str, strips: bool = True, **added: str) -> str:
            described = {"port": port, "prefix": prefix, "strips": strips}
            extra = {name.replace("_", "-"): value for name, value in added.items()}
            handler = type("Handler", (ReverseProxy,), {**described, "added": extra})
            proxy = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), handler))
            proxy.daemon_threads = True
            threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
            stack.callback(proxy.shutdown)
            return f"http://127.0.0.1:{proxy.server_port}{prefix}/"

        yield start


# Outlines in a square of 100.
STAR = [(50, 0), (61, 36), (98, 36), (68, 58), (79, 94), (50, 72), (21, 94), (32, 58), (2, 36), (39, 36)]
HOUSE = [(50, 0), (100, 45), (85, 45), (85, 95), (15, 95), (15, 45), (0, 45)]
ARROW = [(0, 50), (40, 10), (40, 35), (100, 35), (100, 65), (40, 65), (40, 90)]
BOLT = [(55, 0), (15, 55), (45, 55), (35, 100), (85, 38), (55, 38), (75, 0)]
CROSS = [(35, 0), (65, 0), (65, 35), (100, 35), (100, 65), (65, 65), (65, 100), (35, 100), (35, 65), (0, 65)]
CROSS += [(0, 35), (35, 35)]
