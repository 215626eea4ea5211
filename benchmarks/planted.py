"""Shapes planted in real photos: how often the right picture comes first, and how well the shape is placed.

    python benchmarks/planted.py --preset compact --blur 4

Photos are read from $SKETCHSEEK_DATA (see the evaluation's documentation).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

from sketchseek.clutter import reordered
from sketchseek.contours import strength_to_points
from sketchseek.contours.detectors import get_detector
from sketchseek.contours.picture import load_picture
from sketchseek.descriptor import Query, Settings, decode, describe, encode, norms
from sketchseek.evaluation.planted import box_of, overlap, plant
from sketchseek.ranking import Collection, rank, refine


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", default="compact")
    parser.add_argument("--detector", default="neural")
    parser.add_argument("--blur", type=float, default=4.0, help="of the photos, in pixels")
    parser.add_argument("--shapes", type=int, default=100)
    parser.add_argument("--others", type=int, default=300, help="photos without a shape")
    args = parser.parse_args()

    data = Path(os.environ.get("SKETCHSEEK_DATA", Path(__file__).parents[2] / "shared" / "data"))
    photos = sorted((data / "sysu" / "photos").rglob("*.jpg"))[: args.shapes + args.others]
    rng = np.random.default_rng(0)
    detector, settings = get_detector(args.detector), Settings.preset(args.preset)
    planted, vectors = [], []
    for number, path in enumerate(photos):
        pixels = load_picture(path).pixels
        if number < args.shapes:
            planted.append(plant(pixels, rng, args.blur))
            pixels = planted[-1].pixels
        elif args.blur:
            import cv2

            pixels = cv2.GaussianBlur(pixels, (0, 0), args.blur)
        vectors.append(describe(strength_to_points(detector(pixels)), settings))
    codes = encode(np.stack(vectors), settings)
    collection = Collection(codes, norms(decode(codes, settings), settings), settings)

    ranks, overlaps = [], []
    for number, shape in enumerate(planted):
        query = Query.of(shape.outline, settings)
        ranking = rank(collection, query)
        local, _ = reordered(collection, query, ranking)
        at = np.flatnonzero(ranking.ids == number)
        ranks.append((int(at[0]), int(np.flatnonzero(local.ids == number)[0])))
        hit = refine(collection, query, ranking.take(at))
        found = (float(a[0]) for a in (hit.scale, hit.dx, hit.dy))
        overlaps.append(overlap(shape.box, box_of(shape.outline, *found, shape.pixels.shape)))
    first, placed = (np.array(ranks) == 0).sum(axis=0), np.array(overlaps) >= 0.75
    print(
        f"{args.preset}, {args.detector}, blur {args.blur:g}: of {len(planted)}, "
        f"{first[0]} first by the cosine, {first[1]} by the local score, "
        f"{placed.sum()} with IoU >= .75 (mean {np.mean(overlaps):.2f}), among {len(photos)} photos"
    )


if __name__ == "__main__":
    main()
