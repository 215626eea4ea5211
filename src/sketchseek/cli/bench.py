"""`sketchseek bench`: the speed of every method and its peers."""

from __future__ import annotations

import argparse
import json

from .arguments import positive
from .output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bench`."""
    parser.add_argument(
        "--pictures", type=positive, default=100_000, metavar="N", help="how many (default: %(default)s)"
    )
    parser.add_argument(
        "--preset", default="compact", choices=("compact", "precise", "full"), help="default: %(default)s"
    )
    parser.add_argument(
        "--threads", type=positive, default=1, metavar="N", help="how many (default: %(default)s)"
    )
    parser.add_argument(
        "--device",
        choices=("cpu", "cuda"),
        default="cpu",
        help="cuda: the exact search on a graphics processor",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")


def run(args: argparse.Namespace) -> int:
    """`bench`."""
    from ..evaluation.bench import format_table, run_bench, run_bench_on_gpu

    if args.device == "cuda":
        document = run_bench_on_gpu(args.pictures, args.preset, say)
        print(json.dumps(document, indent=None if args.json else 2))
        return 0
    document = run_bench(args.pictures, args.preset, args.threads, say)
    print(json.dumps(document) if args.json else format_table(document))
    return 0
