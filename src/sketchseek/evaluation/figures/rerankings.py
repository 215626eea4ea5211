"""Accuracy of approximate re-ranking against the neighbourhood that is refined (exp_triplet, right)."""

from __future__ import annotations

from pathlib import Path

from ...shape.settings import Settings
from ..ablations import SAMPLE, Curves, development_sets, rerankings
from . import curves


def draw(out: Path) -> None:
    """Measure on the development sets, and draw."""
    sets = [e.sample(SAMPLE) for e in development_sets()]
    plot({e.data.name: rerankings(e, Settings.preset()) for e in sets}, out)


def plot(measured: dict[str, Curves], out: Path) -> None:
    """A panel a set."""
    curves(measured, "neighbourhood, N x N", out)
