"""One search in NumPy, step by step: what the core (src/cpp/search/rescoring.hpp) is held to.

1. `Query.of` describes the drawing in every pose that is tried, `rank` scores the pictures, and `order` looks
   closer at the best: where the drawing lies in them, and how evenly it is there. What a network has ordered
   stays in its order.
2. `evidence` and `judging` say how likely each hit is right, and whether the thing is there at all.
3. `place_hits` finds every place of the drawing in the hits that are shown, and refines it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchseek.contours.drawing import Sketch
from sketchseek.contours.points import FRAME, Box
from sketchseek.embeddings.icons import embed_drawing
from sketchseek.search.candidates import Candidates
from sketchseek.search.confidence import model_for
from sketchseek.search.core import VERDICTS
from sketchseek.search.hit import Hit, Hits, Place, Pose
from sketchseek.search.options import Options
from sketchseek.search.ranking import Ranking, every_window, located
from sketchseek.search.search import candidates
from sketchseek.search.state import SearchState
from sketchseek.shape.engine import Ids
from sketchseek.shape.query import Query, turns

from .evidence import JUDGED, background_scores, features
from .judging import Model
from .order import order_scores, reordered
from .placing import refine, refined_pose

CANDIDATES = 500
"""How many of the best by the plain score are looked at closer."""
THOROUGH = 100
"""Of how many of the best then all windows are looked at."""
REFINED = 30
"""How many of these windows are also compared by how the drawing fits off the grid."""
FINE_TURN = 5.0
"""Degrees from one rotation to the next with which those are looked at."""
ALSO = 0.8
"""Another place in a picture is one whose score is at least this share of the best place's."""
ICON_BLEND = 3.0
"""What the icon network weighs beside shape alone, both as deviations above what is ordinary."""
ICON_UNSEEN = 0.8
"""What it says of a picture that it has not seen: this share of how far that stands out by its shape."""
LOOKS_THE_SAME = 0.9
"""From this cosine on a whole picture looks the same as the drawing, whatever the icon network says."""
APART = 0.5
"""At most this share of the smaller of two boxes may lie in the other."""


@dataclass(frozen=True)
class Steps:
    """A ranking of pictures.

    query : what was searched for. ranking : the hits, on the grid of translations.
    score : (k,) what orders the hits. evidence : (k, F), see `evidence.features`.
    confidence : (k,) in [0, 1], the chance of each to be right; falls as the score does.
    present : in [0, 1], the chance that the collection has the thing at all. first_page : that it is
        among the first ten. verdict : what is said of both.
    """

    query: Query
    ranking: Ranking
    score: NDArray[np.floating[Any]]
    evidence: NDArray[np.float64]
    confidence: NDArray[np.float64]
    present: float
    first_page: float
    verdict: str

    def take(self, which: slice) -> Steps:
        """Some of the hits."""
        names = ("score", "evidence", "confidence")
        some = {name: getattr(self, name)[which] for name in names}
        return replace(self, ranking=self.ranking.take(which), **some)


def search_by_steps(state: SearchState, sketch: Sketch, options: Options) -> Hits:
    """`search.search` of a state that has pictures."""
    shown = slice(options.offset, options.offset + options.k)
    answer = ranked(state, sketch, options)
    return Hits(
        place_hits(state, sketch, answer.take(shown), options),
        answer.present,
        answer.first_page,
        answer.verdict,
    )


def ranked(state: SearchState, sketch: Sketch, options: Options) -> Steps:
    """The best `offset + k` pictures of a state that has some."""
    shape, found = candidates(state, sketch, options)
    query = Query.of(sketch.points, state.settings, mirror=options.mirror, rotations=turns(options.degrees))
    # The same first hits are judged whatever is asked for: what is said of them does not depend on it.
    count = min(max(options.offset + options.k, JUDGED), len(shape))
    if found.pictures is None:
        query, ranking, score, shaped = _by_shape(state, query, found, options, count)
    else:
        ranking, score = located(state.collection, query, found.pictures), found.order
        shaped = score
    evidence = features(
        state.collection,
        query,
        ranking,
        order=shaped,
        is_line_art=state.is_line_art[ranking.ids],
        network_evidence=found.network_evidence,
        resemblance=resemblance_to(state, sketch) if found.resemblance else None,
    )
    likeness = None if found.network_evidence is None else found.network_evidence.likeness
    model = Model.of(model_for(found.network_evidence.name if found.network_evidence else None))
    confidence, present, first_page, verdict = model.judge(evidence, likeness)
    steps = Steps(query, ranking, score, evidence, confidence, present, first_page, VERDICTS[verdict])
    return steps.take(slice(options.offset + options.k))


def _best(state: SearchState, query: Query, rows: Ids) -> Ranking:
    """Rows, best first, the best of each picture."""
    collection = state.collection
    ids = np.unique(collection.pictures[rows])
    found = located(collection, query, ids)
    order = np.argsort(-collection.weighted(found.score, found.rows), kind="stable")
    return found.take(order)


def resemblance_to(state: SearchState, sketch: Sketch) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n,) cosines of the pictures' embeddings with the drawing's, and by how much each stands out."""
    codes = state.icon_codes.astype(np.float64)
    lengths = np.sqrt((codes**2).sum(axis=1))
    cosine = codes @ embed_drawing(sketch.strokes).astype(np.float64) / np.maximum(lengths, 1e-9)
    seen = lengths > 0
    mean, width = cosine[seen].mean(), cosine[seen].std()
    z = np.where(seen, (cosine - mean) / width, 0)
    return np.where(seen, cosine, mean), z


def _blended(
    state: SearchState, query: Query, ranking: Ranking, score: NDArray[np.float64], z: NDArray[np.float64]
) -> tuple[Ranking, NDArray[np.float64], NDArray[np.float64]]:
    """What looks the same first, then by shape and by what stands out for the icon network; both scores."""
    background = background_scores(state.collection, query)
    width, seen = max(float(background.std()), 0.02), z[ranking.ids]
    unseen = ICON_UNSEEN * (score - background.mean()) / width
    both = score + ICON_BLEND * width * np.where(seen == 0, unseen, seen)
    whole = state.collection.whole(ranking.ids) == ranking.rows
    same = whole & (ranking.score >= LOOKS_THE_SAME)
    order = np.lexsort([-np.where(same, score, both), ~same])
    return ranking.take(order), np.sort(both)[::-1], score[order]


def _by_shape(
    state: SearchState, query: Query, named: Candidates, options: Options, count: int
) -> tuple[Query, Ranking, NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
    """By what `order` says among the best by the cosine, by the cosine after those."""
    found = named.placed if named.placed is not None else _best(state, query, named.rows)
    if options.local_normalization == 0:
        return query, found.take(slice(count)), found.score[:count], found.score[:count]
    many = len(found) if named.resemblance else CANDIDATES
    first = found.take(slice(many))
    first, score = reordered(first, _order_scores(state, query, first, options))
    if options.turn:
        finer = turns(options.degrees, FINE_TURN)
        query = Query.of(query.points, query.settings, mirror=options.mirror, rotations=finer)
    if state.collection.has_windows or options.turn:
        every, by = _every_place(state, query, first.ids[:THOROUGH], options)
        best, at = every.best_of_pictures(), np.sort(np.unique(every.ids, return_index=True)[1])
        first, score = best + first.take(slice(THOROUGH, None)), np.concatenate([by[at], score[THOROUGH:]])
    if named.resemblance:
        z = named.resemblance.at(np.arange(len(state))).astype(np.float64)
        ranking, score, shaped = _blended(state, query, first, score, z)
        return query, ranking.take(slice(count)), score[:count], shaped[:count]
    ranking = (first + found.take(slice(many, None))).take(slice(count))
    # Whoever was not looked at scores no more than the last who was.
    score = np.minimum.accumulate(np.concatenate([score, ranking.score[len(score) :]])[:count])
    return query, ranking, score, score


def place_hits(state: SearchState, sketch: Sketch, answer: Steps, options: Options) -> list[Hit]:
    """The hits of an answer with all their places, off the grid, in pixels of the pictures."""
    ranking = answer.ranking
    if state.collection.has_windows:
        ranking = _nearly_best(*_every_place(state, answer.query, ranking.ids, options))
    ranking = refine(state.collection, answer.query, ranking)
    of_picture: dict[int, list[int]] = {}
    for i, number in enumerate(ranking.ids.tolist()):
        of_picture.setdefault(number, []).append(i)
    return [
        _hit(
            state,
            sketch,
            number,
            _apart(state, sketch, ranking, of_picture[number]),
            rank=options.offset + i + 1,
            confidence=round(float(answer.confidence[i]), 6),
        )
        for i, number in enumerate(answer.ranking.ids.tolist())
    ]


def _nearly_best(ranking: Ranking, score: NDArray[np.float64]) -> Ranking:
    """Of each picture's places, best first, those that are nearly as good as its best."""
    _, first, of_picture = np.unique(ranking.ids, return_index=True, return_inverse=True)
    kept = np.flatnonzero(score >= ALSO * score[first][of_picture.ravel()])
    return ranking.take(np.union1d(kept, first))


def _every_place(
    state: SearchState, query: Query, ids: Ids, options: Options
) -> tuple[Ranking, NDArray[np.float64]]:
    """All windows of some pictures, best first, and what orders them: the best also by their fit off the
    grid.

    A small thing in a small window lies between the grid's scales and steps more often than a large one does.
    """
    every = every_window(state.collection, query, ids)
    ranking, score = reordered(every, _order_scores(state, query, every, options))
    close = refined_pose(state.collection, query, ranking.take(slice(REFINED)))
    score[:REFINED] = np.maximum(score[:REFINED], _order_scores(state, query, close, options))
    return reordered(ranking, score)


def _order_scores(
    state: SearchState, query: Query, ranking: Ranking, options: Options
) -> NDArray[np.float64]:
    return order_scores(
        state.collection,
        query,
        ranking,
        strength=options.local_normalization,
        power=options.coverage,
        is_line_art=state.is_line_art[ranking.ids],
    )


def _apart(state: SearchState, sketch: Sketch, ranking: Ranking, mine: list[int]) -> list[Place]:
    """The places of one picture, best first, without those that are the same again."""
    places: list[Place] = []
    number = int(ranking.ids[mine[0]])
    size = (int(state.width[number]), int(state.height[number]))
    for i in mine:
        names = ("scale", "mirrored", "rotation", "dx", "dy")
        grid = Pose(*(getattr(ranking, name)[i].item() for name in names))
        pose = in_picture(grid, state.frames[ranking.rows[i]].tolist(), size)
        place = Place(round(float(ranking.score[i]), 6), pose, pose.box(sketch.points, size))
        if not any(overlap(place.box, other.box) > APART for other in places):
            places.append(place)
    return places


def _hit(state: SearchState, sketch: Sketch, number: int, places: list[Place], **known: Any) -> Hit:
    identifier = state.id(number)
    best = places[0]
    return Hit(
        id=identifier,
        picture=state.path(number),
        score=best.score,
        scale=round(best.pose.scale, 4),
        mirrored=best.pose.mirrored,
        rotation=best.pose.rotation,
        dx=round(best.pose.dx, 3),
        dy=round(best.pose.dy, 3),
        box=best.box,
        width=int(state.width[number]),
        height=int(state.height[number]),
        sketch=sketch,
        thumbnail=lambda: state.thumbnail(identifier),
        also=tuple(places[1:]),
        **known,
    )


def in_picture(pose: Pose, frame: Sequence[float], size: tuple[int, int]) -> Pose:
    """A pose in the 400-pixel frame of a part (x0, y0, x1, y1) of a picture -> the one in the picture."""
    x0, y0, x1, y1 = frame
    share = max(x1 - x0, y1 - y0) / max(size)
    pixel = FRAME / max(size)
    return replace(
        pose,
        scale=pose.scale * share,
        dx=pose.dx * share + ((x0 + x1) - size[0]) / 2 * pixel,
        dy=pose.dy * share + ((y0 + y1) - size[1]) / 2 * pixel,
    )


def overlap(a: Box, b: Box) -> float:
    """The part of the smaller of two boxes that lies in the other, in [0, 1]."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    smaller = min((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return max(width, 0.0) * max(height, 0.0) / smaller if smaller > 0 else 0.0
