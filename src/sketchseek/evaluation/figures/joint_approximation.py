"""Three kernels approximated with the same seven frequencies: harmonic, naive and joint (jointapprox)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ...kernels import RBF
from ...maps import FeatureMap, HarmonicMap, JointMap, LowDimensionalMap
from . import new_figure, save

SIGMAS = (0.12, 0.16, 0.20)
N_FREQUENCIES = 7


def approximations() -> dict[str, FeatureMap]:
    """The maps that the figure compares, by the paper's names for them."""
    kernels = [RBF(sigma) for sigma in SIGMAS]
    maps: dict[str, FeatureMap] = {
        "Fourier": HarmonicMap(kernels, N_FREQUENCIES),
        "naive": LowDimensionalMap(kernels, N_FREQUENCIES),
        "joint": JointMap(kernels, N_FREQUENCIES),
    }
    return {name: feature_map.fit() for name, feature_map in maps.items()}


def draw(out: Path) -> None:
    """Write the figure. Each curve is scaled to 1 at its maximum, as in the paper."""
    figure = new_figure(figsize=(11, 3.2))
    panels = figure.subplots(1, len(SIGMAS), sharey=True)
    maps = approximations()
    # Colours that a colour-blind reader can tell apart, and a dash each for print.
    styles = {
        "Fourier": ("#e69f00", (0, (1, 1))),
        "naive": ("#009e73", (0, (4, 2))),
        "joint": ("#d55e00", "-"),
    }
    d = np.linspace(0.0, math.pi, 1001)
    for i, (sigma, panel) in enumerate(zip(SIGMAS, panels, strict=True)):
        panel.plot(d, RBF(sigma)(d), color="#0072b2", linewidth=3, alpha=0.45, label=r"$k(\lambda)$")
        for name, (color, dash) in styles.items():
            signature = maps[name].signature(d, i)
            panel.plot(
                d,
                signature / np.abs(signature).max(),
                color=color,
                linestyle=dash,
                linewidth=1.4,
                label=rf"$\hat{{k}}(\lambda)$, {name}",
            )
        panel.set_title(rf"$\sigma = {sigma:.2f}$")
        panel.set_xlabel(r"$\lambda$")
        panel.set_xticks(
            [j * math.pi / 4 for j in range(5)],
            ["0", r"$\frac{\pi}{4}$", r"$\frac{\pi}{2}$", r"$\frac{3\pi}{4}$", r"$\pi$"],
        )
        panel.set_xlim(-0.05, 3.2)
        panel.set_ylim(-0.28, 1.15)
        panel.grid(alpha=0.3)
    panels[0].legend(fontsize="small")
    save(figure, out)
