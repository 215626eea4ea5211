"""Strokes as a person draws them from memory: out of proportion, wobbly, with details left out.

An icon's own lines are no drawing of it. What is told of a collection of line art has to hold for drawings by
hand, of which there are no annotated ones for icons; these stand in for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..contours.points import FRAME

Floats = NDArray[np.float64]

STEP = 10.0
"""Pixels of the drawing's frame from one point of a pen to the next."""


def by_hand(
    strokes: Sequence[NDArray[np.floating]], rng: np.random.Generator, sloppiness: float
) -> list[Floats]:
    """Polylines (n, 2) in the frame of `Sketch` -> the same, as drawn by hand.

    sloppiness : 0 leaves them as they are, 1 is what a child does with a mouse.
    """
    lines = [_resampled(np.asarray(stroke, np.float64)) for stroke in strokes]
    lengths = np.array([_length(line) for line in lines])
    small = lengths < 0.35 * lengths.max()
    left_out = small & (rng.random(len(lines)) < 0.5 * sloppiness)
    kept = [line for line, out in zip(lines, left_out, strict=True) if not out]
    shape = _proportions(rng, sloppiness)
    wave, phase = rng.normal(0, 2.5, (3, 2, 2)) / FRAME, rng.uniform(0, 2 * np.pi, (3, 2))
    height = rng.normal(0, 0.02 * FRAME * sloppiness, (3, 2))
    drawn = []
    for line in kept:
        moved = _own_way(line, rng, sloppiness) @ shape.T
        for w, p, h in zip(wave, phase, height, strict=True):
            moved = moved + h * np.sin(moved @ w.T * 2 + p)
        drawn.append(_smooth(moved + _tremble(len(moved), rng, 6.0 * sloppiness)))
    return drawn


def _proportions(rng: np.random.Generator, sloppiness: float) -> Floats:
    """(2, 2): wider or taller than it should be, a little turned and slanted."""
    turn = np.deg2rad(rng.normal(0, 5 * sloppiness))
    wider, slant = rng.normal(0, 0.15 * sloppiness), rng.normal(0, 0.08 * sloppiness)
    cos, sin = np.cos(turn), np.sin(turn)
    stretched = np.array([[np.exp(wider / 2), slant], [0.0, np.exp(-wider / 2)]])
    shape: Floats = np.array([[cos, -sin], [sin, cos]]) @ stretched
    return shape


def _own_way(line: Floats, rng: np.random.Generator, sloppiness: float) -> Floats:
    """A stroke that begins or ends too early, and is not quite where and as large as it should be."""
    n = len(line)
    early, late = (int(n * share) for share in rng.uniform(0, 0.08 * sloppiness, 2))
    line = line[early : max(n - late, early + 2)]
    middle = line.mean(axis=0)
    size = np.exp(rng.normal(0, 0.06 * sloppiness, 2))
    moved: Floats = (line - middle) * size + middle + rng.normal(0, 0.015 * FRAME * sloppiness, 2)
    return moved


def _tremble(n: int, rng: np.random.Generator, amount: float) -> Floats:
    """(n, 2) noise that is alike from one point to the next."""
    noise = rng.normal(0, amount, (n + 8, 2))
    return np.stack([np.convolve(noise[:, i], np.ones(9) / 9, "valid") for i in range(2)], axis=1)


def _smooth(line: Floats) -> Floats:
    """Corners cut, as a quick hand does; ends stay."""
    if len(line) < 5:
        return line
    inner = (line[:-2] + 2 * line[1:-1] + line[2:]) / 4
    return np.concatenate([line[:1], inner, line[-1:]])


def _length(line: Floats) -> float:
    return float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())


def _resampled(line: Floats) -> Floats:
    """The same line with points about `STEP` pixels apart, two at least."""
    if len(line) < 2:
        return np.repeat(line[:1], 2, axis=0)
    steps = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    at = np.linspace(0, steps[-1], max(2, round(steps[-1] / STEP) + 1))
    return np.stack([np.interp(at, steps, line[:, i]) for i in range(2)], axis=1)
