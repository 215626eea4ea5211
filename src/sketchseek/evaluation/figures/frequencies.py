"""Accuracy against the number of frequencies: joint, harmonic, one map a kernel (exp_triplet, left)."""

from __future__ import annotations

from pathlib import Path

from ..ablations import SAMPLE, Curves, development_sets, frequencies
from . import curves


def draw(out: Path) -> None:
    """Measure on the development sets, and draw."""
    plot({e.data.name: frequencies(e.sample(SAMPLE)) for e in development_sets()}, out)


def plot(measured: dict[str, Curves], out: Path) -> None:
    """A panel a set."""
    curves(measured, "spatial frequencies, two of orientation", out)
