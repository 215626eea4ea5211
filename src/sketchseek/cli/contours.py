"""`sketchseek contours`: the contour points of a picture or a drawing."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `contours`."""
    parser.add_argument("picture", metavar="PICTURE")
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="a .png to look at, or an .npz of arrays"
    )
    parser.add_argument(
        "--detector", default="neural", metavar="NAME", help="neural (default), structured:FILE or canny"
    )


def run(args: argparse.Namespace) -> int:
    """`contours`."""
    from ..contours.detectors import get_detector
    from ..contours.panels import save_contours

    save_contours(args.picture, args.out, get_detector(args.detector))
    return 0
