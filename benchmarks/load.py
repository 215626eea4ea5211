"""Fifty people draw at once on 100,000 pictures: how long they wait, and whether the server stays in shape.

    python benchmarks/load.py                       # two minutes of fifty clients, on loopback
    python benchmarks/load.py --page                # pen up to results on screen, in a browser
    python benchmarks/load.py --page --smallest .6 .3    # whole pictures, and with windows

The index is synthetic: the codes of a few hundred real pictures, each many times over with noise. Clients
behave as the page does: a search after each stroke, then the thumbnails that are not in the cache yet.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from sketchseek import Index
from sketchseek.contours.drawing import Sketch
from sketchseek.demo import drawings, pictures
from sketchseek.shape.descriptor import norms
from sketchseek.shape.settings import Settings
from sketchseek.shape.windows import LEVELS
from sketchseek.storage.store import Change, Store

SEED = 7
THUMBNAILS = 12
"""As many as a screen shows at first."""


# --- the index -------------------------------------------------------------------------------------------


def make_index(folder: Path, count: int, real: int, min_object_size: float, photos: Path | None) -> Path:
    """An index of `count` pictures made from `real` ones, with windows for things of a share and larger.

    photos : a folder of them; None for the demo's pictures.
    """
    where = folder / f"load-{count}-{min_object_size}"
    if where.exists():
        return where
    samples = folder / "samples"
    samples.mkdir(exist_ok=True)
    folders = pictures() if photos is None else [photos]
    files = sorted(f for d in folders for f in d.rglob("*") if f.suffix in (".png", ".jpg", ".svg"))
    for i, file in enumerate(random.Random(SEED).sample(files, real)):
        shutil.copy(file, samples / f"{i}{file.suffix}")
    small = Index.create(
        folder / f"small-{min_object_size}", min_object_size=min_object_size, expansion=False
    )
    small.add([samples])
    store = Store.create(where, small.store.config)
    schema = store.dataset.schema
    table = small.store.table(schema.names, "failure IS NULL")
    rng = np.random.default_rng(SEED)
    dimension = store.config.dimension
    settings = Settings.from_json(store.config.settings)
    codes = table["code"].combine_chunks().flatten().to_numpy().reshape(-1, dimension)
    for start in range(0, count, 20_000):
        number = min(20_000, count - start)
        chosen = rng.integers(len(table), size=number)
        noisy = with_noise(codes[chosen], rng)
        names = [f"{start + i:016x}" for i in range(number)]
        part = table.take(chosen)
        columns = {name: part[name].combine_chunks() for name in part.column_names}
        columns["id"] = pa.array(names)
        columns["path"] = pa.array(
            [path + b"#" + name.encode() for path, name in zip(part["path"].to_pylist(), names, strict=True)],
            pa.binary(),
        )
        lengths = norms(noisy, settings).reshape(number, -1)
        columns["norms"] = pa.FixedSizeListArray.from_arrays(pa.array(lengths.ravel()), lengths.shape[1])
        columns["code"] = pa.FixedSizeListArray.from_arrays(pa.array(noisy.ravel()), dimension)
        windows = (
            w and with_noise(np.frombuffer(w, np.int8), rng).tobytes() for w in part["windows"].to_pylist()
        )
        columns["windows"] = pa.array(windows, pa.binary())
        rows = pa.table([columns[name] for name in schema.names], schema=schema)
        store.commit(lambda rows=rows: Change(rows))
    return where


def with_noise(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Other pictures that are a little like these."""
    noise = rng.normal(0, 6, codes.shape).astype(np.float32)
    return np.clip(codes + noise, -127, 127).round().astype(np.int8)


@contextmanager
def serving(index: Path) -> Iterator[tuple[str, int]]:
    """A server of its own; its address and its process."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "sketchseek", "serve", "--index", str(index), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert process.stdout is not None
        found = re.search(r"http://([\d.]+):(\d+)/", process.stdout.readline())
        assert found
        yield found[0], process.pid
        process.terminate()
        process.wait(60)


def resident_mb(process: int) -> float:
    """Memory of a process that is its own: mapped files of the index left out."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024


# --- the clients -----------------------------------------------------------------------------------------


class Connection:
    """As little HTTP/1.1 as a load test needs: what the clients compute is taken from the server's cores."""

    def __init__(self, address: str) -> None:
        self.host, self.port = re.search(r"http://([\d.]+):(\d+)/", address).groups()
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        kind = "Content-Type: application/json\r\n" if body else ""
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\n{kind}Content-Length: {len(body)}\r\n\r\n"
        while True:
            fresh = self.streams is None or self.streams[1].is_closing() or self.streams[0].at_eof()
            if fresh:
                self.streams = await asyncio.open_connection(self.host, int(self.port))
            reader, writer = self.streams
            try:
                writer.write(head.encode() + body)
                answer = await reader.readuntil(b"\r\n\r\n")
                break
            except (ConnectionError, asyncio.IncompleteReadError):
                # An idle connection that the server has just closed: browsers, too, ask again on a new one.
                self.streams = None
                if fresh:
                    raise
        length = re.search(rb"(?i)content-length: (\d+)", answer)
        return int(answer.split(None, 2)[1]), await reader.readexactly(int(length[1]) if length else 0)


class Client:
    """Somebody who draws: a stroke, a look at what came, the next stroke."""

    def __init__(self, address: str, number: int, pause: tuple[float, float]) -> None:
        self.random = random.Random(number)
        self.name = f"client-{number}"
        self.pause = pause
        self.connections = [Connection(address) for _ in range(3)]
        self.seen: set[str] = set()
        self.waits: list[tuple[float, float]] = []  # when, how long
        self.shown: list[float] = []  # with thumbnails
        self.errors: list[str] = []
        self.drawings = [
            [stroke.tolist() for stroke in pieces(Sketch.load(path))] for path in drawings().values()
        ]

    async def draw(self, until: float) -> None:
        await asyncio.sleep(self.random.uniform(0, self.pause[1]))
        while time.monotonic() < until:
            strokes = self.random.choice(self.drawings)
            for count in range(1, len(strokes) + 1):
                moved = [[[x + self.random.gauss(0, 2), y] for x, y in s] for s in strokes[:count]]
                await self.search(moved)
                await asyncio.sleep(self.random.uniform(*self.pause))
                if time.monotonic() >= until:
                    return

    async def search(self, strokes: list[list[list[float]]]) -> None:
        body = json.dumps({"strokes": strokes, "k": 24, "page": self.name}).encode()
        began = time.monotonic()
        try:
            status, content = await self.connections[0].ask("POST", "/api/search", body)
            self.waits.append((began, time.monotonic() - began))
            if status != 200:
                self.errors.append(f"search {status}")
                return
            hits = [hit["id"] for hit in json.loads(content)["hits"]][:THUMBNAILS]
            fresh = [identifier for identifier in hits if identifier not in self.seen]
            await asyncio.gather(
                *(self.fetch(i, fresh[i :: len(self.connections)]) for i in range(len(self.connections)))
            )
            self.shown.append(time.monotonic() - began)
        except (OSError, asyncio.IncompleteReadError) as error:
            self.errors.append(repr(error))

    async def fetch(self, connection: int, identifiers: list[str]) -> None:
        for identifier in identifiers:
            status, _ = await self.connections[connection].ask("GET", f"/api/pictures/{identifier}/thumbnail")
            self.seen.add(identifier)
            if status != 200:
                self.errors.append(f"thumbnail {status}")


def pieces(sketch: Sketch) -> list[np.ndarray]:
    """A drawing's strokes; a drawing of one stroke in three parts, as a hesitant hand would draw it."""
    strokes = [stroke[:: max(1, len(stroke) // 40)] for stroke in sketch.strokes]
    if len(strokes) == 1:
        third = -(-len(strokes[0]) // 3)
        strokes = [strokes[0][i : i + third + 1] for i in range(0, len(strokes[0]), third)]
    return [stroke.round(1) for stroke in strokes if len(stroke) > 1]


async def load(address: str, process: int, people: int, seconds: float, pause: tuple[float, float]) -> dict:
    """Let them draw; what they saw."""
    until = time.monotonic() + seconds
    began = time.monotonic()
    clients = [Client(address, i, pause) for i in range(people)]
    tasks = [asyncio.create_task(client.draw(until)) for client in clients]
    memory = []
    while time.monotonic() < until:
        memory.append((time.monotonic() - began, resident_mb(process)))
        await asyncio.sleep(2)
    await asyncio.gather(*tasks)
    errors = [error for client in clients for error in client.errors]
    waits = sorted(wait for client in clients for _, wait in client.waits)
    shown = sorted(wait for client in clients for wait in client.shown)
    if not shown:
        raise SystemExit(f"No search succeeded: {errors[:3]}")
    settled = [mb for at, mb in memory if at > 20] or [0.0]
    return {
        "clients": people,
        "seconds": round(time.monotonic() - began, 1),
        "searches": len(waits),
        "searches_per_second": round(len(waits) / seconds, 1),
        "errors": len(errors),
        "first_errors": errors[:3],
        "ms": {f"p{q}": round(1e3 * waits[int(len(waits) * q / 100)], 1) for q in (50, 90, 95, 99)},
        "ms_with_thumbnails": {f"p{q}": round(1e3 * shown[int(len(shown) * q / 100)], 1) for q in (50, 95)},
        "memory_mb": {
            "at 20 s": round(settled[0], 1),
            "at the end": round(settled[-1], 1),
            "most after 20 s": round(max(settled), 1),
        },
    }


# --- the page --------------------------------------------------------------------------------------------

WATCH = """() => {
  performance.setResourceTimingBufferSize(10000);
  window.waits = [];
  let lifted = 0;
  const paper = document.querySelector("#paper");
  paper.addEventListener("pointerup", (event) => { lifted = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (!lifted) return;
    const from = lifted;
    lifted = 0;
    // After the next frame has been handed to the screen.
    requestAnimationFrame(() => setTimeout(() => {
      const asked = performance.getEntriesByType("resource");
      const search = asked.find((entry) => entry.startTime >= from && entry.name.endsWith("/api/search"));
      window.waits.push({
        total: performance.now() - from,
        http: search.responseEnd - search.startTime,
        ...Object.fromEntries(search.serverTiming.map((stage) => [stage.name, stage.duration])),
      });
    }));
  }).observe(document.querySelector("#grid"), { childList: true });
}"""


def measure_page(address: str, strokes: int) -> dict:
    """Medians, in milliseconds, from the pen's lifting to the results' being on screen."""
    from playwright.sync_api import sync_playwright

    arguments = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        "--disable-component-update --disable-sync"
    )
    browser_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=arguments.split())
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(address)
        page.wait_for_selector("#invitation:not([hidden])")
        page.evaluate(WATCH)
        box = page.locator("#paper").bounding_box()
        draw = random.Random(SEED)
        for i in range(strokes):
            if i % 8 == 7:
                page.locator("#clear").click()
                page.wait_for_timeout(300)
            x, y = (box[a] + draw.uniform(0.2, 0.8) * box[b] for a, b in (("x", "width"), ("y", "height")))
            page.mouse.move(x, y)
            page.mouse.down()
            for _ in range(4):
                x = min(max(x + draw.uniform(-90, 90), box["x"] + 5), box["x"] + box["width"] - 5)
                y = min(max(y + draw.uniform(-90, 90), box["y"] + 5), box["y"] + box["height"] - 5)
                page.mouse.move(x, y, steps=5)
            page.mouse.up()
            page.wait_for_timeout(900)
        waits = page.evaluate("() => window.waits")
        browser.close()
    stages = {name: round(statistics.median(wait[name] for wait in waits), 1) for name in waits[0]}
    stages["page"] = round(stages["total"] - stages["http"], 1)
    total = sorted(wait["total"] for wait in waits)
    return {"strokes": len(waits), "median_ms": stages, "p95_ms": round(total[int(0.95 * len(total))], 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pictures", type=int, default=100_000)
    parser.add_argument("--real", type=int, default=300, help="pictures that the others are made from")
    parser.add_argument(
        "--smallest",
        dest="min_object_size",
        type=float,
        nargs="+",
        default=[0.3],
        choices=LEVELS,
        help="the smallest share of a picture that is found; several are measured one after the other",
    )
    parser.add_argument("--photos", type=Path, help="a folder of these (default: the demo's pictures)")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--pause", type=float, nargs=2, default=(1.0, 4.0), help="between two strokes, in s")
    parser.add_argument("--page", action="store_true", help="measure the page in a browser instead")
    parser.add_argument("--folder", type=Path, help="where to keep the index (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for min_object_size in options.min_object_size:
            index = make_index(folder, options.pictures, options.real, min_object_size, options.photos)
            with serving(index) as (address, process):
                if options.page:
                    result = measure_page(address, strokes=40)
                else:
                    pause = tuple(options.pause)
                    result = asyncio.run(load(address, process, options.clients, options.seconds, pause))
            head = {"pictures": options.pictures, "smallest": min_object_size, "cores": os.cpu_count()}
            print(json.dumps({**head, **result}, indent=2), flush=True)


if __name__ == "__main__":
    main()
