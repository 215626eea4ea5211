"""Fitted maps that come with the package, so that they take no time and no SciPy.

`python -m sketchseek.maps.shipped` solves them anew and writes `shipped.json`; a test compares.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ..kernels import RBF, Array, Kernel
from .optimization import Targets, fit

FILE = Path(__file__).with_name("shipped.json")
SPATIAL_SIGMAS = (0.12, 0.16, 0.20)
ORIENTATION_SIGMAS = (0.5, 0.8)


def joint(kernels: tuple[Kernel, ...], n_frequencies: int, domain: float) -> tuple[Array, Array] | None:
    """Frequencies and weights of a `JointMap`, if they are shipped."""
    return _find("joint", kernels, n_frequencies, domain)


def harmonic(kernels: tuple[Kernel, ...], n_frequencies: int, domain: float) -> tuple[Array, Array] | None:
    """Frequencies and best weights of a `HarmonicMap`, if they are shipped."""
    return _find("harmonic", kernels, n_frequencies, domain)


def _find(kind: str, kernels: tuple[Kernel, ...], n: int, domain: float) -> tuple[Array, Array] | None:
    if not math.isclose(domain, math.pi, rel_tol=1e-6):  # 3.14159 is meant to be pi
        return None
    # Kernels come in any order, and 0.8 * 0.20 is not quite 0.16.
    sigmas = [round(kernel.sigma, 9) for kernel in kernels if type(kernel) is RBF]
    entry = _table().get((kind, tuple(sorted(sigmas)), n))
    if entry is None or len(sigmas) != len(kernels):
        return None
    frequencies, weights = entry
    return frequencies.copy(), weights[np.argsort(np.argsort(sigmas))]


@lru_cache(maxsize=1)
def _table() -> dict[tuple[str, tuple[float, ...], int], tuple[Array, Array]]:
    return {
        (entry["kind"], tuple(entry["sigmas"]), len(entry["frequencies"])): (
            np.array(entry["frequencies"]),
            np.array(entry["weights"]),
        )
        for entry in json.loads(FILE.read_text())
    }


def solve() -> list[dict[str, Any]]:
    """All entries of the file, from the linear programs."""
    entries = []
    for n in range(1, 13):
        frequencies, weights = fit(tuple(RBF(sigma) for sigma in SPATIAL_SIGMAS), n, math.pi)
        entries.append(_entry("joint", SPATIAL_SIGMAS, frequencies, weights))
    for sigma in ORIENTATION_SIGMAS:
        for n in (2, 3):
            frequencies = np.arange(float(n))
            weights = np.round(Targets([RBF(sigma)], math.pi).best_weights(frequencies)[0], 9)
            entries.append(_entry("harmonic", (sigma,), frequencies, weights))
    return entries


def _entry(kind: str, sigmas: tuple[float, ...], frequencies: Array, weights: Array) -> dict[str, Any]:
    return {
        "kind": kind,
        "sigmas": list(sigmas),
        "frequencies": [round(w, 9) for w in frequencies.tolist()],
        "weights": weights.tolist(),
    }


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(entry) for entry in solve())
    FILE.write_text(f"[\n{lines}\n]\n")
