"""Pictures that drawings are asked of, each with what it shows: icons, emoji, photographs, drawings, scans.

    python benchmarks/pools.py PACKAGE WORK [--networks efficientnet dinov2]

PACKAGE is the unpacked npm package @iconify/json. Finds the pictures' contours and describes them, once, in
WORK; what takes long is kept there in pieces, so that it may be stopped and go on.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
from numpy.typing import NDArray

import twins
from sketchseek.contours import picture_contours
from sketchseek.contours.detectors import get_detector
from sketchseek.contours.drawing import Sketch
from sketchseek.contours.points import Points
from sketchseek.embeddings import PictureEncoder
from sketchseek.errors import SketchseekError
from sketchseek.evaluation.datasets import data_folder
from sketchseek.evaluation.embeddings import PhotoFeatures
from sketchseek.evaluation.extraction import with_embedding
from sketchseek.search.state import PictureContours
from sketchseek.sources.picture import load_picture

sys.path.append(str(Path(__file__).parents[1] / "training" / "icons"))
from names import doodle_labels, label

_ICONS = Path(__file__).parents[1] / "training" / "icons"

ICONS = {"tabler": 600, "lucide": 600, "ph": 300, "fluent": 300}
"""Sets of icons, and how many of each."""
EMOJI = {"openmoji": 1000, "noto": 200}
PHOTOGRAPHS = {"s2c": None, "sketchy": None, "sysu": 150}
DRAWINGS, SCANS = 5, 2  # of each category
HALF, OTHER = "even", "odd"
"""Halves of the classes of doodles that the networks' twins learned from: none of these is asked of them."""
WHOLE = ("lucide", "fluent-mdl2")
"""Sets of icons that are searched as a whole."""
PIECE = 50  # pictures that are described between two writes

MARKS = frozenset(
    """
    off plus minus x check up down left right search star heart dollar share exclamation cog code bolt
    question pin pause cancel small discount edit slash add remove dismiss sync settings arrow clock alert
    error warning info lock
    """.split()  # noqa: SIM905
)
"""What an icon may have in a corner, and still show the same."""


@dataclass(frozen=True)
class Pool:
    """Pictures of one make.

    kind : "icons", "emoji", "photographs", "drawings" or "scans". shows : the label of each, words in
    alphabetical order; of photographs and drawings the category.
    """

    name: str
    kind: str
    paths: tuple[Path, ...]
    shows: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def sample(self, count: int) -> Pool:
        """So many of them at random."""
        chosen = sorted(np.random.default_rng(0).permutation(len(self))[:count].tolist())
        paths, shows = (tuple(of[i] for i in chosen) for of in (self.paths, self.shows))
        return replace(self, paths=paths, shows=shows)


def pools(package: Path, work: Path) -> list[Pool]:
    """All of them, in the order of their worth; written or drawn where they are not yet."""
    data = data_folder()
    if data is None:
        raise SketchseekError("The development sets are not there: set SKETCHSEEK_DATA.")
    asked = {key for path in (data / "quickdraw").glob("*.ndjson") for key in doodle_labels(path.stem)}
    icons = {name: _icons(package, work, name, count, asked) for name, count in ICONS.items()}
    photographs = {name: _photographs(data / name, count) for name, count in PHOTOGRAPHS.items()}
    return [
        icons["tabler"],
        icons["lucide"],
        _openmoji(data / "doodles" / "photos", EMOJI["openmoji"], asked),
        photographs["s2c"],
        photographs["sketchy"],
        icons["ph"],
        icons["fluent"],
        _icons(package, work, "noto", EMOJI["noto"], asked),
        _drawings(data / "sketchy-train" / "sketches"),
        _scans(data / "sketchy-train" / "sketches", work / "scans"),
        photographs["sysu"],
    ]


def whole_pools(package: Path, work: Path) -> list[Pool]:
    """Collections as they are, which nothing is fitted on."""
    data = data_folder()
    if data is None:
        raise SketchseekError("The development sets are not there: set SKETCHSEEK_DATA.")
    made = [
        *(_icons(package, work, name, None, set()) for name in WHOLE),
        _openmoji(data / "doodles" / "photos", None, set()),
        _photographs(data / "s2c", None),
        _photographs(data / "sketchy", None),
    ]
    return [replace(pool, name=f"all {pool.name}") for pool in made]


def strangers() -> list[str]:
    """Classes whose doodles the icon network did not learn from."""
    return json.loads((_ICONS / "classes.json").read_text())["test"]


def _some(names: Sequence[str], shows: Sequence[str], count: int | None, asked: set[str]) -> list[int]:
    """Those that some class of doodles asks for, at most three of a label, and others at random."""
    order = np.random.default_rng(0).permutation(len(names)).tolist()
    seen: dict[str, int] = {}
    first, others = [], []
    for i in order:
        seen[shows[i]] = seen.get(shows[i], 0) + 1
        (first if shows[i] in asked and seen[shows[i]] <= 3 else others).append(i)
    return sorted((first + others)[:count])


def _icons(package: Path, work: Path, name: str, count: int | None, asked: set[str]) -> Pool:
    data = json.loads((package / "json" / f"{name}.json").read_text())
    names = [n for n in sorted(data["icons"]) if _wanted(name, n)]
    shows = [label(n) for n in names]
    chosen = _some(names, shows, count, asked)
    folder = work / "pictures" / name
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i in chosen:
        path = folder / f"{names[i]}.svg"
        if not path.exists():
            path.write_text(_svg(data, names[i]))
        paths.append(path)
    return Pool(name, "emoji" if name in EMOJI else "icons", tuple(paths), tuple(shows[i] for i in chosen))


def _wanted(name: str, icon: str) -> bool:
    if re.search(r"^brand-|-logo|letter|number|finger|skin|-tone|^flag-|medium-|-dark|-light$", icon):
        return False
    if name == "ph":
        return not re.search(r"-(thin|light|bold|duotone)$", icon)
    return name != "fluent" or icon.endswith("-24-regular")


def _svg(data: dict, icon: str) -> str:
    body = data["icons"][icon]
    defaults = (("left", 0), ("top", 0), ("width", 16), ("height", 16))
    size = [body.get(key, data.get(key, default)) for key, default in defaults]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{size[2]}" height="{size[3]}" viewBox="{" ".join(map(str, size))}">{body["body"]}</svg>'
    )


def _openmoji(folder: Path, count: int | None, asked: set[str]) -> Pool:
    truth = json.loads((folder.parent / "groundtruth.json").read_text())
    known = {Path(q["instance"]).name: label(q["category"]) for q in truth["queries"]}
    paths = sorted(folder.glob("*.svg"))
    shows = [known.get(path.name) or label(_called(path.stem)) for path in paths]
    chosen = _some([p.stem for p in paths], shows, count, asked | set(known.values()))
    chosen = chosen[: count and 700]
    return Pool("openmoji", "emoji", tuple(paths[i] for i in chosen), tuple(shows[i] for i in chosen))


def _called(codes: str) -> str:
    return " ".join(unicodedata.name(chr(int(c, 16)), "unknown") for c in codes.split("-")[:1]).lower()


def _photographs(folder: Path, count: int | None) -> Pool:
    truth = json.loads((folder / "groundtruth.json").read_text())
    drawn = {q["instance"] for q in truth["queries"] if "instance" in q}
    paths = sorted(p for p in (folder / "photos").rglob("*") if p.is_file())
    order = np.random.default_rng(0).permutation(len(paths)).tolist()
    order.sort(key=lambda i: paths[i].relative_to(folder).as_posix() not in drawn)
    chosen = sorted(order[:count])
    return Pool(
        folder.name,
        "photographs",
        tuple(paths[i] for i in chosen),
        tuple(paths[i].parent.name for i in chosen),
    )


def _drawings(folder: Path) -> Pool:
    chosen = [p for c in sorted(folder.iterdir()) for p in sorted(c.iterdir())[:DRAWINGS]]
    return Pool("drawings", "drawings", tuple(chosen), tuple(p.parent.name for p in chosen))


def _scans(folder: Path, place: Path) -> Pool:
    """Drawings on paper under a lamp, a little askew."""
    paths = []
    for number, category in enumerate(sorted(folder.iterdir())):
        for path in sorted(category.iterdir())[DRAWINGS : DRAWINGS + SCANS]:
            scan = place / category.name / f"{path.stem}.jpg"
            if not scan.exists():
                scan.parent.mkdir(parents=True, exist_ok=True)
                cv2.imwrite(
                    str(scan), scanned(load_picture(path).pixels, number), [cv2.IMWRITE_JPEG_QUALITY, 70]
                )
            paths.append(scan)
    return Pool("scans", "scans", tuple(paths), tuple(p.parent.name for p in paths))


def scanned(pixels: NDArray[np.uint8], seed: int) -> NDArray[np.uint8]:
    """A drawing as a camera or a scanner brings it in."""
    rng = np.random.default_rng(seed)
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).astype(np.float32)
    height, width = grey.shape
    turned = cv2.getRotationMatrix2D((width / 2, height / 2), rng.normal(0, 3), rng.uniform(0.7, 0.95))
    grey = cv2.warpAffine(grey, turned, (width, height), borderValue=255)
    grey = cv2.GaussianBlur(grey, (0, 0), rng.uniform(0.4, 1.2))
    y, x = np.mgrid[0 : 1 : height * 1j, 0 : 1 : width * 1j]
    lamp = rng.uniform(0.65, 1) + rng.normal(0, 0.12) * x + rng.normal(0, 0.12) * y
    faint = rng.uniform(0.4, 1)
    paper = (255 - faint * (255 - grey)) * np.clip(lamp, 0.4, 1) + rng.normal(
        0, rng.uniform(1, 6), grey.shape
    )
    return np.clip(paper, 0, 255).astype(np.uint8)


def black_outline(path: Path) -> Sketch | None:
    """What is left of an emoji without its colours."""
    root = ElementTree.parse(path).getroot()
    groups = [g for g in root if g.tag.endswith("}g")]
    if not any(g.get("id", "").startswith("line") for g in groups):
        return None
    for group in groups:
        if not group.get("id", "").startswith("line"):
            root.remove(group)
    return Sketch.load(ElementTree.tostring(root))


# --- what takes long, kept in pieces ---------------------------------------------------------------------


def contours(pool: Pool, work: Path) -> list[PictureContours | None]:
    """Of each picture; None for an unreadable one."""
    detector = get_detector("neural")

    def of(path: Path) -> dict[str, NDArray]:
        try:
            found = picture_contours(path, detector)
        except SketchseekError:
            return {}
        p, frame = found.subject()
        size = (found.picture.width, found.picture.height)
        return {
            "points": np.stack([p.x, p.y, p.angle, p.weight]),
            "numbers": np.array([p.width, p.height, *size, *frame]),
        }

    out: list[PictureContours | None] = []
    for path, kept in zip(pool.paths, _kept(pool, work / "contours", of), strict=True):
        if not kept:
            out.append(None)
            continue
        pw, ph, w, h, *frame = kept["numbers"].tolist()
        points = Points(*kept["points"].astype(np.float32), pw, ph)
        found = PictureContours(points, int(w), int(h), tuple(frame))
        out.append(found if pool.kind == "photographs" else with_embedding(path, found))
    return out


def features(pool: Pool, work: Path, encoder: PictureEncoder) -> PhotoFeatures:
    """What the network sees in them; twins of one network see flat art and line art differently."""
    half = getattr(encoder, "half", None)
    place = work / (encoder.name if half in (None, HALF) else f"{encoder.name}-{half}")

    def of(path: Path) -> dict[str, NDArray]:
        try:
            seen, tokens = encoder.with_tokens(load_picture(path).pixels)
        except SketchseekError:
            return {}
        return {"seen": seen.astype(np.float16), **({} if tokens is None else {"tokens": tokens})}

    space = encoder.tokens
    rows = np.full((len(pool), encoder.dimension), np.nan, np.float16)
    tokens = None if space is None else np.zeros((len(pool), space.bytes), np.uint8)
    for i, kept in enumerate(_kept(pool, place, of)):
        if kept:
            rows[i] = kept["seen"]
            if tokens is not None:
                tokens[i] = kept["tokens"]
    return PhotoFeatures(encoder, rows, tokens)


def _kept(pool: Pool, place: Path, of: Callable[[Path], dict[str, NDArray]]) -> Iterator[dict[str, NDArray]]:
    place.mkdir(parents=True, exist_ok=True)
    for begin in range(0, len(pool), PIECE):
        file = place / f"{pool.name}-{begin}.npz"
        if not file.exists():
            made = [of(path) for path in pool.paths[begin : begin + PIECE]]
            flat = {f"{i} {name}": value for i, one in enumerate(made) for name, value in one.items()}
            with file.with_suffix(".part").open("wb") as out:
                np.savez(out, **flat)
            file.with_suffix(".part").rename(file)
            print(place.name, pool.name, begin, flush=True)
        with np.load(file) as stored:
            found: list[dict[str, NDArray]] = [{} for _ in pool.paths[begin : begin + PIECE]]
            for key in stored.files:
                number, name = key.split(" ")
                found[int(number)][name] = stored[key]
        yield from found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--networks", nargs="+", default=["efficientnet"])
    parser.add_argument("--halves", nargs="+", default=[HALF], help="that the networks' twins learned from")
    args = parser.parse_args()
    everything = pools(args.package, args.work)
    encoders = [twins.Twin(name, half) for name in args.networks for half in args.halves]
    for pool in everything + whole_pools(args.package, args.work):
        contours(pool, args.work)
        for encoder in encoders:
            features(pool, args.work, encoder)


if __name__ == "__main__":
    main()
