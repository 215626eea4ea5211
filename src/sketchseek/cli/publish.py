"""`sketchseek publish`: a static site that searches an index in the browser."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from .arguments import add_index
from .output import say

if TYPE_CHECKING:
    from ..index import Index

HEAVY = 2e6  # bytes of a published index above which `publish` says how there would be fewer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `publish`."""
    parser.add_argument(
        "site", metavar="SITE", help="a new or empty folder, or one that you published before"
    )
    add_index(parser)
    parser.add_argument(
        "--links",
        metavar="FILE",
        help="a CSV or JSON file with the columns `picture` (the file's name), `title`, `link`, `set` and "
        "`licence` (default: as you published them before)",
    )
    parser.add_argument(
        "--title", metavar="TEXT", help="name of the collection (default: as you published it before)"
    )
    parser.add_argument(
        "--iiif",
        metavar="ADDRESS",
        help="where the site will be, such as https://example.org/icons/: also write a IIIF "
        "manifest of the pictures",
    )
    parser.add_argument(
        "--originals",
        action=argparse.BooleanOptionalAction,
        help="also publish the SVG files, for visitors to copy (default: if you published them before)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """`publish`."""
    from ..index import Index

    how = {"iiif": args.iiif, "originals": args.originals}
    return publish_index(Index.open(args.index), args.site, args.links, args.title, args.json, **how)


def publish_index(
    index: Index,
    site: str,
    links: str | None = None,
    title: str = "",
    as_json: bool = False,
    *,
    iiif: str | None = None,
    originals: bool | None = None,
) -> int:
    """Publish an index, and say how large the site is."""
    from pathlib import Path

    from ..progress import shown
    from ..shape.settings import Settings
    from ..sources.files import printable
    from ..web.publish import publish

    with shown(sys.stderr) as progress:
        report = publish(
            index,
            Path(site),
            links=Path(links) if links else None,
            title=title,
            iiif=iiif,
            originals=originals,
            progress=progress,
        )
    if unused := report["unused_labels"]:
        some = ", ".join(map(printable, unused[:5])) + ", ..." * (len(unused) > 5)
        where = f"in {links}" if links else "that had titles or links here"
        say(f"sketchseek: Of the pictures {where}, {len(unused):,} are not in the index: {some}")
    _say_what_is_kept(report["kept"])
    if as_json:
        print(json.dumps(report))
        return 0
    sizes, preset = report["bytes"], index.config.preset
    large = report["large"]
    if sizes["index"] > HEAVY and preset != "compact" and not large:
        share = Settings.preset("compact").dimensions / Settings.preset(preset).dimensions
        say(
            "sketchseek: The index is what a visitor waits for. One made of the same pictures by "
            "`sketchseek index PICTURES --index ANOTHER --preset compact` would be of about "
            f"{sizes['index'] * share / 1e6:.1f} MB."
        )
    first = sizes["index"] + (sizes["icons"] if large else 0)
    rest = "what a search needs by range requests, and " if large else ""
    print(
        f"{report['site']}: {report['pictures']:,} pictures. A visitor loads {first / 1e6:.2f} MB "
        f"of index, {rest}those of {sizes['thumbnails'] / 1e6:.2f} MB of thumbnails that are shown."
    )
    return 0


def _say_what_is_kept(kept: dict[str, Any]) -> None:
    """What is published again without being asked for, and how it would not be."""
    if kept["labels"]:
        say(
            f"sketchseek: {kept['labels']:,} pictures keep the titles, links, sets and licences that were "
            "published here before. --links FILE gives others."
        )
    if kept["originals"]:
        say("sketchseek: The SVG files are published again, as before. --no-originals leaves them out.")
