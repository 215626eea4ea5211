"""`sketchseek check`: look for damage in an index, and repair it."""

from __future__ import annotations

import argparse
import json

from .arguments import add_index, positive
from .output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `check`."""
    add_index(parser)
    parser.add_argument("--repair", action="store_true", help="repair what is damaged, from the pictures")
    parser.add_argument("--jobs", type=positive, metavar="N", help="worker processes (default: one per core)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """`check`."""
    from ..indexing.repair import check
    from ..sources.files import printable

    found = check(args.index, repair=args.repair, jobs=args.jobs)
    if args.json:
        print(json.dumps(found.to_dict()))
    for sentence in found.sentences():
        say(f"  {printable(sentence)}")
    if not found.problems:
        say(f"All is well: {found.pictures:,} pictures.")
    elif found.repaired:
        say(f"Repaired: {found.pictures:,} pictures.")
    else:
        say("`sketchseek check --repair` brings back what can be, from the pictures.")
    return 0 if found.repaired or not found.problems else 1
