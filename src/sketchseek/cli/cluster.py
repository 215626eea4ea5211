"""`sketchseek cluster`: what a Ray cluster serves."""

from __future__ import annotations

import argparse
import json

from .arguments import add_cluster, add_index
from .on_cluster import index_on_cluster
from .output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `cluster`."""
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    q = actions.add_parser("status", help="show the nodes, and the shards of every index")
    q.add_argument("--cluster", default="auto", metavar="ADDRESS", help="default: auto")
    q.add_argument("--json", action="store_true", help="print one JSON document")
    q = actions.add_parser("restart", help="restart the shards of an index, one after the other")
    add_index(q)
    add_cluster(q, default="auto")


def run(args: argparse.Namespace) -> int:
    """`cluster`."""
    from ..cluster.connection import connect
    from ..cluster.status import lines, status

    if args.action == "restart":
        with index_on_cluster(args) as index:
            index.fleet.restart()
        say("Every shard has a new process.")
        return 0
    with connect(args.cluster):
        found = status()
    for line in [json.dumps(found)] if args.json else lines(found):
        print(line)
    return 0
