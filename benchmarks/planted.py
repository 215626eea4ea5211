"""Shapes planted in real photos: how often the right picture comes first, and how well the shape is placed.

    python benchmarks/planted.py [--preset precise] [--blur 4]

Photos are read from $SKETCHSEEK_DATA (see the evaluation's documentation).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np

from sketchseek.contours import strength_to_points
from sketchseek.contours.detectors import get_detector
from sketchseek.contours.picture import load_picture
from sketchseek.contours.points import Points
from sketchseek.evaluation.datasets import data_folder
from sketchseek.evaluation.planted import Planted, box_of, overlap, plant
from sketchseek.search.clutter import reordered
from sketchseek.search.ranking import Collection, rank, refine
from sketchseek.shape.query import Query
from sketchseek.shape.settings import Settings

STRENGTHS = (0.0, 0.2, 0.4, 0.6, 0.8)


@dataclass(frozen=True)
class Outcome:
    """Of so many shapes: how many pictures came first, by strength of the local normalisation; boxes' IoU."""

    shapes: int
    first: dict[float, int]
    overlaps: np.ndarray


def planted(
    detector: str = "neural", blur: float = 0.0, shapes: int = 100, others: int = 300
) -> tuple[list[Planted], list[Points]]:
    """Shapes planted in the first photos of `sysu`, and the contours of all photos, those first."""
    import cv2

    place = data_folder()
    if place is None:
        sys.exit("The development sets are not there: set SKETCHSEEK_DATA.")
    photos = sorted((place / "sysu" / "photos").rglob("*.jpg"))[: shapes + others]
    rng = np.random.default_rng(0)
    detect = get_detector(detector)
    found, points = [], []
    for number, path in enumerate(photos):
        pixels = load_picture(path).pixels
        if number < shapes:
            found.append(plant(pixels, rng, blur))
            pixels = found[-1].pixels
        elif blur:
            pixels = cv2.GaussianBlur(pixels, (0, 0), blur)
        points.append(strength_to_points(detect(pixels)))
    return found, points


def measure(shapes: list[Planted], points: list[Points], settings: Settings) -> Outcome:
    """Search for each shape among all."""
    collection = Collection.of(points, settings)
    first = dict.fromkeys(STRENGTHS, 0)
    overlaps = []
    for number, shape in enumerate(shapes):
        query = Query.of(shape.outline, settings)
        ranking = rank(collection, query)
        for strength in STRENGTHS:
            local, _ = reordered(collection, query, ranking, 1, strength=strength)
            first[strength] += int(local.ids[0] == number)
        hit = refine(collection, query, ranking.take(np.flatnonzero(ranking.ids == number)))
        found = (float(a[0]) for a in (hit.scale, hit.dx, hit.dy))
        overlaps.append(overlap(shape.box, box_of(shape.outline, *found, shape.pixels.shape)))
    return Outcome(len(shapes), first, np.array(overlaps))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", default="precise")
    parser.add_argument("--detector", default="neural")
    parser.add_argument("--blur", type=float, default=0.0, help="of the photos, in pixels")
    args = parser.parse_args()
    found = measure(*planted(args.detector, args.blur), Settings.preset(args.preset))
    by_strength = ", ".join(f"{count} at b = {b:g}" for b, count in found.first.items())
    print(
        f"{args.preset}, {args.detector}, blur {args.blur:g}: of {found.shapes} first: {by_strength}; "
        f"{(found.overlaps >= 0.75).sum()} with IoU >= .75 (mean {found.overlaps.mean():.2f})"
    )


if __name__ == "__main__":
    main()
