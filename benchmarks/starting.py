"""What starting the program costs, in processor time: the table of docs/explanation/performance.md.

    python benchmarks/starting.py

Each command runs in a process of its own, twenty times, on an index of 10,000 made-up pictures with a dozen
windows each. What NumPy and onnxruntime alone cost says how busy the machine was.
"""

from __future__ import annotations

import sys

import numpy as np

from sketchseek.contours.synthetic import random_curves
from sketchseek.evaluation.bench_cold import cold, measured
from sketchseek.shape.descriptor import describe

SHAPES = 50


def main() -> None:
    """A line for each way to start."""
    curves = [random_curves(number) for number in range(SHAPES)]

    def silent(_: str) -> None:
        pass

    print("| start | pictures | ms, median | ms, least |\n|---|---|---|---|")
    rows = [
        measured(f"import {name}", [sys.executable, "-c", f"import {name}"], 0, silent)
        for name in ("numpy", "onnxruntime")
    ]
    rows += cold(lambda settings: np.stack([describe(c, settings) for c in curves]), "precise", silent)
    for row in rows:
        print(f"| {row['start']} | {row['pictures']:,} | {row['ms']:.0f} | {row['least_ms']:.0f} |")


if __name__ == "__main__":
    main()
