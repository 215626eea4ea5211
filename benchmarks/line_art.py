"""Drawings and icons indexed as pictures, each searched for by a shrunk, shifted, thickened copy of itself.

    python benchmarks/line_art.py drawings      # 200 hand drawings among 1,500 photos
    python benchmarks/line_art.py icons         # 2,000 stroke icons

Prints how many come first.
"""

from __future__ import annotations

import argparse
import json
import os
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from sketchseek.contours import Sketch, load_picture, picture_contours
from sketchseek.contours.detectors import EdgeDetector, get_detector
from sketchseek.descriptor import Query, Settings, decode, describe, encode, norms
from sketchseek.ranking import Collection, rank

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


@cache
def detector_named(name: str) -> EdgeDetector:
    return get_detector(name)


def describe_picture(job: tuple[Path, str, str]) -> NDArray[np.float32]:
    path, detector, preset = job
    cv2.setNumThreads(1)
    points = picture_contours(path, detector_named(detector)).points
    return np.asarray(describe(points, Settings.preset(preset)), np.float32)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("what", choices=["drawings", "icons"])
    parser.add_argument("--detector", default="neural")
    parser.add_argument("--preset", default="compact")
    parser.add_argument("--scales", type=float, nargs="+", help="instead of the preset's")
    parser.add_argument("--count", type=int, help="drawings or icons; 200 or 2,000")
    parser.add_argument("--photos", type=int, default=1500)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    if options.what == "drawings":
        pictures, searched = drawings_among_photos(options.count or 200, options.photos, random)
    else:
        pictures, searched = icons(options.count or 2000, random)
    settings = Settings.preset(options.preset)
    if options.scales:
        settings = settings.with_scales(options.scales)
    work = [(path, options.detector, options.preset) for path in pictures]
    if options.jobs == 1:
        vectors = np.array([describe_picture(job) for job in work])
    else:
        with ProcessPoolExecutor(options.jobs) as pool:
            vectors = np.array(list(pool.map(describe_picture, work, chunksize=16)))
    codes = encode(vectors, settings)
    collection = Collection(codes, norms(decode(codes, settings), settings), settings)
    missed = []
    for i, path in enumerate(pictures[:searched]):
        query = Query.of(Sketch.from_bitmap(copy_of(path, i)).points, settings)
        best = rank(collection, query, k=1).ids[0]
        if best != i:
            missed.append((path.stem, pictures[best].stem))
    first = 1 - len(missed) / searched
    print(json.dumps({"what": options.what, "detector": options.detector, "preset": options.preset,
                      "pictures": len(pictures), "searched": searched, "first": round(first, 4),
                      "missed": missed[:20]}))  # fmt: skip


if __name__ == "__main__":
    main()
