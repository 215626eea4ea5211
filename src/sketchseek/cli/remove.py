"""`sketchseek remove`: remove pictures from an index."""

from __future__ import annotations

import argparse
import json

from ..errors import SketchseekError
from .arguments import add_index
from .output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `remove`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a picture, a folder, or an address")
    add_index(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """`remove`."""
    from ..index import Index

    index = Index.open(args.index)
    count = index.remove(args.paths)
    if args.json:
        print(json.dumps({"removed": count, "pictures": len(index)}))
    if count == 0:
        raise SketchseekError("No picture in the index lies at or under that path.")
    say(f"Forgot {count:,} picture{'s' * (count != 1)}; {len(index):,} left.")
    return 0
