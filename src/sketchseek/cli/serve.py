"""`sketchseek serve`: the page to draw on, over HTTP."""

from __future__ import annotations

import argparse
import os
import shlex
from functools import partial

from ..errors import SketchseekError
from .arguments import add_address, add_cluster, add_device, add_index, cluster_options
from .output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `serve`."""
    add_index(parser)
    add_address(parser)
    add_device(parser)
    add_cluster(parser)
    parser.add_argument("--log", metavar="FILE", help="append a line of JSON per request to FILE")
    parser.add_argument(
        "--verbose",
        dest="log",
        action="store_const",
        const="-",
        help="write these lines to standard error instead",
    )
    parser.add_argument(
        "--prefix",
        default="",
        metavar="PATH",
        help="behind a proxy: the path at which visitors see the server",
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="HOST",
        help="behind a proxy: a host name that visitors use; may be repeated",
    )
    parser.add_argument(
        "--proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="behind a proxy: its address or network, whose X-Forwarded-* headers are trusted; "
        "may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """`serve`."""
    from ..server import serve

    cluster_options(args)
    _check_index(args.index)
    serving = partial(
        serve,
        args.index,
        args.host,
        args.port,
        args.token,
        log=args.log,
        prefix=args.prefix,
        names=args.name,
        proxies=args.proxy,
        device=args.device,
    )
    if args.cluster is None:
        serving()
    else:
        from .on_cluster import index_on_cluster

        with index_on_cluster(args, follow=True) as index:
            serving(opened=index)
    return 0


def _check_index(where: str) -> None:
    """Say what is wrong with an index before it is served; one that is not there yet may come later."""
    from ..index import Index
    from ..storage.location import LOCK, Location

    location = Location(where)
    if location.exists():
        note = Index.open(where).note
        if note is not None:
            say(note)
    elif os.path.isdir(location.text) and set(os.listdir(location.text)) - {LOCK}:
        here = shlex.join(["sketchseek", "index", location.text, "--index", os.path.abspath(".sketchseek")])
        raise SketchseekError(f"{location} is a folder without an index. To make one of its pictures: {here}")
    elif os.path.lexists(location.text) and not os.path.isdir(location.text):
        raise SketchseekError(f"{location} is not an index: an index is a folder.")
    else:
        say(f"There is not an index in {location} yet; the page says how to make it.")
