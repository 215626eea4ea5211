"""What a stored vector and a query must share: frequencies, weights, scales, steps of the codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..contours.points import FRAME
from ..maps.components import frequency_of, per_component

Floats = NDArray[np.float32]
Codes = NDArray[np.int8]
RADIANS = np.pi / FRAME
"""The maps' unit: a frame's 400 pixels are pi."""
PRESETS = {"compact": (5, 2), "precise": (6, 3), "full": (8, 3)}
"""Frequencies of the spatial and the orientation map, as the paper writes them: (|Omega_x|, |Omega_phi|)."""
DEFAULT_PRESET = "precise"
"""It finds more than `compact` on every development set (docs/research/results.md), for 2.5 times as much."""
SCALES = (1.0, 0.8, 0.6)
SIGMA = 0.20  # of the kernel at full size, in radians; it shrinks with the scale: .20, .16, .12
ORIENTATION_SIGMA = (
    0.5  # on the doubled angle; the paper's is .8. Chosen on the dev sets: docs/research/results.md
)
ORIENTATION_CONSTANT = 0.5
"""Share kept of the orientation map's constant component, the contours' mass whatever their direction."""
SPATIAL_CONSTANT = 0.75
"""The same of the spatial map's, their mass wherever they are: large in every picture, it tells little."""
MAX_TRANSLATION = 80.0
TRANSLATION_STEP = 20.0
PAPER = {"orientation_sigma": 0.8, "orientation_constant": 1.0, "spatial_constant": 1.0}
"""What `Settings.fit` takes to be the paper's."""

FULL, X, Y = 0, 1, 2
"""Last axis of `norms`: the whole vector, its x-projection, its y-projection."""


@dataclass(frozen=True)
class Settings:
    """Everything that gave the vectors and that a query must share with them. Immutable, comparable, JSON.

    frequencies : (nx,) spatial frequencies in radians, ascending, the first 0.
    weights : (S, nx) query-side weights, one row a kernel.
    orientation_frequencies, orientation_weights : (no,), the same for the doubled angle.
    scales : (S,) sizes of the query, each matched with the kernel of the same row.
    code_scales : (nx, nx, no) steps of the one-byte code, relative; equal for the cosine and the sine of a
        frequency, because a translation mixes them.
    max_translation, translation_step : pixels at full size; the range grows and the step shrinks with scale.
    """

    frequencies: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    orientation_frequencies: tuple[float, ...]
    orientation_weights: tuple[float, ...]
    scales: tuple[float, ...]
    code_scales: tuple[tuple[tuple[float, ...], ...], ...]
    max_translation: float = MAX_TRANSLATION
    translation_step: float = TRANSLATION_STEP

    @classmethod
    def preset(cls, name: str = DEFAULT_PRESET) -> Settings:
        """One of `PRESETS`, with the paper's three scales."""
        if name not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}")
        return cls.fit(*PRESETS[name])

    @classmethod
    def paper(cls, name: str = "compact") -> Settings:
        """One of `PRESETS` to the paper's letter: its orientation kernel, its maps with whole constants."""
        return cls.fit(*PRESETS[name], **PAPER)

    @staticmethod
    @lru_cache(maxsize=32)
    def fit(
        n_frequencies: int,
        n_orientations: int,
        scales: tuple[float, ...] = SCALES,
        *,
        sigma: float = SIGMA,
        orientation_sigma: float = ORIENTATION_SIGMA,
        orientation_constant: float = ORIENTATION_CONSTANT,
        spatial_constant: float = SPATIAL_CONSTANT,
    ) -> Settings:
        """Settings of any size: a joint map of one kernel of width `scale * sigma` a scale, on [0, pi]."""
        from ..kernels import RBF
        from ..maps import JointMap
        from ..maps.presets import orientation_map

        maps = JointMap([RBF(sigma * scale) for scale in scales], n_frequencies, np.pi).fit()
        frequencies, weights = maps.frequencies_, maps.weights_
        orientation = orientation_map(n_orientations, orientation_sigma)
        return Settings(
            frequencies=_floats(frequencies),
            weights=tuple(_floats(row) for row in with_constant(weights, spatial_constant)),
            orientation_frequencies=_floats(orientation.frequencies_),
            orientation_weights=_floats(with_constant(orientation.weights_, orientation_constant)),
            scales=tuple(scales),
            code_scales=_code_scales(frequencies, orientation.frequencies_),
        )

    def with_scales(self, scales: Sequence[float], sigma: float = SIGMA) -> Settings:
        """The same vectors searched at other scales: kernels' weights solved on the same frequencies."""
        from ..kernels import RBF
        from ..maps.optimization import Targets

        targets = Targets([RBF(sigma * scale) for scale in scales], np.pi)
        weights, _ = targets.best_weights(np.asarray(self.frequencies))
        kept = with_constant(weights, SPATIAL_CONSTANT)
        return replace(self, scales=_floats(scales), weights=tuple(_floats(row) for row in kept))

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """(Dx, Dx, Do): the axes of a vector."""
        dx = 2 * len(self.frequencies) - 1
        return dx, dx, 2 * len(self.orientation_frequencies) - 1

    @property
    def dimensions(self) -> int:
        """D, the components of a vector."""
        return int(np.prod(self.shape))

    @cached_property
    def component_weights(self) -> Floats:
        """(S, D): the query side's weight of each component, kernel by kernel (`map_asym1`)."""
        o = per_component(self.orientation_weights)
        rows = [np.einsum("i,j,k->ijk", x, x, o).ravel() for x in map(per_component, self.weights)]
        return np.stack(rows).astype(np.float32)

    @cached_property
    def projection_weights(self) -> Floats:
        """(S, Dx * Do): the same for a projection, which leaves the other axis' constant component out."""
        o = per_component(self.orientation_weights)
        return np.stack([np.outer(x, o).ravel() for x in map(per_component, self.weights)]).astype(np.float32)

    @cached_property
    def component_scales(self) -> Floats:
        """(D,): the one-byte code's step of each component."""
        steps = np.asarray(self.code_scales, np.float32)
        for axis in range(3):
            steps = np.take(steps, frequency_of(steps.shape[axis]), axis=axis)
        return steps.ravel()

    @cached_property
    def norm_weights(self) -> NDArray[np.float64]:
        """(D, S, 3): what the squared components are multiplied with to give the squared norms."""
        out = np.zeros((*self.shape, len(self.scales), 3))
        o = per_component(self.orientation_weights)
        for i, x in enumerate(map(per_component, self.weights)):
            out[..., i, FULL] = np.einsum("i,j,k->ijk", x, x, o)
            out[:, 0, :, i, X] = out[0, :, :, i, Y] = np.outer(x, o)
        return out.reshape(self.dimensions, len(self.scales), 3)

    def to_json(self) -> dict[str, Any]:
        """As plain lists and numbers; `from_json` gives an equal object back."""
        return json.loads(json.dumps(asdict(self)))  # type: ignore[no-any-return]

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Settings:
        """The inverse of `to_json`."""
        return cls(**{name: _frozen(value) for name, value in document.items()})


def with_constant(weights: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """The weights of a map's frequencies, the constant's lowered: (..., n), frequency 0 first."""
    return weights * np.where(np.arange(weights.shape[-1]) > 0, 1.0, share)


def _code_scales(
    frequencies: NDArray[np.float64], orientations: NDArray[np.float64]
) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Steps that fall with the frequencies like the square root of what natural contours have there.

    Finer than that, one component of a rare picture takes the whole range; coarser, most codes are small.
    """
    x, y = np.meshgrid(np.square(frequencies), np.square(frequencies), indexing="ij")
    plane = ((1 + x) * (1 + y) * (1 + x + y)) ** -0.15
    steps = plane[:, :, None] * (1 + np.square(orientations)) ** -0.3
    steps[0, 0, 0] = 1.5  # the sum of all weights: always the largest, and needed least exactly
    return tuple(tuple(_floats(row) for row in rows) for rows in np.round(steps, 6))


def _floats(values: ArrayLike) -> tuple[float, ...]:
    return tuple(float(v) for v in np.asarray(values).ravel())


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list) else value
