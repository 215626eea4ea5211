"""`sketchseek network`: list, add or remove networks."""

from __future__ import annotations

import argparse
import json

from .output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `network`."""
    actions = parser.add_subparsers(metavar="ACTION", required=True, dest="action")
    q = actions.add_parser("list", help="list the networks, and which of them are installed")
    q.add_argument("--json", action="store_true", help="print one JSON document")
    q = actions.add_parser("add", help="get a network from its authors, or from a file")
    q.add_argument("name", metavar="NAME", help="dinov2")
    q.add_argument("file", nargs="?", metavar="FILE", help=".pth, .safetensors or .onnx")
    q = actions.add_parser("remove", help="delete a network that you added")
    q.add_argument("name", metavar="NAME")


def run(args: argparse.Namespace) -> int:
    """`network`."""
    from ..networks import catalog

    if args.action == "add":
        catalog.add(args.name, args.file, say=say)
        say(f"It is here: `sketchseek index --expansion {args.name} PATH` describes pictures with it.")
    elif args.action == "remove":
        catalog.remove(args.name)
        say(f"Removed {args.name}.")
    elif args.json:
        print(json.dumps(catalog.listing()))
    else:
        for row in catalog.listing():
            state = "here" if row["here"] else f"not here: sketchseek network add {row['name']}"
            print(f"{row['name']:12}  {row['title']}; {row['licence']} ({state})")
    return 0
