"""One search, the whole of it: a drawing and a view of a collection -> placed hits with confidence.

1. `Query.of` describes the drawing in every pose that is tried.
2. By shape: `rank` scores the pictures, and `order` looks closer at the best: where the drawing lies in them,
   and how evenly it is there. Where the collection says what its pictures depict, `depiction.rerank` takes
   that ranking further.
3. `evidence` and `confidence` say how likely each hit is right, and whether the thing is there at all.
4. `place_hits` finds every place of the drawing in the hits that are shown, and refines it.

`Index.search`, the evaluation, the figures and the server all come here: what is measured is what ships.
By shape alone, over codes on this machine, the engine does all four in one step, as it does in a browser
(src/cpp/search); `search_by_steps` is what it is held to.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import NoDescriptorError, SketchseekError
from ..shape.query import Query, turns
from .clutter import STRENGTH
from .confidence import model_for
from .evidence import JUDGED, LOOKED_AT, Opinion, features
from .hit import Hit, Hits, Place, Pose, overlap
from .order import EVENNESS, order_scores, reordered
from .ranking import (
    METHODS,
    RERANKINGS,
    Collection,
    Ranking,
    best_first,
    every_view,
    located,
    rank,
    refine,
    settled,
)
from .view import View

if TYPE_CHECKING:
    from ..contours.drawing import Sketch
    from ..depiction import Depiction, PictureDescriber
    from ..shape.engine import Ids
    from ..shape.engine.native import Searcher


CANDIDATES = 500
"""How many of the best by the plain score are looked at closer."""
THOROUGH = 100
"""Of how many of the best then all views are looked at."""
SETTLED = 30
"""How many of these views are also compared by how the drawing fits off the grid."""
FINE_TURN = 5.0
"""Degrees from one rotation to the next with which those are looked at."""
PHOTOGRAPH_BLEND = 4.0
"""What a network's opinion of a photograph weighs beside its contours, which show its background, too."""
LINE_ART_BLEND = 0.75
"""The same at most where most pictures are line art: shape is exact in it, and networks are strangers."""
ALSO = 0.8
"""Another place in a picture is one whose score is at least this share of the best place's."""
APART = 0.5
"""At most this share of the smaller of two boxes may lie in the other."""


@dataclass(frozen=True)
class Options:
    """How to search; None stands for the default that was measured to be best.

    k, offset : the best k hits after the first `offset`.
    mirror : also look for the mirrored drawing.
    turn : also look for the drawing turned, by up to so many degrees either way; 180 is any angle.
    expand : how many first hits to ask again with, by what they depict; 0 for none.
    blend : weight of the drawing's own picture descriptor beside its shape; 0 is shape alone.
    picked : ids of pictures that are right: ask again with these instead of the first hits.
    rejected : ids of pictures that are not what was meant: they go, and what is like them goes down.
    folder : only pictures in this folder and those below; these are compared exactly, whatever the method.
    method, shortlist, rerank, neighborhood : see `sketchseek.search.ranking`. The last three are refused
        where the method would not look at them.
    clutter : strength of the local normalisation, in [0, 1); see `sketchseek.search.clutter`. 0 is the
        paper's cosine.
    evenness : what it counts that all of the drawing is there, 0 for nothing; see `sketchseek.search.order`.
    threads : None for one a core.
    """

    k: int = 20
    offset: int = 0
    mirror: bool = True
    turn: float = 0.0
    expand: int | None = None
    blend: float | None = None
    picked: Sequence[str] = ()
    rejected: Sequence[str] = ()
    folder: str | None = None
    method: str = "exhaustive"
    shortlist: int | None = None
    rerank: str | None = None
    neighborhood: int | None = None
    clutter: float = STRENGTH
    evenness: float = EVENNESS
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k must be positive, got {self.k}")
        if self.offset < 0:
            raise ValueError(f"offset must not be negative, got {self.offset}")
        if not 0 <= self.turn <= 180:
            raise ValueError(f"turn must be from 0 to 180 degrees, got {self.turn}")
        if self.expand is not None and self.expand < 0:
            raise ValueError(f"expand must not be negative, got {self.expand}")
        if self.blend is not None and not 0 <= self.blend < math.inf:
            raise ValueError(f"blend must be finite and not negative, got {self.blend}")
        self._check_method()

    def _check_method(self) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.rerank not in (None, *RERANKINGS):
            raise ValueError(f"rerank must be one of {', '.join(RERANKINGS)}, got {self.rerank!r}")
        for name in ("shortlist", "rerank", "neighborhood"):
            if self.method == "exhaustive" and getattr(self, name) is not None:
                raise SketchseekError(
                    f"A search by the method exhaustive has no {name}: leave it out, or choose the method "
                    "projections or dpf."
                )
        if self.neighborhood is not None and self.rerank in (None, "exact"):
            raise SketchseekError(
                "A neighborhood is for a rerank by binary or local: exact looks at every translation."
            )

    @property
    def ranking(self) -> dict[str, Any]:
        """Those that `rank` takes, where somebody says."""
        names = ("method", "shortlist", "rerank", "neighborhood", "threads")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def shape_alone(self) -> bool:
        """Whether nothing beyond the shape is asked for."""
        return self.expand == 0 and self.blend == 0 and not self.picked

    @property
    def more_than_shape(self) -> bool:
        """Whether something beyond the shape is asked for, rather than left to the default."""
        return bool(self.expand or self.blend or self.picked)


@dataclass(frozen=True)
class Answer:
    """A ranking of pictures.

    query : what was searched for. ranking : the hits, on the grid of translations.
    score : (k,) what orders the hits. evidence : (k, F), see `evidence.features`. likeness : see
    `evidence.likeness`; None where no network was asked, or where it found flat art.
    confidence : (k,) in [0, 1], the chance of each to be right; falls as the score does.
    present : in [0, 1], the chance that the collection has the thing at all.
    """

    query: Query
    ranking: Ranking
    score: NDArray[np.floating[Any]]
    evidence: NDArray[np.float64]
    likeness: NDArray[np.float64] | None
    confidence: NDArray[np.float64]
    present: float

    def take(self, which: slice) -> Answer:
        """Some of the hits."""
        names = ("score", "evidence", "confidence")
        some = {name: getattr(self, name)[which] for name in names}
        return replace(self, ranking=self.ranking.take(which), **some)


def search(view: View, sketch: Sketch, options: Options) -> Hits:
    """The pictures that show the drawing best, each with the place where it does."""
    if len(view) == 0:
        return Hits()
    if _is_usual(options) and len(sketch.points) and _depiction(view, options) is None:
        searcher = view.searcher
        if searcher is not None:
            return _in_one_step(view, searcher, sketch, options)
    return search_by_steps(view, sketch, options)


def _is_usual(options: Options) -> bool:
    """Whether nothing is asked for that the engine's own search does not know."""
    among_all = options.method == "exhaustive" and options.folder is None and not options.rejected
    return among_all and (options.clutter, options.evenness) == (STRENGTH, EVENNESS)


def _in_one_step(view: View, searcher: Searcher, sketch: Sketch, options: Options) -> Hits:
    """`search_by_steps`, by the engine."""
    present, found = searcher(
        sketch.points,
        k=min(options.k, len(view)),  # the engine's numbers end somewhere
        offset=min(options.offset, len(view)),
        mirror=options.mirror,
        turn=options.turn,
        threads=options.threads,
    )
    hits = []
    for i, mine in groupby(found.tolist(), key=itemgetter(0)):
        rows = list(mine)
        places = [
            Place(round(score, 6), Pose(scale, bool(mirrored), rotation, dx, dy), (x0, y0, x1, y1))
            for _, _, score, _, scale, mirrored, rotation, dx, dy, x0, y0, x1, y1 in rows
        ]
        _, number, _, confidence, *_ = rows[0]
        known = {"rank": options.offset + int(i) + 1, "confidence": round(confidence, 6)}
        hits.append(_hit(view, sketch, int(number), places, **known))
    return Hits(hits, present)


def search_by_steps(view: View, sketch: Sketch, options: Options) -> Hits:
    """The same for a view that has pictures, step by step: whatever the options, by any engine."""
    shown = slice(options.offset, options.offset + options.k)
    answer = ranked(view, sketch, options)
    return Hits(place_hits(view, sketch, answer.take(shown), options), answer.present)


def ranked(view: View, sketch: Sketch, options: Options) -> Answer:
    """The best `offset + k` pictures of a view that has some."""
    query = Query.of(sketch.points, view.settings, mirror=options.mirror, rotations=turns(options.turn))
    among = None if options.folder is None else view.folders.under(options.folder)
    shape = EngineScores(view.collection, query, options, among)
    # The same first hits are judged whatever is asked for: what is said of them does not depend on it.
    count = min(max(options.offset + options.k, JUDGED), len(shape))
    depiction = _depiction(view, options)
    if depiction is None:
        found = _by_shape(view, shape, count)
    else:
        found = _by_everything(view, depiction, shape, sketch, count=count)
    evidence = features(
        view.collection,
        found.query,
        found.ranking,
        order=found.score,
        is_line_art=view.is_line_art[found.ranking.ids],
        opinion=found.opinion,
        threads=options.threads,
    )
    likeness = None if found.opinion is None else found.opinion.likeness
    confidence, present = model_for(found.opinion).judge(evidence, likeness)
    answer = Answer(found.query, found.ranking, found.score, evidence, likeness, confidence, present)
    return answer.take(slice(options.offset + options.k))


def place_hits(view: View, sketch: Sketch, answer: Answer, options: Options) -> list[Hit]:
    """The hits of an answer with all their places, off the grid, in pixels of the pictures."""
    ranking = answer.ranking
    if view.collection.has_windows:
        ranking = _nearly_best(*_every_place(view, answer.query, ranking.ids, options))
    ranking = refine(view.collection, answer.query, ranking, options.threads)
    of_picture: dict[int, list[int]] = {}
    for i, number in enumerate(ranking.ids.tolist()):
        of_picture.setdefault(number, []).append(i)
    return [
        _hit(
            view,
            sketch,
            number,
            _apart(view, sketch, ranking, of_picture[number]),
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


def _every_place(view: View, query: Query, ids: Ids, options: Options) -> tuple[Ranking, NDArray[np.float64]]:
    """All views of some pictures, best first, and what orders them: the best also by their fit off the grid.

    A small thing in a small view lies between the grid's scales and steps more often than a large one does.
    """
    every = every_view(view.collection, query, ids, options.threads)
    ranking, score = reordered(every, _order_scores(view, query, every, options))
    close = settled(view.collection, query, ranking.take(slice(SETTLED)), options.threads)
    score[:SETTLED] = np.maximum(score[:SETTLED], _order_scores(view, query, close, options))
    return reordered(ranking, score)


def _order_scores(view: View, query: Query, ranking: Ranking, options: Options) -> NDArray[np.float64]:
    return order_scores(
        view.collection,
        query,
        ranking,
        strength=options.clutter,
        power=options.evenness,
        threads=options.threads,
        is_line_art=view.is_line_art[ranking.ids],
    )


@dataclass(frozen=True)
class _Found:
    """The best pictures and what orders them; where a network was asked, how like the drawing they are.

    query : whose poses the ranking speaks of.
    """

    query: Query
    ranking: Ranking
    score: NDArray[np.floating[Any]]
    opinion: Opinion | None = None


def _by_shape(view: View, shape: EngineScores, count: int) -> _Found:
    """By what `order` says among the best by the cosine, by the cosine after those."""
    query, options = shape.query, shape.options
    rejected = [view.number(name) for name in options.rejected]
    found = shape.ranking(min(max(count, CANDIDATES) + len(rejected), len(shape)))
    found = found.take(np.flatnonzero(~np.isin(found.ids, rejected)))
    if options.clutter == 0:
        return _Found(query, found.take(slice(count)), found.score[:count])
    first = found.take(slice(CANDIDATES))
    first, score = reordered(first, _order_scores(view, query, first, options))
    if options.turn:
        finer = turns(options.turn, FINE_TURN)
        query = Query.of(query.points, query.settings, mirror=options.mirror, rotations=finer)
    if view.collection.has_windows or options.turn:
        every, by = _every_place(view, query, first.ids[:THOROUGH], options)
        best, at = every.best_of_pictures(), np.sort(np.unique(every.ids, return_index=True)[1])
        first, score = best + first.take(slice(THOROUGH, None)), np.concatenate([by[at], score[THOROUGH:]])
    ranking = (first + found.take(slice(CANDIDATES, None))).take(slice(count))
    # Whoever was not looked at scores no more than the last who was.
    score = np.minimum.accumulate(np.concatenate([score, ranking.score[len(score) :]])[:count])
    return _Found(query, ranking, score)


def _by_everything(
    view: View, depiction: Depiction, shape: EngineScores, sketch: Sketch, *, count: int
) -> _Found:
    """By shape, the network's opinion of the drawing, and what the first hits depict; placed by shape."""
    from ..depiction import default_expand, rerank

    query, options = shape.query, shape.options
    picked = [view.number(name) for name in options.picked]
    if picked and not depiction.pictures.has(np.asarray(picked)).any():
        raise NoDescriptorError("None of the picked pictures has a descriptor yet.")
    describer = depiction.describer(required=bool(options.blend)) if options.blend != 0 else None
    usual = 0.0 if describer is None else _usual_blend(view, sketch, describer)
    blend = usual if options.blend is None else options.blend
    drawing = _described(sketch, describer, depiction) if describer else None
    if options.blend and drawing is None:
        raise NoDescriptorError("The picture network of this index cannot read drawings.")
    ids, score, likest = rerank(
        shape,
        depiction.pictures,
        count,
        drawing=drawing,
        expand=default_expand(len(view)) if options.expand is None else options.expand,
        blend=blend,
        exact=sketch.picture is None,
        picked=picked,
        rejected=[view.number(name) for name in options.rejected],
        among=shape.among,
        threads=options.threads or os.cpu_count() or 1,
    )
    ranking = located(view.collection, query, ids, options.threads)
    if describer is None or drawing is None or describer.reference is None:
        return _Found(query, ranking, score)
    pictures = depiction.pictures
    others = likest[~np.isin(likest, ids[:LOOKED_AT])]
    both = pictures.rows(np.concatenate([ids, others]))
    opinion = Opinion.of(
        describer.name,
        drawing,
        both[: len(ids)],
        pictures.usual_rows,
        both[len(ids) :],
        pictures=len(shape),
        flat_art=pictures.flat_art,
        reference=describer.reference,
        photograph=sketch.picture is not None,
    )
    return _Found(query, ranking, score, opinion)


def _usual_blend(view: View, sketch: Sketch, describer: PictureDescriber) -> float:
    """What the network's opinion weighs beside the shape, unless somebody says."""
    if sketch.picture is not None:
        return PHOTOGRAPH_BLEND
    return min(describer.blend, LINE_ART_BLEND) if view.is_line_art.mean() > 0.5 else describer.blend


def _described(
    sketch: Sketch, describer: PictureDescriber, depiction: Depiction
) -> NDArray[np.float32] | None:
    """What the network sees in a drawing, or in the photograph that it is the contours of."""
    if sketch.picture is None:
        return describer.drawing(sketch.strokes, depiction.pictures.kinds_here)
    return depiction.pictures.centred(describer(sketch.picture))


def _depiction(view: View, options: Options) -> Depiction | None:
    """What to search by beyond the shape; None for shape alone."""
    if options.shape_alone:
        return None
    if view.depiction is None and options.more_than_shape:
        from ..depiction import need_extra

        need_extra()
        raise NoDescriptorError("This index holds no descriptors of what pictures depict.")
    return view.depiction


@dataclass(frozen=True)
class EngineScores:
    """Shape scores of a collection, computed where they are asked for.

    among : the pictures to choose from, by number, ascending; None for all. These are compared exactly.
    """

    collection: Collection
    query: Query
    options: Options
    among: Ids | None = None

    def __len__(self) -> int:
        return len(self.collection if self.among is None else self.among)

    def ranking(self, k: int) -> Ranking:
        """The k best pictures, and where in them the drawing is."""
        if self.among is None:
            return rank(self.collection, self.query, k=k, **self.options.ranking)
        return located(self.collection, self.query, self.best(k), self.options.threads)

    def best(self, k: int) -> Ids:
        """The k best pictures, by number, best first."""
        if self.among is not None:
            return self.among[best_first(self.at(self.among), k)]
        if self.options.method == "exhaustive":  # nobody asks where they are
            rows = self.collection.top(self.query, k, self.options.threads)
            return self.collection.pictures[rows].astype(np.int64)
        return self.ranking(k).ids

    def at(self, ids: Ids) -> NDArray[np.float32]:
        """The scores of some pictures, each that of its best view."""
        rows = self.collection.rows_of(np.asarray(ids))
        scores = self.collection.weighted(
            self.collection.engine.scores(self.query, rows, self.options.threads), rows
        )
        starts = np.flatnonzero(np.diff(self.collection.pictures[rows], prepend=-1))
        return np.maximum.reduceat(scores, starts) if len(rows) else scores

    def whole(self, ids: Ids) -> NDArray[np.float32]:
        """The scores of some pictures, each as a whole."""
        return self.collection.engine.scores(self.query, self.collection.whole(ids), self.options.threads)


def _apart(view: View, sketch: Sketch, ranking: Ranking, mine: list[int]) -> list[Place]:
    """The places of one picture, best first, without those that are the same again."""
    places: list[Place] = []
    number = int(ranking.ids[mine[0]])
    size = (int(view.width[number]), int(view.height[number]))
    for i in mine:
        pose = ranking.pose(i).in_picture(view.frames[ranking.rows[i]].tolist(), size)
        place = Place(round(float(ranking.score[i]), 6), pose, pose.box(sketch.points, size))
        if not any(overlap(place.box, other.box) > APART for other in places):
            places.append(place)
    return places


def _hit(view: View, sketch: Sketch, number: int, places: list[Place], **known: Any) -> Hit:
    identifier = view.id(number)
    best = places[0]
    return Hit(
        id=identifier,
        picture=view.path(number),
        score=best.score,
        scale=round(best.pose.scale, 4),
        mirrored=best.pose.mirrored,
        rotation=best.pose.rotation,
        dx=round(best.pose.dx, 3),
        dy=round(best.pose.dy, 3),
        box=best.box,
        width=int(view.width[number]),
        height=int(view.height[number]),
        sketch=sketch,
        thumbnail=lambda: view.thumbnail(identifier),
        also=tuple(places[1:]),
        **known,
    )
