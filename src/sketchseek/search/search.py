"""One search, the whole of it: a drawing and a state of a collection -> placed hits with confidence.

1. `candidates` names the pictures that may show the drawing, by its shape.
2. Where the collection says what its pictures depict, `embeddings.rerank` takes that further, and the
   network's opinion goes along.
   Words beside the drawing (`words`) are part of the same ranking.
3. `rescore` orders, judges and places them: one function of the engine, the same for every face of the
program.

`Index.search`, the evaluation, the figures and the server all come here: what is measured is what ships.
"""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import NoEmbeddingError, SketchseekError
from ..shape.engine import _engine
from ..shape.engine.ids import is_among
from .candidates import Candidates, ShapeScores
from .core import PLACE
from .hit import Hit, Hits, Place, Pose
from .network_evidence import PAGE, NetworkEvidence
from .options import Options
from .rescoring import Answer, rescore
from .rotation import turned_to_fit
from .state import SearchState

if TYPE_CHECKING:
    from ..contours.drawing import Sketch
    from ..embeddings import EmbeddingIndex, PictureEncoder
    from ..embeddings.expansion import Meet
    from .words import WordScores

PHOTOGRAPH_BLEND = 4.0
"""What a network's opinion of a photograph weighs beside its contours, which show its background, too."""
LINE_ART_BLEND = 0.75
"""The same at most where most pictures are line art: shape is exact in it, and networks are strangers."""


def search(state: SearchState, sketch: Sketch | None, options: Options) -> Hits:
    """The pictures that show the drawing best, each with the place where it does.

    Without a drawing, those that the options' words are said of.
    """
    if len(state) == 0:
        return Hits()
    word_scores = _word_scores(state, options)
    if sketch is None:
        if word_scores is None:
            raise SketchseekError("Draw something, or say it in words.")
        return _by_words(state, options, word_scores)
    answer = find(state, sketch, options, word_scores=word_scores)
    turned = turned_to_fit(state, sketch, options, answer, find)
    if turned is None:
        hits = hits_of(state, sketch, answer, options.offset)
    else:
        found = hits_of(state, turned.sketch, turned.answer, options.offset)
        hits = found.others(turned.told_of(sketch, hit) for hit in found)
    if word_scores is None:
        return hits
    from .words import unused_words, with_names

    hits = with_names(hits, state, word_scores)
    hits.note = None if word_scores else unused_words(options.words or "", drawn=True)
    return hits


def _by_words(state: SearchState, options: Options, word_scores: WordScores) -> Hits:
    from .words import search_words, unused_words

    hits = search_words(state, options, word_scores)
    hits.note = None if word_scores else unused_words(options.words or "", drawn=False)
    return hits


def _word_scores(state: SearchState, options: Options) -> WordScores | None:
    """What the options' words say of the pictures; None without words."""
    if not (options.words and options.words.strip()):
        return None
    from .words import score_words

    return score_words(state, options)


def find(
    state: SearchState,
    sketch: Sketch,
    options: Options,
    *,
    count: int | None = None,
    place: bool = True,
    word_scores: WordScores | None = None,
) -> Answer:
    """The same for a state that has pictures, as numbers.

    count : rank so many pictures at least. place : also place the drawing in those that are asked for.
    word_scores : what words say of them.
    """
    if not word_scores:
        shape, found = candidates(state, sketch, options, count, word_scores)
        return rescore(shape, found, count=count, place=place)
    from .words_confidence import BEST, JUDGED, beside

    count = max(count or 0, JUDGED)
    shape, found = candidates(state, sketch, options, count, word_scores)
    answer = rescore(shape, found, count=count, place=place)
    best = word_scores.best(BEST)
    if shape.among is not None:
        best = shape.among[np.argsort(-word_scores.at(shape.among), kind="stable")[:BEST]]
    return beside(answer, word_scores.said(answer.pictures, best, len(shape)), options.offset)


def candidates(
    state: SearchState,
    sketch: Sketch,
    options: Options,
    count: int | None = None,
    word_scores: WordScores | None = None,
) -> tuple[ShapeScores, Candidates]:
    """The drawing's scores, and the pictures that may show it: by shape, or by everything there is."""
    strokes = sketch.strokes if sketch.picture is None else None
    shape = ShapeScores(state, sketch.points, options, strokes)
    k = min(max(options.k, (count or 0) - options.offset), len(state))  # the engine's numbers end somewhere
    offset = min(options.offset, len(state))
    rejected = np.array([state.number(name) for name in options.rejected], np.int64)
    embeddings = (
        state.embeddings if word_scores is not None and word_scores.says else _embeddings(state, options)
    )
    if embeddings is None and word_scores:
        from .words import by_names

        ids, score = by_names(shape, word_scores, _engine.judged(k, offset, len(shape)), rejected)
        return shape, Candidates(pictures=ids, order=score, resemblance=shape.resemblance)
    if embeddings is None:
        return shape, shape.candidates(_engine.wanted(k, offset, len(shape)), rejected)
    judged = _engine.judged(k, offset, len(shape))
    return shape, _by_everything(embeddings, shape, sketch, rejected, judged, word_scores=word_scores or None)


def hits_of(state: SearchState, sketch: Sketch, answer: Answer, offset: int = 0) -> Hits:
    """The hits of an answer that were placed, the first of which is the `offset`-th."""
    hits = []
    for i, mine in groupby(answer.places.tolist(), key=itemgetter(PLACE.index("hit"))):
        places = [dict(zip(PLACE, row, strict=True)) for row in mine]
        hits.append(_hit(state, sketch, offset + int(i) + 1, places))
    return Hits(hits, answer.present, answer.first_page, answer.verdict)


def _hit(state: SearchState, sketch: Sketch, rank: int, places: list[dict[str, float]]) -> Hit:
    number = int(places[0]["picture"])
    identifier = state.id(number)
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
        picture=state.path(number),
        score=best.score,
        confidence=round(places[0]["confidence"], 9),
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
        also=tuple(others),
    )


def _by_everything(
    embeddings: EmbeddingIndex,
    shape: ShapeScores,
    sketch: Sketch,
    rejected: NDArray[np.int64],
    count: int,
    *,
    word_scores: WordScores | None,
) -> Candidates:
    """By shape, the network's opinion of the drawing, words, and what the first hits depict."""
    from ..embeddings import default_expand, rerank

    state, options, pictures = shape.state, shape.options, embeddings.pictures
    picked = [state.number(name) for name in options.picked]
    if picked and not pictures.has(np.asarray(picked)).any():
        raise NoEmbeddingError("None of the picked pictures has an embedding yet.")
    encoder = embeddings.encoder(required=bool(options.blend)) if options.blend != 0 else None
    background = 0.0 if encoder is None else _default_blend(state, sketch, encoder)
    blend = background if options.blend is None else options.blend
    drawing, meet = _described(sketch, encoder, embeddings) if encoder else (None, None)
    if options.blend and drawing is None:
        raise NoEmbeddingError("The picture network of this index cannot read drawings.")
    ids, score, nearest = rerank(
        shape,
        pictures,
        count,
        drawing=drawing,
        expand=default_expand(len(state)) if options.expand is None else options.expand,
        blend=blend,
        exact=sketch.picture is None,
        picked=picked,
        rejected=rejected.tolist(),
        among=shape.among,
        meet=meet,
        words=word_scores,
        resemblance=shape.resemblance,
        threads=shape.threads,
    )
    if encoder is None or drawing is None or encoder.reference is None:
        return Candidates(pictures=ids, order=score, resemblance=shape.resemblance)
    others = nearest[~is_among(nearest, ids[:PAGE])]
    both = pictures.rows(np.concatenate([ids, others]))
    network_evidence = NetworkEvidence.of(
        encoder.name,
        drawing,
        both[: len(ids)],
        pictures.background_rows,
        both[len(ids) :],
        pictures=len(shape),
        flat_art=pictures.flat_art,
        reference=encoder.reference,
        photograph=sketch.picture is not None,
    )
    return Candidates(
        pictures=ids, order=score, network_evidence=network_evidence, resemblance=shape.resemblance
    )


def _default_blend(state: SearchState, sketch: Sketch, encoder: PictureEncoder) -> float:
    """What the network's opinion weighs beside the shape by default."""
    if sketch.picture is not None:
        return PHOTOGRAPH_BLEND
    return min(encoder.blend, LINE_ART_BLEND) if state.is_line_art.mean() > 0.5 else encoder.blend


def _described(
    sketch: Sketch, encoder: PictureEncoder, embeddings: EmbeddingIndex
) -> tuple[NDArray[np.float32] | None, Meet | None]:
    """What the network sees in a drawing, or in the photograph that it is the contours of; and how the
    drawing's tokens meet pictures', where these have tokens."""
    pictures = embeddings.pictures
    if sketch.picture is not None:
        from ..embeddings.encoders import described

        return pictures.centred(described(encoder, sketch.picture)[0]), None
    if not embeddings.has_tokens_of(encoder):
        return encoder.drawing(sketch.strokes, pictures.kinds_here), None
    seen, of_kinds = encoder.drawing_with_tokens(sketch.strokes, pictures.kinds_here)

    def meet(ids: NDArray[np.int64]) -> NDArray[np.float32]:
        codes, kinds = embeddings.tokens(ids), pictures.rows(ids).kinds
        scores = np.zeros(len(ids), np.float32)
        for kind, drawn in enumerate(of_kinds):
            mine = kinds == kind
            if drawn is not None and mine.any():
                scores[mine] = drawn.meet(codes[mine]).score
        return scores

    return seen, meet


def _embeddings(state: SearchState, options: Options) -> EmbeddingIndex | None:
    """What to search by beyond the shape; None for shape alone."""
    if options.shape_alone:
        return None
    if state.embeddings is None and options.more_than_shape:
        from ..networks.graph import need_extra

        need_extra()
        raise NoEmbeddingError("This index holds no embeddings of what pictures depict.")
    return state.embeddings
