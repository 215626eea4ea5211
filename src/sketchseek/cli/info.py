"""`sketchseek info`: what is in an index."""

from __future__ import annotations

import argparse
import json
import sys

from .arguments import add_index


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `info`."""
    add_index(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """`info`."""
    from ..index import Index

    info = Index.open(args.index).info()
    if args.json:
        print(json.dumps(info))
    else:
        from ..search.terminal import print_info

        print_info(info, sys.stdout)
    return 0
