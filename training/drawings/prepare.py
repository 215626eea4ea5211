"""Everything that is learned from, in one file: drawings, photos and their edges.

    python training/drawings/prepare.py OUT.npz [OPENMOJI]

Lines are kept as bitmaps of 320 x 320 with lines one pixel wide, eight pixels a byte; photos as WebP files of
a longer side of at most 320, one after another. OPENMOJI is the folder of npm's package `openmoji` (17.0.0;
CC BY-SA 4.0): each emoji in colour, as line art, and as that might be doodled.
"""

import json
import re
import sys
from pathlib import Path

import cv2
import numpy as np

from sketchseek.contours.drawing import Sketch
from sketchseek.errors import SketchseekError
from sketchseek.evaluation.datasets import data_folder
from sketchseek.sources.picture import load_picture

SIDE, LONGER = 320, 280
QUALITY = 75
CANNY = ((1.2, 120), (2.2, 60))  # blur and upper threshold: a busy and a calm edge map
SHORTEST_EDGE = 25
SETS = ("sketchy-train", "sketchy", "s2c", "sysu")
ROUGH, ROUGH_EMOJI, ROUGH_DOODLES = 4, 6, 2  # variants of each
# The same thing under two names.
RENAMED = {"car": "car_sedan", "motorbike": "motorcycle", "boat": "sailboat"}


def drawn(strokes: list[np.ndarray]) -> np.ndarray:
    canvas = np.zeros((SIDE, SIDE), np.uint8)
    lines = [np.round((stroke * LONGER / 400 + (SIDE - 1) / 2) * 16).astype(np.int32) for stroke in strokes]
    cv2.polylines(canvas, lines, False, 1, 1, cv2.LINE_8, 4)
    return np.packbits(canvas)


def roughly(strokes: list[np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
    """The same drawing in a hurry: fewer details, each line out of place, wavering, in few pieces."""
    haste = rng.uniform(0.3, 1.3)
    lines = [evenly(np.asarray(stroke, float)) for stroke in strokes if len(stroke) > 1]
    if not lines:
        return strokes
    lengths = np.array([np.hypot(*np.diff(line, axis=0).T).sum() for line in lines])
    small = np.exp(-lengths / (0.1 * lengths.sum() + 1e-9)) * (len(lines) > 3)
    forgotten = rng.random(len(lines)) < haste * (0.05 + 0.45 * small)
    forgotten[lengths.argmax()] &= not forgotten.all()
    found = [hurried(line, haste, rng) for line, gone in zip(lines, forgotten, strict=True) if not gone]
    squeeze = np.exp(rng.normal(0, 0.15 * haste))
    shear = rng.normal(0, 0.08 * haste, 2)
    found = [line @ np.array([[squeeze, shear[1]], [shear[0], 1]]) for line in found]
    points = np.concatenate(found)
    low, high = points.min(0), points.max(0)
    return [(line - (low + high) / 2) * 400 / max((high - low).max(), 1e-6) for line in found]


def hurried(line: np.ndarray, haste: float, rng: np.random.Generator) -> np.ndarray:
    if rng.random() < 0.15 * haste and len(line) > 8:  # an end is missing
        start, end = np.sort(rng.integers(0, len(line), 2))
        line = line[start : end + 1] if end - start > len(line) / 2 else line
    window = np.hanning(17)
    noise = rng.normal(size=(len(line) + 16, 2))
    wave = np.stack([np.convolve(axis, window / np.linalg.norm(window), "valid") for axis in noise.T], 1)
    line = line + wave * rng.uniform(0, 5) * haste
    angle = rng.normal(0, 0.07 * haste)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    middle = line.mean(0)
    line = (
        (line - middle) * np.exp(rng.normal(0, 0.08 * haste, 2)) @ turn + middle + rng.normal(0, 6 * haste, 2)
    )
    return cv2.approxPolyDP(line.astype(np.float32)[:, None], rng.uniform(1, 9) * haste, False)[:, 0]


def evenly(line: np.ndarray, step: float = 5.0) -> np.ndarray:
    along = np.append(0, np.cumsum(np.hypot(*np.diff(line, axis=0).T)))
    at = np.linspace(0, along[-1], max(int(along[-1] / step), 2))
    return np.stack([np.interp(at, along, axis) for axis in line.T], 1)


def words(text: str) -> str:
    """In small letters, without punctuation and the s of a plural, a space around each."""
    found = re.sub("[^a-z0-9 ]", " ", text.lower()).split()
    return f" {' '.join(w[:-1] if w.endswith('s') and len(w) > 3 else w for w in found)} "


def emoji(package: Path, data: Path, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Emoji but flags and skin tones, and the doodles of some; `common` is what a scored set may ask for.

    That is: named or tagged like one of the classes of Quick, Draw!, or like a category of a development set.
    """
    names = (Path(__file__).parent / "quickdraw.txt").read_text().split("\n")
    for name in ("sysu", "s2c", "sketchy"):
        names += [
            q["category"] for q in json.loads((data / name / "groundtruth.json").read_text())["queries"]
        ]
    asked = {words(name.replace("_", " ")) for name in names if name} | {" motorcycle ", " heron ", " gun "}
    lines, files, common, number = [], [], [], {}
    for entry in json.loads((package / "data" / "openmoji.json").read_text()):
        if entry["skintone"] or entry["group"] == "flags":
            continue
        code = entry["hexcode"]
        try:
            strokes = Sketch.load(package / "black" / "svg" / f"{code}.svg").strokes
        except SketchseekError:
            continue  # no line in it
        number[code] = len(files)
        lines.append([drawn(strokes), *(drawn(roughly(strokes, rng)) for _ in range(ROUGH_EMOJI))])
        files.append(compressed(load_picture(package / "color" / "svg" / f"{code}.svg").pixels, 90))
        said = "|".join(words(entry[key]) for key in ("annotation", "tags", "openmoji_tags"))
        common.append(any(name in said for name in asked))
    doodles = json.loads((data / "doodles" / "groundtruth.json").read_text())["queries"]
    strokes = [Sketch.load(data / "doodles" / query["sketch"]).strokes for query in doodles]
    print(len(files), "emoji,", sum(common), "of them common,", len(doodles), "doodles", flush=True)
    return {
        "emoji": np.concatenate(files),
        "emoji_end": np.cumsum([len(file) for file in files]),
        "emoji_common": np.array(common),
        "line_art": np.array(lines),
        "doodle": np.array(
            [[drawn(s), *(drawn(roughly(s, rng)) for _ in range(ROUGH_DOODLES))] for s in strokes]
        ),
        "doodle_category": np.array([query["category"] for query in doodles]),
        "doodle_emoji": np.array([number[Path(query["instance"]).stem] for query in doodles]),
    }


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


def compressed(pixels: np.ndarray, quality: int = QUALITY) -> np.ndarray:
    scale = min(1.0, SIDE / max(pixels.shape))
    small = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return cv2.imencode(".webp", small[:, :, ::-1], [cv2.IMWRITE_WEBP_QUALITY, quality])[1]


def main(out: str, package: str | None = None) -> None:
    data = data_folder()
    if data is None:
        sys.exit("No data: see SKETCHSEEK_DATA.")
    rng = np.random.default_rng(0)
    arrays: dict[str, list] = {name: [] for name in (
        "drawing", "rough", "drawing_category", "drawing_set", "drawing_photo",
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
            strokes = Sketch.load(data / name / query["sketch"]).strokes
            arrays["drawing"].append(drawn(strokes))
            arrays["rough"].append([drawn(roughly(strokes, rng)) for _ in range(ROUGH)])
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
    more = emoji(Path(package), data, rng) if package else {}
    np.savez_compressed(
        out,
        photo=np.concatenate(photos),
        photo_end=np.cumsum([len(photo) for photo in photos]),
        **{name: np.array(values) for name, values in arrays.items()},
        **more,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
