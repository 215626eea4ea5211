"""How much a published site loads, and how fast it answers, in a real browser from a static file server.

    python benchmarks/published.py INDEX [--pictures N] [--drawings FOLDER]

A collection is enlarged to N pictures by repeating those of the index, each code changed by a little, so that
no two are the same.
"""

from __future__ import annotations

import argparse
import functools
import json
import shutil
import sys
import tempfile
import threading
from dataclasses import replace
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

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
  const { open } = await import(`${site}sketchseek.js`);
  const started = performance.now();
  const collection = await open(site);
  const opened = performance.now() - started;
  const strokes = drawings.map((drawing) => drawing.strokes);
  for (const one of strokes.slice(0, 3)) await collection.search(one, { k: 24 });
  const ms = [];
  for (const one of strokes) {
    const times = []; // the least of some: what else the machine does is not counted
    for (let i = 0; i < 5; i++) times.push((await collection.search(one, { k: 24 })).took_ms);
    ms.push(Math.min(...times));
  }
  return { opened, ms };
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
            seen[others] += rng.integers(-6, 7, (int(others.sum()), seen.shape[1]), dtype=np.int16)
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


class Quiet(SimpleHTTPRequestHandler):
    """Any static file server."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


def measure(folder: Path, drawn: list[dict]) -> dict:
    """Open the site and search it, in Chromium."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/site/"
    browser_path = next(filter(None, map(shutil.which, NAMES)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--headless", "--no-sandbox"]
        )
        page = browser.new_page()
        page.on("console", lambda said: print(said.text, file=sys.stderr))
        page.goto(address)
        found: dict = page.evaluate(MEASURE, [address, drawn])
        browser.close()
    server.shutdown()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure a published site in a browser.")
    parser.add_argument("index", type=Path)
    parser.add_argument("--pictures", type=int, help="enlarge or cut the collection to so many")
    parser.add_argument("--drawings", type=Path, help="a folder of drawings in JSON (default: the demo's)")
    args = parser.parse_args()
    files = sorted(args.drawings.glob("*.json"))[:60] if args.drawings else list(drawings().values())
    drawn = [json.loads(path.read_text()) for path in files]
    index = Index.open(args.index)
    with tempfile.TemporaryDirectory() as folder:
        what = Enlarged(index, args.pictures) if args.pictures else index
        report = publish(what, Path(folder) / "site")  # type: ignore[arg-type]
        found = measure(Path(folder), drawn)
    ms = np.array(found["ms"])
    print(
        f"{report['pictures']:,} pictures, {report['windows']:,} windows, {index.config.preset}: "
        f"{report['bytes']['index'] / 1e6:.2f} MB of index, opened in {found['opened']:.0f} ms; "
        f"a search {np.median(ms):.0f} ms (median), {np.quantile(ms, 0.95):.0f} ms (95%)"
    )


if __name__ == "__main__":
    main()
