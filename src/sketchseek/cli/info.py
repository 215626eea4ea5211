"""`sketchseek info`: what is in an index."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from .arguments import add_index


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `info`."""
    add_index(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """`info`."""
    from ..index import Index

    info = Index.open(args.index).info()
    print(json.dumps(info) if args.json else as_text(info))
    return 0


def as_text(info: Mapping[str, Any]) -> str:
    """What `Index.info` says, for people."""
    from ..sources.files import printable

    pictures = f"{info['pictures']:,}"
    if info["failed"]:
        pictures += f", and {info['failed']:,} that could not be read"
    lines = {
        "index": printable(info["location"]),
        "pictures": pictures,
        "on disk": f"{info['bytes'] / 1e6:,.1f} MB",
        "preset": info["preset"],
        "edges by": info["detector"],
        "finds": f"things down to {info['min_object_size']:g} of a picture, by {info['windows']:,} windows",
        "depicts by": info["expansion"] or "nothing: shapes alone",
        "version": info["version"],
    }
    if info["successor"]:
        lines["depicts by"] += f"; {info['successor']['name']} has seen {info['successor']['pictures']:,}"
    if info["stronger"]:
        lines["stronger"] = f"`{info['stronger']}`"
    return "\n".join(f"{name:11} {value}" for name, value in lines.items())
