"""Drawings and icons indexed as pictures, each searched for by a shrunk, shifted, thickened copy of itself.

    python benchmarks/line_art.py drawings      # 200 hand drawings among 1,500 photos
    python benchmarks/line_art.py icons         # 2,000 stroke icons

Indexes and searches as the product does by default, and prints how many come first and how fast it was.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sketchseek import Index, Sketch
from sketchseek.shape.settings import DEFAULT_PRESET
from sketchseek.sources.picture import load_picture

SIZE = 0.6
THICKER = 3


def data_folder() -> Path:
    return Path(os.environ.get("SKETCHSEEK_DATA", Path(__file__).parents[2] / "shared" / "data"))


def drawings_among_photos(drawings: int, photos: int, random: np.random.Generator) -> tuple[list[Path], int]:
    """Pictures to index, and how many of them, the first, are to be searched for."""
    drawn = sorted(data_folder().glob("*/sketches/*/*.png"))
    taken = sorted((data_folder() / "s2c" / "photos").glob("*/*.jpg"))
    return [*pick(drawn, drawings, random), *pick(taken, photos, random)], drawings


def icons(count: int, random: np.random.Generator) -> tuple[list[Path], int]:
    import pytablericons

    folder = Path(pytablericons.__file__).parent / "icons" / "outline"
    return pick(sorted(folder.glob("*.svg")), count, random), count


def pick(paths: list[Path], count: int, random: np.random.Generator) -> list[Path]:
    return [paths[i] for i in sorted(random.permutation(len(paths))[:count])]


def copy_of(path: Path, seed: int) -> NDArray[np.uint8]:
    """The picture at .6 of its size, somewhere on a white square, its lines 3 pixels thicker."""
    random = np.random.default_rng(seed)
    grey = cv2.cvtColor(load_picture(path).pixels, cv2.COLOR_RGB2GRAY)
    round_pen = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (THICKER + 1, THICKER + 1))
    small = cv2.resize(cv2.erode(grey, round_pen), None, fx=SIZE, fy=SIZE, interpolation=cv2.INTER_AREA)
    height, width = small.shape
    sheet = np.full((400, 400), 255, np.uint8)
    top, left = random.integers(0, 400 - height), random.integers(0, 400 - width)
    sheet[top : top + height, left : left + width] = small
    return sheet


def search_for_each(index: Index, wanted: list[Path]) -> list[dict[str, Any]]:
    """Where each picture came, for those that did not come first."""
    missed = []
    for i, path in enumerate(wanted):
        hits = index.search(Sketch.from_bitmap(copy_of(path, i)), k=20)
        rank = next((hit.rank for hit in hits if hit.picture == str(path)), None)
        if rank != 1:
            scores = {Path(hit.picture).stem: hit.score for hit in hits if hit.rank in (1, rank)}
            missed.append({"picture": path.stem, "rank": rank, "scores": scores})
    return missed


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("what", choices=["drawings", "icons"])
    parser.add_argument("--detector", default="neural")
    parser.add_argument("--preset", default=DEFAULT_PRESET)
    parser.add_argument("--count", type=int, help="drawings or icons; 200 or 2,000")
    parser.add_argument("--photos", type=int, default=1500)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    if options.what == "drawings":
        pictures, searched = drawings_among_photos(options.count or 200, options.photos, random)
    else:
        pictures, searched = icons(options.count or 2000, random)
    with tempfile.TemporaryDirectory() as scratch:
        index = Index.create(Path(scratch, "index"), options.preset, detector=options.detector)
        start = time.perf_counter()
        index.add(pictures, jobs=options.jobs)
        seconds = time.perf_counter() - start
        missed = search_for_each(index, [path.resolve() for path in pictures[:searched]])
    print(json.dumps({"what": options.what, "detector": options.detector, "preset": options.preset,
                      "pictures": len(pictures), "searched": searched, "first": 1 - len(missed) / searched,
                      "in the first 20": 1 - sum(m["rank"] is None for m in missed) / searched,
                      "indexed per second": round(len(pictures) / seconds, 1), "jobs": options.jobs,
                      "missed": missed}, indent=1))  # fmt: skip


if __name__ == "__main__":
    main()
