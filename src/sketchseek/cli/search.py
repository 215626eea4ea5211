"""`sketchseek search`: find the pictures that contain a drawing."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from .arguments import (
    add_cluster,
    add_device,
    add_index,
    box,
    cluster_options,
    natural,
    positive,
    said,
    turn,
    weight,
)
from .output import say, write_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `search`."""
    parser.add_argument(
        "sketch",
        metavar="SKETCH",
        nargs="?",
        help="a picture, an SVG or a JSON file of strokes; - reads standard input; not needed with --words",
    )
    parser.add_argument(
        "--words",
        type=said,
        metavar="TEXT",
        help="what you look for, in words, with the drawing or without it; compared with what "
        "pictures show and with names of files and folders",
    )
    add_index(parser)
    add_device(parser)
    add_cluster(parser)
    parser.add_argument("-k", type=positive, default=20, metavar="K", help="number of hits (default: 20)")
    parser.add_argument(
        "--expand", type=natural, metavar="N", help="search again with the first N hits; 0: do not"
    )
    parser.add_argument(
        "--blend",
        type=weight,
        metavar="W",
        help="weight of what the drawing shows, next to its shape: from 0 (shape only) to 5",
    )
    parser.add_argument(
        "--box",
        type=box,
        metavar="X0,Y0,X1,Y1",
        help="search with this part of SKETCH only, in its pixels",
    )
    parser.add_argument(
        "--not",
        dest="rejected",
        action="append",
        default=[],
        metavar="PICTURE",
        help="a wrong hit: leave this picture out, and rank similar ones lower; may be repeated",
    )
    parser.add_argument(
        "--no-mirror", dest="mirror", action="store_false", help="do not look for the mirrored drawing"
    )
    parser.add_argument(
        "--turn",
        type=turn,
        metavar="DEGREES|any",
        help="also look for the drawing turned by up to DEGREES either way, or by any angle; 0: "
        "upright only (default: turned if nothing fits upright)",
    )
    parser.add_argument(
        "--method",
        choices=("exhaustive", "projections", "dpf"),
        help="how to rank (default: exhaustive, which is exact; projections in very large indexes)",
    )
    parser.add_argument(
        "--shortlist", type=natural, metavar="S", help="pictures to re-rank (projections, dpf); 0: none"
    )
    parser.add_argument(
        "--rerank",
        choices=("exact", "binary", "local", "binary-all", "local-all"),
        help="how to rank the shortlist (projections, dpf; default: exact)",
    )
    parser.add_argument(
        "--neighborhood", type=positive, metavar="N", help="for binary and local (default: 3)"
    )
    parser.add_argument("--threads", type=positive, metavar="N", help="default: one per core")
    parser.add_argument(
        "--html", metavar="FILE", help="write an HTML page of the hits, with the outline on each"
    )
    parser.add_argument(
        "--no-pictures", dest="pictures", action="store_false", help="do not show pictures in the terminal"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--verbose", action="store_true", help="print how long each step took")


def run(args: argparse.Namespace) -> int:
    """`search`."""
    clock = Clock()
    if args.sketch is None and args.words is None:
        args.wrong("give a SKETCH, --words, or both")
    if args.sketch is None and args.box is not None:
        args.wrong("--box is a part of a SKETCH")
    cluster_options(args)
    from ..index import Index

    clock.lap("imports")
    sketch = None if args.sketch is None else _read_sketch(args.sketch, args.box)
    clock.lap("drawing")
    if args.cluster is not None:
        from .on_cluster import index_on_cluster

        with index_on_cluster(args) as spread:
            return _search(args, clock, sketch, spread)
    return _search(args, clock, sketch, Index.open(args.index, device=args.device))


def _search(args: argparse.Namespace, clock: Clock, sketch: Any, index: Any) -> int:
    clock.lap("open index")
    started = time.perf_counter()
    hits = index.search(
        sketch,
        args.k,
        expand=args.expand,
        blend=args.blend,
        words=args.words,
        rejected=[index.identify(picture) for picture in args.rejected],
        mirror=args.mirror,
        turn=args.turn,
        method=args.method,
        shortlist=args.shortlist,
        rerank=args.rerank,
        neighborhood=args.neighborhood,
        threads=args.threads,
    )
    took = time.perf_counter() - started
    clock.lap("search")
    if args.html:
        from ..search.html import page

        write_file(args.html, page(sketch, hits, len(index), args.words).encode())
        clock.lap("html")
    if args.json:
        document: dict[str, Any] = {
            "sketch": args.sketch if args.sketch in ("-", None) else os.path.abspath(args.sketch),
            "words": args.words,
            "pictures": len(index),
            "method": args.method or index.method,
            "took_ms": round(1000 * took, 2),
            "present": hits.present,
            "first_page": hits.first_page,
            "verdict": hits.verdict,
            "covered": hits.covered,
            "note": hits.note,
            "hits": [hit.to_dict() for hit in hits],
        }
        if args.verbose:
            document["timing_ms"] = clock.laps
        print(json.dumps(document))
    else:
        from ..search.terminal import print_hits

        print_hits(hits, sys.stdout, pictures=args.pictures)
        if args.verbose:
            say("  ".join(f"{name} {ms:.0f} ms" for name, ms in clock.laps.items()))
    if hits.note is not None:
        say(hits.note)
    if hits.covered < 1:
        say(f"Only {hits.covered:.0%} of the collection answered in time.")
    if not hits:
        say("The index is empty." if len(index) == 0 else "Nothing was found.")
    elif not args.json:
        say(f"{hits.verdict}.")
    return 0


def _read_sketch(name: str, box: tuple[float, ...] | None = None) -> Any:
    from ..contours.drawing import Sketch
    from ..sources.limits import MAX_BYTES

    if name != "-":
        return Sketch.load(name, box=box)
    return Sketch.load(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input", box=box)


class Clock:
    """Milliseconds of each part of a command; `start` is what the interpreter computed before."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()
        self.laps["start"] = round(1000 * time.process_time(), 1)

    def lap(self, name: str) -> None:
        """The part that ends now."""
        now = time.perf_counter()
        self.laps[name] = round(1000 * (now - self._last), 1)
        self._last = now
