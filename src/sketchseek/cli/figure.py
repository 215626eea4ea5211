"""`sketchseek figure`: redraw a figure of the paper or of the documentation."""

from __future__ import annotations

import argparse

from ..errors import SketchseekError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `figure`."""
    parser.add_argument("name", metavar="NAME", help="name of the figure; an unknown name lists all")
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="its ending says the format: .png, .svg, .pdf"
    )


def run(args: argparse.Namespace) -> int:
    """`figure`."""
    from ..evaluation.figures import draw, names

    if args.name not in names():
        raise SketchseekError(f"There is no figure {args.name!r}; choose one of {', '.join(names())}.")
    draw(args.name, args.out)
    return 0
