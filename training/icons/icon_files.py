"""The sets of @iconify/json whose licences allow it, as SVG files, and a list of each icon's set and licence.

    python training/icons/icon_files.py PACKAGE FOLDER [--most N]

PACKAGE is the unpacked npm package. Writes FOLDER/icons/SET/NAME.svg and FOLDER/icons.csv, which
`sketchseek publish --links` reads: `make icons-site` does it all. --most takes so many icons at most, of
every set the same share.
"""

import argparse
import csv
import json
from collections.abc import Iterator
from pathlib import Path

LICENCES = frozenset(
    ["MIT", "Apache-2.0", "ISC", "BSD-3-Clause", "Unlicense", "CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "OFL-1.1"]
)
"""Others are left out: those that forbid selling (NC), and that want to be passed on (GPL, SA, MPL)."""
COLUMNS = ("picture", "set", "licence")


def allowed(package: Path) -> dict[str, dict]:
    """The sets, with what the package says of them."""
    known = json.loads((package / "collections.json").read_text())
    return {name: about for name, about in known.items() if about["license"].get("spdx") in LICENCES}


def svg_of(data: dict, icon: str) -> str:
    """An icon of a set as an SVG document."""
    body = data["icons"][icon]
    left, top, width, height = (
        body.get(key, data.get(key, default))
        for key, default in (("left", 0), ("top", 0), ("width", 16), ("height", 16))
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{width}" height="{height}" viewBox="{left} {top} {width} {height}">{body["body"]}</svg>'
    )


def shown(data: dict) -> list[str]:
    """The icons of a set that are not hidden, and do not move."""
    return sorted(
        icon
        for icon, body in data["icons"].items()
        if not body.get("hidden") and "<animate" not in body["body"]
    )


def write(package: Path, folder: Path, most: int | None) -> Iterator[dict[str, str]]:
    """Write the icons; what is known of each."""
    sets = allowed(package)
    data = {name: json.loads((package / "json" / f"{name}.json").read_text()) for name in sets}
    icons = {name: shown(data[name]) for name in sets}
    total = sum(map(len, icons.values()))
    share = 1.0 if most is None else min(1.0, most / total)
    for name, about in sets.items():
        place = folder / "icons" / name
        place.mkdir(parents=True, exist_ok=True)
        for i in range(int(len(icons[name]) * share)):
            icon = icons[name][int(i / share)]
            (place / f"{icon}.svg").write_text(svg_of(data[name], icon))
            yield {
                "picture": f"{name}/{icon}.svg",
                "set": about["name"],
                "licence": about["license"]["spdx"],
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
        rows.writerows(write(args.package, args.folder, args.most))


if __name__ == "__main__":
    main()
