"""The command line: words in, words out. Everything heavy is imported by the command that needs it."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from .. import __version__, system
from ..arguments import box, natural, port, positive, said, seconds, turn, weight
from ..errors import (
    AddressError,
    DamagedError,
    NoEmbeddingError,
    NoIndexError,
    OtherPlaceError,
    SketchseekError,
)

if TYPE_CHECKING:
    from ..index import Index

Command = Callable[[argparse.Namespace], int]
_ADVICE: dict[type[SketchseekError], str] = {
    NoIndexError: "Make one with `sketchseek index FOLDER`, or name another with --index.",
    OtherPlaceError: "Name another place with --index.",
    DamagedError: "`sketchseek check --repair` makes it whole again from the pictures.",
    NoEmbeddingError: "Add descriptors with `sketchseek index --expansion FOLDER`, or search by shape alone "
    "with --expand 0 --blend 0.",
    AddressError: "Choose another with --host or --port.",
}
"""What a person at the command line can do about an error."""
HEAVY = 2e6  # bytes of a published index above which `publish` says how there would be fewer
WATCH_RETRY_S = 3600.0  # between two tries to read what the machine failed to read, while watching


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0 done, 1 could not do it, 2 wrong usage."""
    _forgiving_streams()
    # The engine has threads of its own; NumPy's products here are small, and its threads would wait busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = _unambiguous(sys.argv[1:] if arguments is None else arguments)
    args = build_parser(words).parse_args(words)
    try:
        run: Command = args.run
        return run(args)
    except SketchseekError as error:
        say(f"sketchseek: {error} {_ADVICE.get(type(error), '')}".rstrip())
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader of our output has left; so may we
    except KeyboardInterrupt:
        say("\nsketchseek: Interrupted.")
    except MemoryError:
        say("sketchseek: There is not enough memory for that.")
    return 1


def say(text: str) -> None:
    """A message for the person, on stderr."""
    print(text, file=sys.stderr, flush=True)


def build_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Every command with its options."""
    parser = argparse.ArgumentParser(
        prog="sketchseek",
        description="Draw a shape, get back the pictures that contain it, with the outline where it was "
        "found.",
    )
    parser.add_argument("--version", action="version", version=f"sketchseek {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Command, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        added.set_defaults(run=run, wrong=added.error)
        return added

    p = command("index", run_index, "add new pictures, read changed ones again, forget those that are gone")
    p.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="folder or picture (default: the folders of all earlier runs)",
    )
    _add_index(p)
    p.add_argument(
        "--preset",
        choices=("compact", "precise", "full"),
        help="how finely a new index stores shapes (default: precise)",
    )
    p.add_argument(
        "--detector",
        metavar="NAME",
        help="what finds edges, for a new index: neural (default), canny or structured:FILE",
    )
    p.add_argument(
        "--min-object-size",
        "--smallest",
        type=float,
        metavar="F",
        help="find things down to this share of a picture's longer side: .6, .3 (default) or .2; "
        "smaller takes more room",
    )
    p.add_argument("--jobs", type=positive, metavar="N", help="worker processes (default: one per core)")
    p.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="run the networks on the processor or on a graphics card (default: cpu)",
    )
    p.add_argument(
        "--expansion",
        nargs="?",
        metavar="NAME",
        help="also store what pictures show, as the network NAME sees it (default if the extra "
        "`expansion` is installed)",
    )
    p.add_argument("--no-expansion", dest="expansion", action="store_false", help="store shapes only")
    p.add_argument(
        "--tokens",
        action=argparse.BooleanOptionalAction,
        help="also store what is where in pictures, 4 KB each, which finds the very one that was drawn; the "
        "default where what they depict is stored",
    )
    p.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave out names that match PATTERN; may be repeated",
    )
    p.add_argument(
        "--forget-missing", action="store_true", help="also forget the pictures of a PATH that is missing"
    )
    p.add_argument(
        "--cluster", metavar="ADDRESS", help="read pictures on a Ray cluster: HOST:PORT, auto, or local"
    )
    p.add_argument(
        "--watch", action="store_true", help="keep running, and update the index when pictures change"
    )
    p.add_argument("--json", action="store_true", help="print one JSON document")

    p = command("search", run_search, "find the pictures that contain a drawing")
    p.add_argument(
        "sketch",
        metavar="SKETCH",
        nargs="?",
        help="a picture, an SVG or a JSON file of strokes; - reads standard input; not needed with --words",
    )
    p.add_argument(
        "--words",
        type=said,
        metavar="TEXT",
        help="what you look for, in words, with the drawing or without it; compared with what "
        "pictures show and with names of files and folders",
    )
    _add_index(p)
    _add_device(p)
    _add_cluster(p)
    p.add_argument("-k", type=positive, default=20, metavar="K", help="number of hits (default: 20)")
    p.add_argument(
        "--expand", type=natural, metavar="N", help="search again with the first N hits; 0: do not"
    )
    p.add_argument(
        "--blend",
        type=weight,
        metavar="W",
        help="weight of what the drawing shows, next to its shape: from 0 (shape only) to 5",
    )
    p.add_argument(
        "--box",
        type=box,
        metavar="X0,Y0,X1,Y1",
        help="search with this part of SKETCH only, in its pixels",
    )
    p.add_argument(
        "--not",
        dest="rejected",
        action="append",
        default=[],
        metavar="PICTURE",
        help="a wrong hit: leave this picture out, and rank similar ones lower; may be repeated",
    )
    p.add_argument(
        "--no-mirror", dest="mirror", action="store_false", help="do not look for the mirrored drawing"
    )
    p.add_argument(
        "--turn",
        type=turn,
        metavar="DEGREES|any",
        help="also look for the drawing turned by up to DEGREES either way, or by any angle; 0: "
        "upright only (default: turned if nothing fits upright)",
    )
    p.add_argument(
        "--method",
        choices=("exhaustive", "projections", "dpf"),
        help="how to rank (default: exhaustive, which is exact; projections in very large indexes)",
    )
    p.add_argument(
        "--shortlist", type=natural, metavar="S", help="pictures to re-rank (projections, dpf); 0: none"
    )
    p.add_argument(
        "--rerank",
        choices=("exact", "binary", "local", "binary-all", "local-all"),
        help="how to rank the shortlist (projections, dpf; default: exact)",
    )
    p.add_argument("--neighborhood", type=positive, metavar="N", help="for binary and local (default: 3)")
    p.add_argument("--threads", type=positive, metavar="N", help="default: one a core")
    p.add_argument("--html", metavar="FILE", help="write an HTML page of the hits, with the outline on each")
    p.add_argument(
        "--no-pictures", dest="pictures", action="store_false", help="do not show pictures in the terminal"
    )
    p.add_argument("--json", action="store_true", help="print one JSON document")
    p.add_argument("--verbose", action="store_true", help="print how long each step took")

    p = command("remove", run_remove, "remove pictures from the index; the files stay")
    p.add_argument("paths", nargs="+", metavar="PATH")
    _add_index(p)
    p.add_argument("--json", action="store_true", help="print one JSON document")

    p = command("check", run_check, "check the whole index for damage")
    _add_index(p)
    p.add_argument("--repair", action="store_true", help="repair what is damaged, from the pictures")
    p.add_argument("--jobs", type=positive, metavar="N", help="worker processes (default: one a core)")
    p.add_argument("--json", action="store_true", help="print one JSON document")

    p = command("info", run_info, "show what is in the index")
    _add_index(p)
    p.add_argument("--json", action="store_true", help="print one JSON document")

    p = command("serve", run_serve, "serve a page to draw on")
    _add_index(p)
    _add_address(p)
    _add_device(p)
    _add_cluster(p)
    p.add_argument("--log", metavar="FILE", help="append a line of JSON per request to FILE")
    p.add_argument(
        "--verbose",
        dest="log",
        action="store_const",
        const="-",
        help="write these lines to standard error instead",
    )
    p.add_argument(
        "--prefix",
        default="",
        metavar="PATH",
        help="behind a proxy: the path at which visitors see the server",
    )
    p.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="HOST",
        help="behind a proxy: a host name that visitors use; may be repeated",
    )
    p.add_argument(
        "--proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="behind a proxy: its address or network, whose X-Forwarded-* headers are trusted; "
        "may be repeated",
    )

    p = command(
        "mcp",
        run_mcp,
        "serve the index to agents, by the Model Context Protocol on standard input and output",
    )
    _add_index(p)
    _add_device(p)

    p = command("demo", run_demo, "index the demo pictures and serve a page to draw on")
    _add_address(p)
    p.add_argument(
        "--no-serve", dest="serve", action="store_false", help="stop after printing one example search"
    )
    p.add_argument("--publish", metavar="SITE", help="write the demo as a static site instead")

    p = command("publish", run_publish, "write a static site that searches the index in the browser")
    p.add_argument("site", metavar="SITE", help="a new or empty folder, or one that you published before")
    _add_index(p)
    p.add_argument(
        "--links",
        metavar="FILE",
        help="a CSV or JSON file with the columns `picture` (the file's name), `title` and `link`",
    )
    p.add_argument(
        "--title", metavar="TEXT", help="name of the collection (default: as you published it before)"
    )
    p.add_argument(
        "--iiif",
        metavar="ADDRESS",
        help="where the site will be, such as https://example.org/icons/: also write a IIIF "
        "manifest of the pictures",
    )
    p.add_argument("--json", action="store_true", help="print one JSON document")

    p = command("cluster", run_cluster, "show what a Ray cluster serves, or restart it piece by piece")
    actions = p.add_subparsers(metavar="ACTION", required=True, dest="action")
    q = actions.add_parser("status", help="show the nodes, and the shards of every index")
    q.add_argument("--cluster", default="auto", metavar="ADDRESS", help="default: auto")
    q.add_argument("--json", action="store_true", help="print one JSON document")
    q = actions.add_parser("restart", help="restart the shards of an index, one after the other")
    _add_index(q)
    _add_cluster(q, default="auto")

    p = command("network", run_network, "list, add or remove networks that see what pictures show")
    actions = p.add_subparsers(metavar="ACTION", required=True, dest="action")
    q = actions.add_parser("list", help="list the networks, and which of them are installed")
    q.add_argument("--json", action="store_true", help="print one JSON document")
    q = actions.add_parser("add", help="get a network from its authors, or from a file")
    q.add_argument("name", metavar="NAME", help="dinov2")
    q.add_argument("file", nargs="?", metavar="FILE", help=".pth, .safetensors or .onnx")
    q = actions.add_parser("remove", help="delete a network that you added")
    q.add_argument("name", metavar="NAME")

    p = command("contours", run_contours, "show what the program sees in a picture or drawing")
    p.add_argument("picture", metavar="PICTURE")
    p.add_argument("--out", required=True, metavar="FILE", help="a .png to look at, or an .npz of arrays")
    p.add_argument(
        "--detector", default="neural", metavar="NAME", help="neural (default), structured:FILE or canny"
    )

    p = command("explain", run_explain, "show why a picture matches a drawing, or why not")
    p.add_argument("sketch", metavar="SKETCH", help="a bitmap, an SVG or a JSON file of strokes")
    p.add_argument("picture", metavar="PICTURE", help="any picture; it need not be in the index")
    _add_index(p)
    p.add_argument("--out", required=True, metavar="FILE", help=".png: contours, the drawing, the score")
    p.add_argument("--json", action="store_true", help="print one JSON document")

    p = command("evaluate", run_evaluate, "measure retrieval on an annotated folder")
    if _asked_for(arguments, "evaluate"):
        from ..evaluation.command import add_arguments as add_evaluation

        add_evaluation(p)

    p = command("bench", run_bench, "measure the speed of every method and its peers")
    if _asked_for(arguments, "bench"):
        from ..evaluation.bench import add_arguments as add_bench

        add_bench(p)

    p = command("figure", run_figure, "redraw a figure of the paper or of the documentation")
    p.add_argument("name", metavar="NAME", help="name of the figure; an unknown name lists all")
    p.add_argument("--out", required=True, metavar="FILE")

    p = command("completion", run_completion, "print a script that lets your shell complete commands")
    p.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def run_index(args: argparse.Namespace) -> int:
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


def run_search(args: argparse.Namespace) -> int:
    """`search`."""
    clock = Clock()
    if args.sketch is None and args.words is None:
        args.wrong("give a SKETCH, --words, or both")
    if args.sketch is None and args.box is not None:
        args.wrong("--box is a part of a SKETCH")
    _cluster_options(args)
    from ..index import Index

    clock.lap("imports")
    sketch = None if args.sketch is None else _read_sketch(args.sketch, args.box)
    clock.lap("drawing")
    if args.cluster is not None:
        with _on_cluster(args) as spread:
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

        _write(args.html, page(sketch, hits, len(index), args.words).encode())
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


def run_remove(args: argparse.Namespace) -> int:
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


def run_check(args: argparse.Namespace) -> int:
    """`check`."""
    from ..indexing.repair import check
    from ..search.html import printable

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


def run_info(args: argparse.Namespace) -> int:
    """`info`."""
    from ..index import Index

    info = Index.open(args.index).info()
    if args.json:
        print(json.dumps(info))
    else:
        from ..search.terminal import print_info

        print_info(info, sys.stdout)
    return 0


def run_serve(args: argparse.Namespace) -> int:
    """`serve`."""
    from ..server import serve

    _cluster_options(args)
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
        with _on_cluster(args, follow=True) as index:
            serving(opened=index)
    return 0


def run_cluster(args: argparse.Namespace) -> int:
    """`cluster`."""
    from ..cluster.connection import connect
    from ..cluster.status import lines, status

    if args.action == "restart":
        with _on_cluster(args) as index:
            index.fleet.restart()
        say("Every shard has a new process.")
        return 0
    with connect(args.cluster):
        found = status()
    for line in [json.dumps(found)] if args.json else lines(found):
        print(line)
    return 0


def _cluster_options(args: argparse.Namespace) -> dict[str, Any]:
    """What was said of how to spread an index; refused where it is not spread."""
    given = {name: getattr(args, name) for name in ("shards", "replicas", "deadline")}
    given = {name: value for name, value in given.items() if value is not None}
    if given and args.cluster is None:
        raise SketchseekError(
            f"--{next(iter(given))} is for an index on a cluster: leave it out, or add --cluster ADDRESS."
        )
    return given


@contextmanager
def _on_cluster(args: argparse.Namespace, follow: bool = False) -> Iterator[Any]:
    """The index on the shards of a cluster, as the options say."""
    from ..cluster.connection import connect
    from ..cluster.fleet import ClusterOptions
    from ..storage.location import Location, no_index

    location = Location(args.index)
    if not location.exists():
        raise no_index(location)
    options = ClusterOptions(device=getattr(args, "device", "cpu"), **_cluster_options(args))
    with connect(args.cluster):
        from ..cluster.index import ClusterIndex

        with ClusterIndex.spread(args.index, options, follow=follow) as index:
            yield index


def run_mcp(args: argparse.Namespace) -> int:
    """`mcp`."""
    from ..agents import serve_agents

    serve_agents(args.index, args.device)
    return 0


def run_demo(args: argparse.Namespace) -> int:
    """`demo`."""
    from ..demo import demo, demo_index

    if args.publish:
        return _publish(demo_index(published=True), args.publish, title="Photographs and icons")
    demo(args.serve, args.host, args.port, args.token)
    return 0


def run_publish(args: argparse.Namespace) -> int:
    """`publish`."""
    from ..index import Index

    return _publish(Index.open(args.index), args.site, args.links, args.title, args.json, iiif=args.iiif)


def _publish(
    index: Index,
    site: str,
    links: str | None = None,
    title: str = "",
    as_json: bool = False,
    *,
    iiif: str | None = None,
) -> int:
    from pathlib import Path

    from ..progress import shown
    from ..search.html import printable
    from ..shape.settings import Settings
    from ..web.publish import publish

    with shown(sys.stderr) as progress:
        report = publish(
            index, Path(site), links=Path(links) if links else None, title=title, iiif=iiif, progress=progress
        )
    if unused := report["unused_labels"]:
        some = ", ".join(map(printable, unused[:5])) + ", ..." * (len(unused) > 5)
        say(f"sketchseek: Of the pictures in {links}, {len(unused):,} are not in the index: {some}")
    if as_json:
        print(json.dumps(report))
        return 0
    sizes, preset = report["bytes"], index.config.preset
    if sizes["index"] > HEAVY and preset != "compact":
        share = Settings.preset("compact").dimensions / Settings.preset(preset).dimensions
        say(
            "sketchseek: The index is what a visitor waits for. One made of the same pictures by "
            "`sketchseek index PICTURES --index ANOTHER --preset compact` would be of about "
            f"{sizes['index'] * share / 1e6:.1f} MB."
        )
    print(
        f"{report['site']}: {report['pictures']:,} pictures. A visitor loads {sizes['index'] / 1e6:.2f} MB "
        f"of index, and those of {sizes['thumbnails'] / 1e6:.2f} MB of thumbnails that are shown."
    )
    return 0


def run_network(args: argparse.Namespace) -> int:
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


def run_contours(args: argparse.Namespace) -> int:
    """`contours`."""
    from ..contours.detectors import get_detector
    from ..contours.panels import save_contours

    save_contours(args.picture, args.out, get_detector(args.detector))
    return 0


def run_explain(args: argparse.Namespace) -> int:
    """`explain`."""
    from ..contours.drawing import Sketch
    from ..index import explained
    from ..search.explanation_image import explained_png, plainly, sentence

    if not args.out.lower().endswith(".png"):
        raise SketchseekError(f"An explanation is written to a .png, not to {os.path.basename(args.out)}.")
    sketch = Sketch.load(args.sketch)
    explanation, seen = explained(sketch, args.picture, args.index)
    _write(args.out, explained_png(explanation, seen.picture.pixels, seen.points))
    if args.json:
        hit = explanation.hit.to_dict()
        del hit["rank"], hit["id"], hit["confidence"]
        known = {"coverage": round(explanation.coverage, 4), "network": explanation.network}
        print(json.dumps({"sketch": os.path.abspath(args.sketch), **hit, **known}))
    else:
        print(plainly(explanation))
        print(sentence(explanation))
    return 0


def _write(path: str, content: bytes) -> None:
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        raise SketchseekError(f"Cannot write {path}: {error.strerror or error}.") from None


def run_evaluate(args: argparse.Namespace) -> int:
    """`evaluate`."""
    from ..evaluation.command import run

    return run(args) or 0


def run_bench(args: argparse.Namespace) -> int:
    """`bench`."""
    from ..evaluation.bench import run

    return run(args) or 0


def run_figure(args: argparse.Namespace) -> int:
    """`figure`."""
    from ..evaluation.figures import draw, names

    if args.name not in names():
        raise SketchseekError(f"There is no figure {args.name!r}; choose one of {', '.join(names())}.")
    draw(args.name, args.out)
    return 0


def run_completion(args: argparse.Namespace) -> int:
    """`completion`."""
    from .completion import script

    print(script(build_parser(["completion"]), args.shell), end="")
    return 0


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


def _add_index(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--index",
        default=os.environ.get("SKETCHSEEK_INDEX") or ".sketchseek",
        metavar="DIR",
        help="the index: a folder or an object-store address (default: $SKETCHSEEK_INDEX, then "
        ".sketchseek here)",
    )


def _add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where to search: auto takes a graphics card for a large index, if there is one",
    )


def _add_cluster(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    parser.add_argument(
        "--cluster",
        default=default,
        metavar="ADDRESS",
        help="search on a Ray cluster: HOST:PORT, auto (the cluster of this machine) or local "
        "(start one here)",
    )
    parser.add_argument(
        "--shards", type=positive, metavar="N", help="number of parts of the index (default: one per node)"
    )
    parser.add_argument(
        "--replicas", type=positive, metavar="N", help="number of copies of each part (default: 1)"
    )
    parser.add_argument(
        "--deadline",
        type=seconds,
        metavar="S",
        help="answer after S seconds, without the parts that are late (default: 2)",
    )


def _add_address(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument("--port", type=port, default=8000, help="default: 8000")
    parser.add_argument("--token", type=_token, help="the word that visitors must bring")


def _names_network(word: str) -> bool:
    """Whether a word after `--expansion` is the name of one, or can't be anything else but a wrong one."""
    from ..embeddings.encoders import is_encoder

    if is_encoder(word):
        return True
    return bool(word) and not (word.startswith("-") or os.sep in word or os.path.lexists(word))


def _unambiguous(arguments: Sequence[str]) -> list[str]:
    """The same words, as argparse understands them.

    `--expansion` before a path or nothing gets the usual network's name. A `--box` that begins with a minus,
    as that of a hit at the edge may, would be taken for an option: a blank before it says that it is none.
    """
    words = list(arguments)
    for i, word in enumerate(words):
        following = words[i + 1] if i + 1 < len(words) else ""
        if word == "--expansion" and not _names_network(following):
            words[i] = "--expansion=efficientnet"
        if word == "--box" and i + 1 < len(words):
            words[i + 1] = f" {words[i + 1]}"
    return words


def _asked_for(arguments: Sequence[str], name: str) -> bool:
    """Whether the command is the one that was typed: only then are its options worth an import."""
    typed = next((word for word in arguments if not word.startswith("-")), None)
    return typed in (name, "completion")


def _token(text: str) -> str | None:
    from ..server import checked_token

    try:
        return checked_token(text)
    except SketchseekError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


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
            f"The index in {index.location} holds descriptors of what pictures depict: leave --no-expansion "
            "out, or name another --index folder."
        )


def _check_pictures(paths: Sequence[str], exclude: Sequence[str]) -> None:
    """Refuse paths without a picture before an index is made for them."""
    from ..indexing.walk import absolute, walk
    from ..search.html import printable
    from ..sources import is_remote

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


def _expansion_of_new(wanted: str | bool | None) -> str | bool:
    """What a new index keeps of what pictures depict: as asked for, else whatever can be had."""
    from ..networks.graph import MISSING_EXTRA, has_extra

    if wanted is None and not has_extra():
        say(f"The index will know shapes alone, which finds less. {MISSING_EXTRA}")
    return has_extra() if wanted is None else wanted


def _read_sketch(name: str, box: tuple[float, ...] | None = None) -> Any:
    from ..contours.drawing import Sketch
    from ..sources.limits import MAX_BYTES

    if name != "-":
        return Sketch.load(name, box=box)
    return Sketch.load(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input", box=box)


def _say_report(report: Any, pictures: int, quiet: bool) -> None:
    from ..search.html import printable

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


def _forgiving_streams() -> None:
    """A name that is no text must not end the program when it is printed."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
