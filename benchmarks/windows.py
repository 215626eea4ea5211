"""Things of any size, at any angle: pasted shapes by their size, icons on sheets, turned icons.

    python benchmarks/windows.py planted [--smallest .3] [--seed 201] [--photos sysu]
    python benchmarks/windows.py sheets [--sheets 25]
    python benchmarks/windows.py turned [--count 200]

Photos are read from $SKETCHSEEK_DATA, icons are those of the package pytablericons.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from line_art import copy_of, icons
from sketchseek import Index, Sketch
from sketchseek.contours import strength_to_points
from sketchseek.contours.detectors import get_detector
from sketchseek.contours.synthetic import outline_points, random_shape
from sketchseek.evaluation.datasets import data_folder
from sketchseek.evaluation.extraction import PictureContours
from sketchseek.evaluation.metrics import box_iou
from sketchseek.search.options import Options
from sketchseek.search.search import search
from sketchseek.search.state import state_of
from sketchseek.shape.settings import Settings
from sketchseek.sources.picture import load_picture

SIZES = (0.22, 0.30, 0.36, 0.45, 0.55, 0.75)
EACH, PICTURES = 20, 400
ROWS, COLUMNS, CELL, ICON = 3, 4, 300, 200
PLACED = 0.6

Pixels = NDArray[np.uint8]


def paste(ground: Pixels, size: float, rng: np.random.Generator) -> tuple[Pixels, Sketch, tuple[float, ...]]:
    """A random solid shape, of a share of the picture's longer side, somewhere in it; its outline and box."""
    height, width = ground.shape[:2]
    room = np.array([width, height])
    scale = size * max(room) / 400
    while True:
        corners = random_shape(rng)
        extent = np.ptp(corners, axis=0) * scale
        if (extent <= room - 8).all():
            break
    mirror = -1 if rng.random() < 0.5 else 1
    moved = rng.uniform(-1, 1, 2) * np.maximum((room - extent) / 2 - 3, 0)
    placed = corners * (mirror, 1) * scale + moved + (room - 1) / 2
    mask = np.zeros((height, width), np.uint8)
    cv2.fillPoly(mask, [np.round(placed * 16).astype(np.int32)], 255, cv2.LINE_AA, 4)
    inside = ground[mask > 127].mean(axis=0)
    colour = np.where(inside > 127, inside - 100, inside + 100)  # one that can be seen
    share = mask[..., None].astype(np.float32) / 255
    outline = np.vstack([corners, corners[:1]]).astype(np.float32)
    sketch = Sketch(outline_points(corners), [outline], "a pasted shape")
    pixels = np.round(ground * (1 - share) + colour * share).astype(np.uint8)
    return pixels, sketch, (*placed.min(axis=0) + 0.5, *placed.max(axis=0) + 0.5)


def planted(args: argparse.Namespace) -> dict[str, Any]:
    """How many of each size come first, and are placed."""
    place = data_folder()
    if place is None:
        raise SystemExit("The development sets are not there: set SKETCHSEEK_DATA.")
    rng = np.random.default_rng(args.seed)
    photos = sorted((place / args.photos).rglob("*.jpg"))
    chosen = [photos[i] for i in rng.permutation(len(photos))[:PICTURES]]
    sizes = [size for size in SIZES for _ in range(EACH)]
    detect = get_detector("neural")
    shapes, contours = [], []
    for i, path in enumerate(chosen):
        pixels = load_picture(path).pixels
        if i < len(sizes):
            pixels, sketch, box = paste(pixels, sizes[i], rng)
            shapes.append((sketch, box))
        contours.append(PictureContours.whole(strength_to_points(detect(pixels)), pixels))
    state = state_of(contours, Settings.preset(args.preset), min_object_size=args.min_object_size)
    found = dict.fromkeys(SIZES, 0)
    for i, (sketch, box) in enumerate(shapes):
        hit = search(state, sketch, Options(1))[0]
        found[sizes[i]] += bool(hit.id == str(i) and box_iou(hit.box, [box])[0] >= PLACED)
    rows = len(state.collection.engine)
    return {"first and placed": found, "of each": EACH, "windows a picture": round(rows / len(state), 1)}


def sheets(args: argparse.Namespace) -> dict[str, Any]:
    """Icons found on the sheet that has them, by their moved, thickened copies."""
    rng = np.random.default_rng(7)
    paths, _ = icons(ROWS * COLUMNS * args.sheets, rng)
    order = rng.permutation(len(paths))
    first = placed = 0
    with tempfile.TemporaryDirectory() as scratch:
        truth = {}
        for number, these in enumerate(np.split(order, args.sheets)):
            page = np.full((ROWS * CELL, COLUMNS * CELL), 255, np.uint8)
            for j, i in enumerate(these.tolist()):
                icon = cv2.cvtColor(load_picture(paths[i]).pixels, cv2.COLOR_RGB2GRAY)
                icon = cv2.resize(icon, (ICON, ICON), interpolation=cv2.INTER_AREA)
                x, y = np.array([j % COLUMNS, j // COLUMNS]) * CELL + rng.integers(10, CELL - ICON - 10, 2)
                page[y : y + ICON, x : x + ICON] = icon
                down, across = np.nonzero(icon < 128)
                box = (x + across.min(), y + down.min(), x + across.max() + 1, y + down.max() + 1)
                truth[i] = (number, box)
            cv2.imwrite(str(Path(scratch, f"{number}.png")), page)
        index = Index.create(
            Path(scratch, "index"),
            args.preset,
            detector="canny",
            min_object_size=args.min_object_size,
            expansion=False,
        )
        index.add(scratch, jobs=1)
        for i, (number, box) in truth.items():
            hit = index.search(Sketch.from_bitmap(copy_of(paths[i], i)), 1)[0]
            is_first = Path(hit.picture).stem == str(number)
            first += is_first
            placed += bool(is_first and box_iou(hit.box, [box])[0] >= PLACED)
    return {"icons": len(truth), "first": int(first), "first and placed": int(placed)}


def turned(args: argparse.Namespace) -> dict[str, Any]:
    """Icons found by themselves turned by any angle."""
    rng = np.random.default_rng(3)
    paths, _ = icons(args.count, rng)
    first = 0
    with tempfile.TemporaryDirectory() as scratch:
        index = Index.create(
            Path(scratch, "index"),
            args.preset,
            detector="canny",
            min_object_size=args.min_object_size,
            expansion=False,
        )
        index.add(paths, jobs=1)
        began = time.perf_counter()
        for path in paths:
            grey = cv2.cvtColor(load_picture(path).pixels, cv2.COLOR_RGB2GRAY)
            wide = cv2.copyMakeBorder(grey, 120, 120, 120, 120, cv2.BORDER_CONSTANT, value=255)
            middle = (wide.shape[1] / 2, wide.shape[0] / 2)
            matrix = cv2.getRotationMatrix2D(middle, float(rng.uniform(-180, 180)), 1)
            drawn = cv2.warpAffine(wide, matrix, wide.shape[::-1], borderValue=255)
            small = cv2.resize(drawn, (400, 400), interpolation=cv2.INTER_AREA)
            hit = index.search(Sketch.from_bitmap(small), 1, turn=180)[0]
            first += hit.picture == str(path.resolve())
    seconds = (time.perf_counter() - began) / len(paths)
    return {"icons": len(paths), "first": first, "seconds a search": round(seconds, 3)}


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("what", choices=("planted", "sheets", "turned"))
    parser.add_argument("--preset", default="precise")
    parser.add_argument("--smallest", dest="min_object_size", type=float, default=0.3)
    parser.add_argument("--photos", default="sysu", help="a folder of $SKETCHSEEK_DATA")
    parser.add_argument("--seed", type=int, default=201)
    parser.add_argument("--sheets", type=int, default=25)
    parser.add_argument("--count", type=int, default=200)
    args = parser.parse_args()
    print(json.dumps({"planted": planted, "sheets": sheets, "turned": turned}[args.what](args)))


if __name__ == "__main__":
    main()
