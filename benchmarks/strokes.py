"""Strokes drawn over photos: does one contour run along their middle, or two along their sides?

    python benchmarks/strokes.py --detector neural

Over each picture one random arc at a time, in one colour, of each width. Every second pixel along the arc,
the points that run its way tell: one line in the middle, both sides, something else, or nothing.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from sketchseek.contours import Points, strength_to_points
from sketchseek.contours.detectors import EdgeDetector, get_detector
from sketchseek.contours.points import fold, tangent_angle
from sketchseek.sources.picture import load_picture

WIDTHS = (1, 2, 3, 4, 6, 8, 10)
ANSWERS = ("middle", "sides", "other", "nothing")
CONTRAST = 80
"""Ink differs from the mean of the ground under it by at least so much, in some channel."""

Floats = NDArray[np.float64]


def data_folder() -> Path:
    return Path(os.environ.get("SKETCHSEEK_DATA", Path(__file__).parents[2] / "shared" / "data"))


def random_arc(width: int, height: int, random: np.random.Generator) -> Floats:
    """(n, 2): a parabola's arc inside the picture, a point every pixel or so."""
    while True:
        start, end = random.uniform(0.08, 0.92, (2, 2)) * (width, height)
        along = end - start
        bend = (start + end) / 2 + random.uniform(-0.5, 0.5) * np.array([-along[1], along[0]])
        if 100 < np.hypot(*along) < 300 and (bend > 0).all() and (bend < (width, height)).all():
            t = np.linspace(0, 1, int(1.2 * np.hypot(*along)))[:, None]
            return np.asarray((1 - t) ** 2 * start + 2 * t * (1 - t) * bend + t**2 * end)


def draw(
    pixels: NDArray[np.uint8], arc: Floats, stroke: int, random: np.random.Generator
) -> NDArray[np.uint8]:
    """The picture with the arc over it, anti-aliased: drawn at 8 times the size, then shrunk."""
    height, width = pixels.shape[:2]
    cover = np.zeros((height * 8, width * 8), np.uint8)
    cv2.polylines(cover, [np.round(arc * 8).astype(np.int32)], False, 255, stroke * 8)
    cover = cv2.resize(cover, (width, height), interpolation=cv2.INTER_AREA)
    ground = pixels[cover > 0].mean(0)
    while np.abs((ink := random.uniform(0, 255, 3)) - ground).max() < CONTRAST:
        pass
    share = cover[..., None] / 255.0
    return np.round(pixels * (1 - share) + ink * share).astype(np.uint8)


def answers_along(points: Points, arc: Floats, stroke: int) -> list[str]:
    """One of ANSWERS for every second pixel of the arc, its ends left out."""
    x, y = points.x + points.width / 2, points.y + points.height / 2
    skip = stroke + 4
    answers = []
    for i in range(skip, len(arc) - skip, 2):
        tangent = arc[i + 1] - arc[i - 1]
        tangent /= np.hypot(*tangent)
        dx, dy = x - arc[i, 0], y - arc[i, 1]
        lengthwise, across = dx * tangent[0] + dy * tangent[1], dy * tangent[0] - dx * tangent[1]
        near = (np.abs(lengthwise) < 1) & (np.abs(across) < stroke / 2 + 2)
        near &= np.abs(fold(points.angle - tangent_angle(*tangent))) < np.pi / 6
        answers.append(answer(across[near], stroke))
    return answers


def answer(across: NDArray[np.floating], stroke: int) -> str:
    """What points at these signed distances from a stroke's middle are."""
    if not len(across):
        return "nothing"
    reach = max(1.5, stroke / 4)
    if np.abs(across).max() <= reach:
        return "middle"
    sides = (across.min() < -stroke / 4, across.max() > stroke / 4)
    return "sides" if all(sides) and np.ptp(across) >= max(2.0, stroke / 2) else "other"


def measure(detect: EdgeDetector, pictures: list[Path]) -> dict[int, dict[str, float]]:
    """By width: share of the length with each answer, and of strokes with "middle" along most of it."""
    seen: dict[int, list[list[str]]] = {stroke: [] for stroke in WIDTHS}
    for number, path in enumerate(pictures):
        random = np.random.default_rng(number)
        pixels = load_picture(path).pixels
        for stroke in WIDTHS:
            arc = random_arc(pixels.shape[1], pixels.shape[0], random)
            strength = detect(draw(pixels, arc, stroke, random))
            seen[stroke].append(answers_along(strength_to_points(strength), arc, stroke))
    figures = {}
    for stroke, strokes in seen.items():
        shares = np.array([[np.mean(np.array(a) == kind) for kind in ANSWERS] for a in strokes])
        figures[stroke] = {
            kind: round(float(share), 3) for kind, share in zip(ANSWERS, shares.mean(0), strict=True)
        }
        figures[stroke]["strokes mostly middle"] = round(float((shares[:, 0] > 0.5).mean()), 3)
        figures[stroke]["strokes mostly sides"] = round(float((shares[:, 1] > 0.5).mean()), 3)
    return figures


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--detector", default="neural")
    parser.add_argument("--pictures", type=int, default=50, help="the first of BSDS500's test pictures")
    options = parser.parse_args()
    pictures = sorted((data_folder() / "bsds500" / "test").glob("*.jpg"))[: options.pictures]
    detector = get_detector(options.detector)
    for stroke, figures in measure(detector, pictures).items():
        print(json.dumps({"width": stroke} | figures))


if __name__ == "__main__":
    main()
