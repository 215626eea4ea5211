"""The boundary benchmark of BSDS500: ODS, OIS and AP of an edge detector.

    python benchmarks/edges.py --detector neural --split test
    python benchmarks/edges.py --time --pictures 50     # instead: from file to points, neural against canny

Boundaries are thinned at each of 99 thresholds and matched one to one with each annotator's, within
.0075 of the picture's diagonal. A detection is right when any annotator's boundary takes it; recall
counts the boundaries of all annotators (Arbeláez et al., PAMI 2011, whose scoring this follows).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

TOLERANCE = 0.0075
THRESHOLDS = np.linspace(0.01, 0.99, 99)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def data_folder() -> Path:
    return Path(os.environ.get("SKETCHSEEK_DATA", Path(__file__).parents[2] / "shared" / "data"))


def read_annotators(path: Path) -> Bools:
    """(annotators, h, w) from a 16-bit PNG whose bit i is annotator i."""
    bits = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
    layers = [(bits >> i) & 1 for i in range(16)]
    return np.array([layer for layer in layers if layer.any()], dtype=bool)


def suppress(strength: NDArray[np.float32], radius: int = 1, slack: float = 1.01) -> NDArray[np.float32]:
    """Keep what is highest across its contour, whose direction comes from smoothed second derivatives.

    A picture's outermost pixels fade, as is usual for this benchmark.
    """
    smooth = cv2.GaussianBlur(strength, (0, 0), 2.0)
    xx, yy = cv2.Sobel(smooth, cv2.CV_32F, 2, 0), cv2.Sobel(smooth, cv2.CV_32F, 0, 2)
    xy = cv2.Sobel(smooth, cv2.CV_32F, 1, 1)
    # The normal is the axis of the stronger curvature: negative on the ridge, positive on its flanks.
    angle = 0.5 * np.arctan2(-2 * xy, yy - xx) + np.where(xx + yy > 0, np.pi / 2, 0)
    nx, ny = np.cos(angle), np.sin(angle)
    height, width = strength.shape
    x, y = np.meshgrid(np.arange(width, dtype=np.float32), np.arange(height, dtype=np.float32))
    source = cv2.GaussianBlur(strength, (0, 0), 0.7)
    kept = np.ones(strength.shape, bool)
    for step in [s for r in range(1, radius + 1) for s in (-r, r)]:
        beside = cv2.remap(
            source,
            (x + step * nx).astype(np.float32),
            (y + step * ny).astype(np.float32),
            cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_REPLICATE,
        )
        kept &= source * slack >= beside
    thin = np.where(kept, strength, 0).astype(np.float32)
    for i in range(5):
        fade = np.float32(i / 5)
        for edge in (np.s_[i, :], np.s_[-1 - i, :], np.s_[:, i], np.s_[:, -1 - i]):
            thin[edge] *= fade
    return thin


def thinned(mask: Bools) -> Bools:
    """Lines one pixel wide."""
    thin = cv2.ximgproc.thinning(mask.astype(np.uint8) * 255, thinningType=cv2.ximgproc.THINNING_GUOHALL)
    return np.asarray(thin > 0)


class Matching:
    """As many one-to-one pairs as can be of one annotator's boundary pixels and passing detections.

    Kept from threshold to threshold, and mended by augmenting paths that start at boundary pixels.
    """

    def __init__(self, drawn: Bools, detected: Bools, reach: float) -> None:
        number = np.full(detected.shape, -1)
        number[detected] = np.arange(detected.sum())
        r = int(reach)
        padded = np.pad(number, r, constant_values=-1)
        y, x = np.nonzero(drawn)
        offsets = [(v, u) for v in range(-r, r + 1) for u in range(-r, r + 1) if np.hypot(v, u) <= reach]
        offsets.sort(key=lambda offset: np.hypot(*offset))  # the nearest is tried first
        near = np.stack([padded[y + r + v, x + r + u] for v, u in offsets], axis=1)
        self._within_reach = [row[row >= 0].tolist() for row in near if (row >= 0).any()]
        self._taker = [-1] * int(detected.sum())
        self._taken = [-1] * len(self._within_reach)

    def update(self, passing: Bools) -> Bools:
        """Which detections are taken by a boundary pixel when only the `passing` ones may be."""
        may = passing.tolist()
        taker, taken = self._taker, self._taken
        for boundary, detection in enumerate(taken):
            if detection >= 0 and not may[detection]:
                taken[boundary] = taker[detection] = -1
        hopeless: set[int] = set()
        for boundary in range(len(taken)):
            if taken[boundary] < 0:
                self._augment(boundary, may, hopeless)
        return np.array(taker) >= 0

    def _augment(self, start: int, may: list[bool], hopeless: set[int]) -> None:
        """Find a free detection for `start`, moving others on; what cannot lead to one becomes hopeless."""
        taker = self._taker
        reached_from: dict[int, int] = {}
        queue = [start]
        for boundary in queue:
            for detection in self._within_reach[boundary]:
                if not may[detection] or detection in hopeless or detection in reached_from:
                    continue
                reached_from[detection] = boundary
                if taker[detection] >= 0:
                    queue.append(taker[detection])
                    continue
                self._shift(start, detection, reached_from)
                return
        hopeless.update(reached_from)

    def _shift(self, start: int, free: int, reached_from: dict[int, int]) -> None:
        """Hand the free detection back along the path that led to it."""
        while True:
            boundary = reached_from[free]
            self._taker[free] = boundary
            self._taken[boundary], free = free, self._taken[boundary]
            if boundary == start:
                return


def count_matches(thin: NDArray[np.float32], annotators: Bools, thresholds: Floats) -> NDArray[np.int64]:
    """Of one picture: (thresholds, 4) boundaries found, boundaries, detections that are right, detections."""
    reach = TOLERANCE * float(np.hypot(*thin.shape))
    every = thin >= thresholds[0]
    matchings = [Matching(drawn, every, reach) for drawn in annotators]
    counts = np.zeros((len(thresholds), 4), np.int64)
    counts[:, 1] = annotators.sum()
    for i in range(len(thresholds) - 1, -1, -1):  # so that most pairs of one threshold serve the next
        passing = thinned(thin >= thresholds[i])[every]
        taken = np.array([matching.update(passing) for matching in matchings])
        counts[i, [0, 2, 3]] = taken.sum(), taken.any(0).sum(), passing.sum()
    return counts


def rates(counts: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Recall and precision of (..., 4) counts."""
    found, drawn, right, detected = np.moveaxis(counts.astype(np.float64), -1, 0)
    return found / np.maximum(drawn, 1), right / np.maximum(detected, 1)


def f_measure(recall: Floats, precision: Floats) -> Floats:
    return 2 * recall * precision / np.maximum(recall + precision, 1e-12)


def best_f(recall: Floats, precision: Floats) -> tuple[float, float]:
    """The best F-measure along the curve, straight between neighbouring thresholds, and its threshold."""
    share = np.linspace(0, 1, 101)[:, None]
    between = f_measure(
        recall[:-1] * (1 - share) + recall[1:] * share,
        precision[:-1] * (1 - share) + precision[1:] * share,
    )
    s, i = np.unravel_index(between.argmax(), between.shape)
    step = (THRESHOLDS[-1] - THRESHOLDS[0]) / (len(recall) - 1)
    return float(between.max()), float(THRESHOLDS[0] + (i + share[s, 0]) * step)


def score(counts: NDArray[np.int64]) -> dict[str, float]:
    """ODS, OIS, AP from (pictures, thresholds, 4) counts."""
    recall, precision = rates(counts.sum(0))
    detecting = counts.sum(0)[:, 3] > 0
    ods, threshold = best_f(recall, precision)
    each = f_measure(*rates(counts)).argmax(1)
    ois_recall, ois_precision = rates(counts[np.arange(len(counts)), each].sum(0))
    order = np.argsort(recall[detecting])
    levels = np.linspace(0, 1, 101)
    r, p = recall[detecting][order], precision[detecting][order]
    area = np.interp(levels, r, p, left=0.0, right=0.0).sum() * 0.01 if len(r) else 0.0
    return {
        "ods": round(ods, 4),
        "ods_threshold": round(threshold, 3),
        "ois": round(float(f_measure(ois_recall, ois_precision)), 4),
        "ap": round(float(area), 4),
    }


def score_picture(job: tuple[Path, NDArray[np.float32], int]) -> NDArray[np.int64]:
    picture, strength, every = job
    cv2.setNumThreads(1)
    return count_matches(
        suppress(strength), read_annotators(picture.with_suffix(".png")), THRESHOLDS[::every]
    )


def evaluate(
    detect: Callable[[NDArray[np.uint8]], NDArray[np.float32]],
    pictures: list[Path],
    every: int = 1,
    jobs: int = 1,
) -> dict[str, float]:
    """Scores of a detector; `every` takes each n-th threshold only."""
    seconds, work = 0.0, []
    for path in pictures:
        pixels = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
        began = time.perf_counter()
        strength = detect(pixels)
        seconds += time.perf_counter() - began
        work.append((path, strength, every))
    if jobs == 1:
        counts = np.array([score_picture(job) for job in work])
    else:
        with ProcessPoolExecutor(jobs) as pool:
            counts = np.array(list(pool.map(score_picture, work, chunksize=4)))
    return score(counts) | {
        "pictures": len(pictures),
        "ms_a_picture": round(1000 * seconds / len(pictures), 1),
    }


def time_to_points(pictures: list[Path], names: Sequence[str] = ("neural", "canny")) -> dict[str, float]:
    """Milliseconds a picture from its file to its contour points, on one thread: the median over pictures.

    Detectors take turns on each picture, so that whatever else the machine does slows them alike.
    """
    from sketchseek.contours import picture_contours
    from sketchseek.contours.detectors import get_detector

    cv2.setNumThreads(1)
    detectors = [get_detector(name) for name in names]
    for detector in detectors:
        picture_contours(pictures[0], detector)  # what is done once is no part of it
    seconds = np.zeros((len(pictures), len(detectors)))
    for row, path in zip(seconds, pictures, strict=True):
        for i, detector in enumerate(detectors):
            began = time.perf_counter()
            picture_contours(path, detector)
            row[i] = time.perf_counter() - began
    medians = np.median(seconds, axis=0) * 1000
    return {f"{name}_ms": round(float(ms), 1) for name, ms in zip(names, medians, strict=True)}


def main() -> None:
    from sketchseek.contours.detectors import get_detector

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--detector", default="neural")
    parser.add_argument("--split", default="test")
    parser.add_argument("--pictures", type=int, help="the first of them only")
    parser.add_argument("--every", type=int, default=1, help="each n-th of the 99 thresholds only")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time", action="store_true", help="time neural and canny, from file to points")
    options = parser.parse_args()
    pictures = sorted((data_folder() / "bsds500" / options.split).glob("*.jpg"))[: options.pictures]
    if options.time:
        print(json.dumps({"pictures": len(pictures)} | time_to_points(pictures)))
        return
    detector = get_detector(options.detector)
    figures = evaluate(detector, pictures, options.every, options.jobs)
    print(json.dumps({"detector": detector.name, "version": detector.version} | figures))


if __name__ == "__main__":
    main()
