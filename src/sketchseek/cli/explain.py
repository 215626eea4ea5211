"""`sketchseek explain`: why a picture matches a drawing, or why not."""

from __future__ import annotations

import argparse
import json
import os

from ..errors import SketchseekError
from .arguments import add_index
from .output import write_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `explain`."""
    parser.add_argument("sketch", metavar="SKETCH", help="a bitmap, an SVG or a JSON file of strokes")
    parser.add_argument("picture", metavar="PICTURE", help="any picture; it need not be in the index")
    add_index(parser)
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="a .png of the contours, the drawing on them, and the score of every place",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """`explain`."""
    from ..contours.drawing import Sketch
    from ..index import explained
    from ..search.explanation_image import explained_png, plainly, sentence

    if not args.out.lower().endswith(".png"):
        raise SketchseekError(f"An explanation is written to a .png, not to {os.path.basename(args.out)}.")
    sketch = Sketch.load(args.sketch)
    explanation, seen = explained(sketch, args.picture, args.index)
    write_file(args.out, explained_png(explanation, seen.picture.pixels, seen.points))
    if args.json:
        hit = explanation.hit.to_dict()
        del hit["rank"], hit["id"], hit["confidence"]
        known = {"coverage": round(explanation.coverage, 4), "network": explanation.network}
        print(json.dumps({"sketch": os.path.abspath(args.sketch), **hit, **known}))
    else:
        print(plainly(explanation))
        print(sentence(explanation))
    return 0
