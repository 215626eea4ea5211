"""What the network finds, alone and in the product: doodles by strangers among icons and emoji, icons of one
set among another's.

    python training/icons/measure.py network PACKAGE DATA WORK         # the network alone
    python training/icons/measure.py search PACKAGE DATA WORK          # the product, by weights of it
    python training/icons/measure.py report WORK                       # tables of what `search` found

PACKAGE is the unpacked npm package @iconify/json, DATA the development data. Classes and sets are those that
prepare.py keeps out: `dev` to choose by, `test` to report. The weights in the tree were trained on `dev`,
too, so that `report` chooses a weight by half of the classes of `test`, and reports it on the other half. A
right answer is an icon with a name of the class. `search` asks at its defaults, by shape alone and with what
pictures depict (EfficientNet); a weight of 0 is a search without the network.
"""

import argparse
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import resvg_py
from icon_files import svg_of
from names import doodle_labels, label
from prepare import ASK, CHOOSE, part_of_classes

import sketchseek.embeddings.expansion as expand_module
import sketchseek.search.rescoring as look_module
from sketchseek import Index, Sketch
from sketchseek.embeddings.icons import embed_drawing, embed_picture
from sketchseek.search.options import Options
from sketchseek.search.search import find

COLLECTIONS = {
    "dev": ("tabler", "ph"),
    "test": ("lucide", "fluent"),
}
PARTS = {"dev": CHOOSE, "test": ASK}
EACH = 8  # doodles of a class
ACROSS = 300  # icons of one set that are asked of the other
WEIGHTS = (0, 0.5, 1, 1.5, 2, 3)
FAR = 99  # a place below those that are looked at


def write_icons(package: Path, folder: Path, sets: tuple[str, ...]) -> None:
    """Icons of the sets as files, in the usual style and size of each."""
    for name in sets:
        data = json.loads((package / "json" / f"{name}.json").read_text())
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        for icon in data["icons"]:
            if (
                icon.endswith(("-thin", "-light", "-bold", "-duotone", "-fill", "-filled"))
                and name != "lucide"
            ):
                continue
            if name == "fluent" and not icon.endswith("-24-regular"):
                continue
            (place / f"{icon}.svg").write_text(svg_of(data, icon))


def polylines(doodle: str) -> list[list[tuple[float, float]]]:
    """Strokes of a doodle as Quick, Draw! writes it."""
    return [list(zip(stroke[0], stroke[1], strict=True)) for stroke in json.loads(doodle)["drawing"]]


def questions(part: str, folder: Path, quickdraw: Path) -> list[dict]:
    """Doodles of the part's classes that some icon is named like, and icons that the other set has, too."""
    names = {}
    for file in sorted(folder.glob("*/*.svg")):
        names.setdefault(label(file.stem), []).append(f"{file.parent.name}/{file.name}")
    found = []
    parts = part_of_classes(quickdraw)
    for name, which in parts.items():
        right = [picture for key in doodle_labels(name) for picture in names.get(key, [])]
        if which == PARTS[part] and right:
            lines = (quickdraw / f"{name}.ndjson").read_text().splitlines()
            drawn = [polylines(line) for line in lines[:EACH]]
            found += [{"kind": "doodle", "group": name, "strokes": s, "right": right} for s in drawn]
    one, other = COLLECTIONS[part]
    both = [k for k, v in names.items() if {one, other} <= {p.split("/")[0] for p in v}]
    for key in np.random.default_rng(0).permutation(sorted(both))[:ACROSS].tolist():
        mine = [p for p in names[key] if p.startswith(one + "/")]
        right = [p for p in names[key] if p.startswith(other + "/")]
        found.append(
            {"kind": "across", "group": key, "picture": mine[0], "right": right, "among": other + "/"}
        )
    return found


def emoji_questions(data: Path) -> list[dict]:
    """Doodles of `doodles` whose class was never trained on."""
    truth = json.loads((data / "doodles" / "groundtruth.json").read_text())
    parts = part_of_classes(data / "quickdraw")
    found = []
    for query in truth["queries"]:
        which = parts[query["category"].replace(" ", "_")]
        if which != ASK:
            continue
        strokes = polylines((data / "doodles" / query["sketch"]).read_text())
        right = [Path(p).name for p in query["relevant"]]
        found.append({"kind": "emoji", "group": query["category"], "strokes": strokes, "right": right})
    return found


def collection(part: str, package: Path, data: Path, work: Path) -> tuple[Path, list[dict]]:
    """A part's pictures, written where they are not yet, and its questions."""
    if part == "emoji":
        return data / "doodles" / "photos", emoji_questions(data)
    folder = work / part
    write_icons(package, folder, COLLECTIONS[part])
    return folder, questions(part, folder, data / "quickdraw")


def sampled(asked: list[dict], each: int, across: int) -> list[dict]:
    """The first doodles of each class, and the first icons that are asked across sets; all for 0."""
    seen: Counter[str] = Counter()
    found = []
    for question in asked:
        key = question["kind"] if question["kind"] == "across" else question["group"]
        seen[key] += 1
        most = across if question["kind"] == "across" else each
        if seen[key] <= (most or seen[key]):
            found.append(question)
    return found


def alone(package: Path, data: Path, work: Path) -> None:
    """Print what the network finds by itself."""
    for part in ("test", "emoji"):
        folder, asked = collection(part, package, data, work)
        pictures = [str(file.relative_to(folder)) for file in sorted(folder.rglob("*.svg"))]
        scores = network_scores(folder, pictures, asked)
        for kind in dict.fromkeys(q["kind"] for q in asked):
            some = np.array([q["kind"] == kind for q in asked])
            mine = [q for q in asked if q["kind"] == kind]
            groups = [q["group"] for q in mine]
            print(
                f"{part}, {kind}: {len(mine)} questions, {len(set(groups))} classes, {len(pictures)} pictures"
            )
            print(f"  network {shown(recalls(scores[some], pictures, mine), groups)}", flush=True)


def places(index: Index, folder: Path, asked: list[dict], weights: list[float], mode: str) -> list[dict]:
    """Of each question the place of the first right answer, from 0, with each weight of the network."""
    state = index.state if mode == "full" else replace(index.state, load_embeddings=lambda: None)
    number = {str(Path(state.path(i)).relative_to(folder)): i for i in range(len(state))}
    found = []
    for question in asked:
        drawn = "strokes" in question
        sketch = (
            Sketch.from_strokes(question["strokes"]) if drawn else Sketch.load(folder / question["picture"])
        )
        wanted = set(question["right"])
        among = str(folder / question["among"].rstrip("/")) if "among" in question else None
        right = {i for name, i in number.items() if {name, Path(name).name} & wanted}
        row = []
        for weight in weights:
            look_module.BLEND = expand_module.BLEND_BESIDE = weight
            hits = find(state, sketch, Options(k=10, folder=among), place=False).pictures[:10]
            row.append(next((at for at, hit in enumerate(hits.tolist()) if hit in right), FAR))
        found.append({"kind": question["kind"], "group": question["group"], "places": row})
        if len(found) % 50 == 0:
            print(folder.name, mode, len(found), "of", len(asked), flush=True)
    return found


def search(args: argparse.Namespace) -> None:
    for part in args.parts:
        folder, asked = collection(part, args.package, args.data, args.work)
        asked = sampled(asked, args.each, args.across)
        where = args.work / f"{part}-index"
        index = Index.open(where) if where.exists() else Index.create(where, expansion=True)
        index.add([folder], jobs=args.jobs)
        for mode in args.modes:
            found = places(index, folder, asked, args.weights, mode)
            words = {"pictures": len(index), "weights": args.weights, "found": found}
            (args.work / f"{part}-{mode}.json").write_text(json.dumps(words))


def rendered(file: Path) -> np.ndarray:
    """An SVG on white, small: the network sees 64 pixels of it."""
    png = bytes(resvg_py.svg_to_bytes(svg_path=str(file), width=96, skip_system_fonts=True))
    pixels = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
    alpha = pixels[..., 3:].astype(np.float32) / 255
    return np.round(pixels[..., 2::-1] * alpha + 255 * (1 - alpha)).astype(np.uint8)


def network_scores(folder: Path, pictures: list[str], asked: list[dict]) -> np.ndarray:
    """Z-scores (questions, pictures) of the network."""
    rows = np.stack([embed_picture(rendered(folder / picture)) for picture in pictures])
    at = {picture: i for i, picture in enumerate(pictures)}
    queries = np.stack(
        [rows[at[q["picture"]]] if "picture" in q else embed_drawing(q["strokes"]) for q in asked]
    )
    cosines = queries @ rows.T
    return (cosines - cosines.mean(axis=1, keepdims=True)) / cosines.std(axis=1, keepdims=True)


def recalls(scores: np.ndarray, pictures: list[str], asked: list[dict]) -> np.ndarray:
    """Whether a right picture is among the first 1, 5, 10 (questions, 3)."""
    at = {picture: i for i, picture in enumerate(pictures)}
    prefixes = {q.get("among", "") for q in asked}
    among = {start: np.array([p.startswith(start) for p in pictures]) for start in prefixes}
    found = []
    for all_scores, question in zip(scores, asked, strict=True):
        row = np.where(among[question.get("among", "")], all_scores, -np.inf)
        place = int((row > row[[at[p] for p in question["right"]]].max()).sum())
        found.append([place < k for k in (1, 5, 10)])
    return np.array(found)


def shown(right: np.ndarray, groups: list[str]) -> str:
    """Recalls at 1, 5, 10 in percent, each with its 95% interval over classes."""
    names, of = np.unique(groups, return_inverse=True)
    random = np.random.default_rng(0)
    sums = np.stack([*(np.bincount(of, column) for column in right.T), np.bincount(of)])
    draws = [sums[:, random.integers(len(names), size=len(names))].sum(axis=1) for _ in range(1000)]
    low, high = np.percentile([100 * d[:3] / d[3] for d in draws], [2.5, 97.5], axis=0)
    mean = 100 * right.mean(axis=0)
    return "  ".join(f"{m:5.1f} [{a:.0f}, {b:.0f}]" for m, a, b in zip(mean, low, high, strict=True))


def report(work: Path) -> None:
    """Print what was found with each weight, and with that which the other half of the classes chooses."""
    for file in sorted(work.glob("*-*.json")):
        words = json.loads(file.read_text())
        weights, pictures = words["weights"], words["pictures"]
        for kind in dict.fromkeys(row["kind"] for row in words["found"]):
            rows = [row for row in words["found"] if row["kind"] == kind]
            groups = [row["group"] for row in rows]
            at = np.array([row["places"] for row in rows])
            print(
                f"{file.stem}, {kind}: {len(rows)} questions, {len(set(groups))} classes, {pictures} pictures"
            )
            for i, weight in enumerate(weights):
                print(f"  weight {weight:<4g} {shown(at[:, i, None] < [1, 5, 10], groups)}")
            half = np.array([sorted(set(groups)).index(group) % 2 for group in groups])
            own = np.zeros(len(rows), int)
            for one in (0, 1):
                own[half == one] = (at[half != one] < 10).mean(axis=0).argmax()
            chosen = [weights[i] for i in (own[half == 0][0], own[half == 1][0])]
            crossed = at[np.arange(len(at)), own][:, None] < [1, 5, 10]
            print(
                f"  chosen by the other half ({chosen[0]:g}, {chosen[1]:g}) {shown(crossed, groups)}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("network", "search"):
        command = commands.add_parser(name)
        command.add_argument("package", type=Path)
        command.add_argument("data", type=Path)
        command.add_argument("work", type=Path)
    command.add_argument("--parts", nargs="+", choices=("dev", "test", "emoji"), default=["test", "emoji"])
    command.add_argument("--modes", nargs="+", choices=("shape", "full"), default=["shape", "full"])
    command.add_argument("--weights", nargs="+", type=float, default=WEIGHTS)
    command.add_argument("--each", type=int, default=0, help="doodles of each class; 0: all")
    command.add_argument("--across", type=int, default=0, help="icons that are asked across sets; 0: all")
    command.add_argument("--jobs", type=int, default=1)
    commands.add_parser("report").add_argument("work", type=Path)
    args = parser.parse_args()
    if args.command == "network":
        alone(args.package, args.data, args.work)
    elif args.command == "search":
        search(args)
    else:
        report(args.work)


if __name__ == "__main__":
    main()
