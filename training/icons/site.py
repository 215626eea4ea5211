"""Every set of @iconify/json whose licence allows it, as SVG files and a list of what is known of each.

    python training/icons/site.py PACKAGE FOLDER [--most N]

PACKAGE is the unpacked npm package. Writes FOLDER/icons/SET/NAME.svg and FOLDER/icons.csv, which
`sketchseek publish --links` reads: `make icons-site` does the whole. --most takes so many icons at most, of
every set the same share.
"""

import argparse
import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

LICENCES = frozenset(
    ["MIT", "Apache-2.0", "ISC", "BSD-3-Clause", "Unlicense", "CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "OFL-1.1"]
)
"""Others are left out: those that forbid selling (NC), and that want to be passed on (GPL, SA, MPL)."""
COLUMNS = ("picture", "set", "licence", "group", "link")
STYLE = re.compile(
    r"[-_](outlined?|filled|fill|solid|bold|thin|light|regular|duotone|linear|line|sharp|rounded?|twotone|"
    r"two-tone|broken|bulk|alt|\d\d)$"
)
"""How an icon is drawn, at the end of its name."""


def allowed(package: Path) -> dict[str, dict]:
    """The sets, with what the package says of them."""
    known = json.loads((package / "collections.json").read_text())
    return {name: about for name, about in known.items() if about["license"].get("spdx") in LICENCES}


def icons_of(package: Path, name: str) -> dict[str, str]:
    """The icons of a set as SVG documents; not those that are hidden, nor what moves."""
    data = json.loads((package / "json" / f"{name}.json").read_text())
    found = {}
    for icon, body in data["icons"].items():
        if body.get("hidden") or "<animate" in body["body"]:
            continue
        left, top, width, height = (
            body.get(key, data.get(key, default))
            for key, default in (("left", 0), ("top", 0), ("width", 16), ("height", 16))
        )
        found[icon] = (
            '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'width="{width}" height="{height}" viewBox="{left} {top} {width} {height}">{body["body"]}</svg>'
        )
    return found


def base(icon: str) -> str:
    """The name that an icon shares with those that show the same in another style."""
    while (shorter := STYLE.sub("", icon)) != icon:
        icon = shorter
    return icon


def write(package: Path, folder: Path, most: int | None) -> Iterator[dict[str, str]]:
    """Write the icons; what is known of each."""
    sets = {name: (about, icons_of(package, name)) for name, about in allowed(package).items()}
    total = sum(len(icons) for _, icons in sets.values())
    share = 1.0 if most is None else min(1.0, most / total)
    for name, (about, icons) in sets.items():
        place = folder / "icons" / name
        place.mkdir(parents=True, exist_ok=True)
        names = sorted(icons)
        some = [names[int(i / share)] for i in range(int(len(names) * share))]
        for icon in some:
            (place / f"{icon}.svg").write_text(icons[icon])
            yield {
                "picture": f"{name}/{icon}.svg",
                "set": about["name"],
                "licence": about["license"]["spdx"],
                "group": f"{name}/{base(icon)}",
                "link": f"https://icon-sets.iconify.design/{name}/{icon}/",
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    with (args.folder / "icons.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.DictWriter(file, COLUMNS)
        rows.writeheader()
        count = 0
        for row in write(args.package, args.folder, args.most):
            rows.writerow(row)
            count += 1
    print(f"{count:,} icons")


if __name__ == "__main__":
    main()
