"""However much is drawn or sent, an answer is small, and so is what it takes to make it."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image, ImageDraw
from starlette.testclient import TestClient

from sketchseek import Index, Sketch
from sketchseek.search.hit import Pose
from sketchseek.server.app import create_app

pytestmark = pytest.mark.slow

MOST = 2_000_000
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 1000" fill="none" stroke="black">'


def curves(count: int) -> str:
    """A path of wide curves between places on a circle: each becomes some dozens of points."""
    random = np.random.default_rng(0)
    turn = np.arange(count) / 9
    ends = np.stack([500 + 300 * np.cos(turn), 500 + 400 * np.sin(turn)], axis=1).round()
    numbers = np.concatenate([random.integers(0, 1000, (count, 4)), ends], axis=1)
    return "M500 500" + "".join(f"C{' '.join(f'{x:g}' for x in row)}" for row in numbers)


def large_drawings() -> dict[str, bytes]:
    """Files of some kilobytes with as many lines as are accepted."""
    random = np.random.default_rng(1)
    uses = "".join(f'<use href="#a" x="{x}"/>' for x in range(1000))
    spiral = [[500 + i / 400 * np.cos(i / 50), 500 + i / 400 * np.sin(i / 50)] for i in range(190_000)]
    lines = "".join(f"M{a} {b}L{800 + c} {700 + d}" for a, b, c, d in random.integers(0, 100, (19_000, 4)))
    return {
        "curves": f'{SVG}<path d="{curves(2500)}"/></svg>'.encode(),
        "uses": f'{SVG}<defs><path id="a" d="{curves(45)}"/></defs>{uses}</svg>'.encode(),
        "tiny steps": f'{SVG}<path d="M500 500{"l1 0 0 1 1 1 1 0" * 4000}"/></svg>'.encode(),
        "lines": f'{SVG}<path d="{lines}"/></svg>'.encode(),
        "strokes": json.dumps(np.round([spiral], 3).tolist()).encode(),
    }


def large_pictures() -> dict[str, bytes]:
    """Pictures of nearly as many pixels as are accepted, in the formats whose decoders take most."""
    files = {}
    for kind, side in (("PNG", 5600), ("WEBP", 4200), ("AVIF", 5600), ("TIFF", 5600), ("JPEG", 6300)):
        image = Image.new("RGB", (side, side), "white")
        ImageDraw.Draw(image).ellipse((500, 900, side - 600, side - 500), outline="black", width=90)
        file = io.BytesIO()
        image.save(file, kind, **{"WEBP": {"method": 0}, "AVIF": {"speed": 10}}.get(kind, {}))
        files[kind] = file.getvalue() if kind != "TIFF" else float_tiff(side)
    for mode, kind, side in (("RGBA", "PNG", 5600), ("LA", "TIFF", 5600), ("RGBA", "WEBP", 4200)):
        grey = Image.new("L", (side, side), 255)
        ImageDraw.Draw(grey).ellipse((500, 900, side - 600, side - 500), outline=0, width=90)
        image = Image.merge(mode, [grey] * (len(mode) - 1) + [Image.new("L", grey.size, 255)])
        file = io.BytesIO()
        image.save(
            file, kind, **{"TIFF": {"compression": "tiff_deflate"}, "WEBP": {"method": 0}}.get(kind, {})
        )
        files[f"{kind} {mode}"] = file.getvalue()
    return files


def float_tiff(side: int) -> bytes:
    """The same in 32 bits a pixel."""
    pixels = np.ones((side, side), np.float32)
    pixels[800:900, 300:-300] = pixels[800:-300, 300:400] = 0
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "TIFF", compression="tiff_deflate")
    return file.getvalue()


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of a hundred pictures, as many as one answer may have."""
    folder = tmp_path_factory.mktemp("crowd")
    random = np.random.default_rng(2)
    for i in range(100):
        image = Image.new("L", (1200, 900), 255)
        ImageDraw.Draw(image).polygon([tuple(p) for p in random.integers(50, 850, (5, 2)).tolist()], fill=90)
        image.save(folder / f"{i}.png")
    where = folder / "index"
    assert not Index.create(where, "compact", detector="canny", expansion=False).add([folder]).failed
    return where


@pytest.fixture(scope="module")
def client(crowd: Path) -> Iterator[TestClient]:
    with TestClient(create_app(crowd), base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.mark.parametrize("name", large_drawings())
def test_an_answer_is_small_whatever_was_drawn(client: TestClient, name: str) -> None:
    file = large_drawings()[name]
    answer = client.post("/api/search", files={"picture": file}, data={"k": "100"})
    assert answer.status_code == 200, answer.text
    assert len(answer.content) <= MOST
    hits = answer.json()["hits"]
    assert len(hits) == 100
    assert all(hit["outline"] for hit in hits)
    traced = client.post("/api/sketch", files={"picture": file})
    assert traced.status_code == 200
    assert len(traced.content) <= MOST


def test_outlines_have_as_many_points_as_there_is_room_for(client: TestClient) -> None:
    file = {"picture": large_drawings()["curves"]}
    sizes = []
    for k in ("1", "100"):
        answer = client.post("/api/search", files=file, data={"k": k}).json()
        sizes.append(sum(map(len, answer["hits"][0]["outline"])))
    assert sizes[0] > 5 * sizes[1] > 500


def test_the_drawing_is_sent_once_and_lies_where_the_outline_does(client: TestClient) -> None:
    turn = np.linspace(0, 2 * np.pi, 300)
    drop = np.stack([100 * np.cos(turn), (100 - 40 * np.cos(turn)) * np.sin(turn)], axis=1)
    body = {"strokes": [drop.tolist(), [[0, 0], [30, 60]]], "k": 5, "turn": 30}
    answer = client.post("/api/search", json=body).json()
    assert answer["drawing"]
    for hit in answer["hits"]:
        size = (hit["width"], hit["height"])
        pose = Pose(hit["scale"], hit["mirrored"], np.deg2rad(hit["rotation"]), hit["dx"], hit["dy"])
        for stroke, outline in zip(answer["drawing"], hit["outline"], strict=True):
            placed = pose.to_pixels(np.asarray(stroke, np.float32), size)
            np.testing.assert_allclose(placed[[0, -1]], np.array(outline)[[0, -1]], atol=2)
        assert all("outline" not in place for place in hit["also"])
    assert json.dumps(answer["hits"][0]["outline"]).count("00000") == 0  # no digits of single precision
    without = client.post("/api/search", json={**body, "outlines": False}).json()
    assert without["drawing"] == answer["drawing"]
    assert all("outline" not in hit for hit in without["hits"])


def memory_mb(process: int) -> float:
    """The most that a process and those it started have had, since the last time."""
    most, todo = 0.0, [process]
    while todo:
        one = Path(f"/proc/{todo.pop()}")
        for task in (one / "task").iterdir():
            todo += map(int, (task / "children").read_text().split())
        peak = next(line for line in (one / "status").read_text().splitlines() if line.startswith("VmHWM"))
        most += int(peak.split()[1]) / 1024
        (one / "clear_refs").write_text("5")
    return most


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's /proc")
def test_an_upload_takes_little_memory(start_server: Callable, crowd: Path) -> None:
    server = start_server(crowd)
    with httpx.Client(base_url=server.url, timeout=120) as http:
        small = Image.new("L", (64, 64), 255)
        ImageDraw.Draw(small).ellipse((9, 9, 50, 50), outline=0)
        picture = io.BytesIO()
        small.save(picture, "PNG")
        for file in (picture.getvalue(), f'{SVG}<path d="M0 0L9 9L0 9Z"/></svg>'.encode()):
            for _ in range(3):  # under load the process that reads files may not start at once
                answer = http.post("/api/search", files={"picture": file}, data={"k": "100"})
                if answer.status_code == 200:
                    break
            assert answer.status_code == 200, answer.text
        memory_mb(server.process.pid)
        for name, file in {**large_drawings(), **large_pictures()}.items():
            before = memory_mb(server.process.pid)
            answer = http.post("/api/search", files={"picture": file}, data={"k": "100"})
            assert answer.status_code == 200, (name, answer.text)
            after = memory_mb(server.process.pid)
            assert after - before < 300, name


def test_a_page_of_hits_is_small_whatever_was_drawn(crowd: Path) -> None:
    from sketchseek.search.html import page

    index = Index.open(crowd)
    sketch = Sketch.load(large_drawings()["curves"])
    hits = index.search(sketch, 100)
    pictures = sum(len(hit.thumbnail()) for hit in hits)
    assert len(page(sketch, hits, len(index))) < MOST + 2 * pictures
