"""How much a published site loads, and how fast it answers, in a real browser from a static file server.

    python benchmarks/published.py INDEX [--pictures N ...] [--drawings FOLDER]

What is sent before the first search has the engine and the network for icons in it, what is sent by a search
its thumbnails.

A collection is enlarged to N pictures by repeating those of the index, each code changed by a little, so that
no two are the same.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import re
import shutil
import sys
import tempfile
import threading
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from playwright.sync_api import sync_playwright

from sketchseek import Index, Sketch
from sketchseek.demo import drawings
from sketchseek.search.collection import Collection
from sketchseek.search.hit import Hits
from sketchseek.search.options import Options
from sketchseek.search.search import search
from sketchseek.search.state import SearchState
from sketchseek.shape.descriptor import norms
from sketchseek.web.publish import publish

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MEASURE = """async ([site, drawings]) => {
  const sent = async (name) => Number(await (await fetch(`/sent/${name}`)).text());
  await sent("");
  const { open } = await import(`${site}sketchseek.js`);
  const started = performance.now();
  const collection = await open(site);
  const opened = performance.now() - started;
  const strokes = drawings.map((drawing) => drawing.strokes);
  if (collection.isWhole === false) await collection.see();
  const before = await sent("before the first search");
  const fetched = [], first = [];
  for (const one of strokes) { // with what the network takes
    const answer = await collection.search(one, { k: 24 });
    await Promise.all(answer.hits.map((hit) => collection.thumbnail(hit)));
    fetched.push(await sent("by a search"));
    first.push(answer.took_ms);
  }
  const ms = [];
  for (const one of strokes) {
    const times = []; // the least of some: what else the machine does is not counted
    for (let i = 0; i < 5; i++) times.push((await collection.search(one, { k: 24 })).took_ms);
    ms.push(Math.min(...times));
  }
  const word = [];
  for (let i = 0; i < 3; i++) word.push((await collection.search(null, { words: "umbrella" })).took_ms);
  return { opened, ms, before, fetched, first, word };
}"""


class Enlarged:
    """An index of which there is more: what `publish` asks of one."""

    def __init__(self, index: Index, count: int) -> None:
        self.index = index
        state = index.state
        ids = np.arange(count) % len(state)
        rows = state.collection.rows_of(ids)
        repeats = np.bincount(state.collection.pictures, minlength=len(state))[ids]
        rng = np.random.default_rng(0)
        codes = state.collection.vectors[rows].astype(np.int16)
        copies = np.repeat(np.arange(count) >= len(state), repeats)
        codes[copies] += rng.integers(-3, 4, (int(copies.sum()), codes.shape[1]), dtype=np.int16)
        stored = codes.clip(-127, 127).astype(np.int8)
        seen = None
        if (
            state.icon_codes is not None
        ):  # those of copies a little different, too; of photographs there are none
            seen = state.icon_codes[ids].astype(np.int16)
            others = (np.arange(count) >= len(state)) & seen.any(axis=1)
            seen[others] += rng.integers(-24, 25, (int(others.sum()), seen.shape[1]), dtype=np.int16)
            seen = seen.clip(-127, 127).astype(np.int8)
        self.state: SearchState = replace(
            state,
            collection=Collection(
                stored,
                norms(stored, state.settings),
                state.settings,
                pictures=np.repeat(np.arange(count), repeats),
                shares=state.collection.shares[rows],
            ),
            width=state.width[ids],
            height=state.height[ids],
            frames=state.frames[rows],
            is_line_art=state.is_line_art[ids],
            icon_codes=seen,
            ids=[f"{state.id(int(i))}-{n}".encode() for n, i in enumerate(ids)],
            path=lambda number: f"/{number // len(state)}/{Path(state.path(number % len(state))).name}",
        )

    def __len__(self) -> int:
        return len(self.state)

    def search(self, sketch: Sketch, k: int = 20, **options: Any) -> Hits:
        """As `Index.search`."""
        return search(self.state, sketch, Options(k, **options))

    def thumbnails(self, ids: list[str]) -> list[bytes]:
        """Those of the pictures that were repeated."""
        known = [name.rsplit("-", 1)[0] for name in ids]
        found = dict(
            zip(dict.fromkeys(known), self.index.thumbnails(list(dict.fromkeys(known))), strict=True)
        )
        return [found[name] for name in known]


class Counting(SimpleHTTPRequestHandler):
    """A static file server that sends parts of files, compresses as hosts do, and counts what it sends."""

    protocol_version = "HTTP/1.1"
    sent = 0
    packed: ClassVar[dict[str, bytes]] = {}

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        """A file, a part of it, or how many bytes were sent since this was asked last."""
        if self.path.startswith("/sent/"):
            self._answer(200, str(Counting.sent).encode(), {})
            Counting.sent = 0
            return
        path = Path(self.translate_path(self.path))
        path = path / "index.html" if path.is_dir() else path
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        kind = {"Content-Type": self.guess_type(str(path))}
        if not path.is_file():
            self._answer(404, b"", {})
        elif wanted:
            first, last = int(wanted[1]), int(wanted[2])
            with path.open("rb") as file:
                file.seek(first)
                self._answer(
                    206, file.read(last + 1 - first), kind | {"Content-Range": f"bytes {first}-{last}/*"}
                )
        elif path.suffix in (".js", ".css", ".html", ".json", ".wasm"):
            if str(path) not in self.packed:
                self.packed[str(path)] = gzip.compress(path.read_bytes(), mtime=0)
            self._answer(200, self.packed[str(path)], kind | {"Content-Encoding": "gzip"})
        else:
            self._answer(200, path.read_bytes(), kind)

    def _answer(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        Counting.sent += len(data)


def measure(folder: Path, drawn: list[dict]) -> dict:
    """Open the site and search it, in Chromium."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Counting, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/site/"
    browser_path = next(filter(None, map(shutil.which, NAMES)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--headless", "--no-sandbox"]
        )
        page = browser.new_page()
        page.on("console", lambda said: print(said.text, file=sys.stderr))
        page.goto(f"http://127.0.0.1:{server.server_port}/blank.html")
        found: dict = page.evaluate(MEASURE, [address, drawn])
        browser.close()
    server.shutdown()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a published site in a browser.")
    parser.add_argument("index", type=Path)
    parser.add_argument(
        "--pictures", type=int, nargs="*", default=[], help="enlarge or cut the collection to so many"
    )
    parser.add_argument("--drawings", type=Path, help="a folder of drawings in JSON (default: the demo's)")
    args = parser.parse_args()
    files = sorted(args.drawings.glob("*.json"))[:60] if args.drawings else list(drawings().values())
    drawn = [json.loads(path.read_text()) for path in files]
    index = Index.open(args.index)
    print(
        "| | index, MB | before the first search, MB | a search, MB | most, MB | a search, ms | 95%, ms "
        "| with fetching, ms | a word, ms |\n|---|---|---|---|---|---|---|---|---|"
    )
    for count in args.pictures or [len(index)]:
        with tempfile.TemporaryDirectory() as folder:
            what = index if count == len(index) else Enlarged(index, count)
            report = publish(what, Path(folder) / "site")  # type: ignore[arg-type]
            (Path(folder) / "blank.html").write_text("<!doctype html><title>blank</title>")
            found = measure(Path(folder), drawn)
        ms, first, fetched = (np.array(found[name]) for name in ("ms", "first", "fetched"))
        sizes = report["bytes"]
        cells = [
            f"{report['pictures']:,} icons, `{index.config.preset}`",
            f"{(sizes['index'] + sizes['icons'] * report['large']) / 1e6:.2f}",
            f"{found['before'] / 1e6:.1f}",
            f"{np.median(fetched) / 1e6:.2f}",
            f"{fetched.max() / 1e6:.2f}",
            f"{np.median(ms):.0f}",
            f"{np.quantile(ms, 0.95):.0f}",
            f"{np.median(first):.0f}",
            f"{found['word'][-1]:.0f}",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
