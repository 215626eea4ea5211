"""One search, the whole of it: a drawing and a view of a collection -> placed hits with confidence.

1. `candidates` names the pictures that may show the drawing, by its shape.
2. Where the collection says what its pictures depict, `depiction.rerank` takes that further, and the
   network's opinion goes along.
   Words beside the drawing (`words`) are part of the same ranking.
3. `look` orders, judges and places them: one function of the engine, the same for every face of the program.

`Index.search`, the evaluation, the figures and the server all come here: what is measured is what ships.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import NoDescriptorError, SketchseekError
from ..shape.engine import _engine
from ..shape.engine.ids import is_among
from .candidates import Candidates, ShapeScores
from .core import PLACE
from .hit import Hit, Hits, Place, Pose
from .look import Answer, look
from .opinion import PAGE, Opinion
from .options import Options
from .turning import turned_to_fit
from .view import View

if TYPE_CHECKING:
    from ..contours.drawing import Sketch
    from ..depiction import Depiction, PictureDescriber
    from ..depiction.expand import Meet
    from .words import Heard

PHOTOGRAPH_BLEND = 4.0
"""What a network's opinion of a photograph weighs beside its contours, which show its background, too."""
LINE_ART_BLEND = 0.75
"""The same at most where most pictures are line art: shape is exact in it, and networks are strangers."""


def search(view: View, sketch: Sketch | None, options: Options) -> Hits:
    """The pictures that show the drawing best, each with the place where it does.

    Without a drawing, those that the options' words are said of.
    """
    if len(view) == 0:
        return Hits()
    heard = _hear(view, options)
    if sketch is None:
        if heard is None:
            raise SketchseekError("Draw something, or say it in words.")
        return _by_words(view, options, heard)
    answer = find(view, sketch, options, heard=heard)
    turned = turned_to_fit(view, sketch, options, answer, find)
    if turned is None:
        hits = hits_of(view, sketch, answer, options.offset)
    else:
        found = hits_of(view, turned.sketch, turned.answer, options.offset)
        hits = Hits((turned.told_of(sketch, hit) for hit in found), found.present)
    if heard is None:
        return hits
    from .words import unheard, with_names

    hits = with_names(hits, view, heard)
    hits.note = None if heard else unheard(options.words or "", drawn=True)
    return hits


def _by_words(view: View, options: Options, heard: Heard) -> Hits:
    from .words import search_words, unheard

    hits = search_words(view, options, heard)
    hits.note = None if heard else unheard(options.words or "", drawn=False)
    return hits


def _hear(view: View, options: Options) -> Heard | None:
    """What the options' words say of the pictures; None without words."""
    if not (options.words and options.words.strip()):
        return None
    from .words import hear

    return hear(view, options)


def find(
    view: View,
    sketch: Sketch,
    options: Options,
    *,
    count: int | None = None,
    place: bool = True,
    heard: Heard | None = None,
) -> Answer:
    """The same for a view that has pictures, as numbers.

    count : rank so many pictures at least. place : also place the drawing in those that are asked for.
    heard : what words say of them.
    """
    shape, found = candidates(view, sketch, options, count, heard)
    return look(shape, found, count=count, place=place)


def candidates(
    view: View, sketch: Sketch, options: Options, count: int | None = None, heard: Heard | None = None
) -> tuple[ShapeScores, Candidates]:
    """The drawing's scores, and the pictures that may show it: by shape, or by everything there is."""
    shape = ShapeScores(view, sketch.points, options)
    k = min(max(options.k, (count or 0) - options.offset), len(view))  # the engine's numbers end somewhere
    offset = min(options.offset, len(view))
    rejected = np.array([view.number(name) for name in options.rejected], np.int64)
    depiction = view.depiction if heard is not None and heard.says else _depiction(view, options)
    if depiction is None and heard:
        from .words import by_names

        ids, score = by_names(shape, heard, _engine.judged(k, offset, len(shape)), rejected)
        return shape, Candidates(pictures=ids, order=score)
    if depiction is None:
        return shape, shape.candidates(_engine.wanted(k, offset, len(shape)), rejected)
    judged = _engine.judged(k, offset, len(shape))
    return shape, _by_everything(depiction, shape, sketch, rejected, judged, heard=heard or None)


def hits_of(view: View, sketch: Sketch, answer: Answer, offset: int = 0) -> Hits:
    """The hits of an answer that were placed, the first of which is the `offset`-th."""
    hits = []
    for i, mine in groupby(answer.places.tolist(), key=itemgetter(PLACE.index("hit"))):
        places = [dict(zip(PLACE, row, strict=True)) for row in mine]
        hits.append(_hit(view, sketch, offset + int(i) + 1, places))
    return Hits(hits, answer.present)


def _hit(view: View, sketch: Sketch, rank: int, places: list[dict[str, float]]) -> Hit:
    number = int(places[0]["picture"])
    identifier = view.id(number)
    best, *others = [
        Place(
            round(p["score"], 6),
            Pose(p["scale"], bool(p["mirrored"]), p["rotation"], p["dx"], p["dy"]),
            (p["x0"], p["y0"], p["x1"], p["y1"]),
        )
        for p in places
    ]
    return Hit(
        rank=rank,
        id=identifier,
        picture=view.path(number),
        score=best.score,
        confidence=round(places[0]["confidence"], 6),
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
        also=tuple(others),
    )


def _by_everything(
    depiction: Depiction,
    shape: ShapeScores,
    sketch: Sketch,
    rejected: NDArray[np.int64],
    count: int,
    *,
    heard: Heard | None,
) -> Candidates:
    """By shape, the network's opinion of the drawing, words, and what the first hits depict."""
    from ..depiction import default_expand, rerank

    view, options, pictures = shape.view, shape.options, depiction.pictures
    picked = [view.number(name) for name in options.picked]
    if picked and not pictures.has(np.asarray(picked)).any():
        raise NoDescriptorError("None of the picked pictures has a descriptor yet.")
    describer = depiction.describer(required=bool(options.blend)) if options.blend != 0 else None
    usual = 0.0 if describer is None else _usual_blend(view, sketch, describer)
    blend = usual if options.blend is None else options.blend
    drawing, meet = _described(sketch, describer, depiction) if describer else (None, None)
    if options.blend and drawing is None:
        raise NoDescriptorError("The picture network of this index cannot read drawings.")
    ids, score, likest = rerank(
        shape,
        pictures,
        count,
        drawing=drawing,
        expand=default_expand(len(view)) if options.expand is None else options.expand,
        blend=blend,
        exact=sketch.picture is None,
        picked=picked,
        rejected=rejected.tolist(),
        among=shape.among,
        meet=meet,
        words=heard,
        threads=shape.threads,
    )
    if describer is None or drawing is None or describer.reference is None:
        return Candidates(pictures=ids, order=score)
    others = likest[~is_among(likest, ids[:PAGE])]
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
    return Candidates(pictures=ids, order=score, opinion=opinion)


def _usual_blend(view: View, sketch: Sketch, describer: PictureDescriber) -> float:
    """What the network's opinion weighs beside the shape, unless somebody says."""
    if sketch.picture is not None:
        return PHOTOGRAPH_BLEND
    return min(describer.blend, LINE_ART_BLEND) if view.is_line_art.mean() > 0.5 else describer.blend


def _described(
    sketch: Sketch, describer: PictureDescriber, depiction: Depiction
) -> tuple[NDArray[np.float32] | None, Meet | None]:
    """What the network sees in a drawing, or in the photograph that it is the contours of; and how the
    drawing's tokens meet pictures', where these have tokens."""
    pictures = depiction.pictures
    if sketch.picture is not None:
        return pictures.centred(describer(sketch.picture)), None
    if not depiction.has_tokens_of(describer):
        return describer.drawing(sketch.strokes, pictures.kinds_here), None
    seen, of_kinds = describer.drawing_with_tokens(sketch.strokes, pictures.kinds_here)

    def meet(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        codes, kinds = depiction.tokens(ids), pictures.rows(ids).kinds
        scores = np.zeros(len(ids), np.float32)
        for kind, drawn in enumerate(of_kinds):
            mine = kinds == kind
            if drawn is not None and mine.any():
                scores[mine] = drawn.meet(codes[mine]).score
        return scores

    return seen, meet


def _depiction(view: View, options: Options) -> Depiction | None:
    """What to search by beyond the shape; None for shape alone."""
    if options.shape_alone:
        return None
    if view.depiction is None and options.more_than_shape:
        from ..depiction import need_extra

        need_extra()
        raise NoDescriptorError("This index holds no descriptors of what pictures depict.")
    return view.depiction
