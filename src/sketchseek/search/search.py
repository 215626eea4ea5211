"""One search, the whole of it: a drawing and a view of a collection -> placed hits with confidence.

1. `Query.of` describes the drawing in every pose that is tried.
2. By shape: `rank` scores the pictures, and `clutter` orders the best by their local scores. Where the
   collection says what its pictures depict, `depiction.rerank` takes that ranking further.
3. `place_hits` refines where the drawing lies in the hits that are shown.

`Index.search`, the evaluation, the figures and the server all come here: what is measured is what ships.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from ..shape.query import Query
from .clutter import CANDIDATES, STRENGTH, reordered
from .confidence import BY_EVERYTHING, BY_SHAPE
from .hit import Hit
from .ranking import Collection, Ranking, largest, located, rank, refine
from .view import View

if TYPE_CHECKING:
    from ..contours.drawing import Sketch
    from ..depiction import Depiction
    from ..shape.engine import Ids


@dataclass(frozen=True)
class Options:
    """How to search; None stands for the default that was measured to be best.

    k, offset : the best k hits after the first `offset`.
    mirror : also look for the mirrored drawing.
    expand : how many first hits to ask again with, by what they depict; 0 for none.
    blend : weight of the drawing's own picture descriptor beside its shape; 0 is shape alone.
    picked : ids of pictures that are right: ask again with these instead of the first hits.
    folder : only pictures in this folder and those below; these are compared exactly, whatever the method.
    method, shortlist, rerank, neighborhood : see `sketchseek.search.ranking`.
    clutter : strength of the local normalisation, in [0, 1); see `sketchseek.search.clutter`. 0 is the
        paper's cosine.
    threads : None for one a core.
    """

    k: int = 20
    offset: int = 0
    mirror: bool = True
    expand: int | None = None
    blend: float | None = None
    picked: Sequence[str] = ()
    folder: str | None = None
    method: str = "exhaustive"
    shortlist: int | None = None
    rerank: str = "exact"
    neighborhood: int = 3
    clutter: float = STRENGTH
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ValueError(f"k must be positive, got {self.k}")
        if self.offset < 0:
            raise ValueError(f"offset must not be negative, got {self.offset}")

    @property
    def ranking(self) -> dict[str, Any]:
        """Those that `rank` takes."""
        names = ("method", "shortlist", "rerank", "neighborhood", "threads")
        return {name: getattr(self, name) for name in names}

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
    score : (k,) what orders the hits. confidence : (k,) in [0, 1], the same as the chance to be right.
    """

    query: Query
    ranking: Ranking
    score: NDArray[np.floating[Any]]
    confidence: NDArray[np.float64]

    def take(self, which: slice) -> Answer:
        """Some of the hits."""
        return Answer(self.query, self.ranking.take(which), self.score[which], self.confidence[which])


def search(view: View, sketch: Sketch, options: Options) -> list[Hit]:
    """The pictures that show the drawing best, each with the place where it does."""
    if len(view) == 0:
        return []
    shown = slice(options.offset, options.offset + options.k)
    return place_hits(view, sketch, ranked(view, sketch, options).take(shown), options)


def ranked(view: View, sketch: Sketch, options: Options) -> Answer:
    """The best `offset + k` pictures of a view that has some."""
    query = Query.of(sketch.points, view.settings, mirror=options.mirror)
    among = None if options.folder is None else view.folders.under(options.folder)
    shape = EngineScores(view.collection, query, options, among)
    count = min(options.offset + options.k, len(shape))
    depiction = _depiction(view, options)
    if depiction is None:
        return _by_shape(view, shape, count)
    return _by_everything(view, depiction, shape, sketch, count=count)


def place_hits(view: View, sketch: Sketch, answer: Answer, options: Options) -> list[Hit]:
    """The hits of an answer with their places, off the grid, in pixels of the pictures."""
    placed = refine(view.collection, answer.query, answer.ranking, options.threads)
    return [
        _hit(view, sketch, placed, i, rank=options.offset + i + 1, confidence=float(answer.confidence[i]))
        for i in range(len(placed))
    ]


def _by_shape(view: View, shape: EngineScores, count: int) -> Answer:
    """By local scores among the best by the cosine, by the cosine after those."""
    query, options = shape.query, shape.options
    found = shape.ranking(min(max(count, CANDIDATES), len(shape)))
    if options.clutter == 0:
        return Answer(query, found.take(slice(count)), found.score[:count], BY_SHAPE(found.score[:count]))
    first, local = reordered(
        view.collection,
        query,
        found.take(slice(CANDIDATES)),
        strength=options.clutter,
        threads=options.threads,
        is_line_art=view.is_line_art[found.ids[:CANDIDATES]],
    )
    ranking = (first + found.take(slice(CANDIDATES, None))).take(slice(count))
    # The confidence orders the hits: whoever was not looked at is no surer than the last who was.
    score = np.minimum.accumulate(np.concatenate([local, ranking.score[len(local) :]])[:count])
    return Answer(query, ranking, score, BY_SHAPE(score))


def _by_everything(
    view: View, depiction: Depiction, shape: EngineScores, sketch: Sketch, *, count: int
) -> Answer:
    """By shape, the network's opinion of the drawing, and what the first hits depict; placed by shape."""
    from ..depiction import BLEND, default_expand, rerank

    query, options = shape.query, shape.options
    picked = [view.number(name) for name in options.picked]
    if picked and not depiction.pictures.has(np.asarray(picked)).any():
        raise SketchseekError(
            "None of the picked pictures has a descriptor yet: run `sketchseek index --expansion` again."
        )
    blend = BLEND if options.blend is None else options.blend
    describer = depiction.describer(required=bool(options.blend)) if blend else None
    drawing = describer.drawing(sketch.strokes) if describer else None
    if options.blend and drawing is None:
        raise SketchseekError(
            "The picture network of this index cannot read drawings: search with --blend 0."
        )
    ids, score = rerank(
        shape,
        depiction.pictures,
        count,
        drawing=drawing,
        expand=default_expand(len(view)) if options.expand is None else options.expand,
        blend=blend,
        picked=picked,
        among=shape.among,
        threads=options.threads or os.cpu_count() or 1,
    )
    ranking = located(view.collection, query, ids, options.threads)
    return Answer(query, ranking, score, BY_EVERYTHING(score))


def _depiction(view: View, options: Options) -> Depiction | None:
    """What to search by beyond the shape; None for shape alone."""
    if options.shape_alone:
        return None
    if view.depiction is None and options.more_than_shape:
        from ..depiction import need_extra

        need_extra()
        raise SketchseekError(
            "This index holds no descriptors for query expansion: add them with "
            "`sketchseek index --expansion FOLDER`, or search without --expand and --blend."
        )
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
            return self.among[largest(self.at(self.among), k)]
        if self.options.method == "exhaustive":  # nobody asks where they are
            return self.collection.engine.top(self.query, k, self.options.threads)[0]
        return self.ranking(k).ids

    def at(self, ids: Ids) -> NDArray[np.float32]:
        """The scores of some pictures."""
        return self.collection.engine.scores(self.query, ids, self.options.threads)


def _hit(view: View, sketch: Sketch, ranking: Ranking, i: int, *, rank: int, confidence: float) -> Hit:
    number = int(ranking.ids[i])
    size = (int(view.width[number]), int(view.height[number]))
    pose = ranking.pose(i).in_picture(view.frames[number].tolist(), size)
    identifier = view.id(number)
    return Hit(
        rank=rank,
        id=identifier,
        picture=view.path(number),
        score=round(float(ranking.score[i]), 6),
        confidence=round(confidence, 6),
        scale=round(pose.scale, 4),
        mirrored=pose.mirrored,
        rotation=pose.rotation,
        dx=round(pose.dx, 3),
        dy=round(pose.dy, 3),
        box=pose.box(sketch.points, size),
        width=size[0],
        height=size[1],
        sketch=sketch,
        thumbnail=lambda: view.thumbnail(identifier),
    )
