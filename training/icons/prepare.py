"""Sets of icons and doodles -> one file for training.

    python training/icons/prepare.py PACKAGE QUICKDRAW OUT.npz

PACKAGE is the unpacked npm package @iconify/json, QUICKDRAW a folder with one .ndjson a class.
"""

import argparse
import json
import lzma
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable
from multiprocessing import Pool
from pathlib import Path

import cv2
import numpy as np
import resvg_py
from icon_files import allowed as licensed
from names import doodle_labels, label

from sketchseek.embeddings.icons import draw, fit, ink_of

LEFT_OUT = frozenset(
    [
        "circle-flags",
        "flag",
        "flagpack",
        "cif",
        "svg-spinners",
        "thesvg-color",
        "selfhst",
        "token-branded",
        "cryptocurrency-color",
        "devicon",
        "material-icon-theme",
        "catppuccin",
        "skill-icons",
        "vscode-icons",
        "gcp",
        "k8s",
        "unjs",
        "logos",
        "fluent-emoji",
        "fluent-color",
    ]
)
"""Flags, things that move, logos in colour, shaded emoji; and a twin of a test set."""
TEST = ("lucide", "fluent-mdl2", "fluent", "lucide-lab")
"""Kept out of every training, with what is nearly the same in other sets."""
DEV = ("tabler", "ph")
"""Kept out, likewise, where settings are chosen."""
WHOLE = frozenset([*TEST, "iconoir", "ph"])
"""Every variant of these is taken."""
VARIANTS = 3  # of one label in one set at most
TRAIN, CHOOSE, ASK = 0, 1, 2  # parts: to train on, to choose by, to report on
CELL, SHEET = 76, 12  # pixels of a rendered icon; icons along a sheet's side
LEVELS = 7  # grey levels that are rendered are 0 to this
FEWER = np.round(np.arange(LEVELS + 1) * 3 / LEVELS).astype(np.uint8)  # what is stored of these
LINE_WIDTHS = (2.5, 4.5)
HANDS = 4  # roughly redrawn copies of each doodle, beside itself


def allowed(package: Path) -> dict[str, dict]:
    """Sets that may be trained on, and those that are asked, with what the package says of them."""
    return {name: about for name, about in licensed(package).items() if name not in LEFT_OUT}


def chosen(package: Path, sets: dict[str, dict]) -> list[tuple[str, str, str]]:
    """(set, icon, label) of at most `VARIANTS` icons of each label in each set, spread over its names."""
    found = []
    for name, about in sets.items():
        icons = json.loads((package / "json" / f"{name}.json").read_text())["icons"]
        by_label = defaultdict(list)
        for icon in icons:
            if (
                re.search(r"skin|-tone|^flag-|medium|(^|-)(dark|light)$", icon)
                and about.get("category") == "Emoji"
            ):
                continue
            if name == "fluent" and not re.search(r"-24-(regular|filled)$", icon):
                continue
            if name == "ph" and re.search(r"-(thin|light|bold|duotone)$", icon):
                continue
            by_label[label(icon)].append(icon)
        for key, variants in by_label.items():
            few = len(variants) if name in WHOLE else VARIANTS
            step = max(len(variants) / few, 1)
            kept = [variants[int(i * step)] for i in range(min(few, len(variants)))]
            found += [(name, icon, key) for icon in kept]
    sets_of = defaultdict(set)
    for name, _, key in found:
        sets_of[key].add(name)
    # What one set alone names teaches little: one drawing of it is a negative like any other.
    seen: Counter[tuple[str, str]] = Counter()
    kept = []
    for name, icon, key in found:
        seen[name, key] += 1
        if name in WHOLE or len(sets_of[key]) > 1 or seen[name, key] == 1:
            kept.append((name, icon, key))
    return kept


def render(task: tuple[Path, str, bool, list[str]]) -> np.ndarray:
    """Ink (n, 64, 64) in `LEVELS` of icons of one set."""
    package, name, colours, names = task
    data = json.loads((package / "json" / f"{name}.json").read_text())
    result = np.zeros((len(names), 64, 64), np.uint8)
    for first in range(0, len(names), SHEET**2):
        some = names[first : first + SHEET**2]
        parts = []
        for at, icon in enumerate(some):
            body = data["icons"][icon]
            size = {
                key: body.get(key, data.get(key, default))
                for key, default in (("left", 0), ("top", 0), ("width", 16), ("height", 16))
            }
            scale = (CELL - 8) / max(size["width"], size["height"])
            own = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>n{at}-", body["body"])
            x, y = (at % SHEET * CELL + CELL / 2, at // SHEET * CELL + CELL / 2)
            x -= (size["left"] + size["width"] / 2) * scale
            y -= (size["top"] + size["height"] / 2) * scale
            parts.append(f'<g transform="translate({x} {y}) scale({scale})">{own}</g>')
        side = SHEET * CELL
        document = (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'width="{side}" height="{side}">{"".join(parts)}</svg>'
        )
        png = bytes(resvg_py.svg_to_bytes(svg_string=document, skip_system_fonts=True))
        sheet = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_UNCHANGED)
        for at in range(len(some)):
            y, x = at // SHEET * CELL, at % SHEET * CELL
            cell = sheet[y : y + CELL, x : x + CELL]
            alpha = cell[..., 3].astype(np.float32) / 255
            if colours:
                rgb = cell[..., 2::-1] * alpha[..., None] + 255 * (1 - alpha[..., None])
                ink = ink_of(np.round(rgb).astype(np.uint8))
            else:
                ink = alpha
            result[first + at] = np.round(fit(ink) * LEVELS)
    return result


def part_of_classes(folder: Path) -> dict[str, int]:
    """Classes of doodles to train on, to choose by, and to report on (classes.json)."""
    kept = json.loads(Path(__file__).with_name("classes.json").read_text())
    part = dict.fromkeys(sorted(file.stem for file in folder.glob("*.ndjson")), TRAIN)
    return part | dict.fromkeys(kept["dev"], CHOOSE) | dict.fromkeys(kept["test"], ASK)


def doodles(file: Path) -> np.ndarray:
    """Ink (n, 1 + 1 + HANDS, 64, 64) in `LEVELS` of the doodles of a class: in two widths, then redrawn."""
    random = np.random.default_rng(zlib.crc32(file.stem.encode()))
    ink = []
    for line in file.read_text().splitlines():
        strokes = [np.array(stroke, np.float32).T for stroke in json.loads(line)["drawing"]]
        fine = np.ptp(np.concatenate(strokes), axis=0).max() / 200
        strokes = [cv2.approxPolyDP(stroke[:, None], fine, False)[:, 0] for stroke in strokes]
        ink.append([draw(strokes, width) for width in LINE_WIDTHS])
        ink[-1] += [draw(redrawn(strokes, random), random.uniform(2, 6)) for _ in range(HANDS)]
    return np.round(np.array(ink) * LEVELS).astype(np.uint8)


def redrawn(strokes: list[np.ndarray], random: np.random.Generator) -> list[np.ndarray]:
    """The same doodle with another hand: each stroke moved, turned and sized a little, some left out."""
    size = max(np.ptp(np.concatenate(strokes), axis=0).max(), 1)
    result = []
    for stroke in strokes:
        if len(strokes) > 2 and random.random() < 0.08:
            continue
        middle = stroke.mean(axis=0)
        turn = random.normal(0, 0.08)
        matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        matrix *= np.exp(random.normal(0, 0.06, 2))
        result.append((stroke - middle) @ matrix.T + middle + random.normal(0, 0.02 * size, 2))
    return result or strokes


def kept(folder: Path | None, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
    """What an earlier run kept in the folder, or what is made now."""
    file = folder / f"{name}.npy" if folder else None
    if file and file.exists():
        return np.load(file, mmap_mode="r")
    made = make()
    if file:
        np.save(file, made)
    return made


def packed(levels: np.ndarray) -> np.ndarray:
    """Grey levels 0 to 3, as two bit planes a picture, compressed."""
    stream = lzma.LZMACompressor(preset=1)
    parts = []
    for at in range(0, len(levels), 8192):
        few = FEWER[levels[at : at + 8192]]
        parts.append(
            stream.compress(np.stack([np.packbits(few & 1, -1), np.packbits(few >> 1, -1)], 1).tobytes())
        )
    return np.frombuffer(b"".join([*parts, stream.flush()]), np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", type=Path)
    parser.add_argument("quickdraw", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--rendered", type=Path, help="a folder where what was rendered is kept, and read again"
    )
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()

    sets = allowed(args.package)
    icons = chosen(args.package, sets)
    print(len(icons), "icons of", len(sets), "sets", flush=True)
    classes = sorted(args.quickdraw.glob("*.ndjson"))
    tasks, names = [], defaultdict(list)
    for name, icon, _ in icons:
        names[name].append(icon)
    for name, some in names.items():
        colours = bool(sets[name].get("palette"))
        tasks += [(args.package, name, colours, some[at : at + 1440]) for at in range(0, len(some), 1440)]
    with Pool(args.jobs) as pool:
        ink = kept(args.rendered, "icons", lambda: np.concatenate(list(pool.imap(render, tasks))))
        drawn = kept(args.rendered, "doodles", lambda: np.concatenate(pool.map(doodles, classes)))
    print("rendered", flush=True)

    set_names = list(names)
    set_of = np.array([set_names.index(name) for name, _, _ in icons])
    keys = sorted({key for _, _, key in icons})
    at = {key: i for i, key in enumerate(keys)}
    labels = np.array([at[key] for _, _, key in icons])

    plain_style = np.array([not icon.endswith(("-fill", "-filled")) for _, icon, _ in icons])

    # Doodles: some classes to train on, some to choose by, some to report on.
    which = np.array(list(part_of_classes(args.quickdraw).values()), np.uint8)
    doodle_class = np.repeat(
        np.arange(len(classes)), [len(file.read_text().splitlines()) for file in classes]
    )
    as_drawn = np.arange(drawn.shape[1]) < len(LINE_WIDTHS)
    travels = as_drawn[None] | (which[doodle_class] != ASK)[:, None]
    doodle_class, plain = (
        np.broadcast_to(x, travels.shape)[travels] for x in (doodle_class[:, None], as_drawn)
    )
    drawn = drawn[travels]
    class_names = [file.stem for file in classes]
    relevant = {name: doodle_labels(name) for name in class_names}
    about = {
        "labels": keys,
        "sets": [
            {
                "set": name,
                "name": sets[name]["name"],
                "by": sets[name]["author"]["name"],
                "licence": sets[name]["license"]["spdx"],
            }
            for name in set_names
        ],
        "test": [set_names.index(name) for name in TEST],
        "dev": [set_names.index(name) for name in DEV],
        "classes": class_names,
        "relevant": relevant,
        "package": json.loads((args.package / "package.json").read_text())["version"],
    }
    np.savez(
        args.out,
        ink=packed(ink), label=labels.astype(np.int32), set=set_of.astype(np.int16), plain_style=plain_style,
        doodle_ink=packed(drawn), doodle_class=doodle_class.astype(np.int16),
        doodle_part=which[doodle_class], doodle_plain=plain, about=json.dumps(about),
    )  # fmt: skip
    print(len(ink), "icons,", len(drawn), "drawings of doodles,", args.out.stat().st_size / 2**20, "MiB")


if __name__ == "__main__":
    main()
