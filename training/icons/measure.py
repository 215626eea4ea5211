"""What the network finds: doodles by strangers among icons and emoji, icons of one set among another's.

    python training/icons/measure.py network PACKAGE DATA WORK         # the network alone
    python training/icons/measure.py collect PACKAGE DATA WORK         # what is found today (slow)
    python training/icons/measure.py choose WORK --weights RUN.onnx    # what the network weighs beside it
    python training/icons/measure.py report WORK                       # today, the network, both

PACKAGE is the unpacked npm package @iconify/json, DATA the development data. Classes and sets are those that
prepare.py keeps out: `dev` to choose by, `test` to report. The weights in the tree were trained on `dev`,
too: choose by a run without `--final`. A right answer is an icon with a name of the class.
"""

import argparse
import json
from pathlib import Path

import cv2
import embed as line_art
import numpy as np
import resvg_py
from names import doodle_labels, label
from prepare import ASK, CHOOSE, part_of_classes

from sketchseek import Index, Sketch
from sketchseek.search.options import Options
from sketchseek.search.search import find

COLLECTIONS = {
    "dev": ("tabler", "ph"),
    "test": ("lucide", "fluent"),
}
PARTS = {"dev": CHOOSE, "test": ASK}
EACH = 8  # doodles of a class
ACROSS = 300  # icons of one set that are asked of the other
WEIGHTS = (0, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)


def write_icons(package: Path, folder: Path, sets: tuple[str, ...]) -> None:
    """Icons of the sets as files, in the usual style and size of each."""
    for name in sets:
        data = json.loads((package / "json" / f"{name}.json").read_text())
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        for icon, body in data["icons"].items():
            if (
                icon.endswith(("-thin", "-light", "-bold", "-duotone", "-fill", "-filled"))
                and name != "lucide"
            ):
                continue
            if name == "fluent" and not icon.endswith("-24-regular"):
                continue
            size = [
                body.get(key, data.get(key, default))
                for key, default in (("left", 0), ("top", 0), ("width", 16), ("height", 16))
            ]
            (place / f"{icon}.svg").write_text(
                '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
                f'width="{size[2]}" height="{size[3]}" viewBox="{" ".join(map(str, size))}">'
                f"{body['body']}</svg>"
            )


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


def today(folder: Path, index_at: Path, asked: list[dict]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The pictures; z-scores (questions, pictures) of what ships, not expanded, and of shape alone."""
    index = Index.open(index_at) if index_at.exists() else Index.create(index_at, expansion=True)
    index.add([folder])
    state = index.state
    pictures = [str(Path(state.path(i)).relative_to(folder)) for i in range(len(state))]
    scores = []
    for at, question in enumerate(asked):
        sketch = (
            Sketch.from_strokes(question["strokes"])
            if "strokes" in question
            else Sketch.load(folder / question["picture"])
        )
        pair = []
        for blend in (None, 0):
            options = Options(k=len(pictures), expand=0, blend=blend)
            answer = find(state, sketch, options, count=len(pictures), place=False)
            score = np.full(len(pictures), np.nan)
            score[answer.pictures] = answer.order
            score[np.isnan(score)] = np.nanmin(score)
            pair.append((score - score.mean()) / max(score.std(), 1e-9))
        scores.append(pair)
        if at % 50 == 0:
            print(folder.name, at, "of", len(asked), flush=True)
    both = np.array(scores, np.float32)
    return pictures, both[:, 0], both[:, 1]


def collection(part: str, package: Path, data: Path, work: Path) -> tuple[Path, list[dict]]:
    """A part's pictures, written where they are not yet, and its questions."""
    if part == "emoji":
        return data / "doodles" / "photos", emoji_questions(data)
    folder = work / part
    write_icons(package, folder, COLLECTIONS[part])
    return folder, questions(part, folder, data / "quickdraw")


def sampled(asked: list[dict], count: int) -> list[dict]:
    """So many questions of each kind, at random; all for 0."""
    random = np.random.default_rng(0)
    found = []
    for kind in dict.fromkeys(q["kind"] for q in asked):
        mine = [q for q in asked if q["kind"] == kind]
        found += [mine[i] for i in sorted(random.permutation(len(mine))[: count or None])]
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


def collect(package: Path, data: Path, work: Path, parts: list[str], count: int) -> None:
    for part in parts:
        folder, asked = collection(part, package, data, work)
        asked = sampled(asked, count)
        print(part, len(asked), "questions", flush=True)
        pictures, full, shape = today(folder, work / f"{part}-index", asked)
        np.savez(
            work / f"{part}.npz",
            pictures=pictures,
            full=full,
            shape=shape,
            asked=json.dumps(asked),
            folder=str(folder),
        )


def rendered(file: Path) -> np.ndarray:
    """An SVG on white, small: the network sees 64 pixels of it."""
    png = bytes(resvg_py.svg_to_bytes(svg_path=str(file), width=96, skip_system_fonts=True))
    pixels = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
    alpha = pixels[..., 3:].astype(np.float32) / 255
    return np.round(pixels[..., 2::-1] * alpha + 255 * (1 - alpha)).astype(np.uint8)


def network_scores(folder: Path, pictures: list[str], asked: list[dict]) -> np.ndarray:
    """Z-scores (questions, pictures) of the network."""
    rows = np.stack([line_art.embed(rendered(folder / picture)) for picture in pictures])
    at = {picture: i for i, picture in enumerate(pictures)}
    queries = np.stack(
        [
            rows[at[q["picture"]]] if "picture" in q else line_art.embed([np.array(s) for s in q["strokes"]])
            for q in asked
        ]
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


def choose(work: Path) -> None:
    """What the network weighs beside what is found today, by R@10 on dev -> WORK/chosen.json."""
    stored = np.load(work / "dev.npz")
    pictures, asked = stored["pictures"].tolist(), json.loads(str(stored["asked"]))
    network = network_scores(Path(str(stored["folder"])), pictures, asked)
    chosen = {}
    for kind in dict.fromkeys(q["kind"] for q in asked):
        some = np.array([q["kind"] == kind for q in asked])
        mine = [q for q in asked if q["kind"] == kind]
        for base in ("full", "shape"):
            right = [
                recalls(stored[base][some] + w * network[some], pictures, mine)[:, 2].mean() for w in WEIGHTS
            ]
            chosen[f"{base} {kind}"] = WEIGHTS[int(np.argmax(right))]
            print(f"{kind}, {base} + w network, R@10 by w:")
            print("  ", dict(zip(WEIGHTS, np.round(100 * np.array(right), 1).tolist(), strict=True)))
    (work / "chosen.json").write_text(json.dumps(chosen))


def report(work: Path) -> None:
    """Print what is found today, by the network, and by both with the weights that dev chose."""
    file = work / "chosen.json"
    chosen = json.loads(file.read_text()) if file.exists() else {}
    for part in ("test", "emoji"):
        if not (work / f"{part}.npz").exists():
            continue
        stored = np.load(work / f"{part}.npz")
        pictures, asked = stored["pictures"].tolist(), json.loads(str(stored["asked"]))
        network = network_scores(Path(str(stored["folder"])), pictures, asked)
        for kind in dict.fromkeys(q["kind"] for q in asked):
            some = np.array([q["kind"] == kind for q in asked])
            mine = [q for q in asked if q["kind"] == kind]
            groups = [q["group"] for q in mine]
            print(
                f"{part}, {kind}: {len(mine)} questions, {len(set(groups))} classes, {len(pictures)} pictures"
            )
            rows = {"shape": stored["shape"], "full": stored["full"], "network": network}
            for base in ("shape", "full"):
                weight = chosen.get(f"{base} {kind}", chosen.get(f"{base} doodle"))
                if weight is not None:
                    rows[f"{base} + {weight:g} network"] = stored[base] + weight * network
            for name, scores in rows.items():
                print(f"  {name:24} {shown(recalls(scores[some], pictures, mine), groups)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("network", "collect"):
        command = commands.add_parser(name)
        command.add_argument("package", type=Path)
        command.add_argument("data", type=Path)
        command.add_argument("work", type=Path)
    command.add_argument(
        "--parts", nargs="+", choices=("dev", "test", "emoji"), default=["dev", "test", "emoji"]
    )
    command.add_argument("--questions", type=int, default=0, help="of each kind, at random; 0: all")
    for name in ("choose", "report"):
        commands.add_parser(name).add_argument("work", type=Path)
    for command in commands.choices.values():
        command.add_argument("--weights", type=Path, default=line_art.WEIGHTS, help="of another run")
    args = parser.parse_args()
    line_art.WEIGHTS = args.weights
    if args.command == "network":
        alone(args.package, args.data, args.work)
    elif args.command == "collect":
        collect(args.package, args.data, args.work, args.parts, args.questions)
    else:
        {"choose": choose, "report": report}[args.command](args.work)


if __name__ == "__main__":
    main()
