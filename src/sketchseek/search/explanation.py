"""Why a picture matched a drawing, or did not: where it fits best, and which of its lines met what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..shape.alignment import evaluate_2d, polynomial_2d, variants
from ..shape.descriptor import decode, norms
from ..shape.settings import FULL
from .evenness import densities, evenness, sampled
from .hit import Hit
from .ranking import refine
from .search import Options, place_hits, ranked

if TYPE_CHECKING:
    from ..contours.drawing import Sketch
    from .view import View

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Explanation:
    """How a drawing fits one picture.

    hit : where it fits best, with its score and confidence.
    met : (n, 2) points of the drawing where they lie in the picture, in its pixels; support : (n,) in [0, 1],
        how much of the picture's contours each met, beside the point that met most.
    evenness : in [0, 1], 1 where all of the drawing is there alike.
    surface : (T, T) the cosine over translations along x and y, at the hit's own scale and mirror; d : (T,)
        the translations along each, in pixels of the view's frame of 400.
    network : the cosine of what drawing and picture depict; None where nobody asked a network.
    """

    hit: Hit
    met: NDArray[np.float32]
    support: Floats
    evenness: float
    surface: Floats
    d: Floats
    network: float | None


def explain(
    view: View, sketch: Sketch, number: int = 0, *, mirror: bool = True, network: float | None = None
) -> Explanation:
    """Explain one picture of a view, by its number.

    mirror : also look for the mirrored drawing. network : the cosine of the drawing's and the picture's
    descriptors, if they are known.
    """
    collection = view.collection
    options = Options(len(view), mirror=mirror, expand=0, blend=0.0)
    answer = ranked(view, sketch, options)
    at = int(np.flatnonzero(answer.ranking.ids == number)[0])
    mine = answer.take(slice(at, at + 1))
    (hit,) = place_hits(view, sketch, mine, options)
    query, ranking = answer.query, mine.ranking
    close = refine(collection, query, ranking)  # where the outline is drawn
    support = np.maximum(densities(collection, query, close)[0].astype(np.float64), 0)
    chosen = sampled(query)
    points = np.stack([query.points.x[chosen], query.points.y[chosen]], axis=1)
    pose = int(np.flatnonzero(np.isclose(query.scales, ranking.scale[0]))[0])
    unit = next(v for p, m, v in variants(query) if p == pose and m == bool(ranking.mirrored[0]))
    stored = collection.vectors[ranking.rows]
    vector = decode(stored, view.settings) if stored.dtype == np.int8 else stored
    length = float(norms(vector, view.settings)[0, query.kernels[pose], FULL])
    d = query.translations(pose)
    surface = evaluate_2d(polynomial_2d(unit, vector, view.settings), d, d, view.settings)[0]
    return Explanation(
        hit=hit,
        met=hit.pose.to_pixels(points.astype(np.float32), (hit.width, hit.height)),
        support=support / max(float(support.max(initial=0.0)), 1e-9),
        evenness=float(evenness(collection, query, close)[0]),
        surface=surface / length if length > 0 else surface,
        d=d,
        network=network,
    )
