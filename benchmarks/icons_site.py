"""Whether a published site of icons finds what the index does: doodles, icons again, half of an icon, words.

    python benchmarks/icons_site.py INDEX QUICKDRAW

INDEX is one of icons in folders of sets, as `make icons-site` makes it, QUICKDRAW a folder of doodles, one
.ndjson a class. Each question is asked of the index here, and of the site in Chromium. A right answer to a
doodle is an icon with a name of its class (training/icons/names.py); classes are those that the network was
not trained on.
"""

from __future__ import annotations

import argparse
import functools
import json
import shutil
import sys
import tempfile
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from published import NAMES, Counting
from sketchseek import Index, Sketch
from sketchseek.web.publish import publish
from sketchseek.words.text import tokens

sys.path.insert(0, str(Path(__file__).parents[1] / "training" / "icons"))
from names import doodle_labels, label
from prepare import ASK, part_of_classes

EACH = 6  # doodles of a class
AGAIN = 120  # icons that are asked for
WORDS = 200
ASKED = """async ([site, asked]) => {
  const { open } = await import(`${site}sketchseek.js`);
  const collection = await open(site);
  const found = [], ms = [];
  for (const [strokes, words] of asked) {
    const { hits, took_ms } = await collection.search(strokes, { words, k: 10 });
    found.push(hits.map((hit) => hit.picture));
    ms.push(took_ms);
  }
  return { found, ms };
}"""


def questions(paths: list[Path], quickdraw: Path) -> list[tuple[str, Any, str, set[int]]]:
    """(kind, strokes or None, words, numbers of the right icons)."""
    named: dict[str, set[int]] = {}
    for i, path in enumerate(paths):
        named.setdefault(label(path.stem), set()).add(i)
    found: list[tuple[str, Any, str, set[int]]] = []
    for name, part in part_of_classes(quickdraw).items():
        right = set().union(*(named.get(key, set()) for key in doodle_labels(name)))
        if part == ASK and right:
            for line in (quickdraw / f"{name}.ndjson").read_text().splitlines()[:EACH]:
                strokes = [np.stack(stroke[:2], axis=1) for stroke in json.loads(line)["drawing"]]
                found.append(("a stranger's doodle", strokes, "", right))
    rng = np.random.default_rng(1)
    some = rng.permutation(len(paths))
    for i in some[:AGAIN].tolist():
        strokes = Sketch.load(paths[i]).strokes
        found.append(("an icon again", strokes, "", {i}))
        size = float(max(np.ptp(np.concatenate(strokes), axis=0)))
        rough = [np.asarray(stroke) + rng.normal(0, 0.03 * size, (1, 2)) for stroke in strokes]
        found.append(("an icon, its strokes displaced", rough, "", {i}))
        if len(strokes) > 2:
            found.append(("half of an icon's strokes", strokes[: len(strokes) // 2], "", {i}))
    words: dict[str, set[int]] = {}
    for i, path in enumerate(paths):
        for word in tokens(path.stem):
            if len(word) >= 5 and word.isascii() and word.isalpha():
                words.setdefault(word, set()).add(i)
    for word in rng.permutation(sorted(words))[:WORDS].tolist():
        found.append(("a word", None, word, words[word]))
        at = int(rng.integers(1, len(word) - 1))
        found.append(
            (
                "a word, two letters exchanged",
                None,
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
                words[word],
            )
        )
    return found


def by_site(
    index: Index, asked: list[tuple[str, Any, str, set[int]]]
) -> tuple[list[list[str]], list[float], bool]:
    """What a site finds, by published names; how long it took; whether it keeps the codes on the host."""
    with tempfile.TemporaryDirectory() as folder:
        report = publish(index, Path(folder) / "site")
        (Path(folder) / "blank.html").write_text("<!doctype html><title>blank</title>")
        server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Counting, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=next(filter(None, map(shutil.which, NAMES))),
                args=["--headless", "--no-sandbox"],
            )
            page = browser.new_page()
            page.goto(f"{address}blank.html")
            plain = [
                [strokes and [np.asarray(s, float).tolist() for s in strokes], words]
                for _, strokes, words, _ in asked
            ]
            answer = page.evaluate(ASKED, [f"{address}site/", plain])
            browser.close()
        server.shutdown()
    return answer["found"], answer["ms"], report["large"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("quickdraw", type=Path)
    args = parser.parse_args()
    index = Index.open(args.index)
    state = index.state
    paths = [Path(state.path(i)) for i in range(len(state))]
    number = {state.id(i): i for i in range(len(state))}
    asked = questions(paths, args.quickdraw)
    there, ms, large = by_site(index, asked)
    ends = {"/".join(path.parts[-n:]): i for i, path in enumerate(paths) for n in (2, 1)}
    rows: dict[str, list[tuple[float, ...]]] = {}
    for (kind, strokes, words, right), names in zip(asked, there, strict=True):
        sketch = None if strokes is None else Sketch.from_strokes(strokes)
        here = [number[hit.id] for hit in index.search(sketch, k=10, words=words or None, turn=0)]
        seen = [ends[name] for name in names]
        both = len(set(here) & set(seen)) / max(len(here), 1)
        tops = (here[:1], here, seen[:1], seen)
        rows.setdefault(kind, []).append((*(100 * bool(right & set(top)) for top in tops), 100 * both))
    print(
        f"{len(state):,} icons, {'codes on the host' if large else 'loaded at once'}; "
        f"{np.median(ms):.0f} ms a question (median), with what it takes to fetch\n"
    )
    print("| | questions | index R@1 | index R@10 | site R@1 | site R@10 | the same ten |")
    print("|---|---|---|---|---|---|---|")
    for kind, values in rows.items():
        print(
            f"| {kind} | {len(values)} | "
            + " | ".join(f"{value:.1f}" for value in np.mean(values, axis=0))
            + " |"
        )


if __name__ == "__main__":
    main()
