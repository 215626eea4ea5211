"""Sources of others: found by their entry points; the example asks a photo server only what reads."""

from __future__ import annotations

import io
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from sketchseek import Index, plugins, sources
from sketchseek.errors import SketchseekError
from sketchseek.storage.source_cache import items_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "immich"
ASSET = {
    "id": "a1",
    "type": "IMAGE",
    "originalFileName": "IMG_1.jpg",
    "checksum": "x1=",
    "isTrashed": False,
    "exifInfo": {"exifImageWidth": 4000, "exifImageHeight": 3000, "orientation": "1"},
}
"""As the server's documented answers are, without what is not read."""


@pytest.fixture
def photos(monkeypatch):
    """A photo server that knows one key and three assets, and notes what it is asked."""
    asked = []
    others = [{**ASSET, "id": "v1", "type": "VIDEO"}, {**ASSET, "id": "t1", "isTrashed": True}]

    class Handler(BaseHTTPRequestHandler):
        def answer(self, data: bytes, kind: str) -> None:
            known = self.headers.get("x-api-key") == "word"
            self.send_response(200 if known else 401)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            asked.append(f"GET {self.path}")
            if "/albums/" in self.path:
                self.answer(
                    json.dumps({"id": "one", "assets": [ASSET, *others]}).encode(), "application/json"
                )
            else:
                out = io.BytesIO()
                image = Image.new("RGB", (1440, 1080), "white")
                ImageDraw.Draw(image).ellipse((300, 200, 1000, 900), outline="black", width=20)
                image.save(out, "JPEG")
                self.answer(out.getvalue(), "image/jpeg")

        def do_POST(self) -> None:
            asked.append(f"POST {self.path}")
            page = json.loads(self.rfile.read(int(self.headers["content-length"])))["page"]
            found = {"items": [ASSET] if page == 1 else others, "nextPage": "2" if page == 1 else None}
            self.answer(json.dumps({"assets": found}).encode(), "application/json")

        def log_message(self, *_) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), *sys.path])
    monkeypatch.setenv("IMMICH_API_KEY", "word")
    entry = EntryPoint("immich+http", "sketchseek_immich:Immich", sources.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    plugins.plugins.cache_clear()
    yield f"immich+http://127.0.0.1:{server.server_address[1]}", asked
    plugins.plugins.cache_clear()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("album", ["albums/one", "all"])
def test_a_photo_server_is_read_and_never_written_to(photos, tmp_path, album):
    address, asked = photos
    index = Index.create(tmp_path / "index", "compact", detector="canny", expansion=False)
    report = index.add(f"{address}/{album}", jobs=1)
    assert (report.added, report.failed) == (1, [])
    row = index.row(index.state.id(0))
    assert (row.width, row.height) == (4000, 3000)
    assert row.picture == f"{address}/{album}#a1"
    item = items_of(index.store.location)["a1"]
    assert item.link.endswith("/photos/a1")
    assert index.add(f"{address}/{album}", jobs=1).unchanged == 1
    reads = ("GET /api/albums/", "POST /api/search/metadata", "GET /api/assets/a1/thumbnail?size=preview")
    assert all(question.startswith(reads) for question in asked)
    assert sum("thumbnail" in question for question in asked) == 1


def test_what_goes_wrong_is_a_sentence(photos, tmp_path, monkeypatch):
    address, _ = photos
    index = Index.create(tmp_path / "index", "compact", detector="canny", expansion=False)
    with pytest.raises(SketchseekError, match="names no album"):
        index.add(f"{address}/people", jobs=1)
    monkeypatch.setenv("IMMICH_API_KEY", "wrong")
    with pytest.raises(SketchseekError, match="status 401"):
        index.add(f"{address}/albums/one", jobs=1)
    monkeypatch.delenv("IMMICH_API_KEY")
    with pytest.raises(SketchseekError, match="IMMICH_API_KEY"):
        index.add(f"{address}/albums/one", jobs=1)


def test_an_address_that_nothing_reads_is_refused(tmp_path):
    index = Index.create(tmp_path / "index", "compact", detector="canny", expansion=False)
    with pytest.raises(SketchseekError, match="none of these"):
        index.add("gopher://a/b", jobs=1)
