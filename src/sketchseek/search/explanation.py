"""Why a picture matched a drawing, or did not: where it fits best, and which of its lines met what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .candidates import drawn_for
from .hit import Hit
from .options import Options
from .search import search

if TYPE_CHECKING:
    from ..contours.drawing import Sketch
    from .state import SearchState

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Explanation:
    """How a drawing fits one picture.

    hit : where it fits best, with its score and confidence.
    met : (n, 2) points of the drawing where they lie in the picture, in its pixels; support : (n,) in [0, 1],
        how much of the picture's contours each met, beside the point that met most.
    coverage : in [0, 1], 1 where all of the drawing is there alike.
    surface : (T, T) the cosine over translations along x and y, at the hit's own scale and mirror; d : (T,)
        the translations along each, in pixels of the window's frame of 400.
    network : the cosine of what drawing and picture depict; None where no network was asked.
    patches : (m, 5) x0, y0, x1, y1 of each patch of the picture, in its pixels, that a patch of the drawing
        met by its network's tokens, and their cosine; None where there are no tokens.
    """

    hit: Hit
    met: NDArray[np.float32]
    support: Floats
    coverage: float
    surface: Floats
    d: Floats
    network: float | None
    patches: NDArray[np.float32] | None = None


def explain(
    state: SearchState,
    sketch: Sketch,
    number: int = 0,
    *,
    mirror: bool = True,
    network: float | None = None,
    patches: NDArray[np.float32] | None = None,
) -> Explanation:
    """Explain one picture of a search state, by its number.

    mirror : also look for the mirrored drawing. network : the cosine of the drawing's and the picture's
    descriptors, if they are known. patches : those of its tokens that met, (m, 5), in widths and heights of
    the picture.
    """
    options = Options(len(state), mirror=mirror, expand=0, blend=0.0)
    hit = next(hit for hit in search(state, sketch, options) if hit.id == state.id(number))
    meeting = state.core.meet(drawn_for(state, sketch.points, options), number)
    points = sketch.points.take(meeting["sampled"])
    support = np.maximum(meeting["support"].astype(np.float64), 0)
    d = meeting["d"]
    return Explanation(
        hit=hit,
        met=hit.pose.to_pixels(np.stack([points.x, points.y], axis=1), (hit.width, hit.height)),
        support=support / max(float(support.max(initial=0.0)), 1e-9),
        coverage=meeting["coverage"],
        surface=meeting["surface"].reshape(len(d), len(d)),
        d=d,
        network=network,
        patches=None if patches is None else patches * (hit.width, hit.height, hit.width, hit.height, 1),
    )
