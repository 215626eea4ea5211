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
from sketchseek.evaluation.datasets import data_folder
from sketchseek.evaluation.metrics import box_iou
from sketchseek.evaluation.planted import Planted, plant
from sketchseek.search.options import Options
from sketchseek.search.search import find, search
from sketchseek.search.state import PictureContours, state_of
from sketchseek.shape.settings import Settings
from sketchseek.sources.picture import load_picture

STRENGTHS = (0.0, 0.2, 0.4, 0.6, 0.8)


@dataclass(frozen=True)
class Outcome:
    """Of so many shapes: how many pictures came first, by strength of the local normalisation; boxes' IoU."""

    shapes: int
    first: dict[float, int]
    overlaps: np.ndarray


def planted(
    detector: str = "neural", blur: float = 0.0, shapes: int = 100, others: int = 300
) -> tuple[list[Planted], list[PictureContours]]:
    """Shapes planted in the first photos of `sysu`, and the contours of all photos, those first."""
    import cv2

    place = data_folder()
    if place is None:
        sys.exit("The development sets are not there: set SKETCHSEEK_DATA.")
    photos = sorted((place / "sysu" / "photos").rglob("*.jpg"))[: shapes + others]
    rng = np.random.default_rng(0)
    detect = get_detector(detector)
    found, contours = [], []
    for number, path in enumerate(photos):
        pixels = load_picture(path).pixels
        if number < shapes:
            found.append(plant(pixels, rng, blur))
            pixels = found[-1].pixels
        elif blur:
            pixels = cv2.GaussianBlur(pixels, (0, 0), blur)
        contours.append(PictureContours.whole(strength_to_points(detect(pixels)), pixels))
    return found, contours


def measure(shapes: list[Planted], contours: list[PictureContours], settings: Settings) -> Outcome:
    """Search for each shape among all."""
    state = state_of(contours, settings)
    first = dict.fromkeys(STRENGTHS, 0)
    overlaps = []
    for number, shape in enumerate(shapes):
        for strength in STRENGTHS:
            options = Options(len(state), local_normalization=strength)
            first[strength] += int(find(state, shape.sketch, options, place=False).pictures[0] == number)
        hit = next(hit for hit in search(state, shape.sketch, options) if hit.id == str(number))
        overlaps.append(float(box_iou(shape.box, [hit.box])[0]))
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
