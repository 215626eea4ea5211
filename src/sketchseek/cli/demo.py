"""`sketchseek demo`: the demo pictures, indexed and served."""

from __future__ import annotations

import argparse

from .arguments import add_address
from .publish import publish_index


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `demo`."""
    add_address(parser)
    parser.add_argument(
        "--no-serve", dest="serve", action="store_false", help="stop after printing one example search"
    )
    parser.add_argument("--publish", metavar="SITE", help="write the demo as a static site instead")


def run(args: argparse.Namespace) -> int:
    """`demo`."""
    from ..demo import demo, demo_index

    if args.publish:
        return publish_index(demo_index(published=True), args.publish, title="Photographs and icons")
    demo(args.serve, args.host, args.port, args.token)
    return 0
