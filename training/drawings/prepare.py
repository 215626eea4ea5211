"""Everything that is learned from, in one file: drawings, photos and their edges.

    python training/drawings/prepare.py OUT.npz

Lines are kept as bitmaps of 320 x 320 with lines one pixel wide, eight pixels a byte; photos as WebP files of
a longer side of at most 320, one after another.
"""

import json
import sys
from pathlib import Path

import cv2
import numpy as np

from sketchseek.contours.drawing import Sketch
from sketchseek.contours.picture import load_picture
from sketchseek.evaluation.datasets import data_folder

SIDE, LONGER = 320, 280
QUALITY = 75
CANNY = ((1.2, 120), (2.2, 60))  # blur and upper threshold: a busy and a calm edge map
SHORTEST_EDGE = 25
SETS = ("sketchy-train", "sketchy", "s2c", "sysu")
# The same thing under two names.
RENAMED = {"car": "car_sedan", "motorbike": "motorcycle", "boat": "sailboat"}


def drawn(path: Path) -> np.ndarray:
    canvas = np.zeros((SIDE, SIDE), np.uint8)
    lines = [
        np.round((stroke * LONGER / 400 + (SIDE - 1) / 2) * 16).astype(np.int32)
        for stroke in Sketch.load(path).strokes
    ]
    cv2.polylines(canvas, lines, False, 1, 1, cv2.LINE_8, 4)
    return np.packbits(canvas)


def framed(bitmap: np.ndarray) -> np.ndarray:
    canvas = np.zeros((SIDE, SIDE), np.uint8)
    top, left = (SIDE - bitmap.shape[0]) // 2, (SIDE - bitmap.shape[1]) // 2
    canvas[top : top + bitmap.shape[0], left : left + bitmap.shape[1]] = bitmap
    return np.packbits(canvas)


def edges(pixels: np.ndarray) -> list[np.ndarray]:
    scale = LONGER / max(pixels.shape)
    small = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    found = []
    for blur, threshold in CANNY:
        edge = cv2.Canny(cv2.GaussianBlur(small, (0, 0), blur), 0.4 * threshold, threshold)
        _, labels, stats, _ = cv2.connectedComponentsWithStats(edge, connectivity=8)
        long = stats[:, cv2.CC_STAT_AREA] >= SHORTEST_EDGE
        long[0] = False
        found.append(framed(long[labels].astype(np.uint8)))
    return found


def boundaries(path: Path) -> list[np.ndarray]:
    """What each annotator of BSDS500 drew."""
    marked = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    scale = (LONGER - 1) / max(marked.shape)
    drawings = []
    for annotator in range(16):
        rows, columns = np.nonzero((marked >> annotator) & 1)
        if len(rows) >= 200:
            canvas = np.zeros([round(side * scale) + 1 for side in marked.shape], np.uint8)
            canvas[np.round(rows * scale).astype(int), np.round(columns * scale).astype(int)] = 1
            drawings.append(framed(canvas))
    return drawings


def compressed(pixels: np.ndarray) -> np.ndarray:
    scale = min(1.0, SIDE / max(pixels.shape))
    small = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return cv2.imencode(".webp", small[:, :, ::-1], [cv2.IMWRITE_WEBP_QUALITY, QUALITY])[1]


def main(out: str) -> None:
    data = data_folder()
    if data is None:
        sys.exit("No data: see SKETCHSEEK_DATA.")
    arrays: dict[str, list] = {name: [] for name in (
        "drawing", "drawing_category", "drawing_set", "drawing_photo",
        "photo", "photo_category", "photo_set", "edges", "boundary", "boundary_photo",
    )}  # fmt: skip

    def add_photo(path: Path, category: str, name: str) -> None:
        pixels = load_picture(path).pixels
        arrays["photo"].append(compressed(pixels))
        arrays["photo_category"].append(category)
        arrays["photo_set"].append(name)
        arrays["edges"].append(edges(pixels))

    for name in SETS:
        photos = sorted((data / name / "photos").rglob("*.jpg"))
        number = {path: len(arrays["photo"]) + i for i, path in enumerate(photos)}
        truth = data / name / "groundtruth.json"
        category = {path: path.parent.name for path in photos}
        if truth.is_file():
            queries = json.loads(truth.read_text())["queries"]
            category = {path: f"{name}:{path.parent.name}" for path in photos}
            for query in queries:
                called = RENAMED.get(query["category"], query["category"])
                category |= {data / name / photo: called for photo in query["relevant"]}
        else:
            queries = [
                {"sketch": path, "category": path.parent.name, "instance": photo}
                for path in sorted((data / name / "sketches").rglob("*.png"))
                for photo in photos
                if photo.stem == path.stem.rsplit("-", 1)[0] and photo.parent.name == path.parent.name
            ]
        for path in photos:
            add_photo(path, category[path], name)
        for query in queries:
            arrays["drawing"].append(drawn(data / name / query["sketch"]))
            arrays["drawing_category"].append(RENAMED.get(query["category"], query["category"]))
            arrays["drawing_set"].append(name)
            photo = data / name / query["instance"] if "instance" in query else None
            arrays["drawing_photo"].append(number.get(photo, -1))
        print(name, len(photos), "photos,", len(queries), "drawings", flush=True)
    for path in sorted((data / "bsds500").rglob("*.jpg")):
        for drawing in boundaries(path.with_suffix(".png")):
            arrays["boundary"].append(drawing)
            arrays["boundary_photo"].append(len(arrays["photo"]))
        add_photo(path, "bsds500", "bsds500")
    photos = arrays.pop("photo")
    np.savez_compressed(
        out,
        photo=np.concatenate(photos),
        photo_end=np.cumsum([len(photo) for photo in photos]),
        **{name: np.array(values) for name, values in arrays.items()},
    )


if __name__ == "__main__":
    main(sys.argv[1])
