"""Annotated folders: our own layout, and those in which the public sets come."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError

PHOTO_SUFFIXES = frozenset(
    {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".heic", ".svg"}
)
SKETCH_SUFFIXES = PHOTO_SUFFIXES | {".json", ".pgm", ".ppm", ".pbm"}


@dataclass(frozen=True)
class AnnotatedQuery:
    """A drawing and its right answers, as positions in `DataSet.photos`."""

    sketch: Path
    category: str
    relevant: frozenset[int]
    instance: int | None = None
    """The one photo that the person drew."""
    kind: str | None = None


@dataclass(frozen=True)
class DataSet:
    """Photos, drawings, and which belong together."""

    name: str
    folder: Path
    photos: tuple[Path, ...]
    queries: tuple[AnnotatedQuery, ...]
    boxes: dict[int, NDArray[np.float64]] = field(default_factory=dict)
    """For a photo's position: (n, 4) boxes of its objects, x0 y0 x1 y1 in pixels of the photo as stored."""

    def __post_init__(self) -> None:
        if not self.photos:
            raise SketchseekError(f"There is no photo in {self.folder}.")
        if not self.queries:
            raise SketchseekError(f"There is no drawing with a right answer in {self.folder}.")


def data_folder() -> Path | None:
    """Where the development sets are: `$SKETCHSEEK_DATA`, else shared/data beside the repository; or None."""
    given = os.environ.get("SKETCHSEEK_DATA")
    place = Path(given) if given else Path(__file__).resolve().parents[4] / "shared" / "data"
    return place if place.is_dir() else None


def load(folder: str | Path, layout: str | None = None) -> DataSet:
    """Read an annotated folder.

    Parameters
    ----------
    folder : path
    layout : {None, "flickr15k", "ethz"}
        None is our own: a `groundtruth.json` beside the photos.
    """
    where = Path(folder)
    if not where.is_dir():
        raise SketchseekError(f"{where} is not a folder.")
    readers: dict[str | None, Callable[[Path], DataSet]] = {
        None: _own,
        "flickr15k": _flickr15k,
        "ethz": _ethz,
    }
    if layout not in readers:
        raise ValueError(f"layout must be one of flickr15k, ethz or None, not {layout!r}")
    return readers[layout](where)


def _own(folder: Path) -> DataSet:
    """Our own: a `groundtruth.json`, with paths relative to the folder.

    {"name", "queries": [{"sketch", "category", "relevant", "instance"?, "kind"?}], "boxes"?: {photo: boxes}}
    """
    path = folder / "groundtruth.json"
    try:
        truth: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        photos = _photos_of(folder, truth)
        position = {p.relative_to(folder).as_posix(): i for i, p in enumerate(photos)}
        queries = tuple(
            AnnotatedQuery(
                sketch=folder / q["sketch"],
                category=q["category"],
                relevant=frozenset(position[p] for p in q["relevant"]),
                instance=position[q["instance"]] if "instance" in q else None,
                kind=q.get("kind"),
            )
            for q in truth["queries"]
        )
        boxes = {position[p]: _boxes(b) for p, b in truth.get("boxes", {}).items()}
    except FileNotFoundError as error:
        raise SketchseekError(
            f"{folder} has no groundtruth.json. For the public sets' own layouts, "
            "say --layout flickr15k or --layout ethz."
        ) from error
    except KeyError as error:
        raise SketchseekError(f"{path} names {error}, which is missing there or in the folder.") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise SketchseekError(f"{path} is not laid out as expected: {error}.") from error
    return DataSet(str(truth.get("name", folder.name)), folder, photos, queries, boxes)


def _photos_of(folder: Path, truth: dict[str, Any]) -> tuple[Path, ...]:
    """Everything under photos/: pictures that no drawing asks for are part of the haystack."""
    if (folder / "photos").is_dir():
        return _pictures(folder / "photos")
    named = {p for q in truth["queries"] for p in q["relevant"]} | set(truth.get("boxes", {}))
    return tuple(folder / p for p in sorted(named))


def _flickr15k(folder: Path) -> DataSet:
    """Flickr15k of Hu and Collomosse as it was distributed.

    `330sketches/PERSON/CLASS.png` are the drawings; a file `groundtruth` has lines `CLASS path/of/photo.jpg`;
    the photos are in `images/`, `images/source/` or beside it. Photos that the file doesn't name are part of
    the haystack.
    """
    truth = _first(folder, ["groundtruth", "images/groundtruth", "groundtruth.txt"], "the file groundtruth")
    sketches = _first(folder, ["330sketches", "sketches"], "the folder 330sketches")
    lines = [
        s.split(maxsplit=1)
        for s in truth.read_text(encoding="utf-8", errors="replace").splitlines()
        if s.strip()
    ]
    if any(len(line) != 2 for line in lines):
        raise SketchseekError(f"{truth} should have lines of a class number and a photo's path.")
    first = lines[0][1].strip() if lines else ""
    roots = [folder / r for r in ("images/source", "images", "source", "resize_img", ".")]
    root = next((r for r in roots if (r / first).is_file()), None)
    if root is None:
        raise SketchseekError(f"None of the places where Flickr15k keeps its photos has {first}.")
    photos = _pictures(root, but_not=sketches)
    position = {p.relative_to(root).as_posix(): i for i, p in enumerate(photos)}
    relevant: dict[str, set[int]] = {}
    category: dict[str, str] = {}
    for number, path in lines:
        name = path.strip()
        if name in position:
            relevant.setdefault(number, set()).add(position[name])
            category.setdefault(number, name.split("/")[0])
    queries = tuple(
        AnnotatedQuery(s, category[s.stem], frozenset(relevant[s.stem]))
        for s in _pictures(sketches, SKETCH_SUFFIXES)
        if s.stem in relevant
    )
    return DataSet("flickr15k", folder, photos, queries)


def _ethz(folder: Path) -> DataSet:
    """ETHZ shape classes, and the extended set with hats and starfish.

    `CLASS/NAME.jpg` are the photos, `CLASS/NAME_class.groundtruth` their objects' boxes, a line each. The
    drawing of a class is a picture named after it (`apple.png`, `Applelogos_outline.pgm`) in the folder
    itself or in `models/`, `queries/` or `sketches/` there.
    """
    asides = {"models", "queries", "sketches"}
    classes = sorted(
        p for p in folder.iterdir() if p.is_dir() and p.name not in asides and any(p.glob("*.jpg"))
    )
    photos = tuple(q for c in classes for q in sorted(c.glob("*.jpg")))
    position = {p: i for i, p in enumerate(photos)}
    boxes = {}
    for photo, i in position.items():
        rows = [
            r for f in sorted(photo.parent.glob(f"{_escaped(photo.stem)}_*.groundtruth")) for r in _rows(f)
        ]
        if rows:
            boxes[i] = _boxes(rows)
    places = [folder, *(folder / a for a in sorted(asides) if (folder / a).is_dir())]
    drawings = sorted(
        f for p in places for f in p.iterdir() if f.is_file() and f.suffix.lower() in SKETCH_SUFFIXES
    )
    queries = []
    for c in classes:
        stem = c.name.lower().rstrip("s")
        relevant = frozenset(position[p] for p in c.glob("*.jpg"))
        mine = [d for d in drawings if d.stem.lower().startswith(stem)]
        queries += [AnnotatedQuery(d, c.name, relevant) for d in mine]
    return DataSet("ethz", folder, photos, tuple(queries), boxes)


def _pictures(
    folder: Path, suffixes: frozenset[str] = PHOTO_SUFFIXES, but_not: Path | None = None
) -> tuple[Path, ...]:
    found = (p for p in folder.rglob("*") if p.suffix.lower() in suffixes and p.is_file())
    return tuple(sorted(p for p in found if but_not is None or not p.is_relative_to(but_not)))


def _first(folder: Path, names: Iterable[str], what: str) -> Path:
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise SketchseekError(f"{folder} lacks {what}.")


def _boxes(rows: Iterable[Iterable[float]]) -> NDArray[np.float64]:
    boxes = np.array([list(r) for r in rows], dtype=np.float64)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError("a box is x0, y0, x1, y1")
    return boxes


def _rows(path: Path) -> list[list[float]]:
    try:
        rows = [[float(v) for v in line.split()] for line in path.read_text().splitlines() if line.strip()]
    except ValueError as error:
        raise SketchseekError(f"{path} should have lines of four numbers.") from error
    if any(len(r) != 4 for r in rows):
        raise SketchseekError(f"{path} should have lines of four numbers.")
    return rows


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
