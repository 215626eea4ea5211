"""Where in a picture the squared norm of its vector comes from.

Under the square root of the kernel, V is a smoothed picture of its contours, and by Parseval's theorem the
norm is that picture's energy (docs/explanation/clutter.md). Here it is summed in 8 x 8 cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchseek.contours.points import FRAME
from sketchseek.maps.components import columns, per_component
from sketchseek.shape.descriptor import decode
from sketchseek.shape.settings import Floats, Settings

CELLS = 8
SAMPLES = 3
"""Samples of the energy a cell, along each axis: it has twice the frequencies of the vector."""


def energy_cells(vectors: NDArray[Any], settings: Settings) -> Floats:
    """Where the squared norm of each vector comes from: (n, D) -> (n, CELLS, CELLS) of sum 1, x first.

    The cells tile one period of the maps, centred on the picture's centre. The middle kernel stands for all.
    A blank picture has zeros.
    """
    cube = vectors.reshape(len(vectors), *settings.shape)
    if cube.dtype == np.int8:
        cube = decode(vectors, settings).reshape(cube.shape)
    along = columns(samples(settings), settings.frequencies) * roots(settings)
    energy = np.zeros((len(cube), len(along), len(along)), np.float32)
    for component, weight in enumerate(orientation_weights(settings)):
        smooth = along @ cube[..., component] @ along.T
        energy += weight * smooth * smooth
    cells = energy.reshape(-1, CELLS, SAMPLES, CELLS, SAMPLES).sum(axis=(2, 4))
    total = cells.sum(axis=(1, 2), keepdims=True)
    shares: Floats = np.divide(cells, total, out=np.zeros_like(cells), where=total > 0)
    return shares


def roots(settings: Settings) -> Floats:
    """(Dx,): the square root of the middle kernel, a weight for each component along x or y.

    Its coefficients' squares are the kernel's; a cosine's mean square is a half.
    """
    weights = np.asarray(settings.weights[len(settings.weights) // 2])
    squares = weights * np.where(np.arange(len(weights)) > 0, 2.0, 1.0)
    return per_component(np.sqrt(squares)).astype(np.float32)


def orientation_weights(settings: Settings) -> Floats:
    """(Do,): what the energy of each orientation component counts."""
    return per_component(settings.orientation_weights).astype(np.float32)


def period(settings: Settings) -> float:
    """Pixels after which the maps come round, nearly: the joint frequencies are close to multiples of one."""
    return 2 * FRAME / settings.frequencies[1]


def samples(settings: Settings) -> Floats:
    """Middles of CELLS * SAMPLES stretches of one period, in radians."""
    n = CELLS * SAMPLES
    middles = (np.arange(n) + 0.5) / n - 0.5
    return (middles * period(settings) * np.pi / FRAME).astype(np.float32)
