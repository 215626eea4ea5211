"""`sketchseek index`: bring an index in step with folders of pictures."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import Any

from .. import system
from ..errors import SketchseekError
from .arguments import add_index, positive
from .output import say

WATCH_RETRY_S = 3600.0  # between two tries to read what the machine failed to read, while watching


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `index`."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="folder or picture (default: the folders of all earlier runs)",
    )
    add_index(parser)
    parser.add_argument(
        "--preset",
        choices=("compact", "precise", "full"),
        help="how finely a new index stores shapes (default: precise)",
    )
    parser.add_argument(
        "--detector",
        metavar="NAME",
        help="what finds edges, for a new index: neural (default), canny or structured:FILE",
    )
    parser.add_argument(
        "--min-object-size",
        "--smallest",
        type=float,
        metavar="F",
        help="find things down to this share of a picture's longer side: .6, .3 (default) or .2; "
        "smaller takes more room",
    )
    parser.add_argument("--jobs", type=positive, metavar="N", help="worker processes (default: one per core)")
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="run the networks on the processor or on a graphics card (default: cpu)",
    )
    parser.add_argument(
        "--expansion",
        nargs="?",
        metavar="NAME",
        help="also store what pictures show, as the network NAME sees it (default if the extra "
        "`expansion` is installed)",
    )
    parser.add_argument("--no-expansion", dest="expansion", action="store_false", help="store shapes only")
    parser.add_argument(
        "--tokens",
        action=argparse.BooleanOptionalAction,
        help="also store what is where in each picture (4 KB), which finds the very one that was drawn "
        "(default: as --expansion)",
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out names that match PATTERN; may be repeated",
    )
    parser.add_argument(
        "--forget-missing", action="store_true", help="also forget the pictures of a PATH that is missing"
    )
    parser.add_argument(
        "--cluster", metavar="ADDRESS", help="read pictures on a Ray cluster: HOST:PORT, auto, or local"
    )
    parser.add_argument(
        "--watch", action="store_true", help="keep running, and update the index when pictures change"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """`index`."""
    if args.cluster is None:
        return _index(args)
    from ..cluster.connection import connect

    with connect(args.cluster):
        from ..cluster.listing import ClusterListings
        from ..cluster.workers import ClusterWorkers

        return _index(args, workers=ClusterWorkers, listings=ClusterListings(args.jobs))


def _index(args: argparse.Namespace, **elsewhere: Any) -> int:
    """elsewhere : `workers` and `listings` of `Index.add`."""
    from ..index import Index
    from ..progress import shown
    from ..shape.settings import DEFAULT_PRESET
    from ..shape.windows import MIN_OBJECT_SIZE
    from ..storage.location import Location

    system.end_politely()  # and commit what is finished
    location = Location(args.index)
    if location.exists():
        index = Index.open(args.index, repair=True)
        _check_same(index, args)
        if args.expansion:
            index.enable_expansion(args.expansion)
        index.keep_tokens(args.tokens)
        if args.min_object_size:
            index.set_min_object_size(args.min_object_size)
    else:
        if not args.paths:
            raise SketchseekError(
                f"There is not an index in {location} yet: name the folders of your pictures."
            )
        _check_pictures(args.paths, args.exclude)
        index = Index.create(
            args.index,
            args.preset or DEFAULT_PRESET,
            detector=args.detector or "neural",
            expansion=_expansion_of_new(args.expansion),
            min_object_size=args.min_object_size or MIN_OBJECT_SIZE,
            tokens=args.tokens is not False,
        )
    retried = float("-inf")
    try:
        while True:
            retry = time.monotonic() - retried >= WATCH_RETRY_S
            retried = time.monotonic() if retry else retried
            with shown(sys.stderr) as progress:
                report = index.add(
                    args.paths or None,
                    jobs=args.jobs,
                    exclude=args.exclude,
                    forget_missing=args.forget_missing,
                    retry=retry,
                    device=args.device,
                    progress=progress,
                    **elsewhere,
                )
            if args.json:
                print(json.dumps(report.to_dict()), flush=True)
            _say_report(report, len(index), quiet=args.watch)
            if report.interrupted or not args.watch:
                nothing = bool(args.paths) and len(report.empty) == len(set(args.paths))
                nothing = nothing or not (len(index) or report.forgotten)
                return 1 if (report.interrupted or nothing) and not args.watch else 0
            time.sleep(max(2.0, 20 * report.looking))  # looking takes at most a twentieth of the time
    except KeyboardInterrupt:
        if args.watch:
            return 0  # that is how watching ends
        raise


def _check_same(index: Any, args: argparse.Namespace) -> None:
    """Refuse options that the index was not made with."""
    for option, present in (("preset", index.config.preset), ("detector", index.config.detector)):
        wanted = getattr(args, option)
        if option == "detector" and wanted and wanted.startswith("structured:"):
            from ..contours.detectors import get_detector

            wanted = get_detector(wanted).name  # with the whole path
        if wanted not in (None, present):
            raise SketchseekError(
                f"The index in {index.location} was made with --{option} {present}, not {wanted}: leave the "
                "option out, or name another --index folder."
            )
    if args.expansion is False and index.config.expansion is not None:
        raise SketchseekError(
            f"The index in {index.location} holds embeddings of what pictures depict: leave --no-expansion "
            "out, or name another --index folder."
        )


def _check_pictures(paths: Sequence[str], exclude: Sequence[str]) -> None:
    """Refuse paths without a picture before an index is made for them."""
    from ..indexing.walk import absolute, walk
    from ..sources import is_remote
    from ..sources.files import printable

    if any(map(is_remote, paths)):
        return  # asked once, by the run itself
    seen = walk([absolute(path) for path in paths], exclude, only_first=True)
    if seen.files:
        return
    for path in seen.missing:
        raise SketchseekError(f"There is no file or folder {printable(os.fsdecode(path))}.")
    for path, reason in seen.unseen.items():
        raise SketchseekError(f"Cannot look into {printable(os.fsdecode(path))}: {reason}.")
    names = " or ".join(printable(os.fsdecode(path)) for path in seen.empty)
    raise SketchseekError(f"There is no picture in {names}: no index was made.")


def _expansion_of_new(wanted: str | bool | None) -> str | bool:
    """What a new index keeps of what pictures depict: as asked for, else whatever can be had."""
    from ..networks.graph import MISSING_EXTRA, has_extra

    if wanted is None and not has_extra():
        say(f"The index will know shapes alone, which finds less. {MISSING_EXTRA}")
    return has_extra() if wanted is None else wanted


def _say_report(report: Any, pictures: int, quiet: bool) -> None:
    from ..sources.files import printable

    changed = report.added or report.refreshed or report.moved or report.forgotten
    changed = changed or report.expanded or report.described
    if quiet and not changed and not report.interrupted:
        return
    for sentence in report.repaired:
        say(f"  repaired: {printable(sentence)}")
    for folder, count in report.followed:
        say(f"  {printable(folder)} is not there any more: {count:,} of its pictures were found elsewhere")
    for picture, reason in report.failed[:20]:
        say(f"  could not read {printable(picture)}: {reason}")
    if len(report.failed) > 20:
        say(f"  and {len(report.failed) - 20:,} more; --json lists them all")
    for path in report.empty:
        say(f"  there is no picture in {printable(path)}")
    for path, reason in report.kept:
        say(f"  kept what is known under {printable(path)}: {reason}")
    if any(reason.endswith(("not there.", "any more.")) for _, reason in report.kept):
        say("  (--forget-missing forgets it)")
    counts = [
        (report.added, "added"),
        (report.refreshed, "refreshed"),
        (report.expanded, "described again"),
        (report.described, "given windows"),
        (report.moved, "moved"),
        (report.forgotten, "forgotten"),
        (report.unchanged, "unchanged"),
        (len(report.failed), "unreadable"),
    ]
    words = ", ".join(f"{n:,} {word}" for n, word in counts if n) or "no pictures found"
    say(f"{words}; {pictures:,} in the index, {report.seconds:.1f} s.")
    if report.succession:
        say(report.succession)
    if report.interrupted:
        say("Interrupted: what was finished is kept; run it again to go on.")
