"""What uploads that mean harm cost a server: the size of the answer, memory, and how long others wait.

    python benchmarks/uploads.py [--pictures 300]

`sketchseek serve` runs in a process of its own, with the network, on pictures of the demo. Each file is sent
to `/api/search` for a hundred hits. Memory is that of the server and of all processes that it started, above
what they have after an ordinary upload; meanwhile `/api/health` is asked again and again.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
from PIL import Image

from sketchseek import Index
from sketchseek.demo import pictures

SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 400" fill="none" stroke="#000">'
PAUSE_S = 0.02


def main() -> None:
    """A table: one line for each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=300)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder, "index")
        files = sorted(f for d in pictures() for f in d.rglob("*") if f.suffix in (".png", ".jpg", ".svg"))
        Index.create(where).add(random.Random(0).sample(files, args.pictures))
        with serving(where) as (url, pid), httpx.Client(base_url=url, timeout=120) as client:
            for _ in range(3):
                client.post("/api/search", files={"picture": jpeg(600, 400)}).raise_for_status()
            print("| upload | bytes | status | answer, kB | seconds | memory, MB | health at most, s |")
            print("|---|---|---|---|---|---|---|")
            for name, make in UPLOADS.items():
                data, before = make(), memory(pid)
                with watching(url, pid) as seen:
                    began = time.perf_counter()
                    answer = client.post("/api/search", files={"picture": data}, data={"k": "100"})
                    took = time.perf_counter() - began
                more = max(seen.memory) - before
                cells = [name, f"{len(data):,}", answer.status_code, f"{len(answer.content) / 1e3:.0f}"]
                cells += [f"{took:.1f}", f"{max(0, more) / 1e6:.0f}", f"{max(seen.health):.2f}"]
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)
                if answer.status_code != 200:
                    print(answer.text[:200], file=sys.stderr)


@contextmanager
def serving(where: Path) -> Iterator[tuple[str, int]]:
    """A server of its own; its address and its process."""
    words = [sys.executable, "-m", "sketchseek", "serve", "--index", str(where), "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        try:
            yield found[0], process.pid
        finally:
            process.terminate()


class Seen:
    """What was seen while a file was read."""

    def __init__(self) -> None:
        self.memory: list[int] = []
        self.health: list[float] = []


@contextmanager
def watching(url: str, pid: int) -> Iterator[Seen]:
    """Memory and health, until it is over."""
    seen, over = Seen(), threading.Event()

    def weigh() -> None:
        while not (seen.memory and over.wait(PAUSE_S)):
            seen.memory.append(memory(pid))

    def ask() -> None:
        with httpx.Client(base_url=url, timeout=60) as client:
            while not (seen.health and over.wait(PAUSE_S)):
                began = time.perf_counter()
                client.get("/api/health").raise_for_status()
                seen.health.append(time.perf_counter() - began)

    threads = [threading.Thread(target=work) for work in (weigh, ask)]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        time.sleep(3 * PAUSE_S)
        over.set()
        for thread in threads:
            thread.join()


def memory(pid: int) -> int:
    """Bytes that a process and those that it started have to themselves, and their share of the rest."""
    total = 0
    for each in [pid, *started_by(pid)]:
        try:
            said = Path(f"/proc/{each}/smaps_rollup").read_text()
        except OSError:  # it ended
            continue
        total += 1024 * int(re.search(r"^Pss:\s+(\d+)", said, re.MULTILINE)[1])
    return total


def started_by(pid: int) -> list[int]:
    """Processes that a process has started, and those have."""
    try:
        children = [
            int(number)
            for task in os.listdir(f"/proc/{pid}/task")
            for number in Path(f"/proc/{pid}/task/{task}/children").read_text().split()
        ]
    except OSError:
        return []
    return children + [further for child in children for further in started_by(child)]


# --- files that mean harm ----------------------------------------------------------------------------------


def jpeg(width: int, height: int, **options: object) -> bytes:
    """Noise, which is hard on everything."""
    random = np.random.default_rng(0)
    small = random.integers(0, 256, (height // 8, width // 8, 3), np.uint8)
    return saved(Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC), "JPEG", **options)


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def wiggles(points: int, seed: int = 0) -> list[list[int]]:
    """A line that goes to and fro along a ring."""
    random = np.random.default_rng(seed)
    angle, radius = random.uniform(0, 2 * np.pi, points), random.uniform(1500, 2000, points)
    return np.stack([2000 + radius * np.cos(angle), 2000 + radius * np.sin(angle)], 1).astype(int).tolist()


def ring(points: int) -> list[list[int]]:
    """A rough ring, point after point."""
    random, angle = np.random.default_rng(0), np.linspace(0, 2 * np.pi, points)
    radius = 1800 + random.uniform(0, 60, points)
    return np.stack([2000 + radius * np.cos(angle), 2000 + radius * np.sin(angle)], 1).astype(int).tolist()


def svg_of_curves() -> bytes:
    """As many short curves as 73 kB can name, used again and again."""
    path = "M0 0" + "c1 2 3-4 5 1s-4 3-5-1" * 2500
    uses = "".join(f'<use href="#a" x="{4 * i}" y="{i % 7}"/>' for i in range(9))
    return f'{SVG}<path id="a" d="{path}"/>{uses}</svg>'.encode()


def svg_of_points() -> bytes:
    """One path with a vertex every five bytes."""
    return f'{SVG}<path d="M0 0{"".join(f"L{x} {y}" for x, y in ring(7000))}"/></svg>'.encode()


def svg_around_a_picture() -> bytes:
    """A large picture inside a drawing."""
    import base64

    inner = base64.b64encode(jpeg(6000, 5000, quality=30)).decode()
    return f'{SVG}<image href="data:image/jpeg;base64,{inner}" width="400" height="400"/></svg>'.encode()


def pdf(pages: int = 1) -> bytes:
    """Pages of noise."""
    page = Image.open(io.BytesIO(jpeg(2400, 3200)))
    return saved(page, "PDF", save_all=True, append_images=[page] * (pages - 1))


def comic() -> bytes:
    """An archive of pages."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(20):
            archive.writestr(f"{number}.jpg", jpeg(1600, 2400, quality=50))
    return out.getvalue()


def tiff(side: int) -> bytes:
    """One number of four bytes for each pixel, packed to nearly nothing."""
    return saved(Image.fromarray(np.zeros((side, side), np.float32)), "TIFF", compression="tiff_deflate")


def gif() -> bytes:
    """Many frames of one colour each."""
    frames = [Image.new("P", (3000, 3000), number) for number in range(30)]
    return saved(frames[0], "GIF", save_all=True, append_images=frames[1:])


UPLOADS: dict[str, Callable[[], bytes]] = {
    "SVG, curves used again": svg_of_curves,
    "SVG, one path of 7,000 points": svg_of_points,
    "SVG around a JPEG of 30 megapixels": svg_around_a_picture,
    "strokes, one of 200,000 points": lambda: json.dumps([ring(200_000)]).encode(),
    "strokes, 200,000 points in 10,000 strokes": lambda: json.dumps(
        np.array(ring(200_000)).reshape(10_000, 20, 2).tolist()
    ).encode(),
    "strokes to and fro, 200,000 points": lambda: json.dumps([wiggles(200_000)]).encode(),
    "JPEG of 31 megapixels": lambda: jpeg(6400, 4960),
    "JPEG of 31 megapixels, progressive": lambda: jpeg(6400, 4960, progressive=True),
    "JPEG of 40 megapixels": lambda: jpeg(8000, 5000, quality=60),
    "PNG of 31 megapixels": lambda: saved(Image.new("RGBA", (5600, 5600), (9, 9, 9, 90)), "PNG"),
    "WebP of 31 megapixels": lambda: saved(
        Image.open(io.BytesIO(jpeg(6400, 4960))), "WEBP", quality=30, method=0
    ),
    "AVIF of 31 megapixels": lambda: saved(
        Image.open(io.BytesIO(jpeg(6400, 4960))), "AVIF", quality=30, speed=10
    ),
    "TIFF of floats, 31 megapixels": lambda: tiff(5600),
    "GIF of 30 frames": gif,
    "PDF of a page": pdf,
    "PDF of 20 pages": lambda: pdf(20),
    "comic of 20 pages": comic,
}

if __name__ == "__main__":
    main()
