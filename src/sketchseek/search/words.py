"""What words say of a collection's pictures: by what they look like, and by what they are called.

Beside a drawing they are part of its first ranking (`embeddings.rerank`). Alone they are a ranking
themselves; nothing is drawn then, so that hits are not placed: they are whole pictures.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ..contours.drawing import Sketch
from ..contours.points import Points
from ..embeddings import default_expand, rerank
from ..embeddings.expansion import NAMED
from ..embeddings.icons import BLEND
from ..embeddings.pictures import COMPARED
from ..errors import NoEmbeddingError
from ..shape.engine import Ids
from ..shape.engine.ids import distinct, is_among
from ..shape.engine.native import products, thread_count
from ..words import NAMES, Dictionary, Meaning, Named, class_directions, content_words, query_vector
from .core import CLOSEST, LIKELY
from .hit import Hit, Hits
from .words_confidence import BEST, JUDGED, LIKELY_FROM, Said, judge, models

if TYPE_CHECKING:
    from ..embeddings.pictures import EmbeddingRows, Pictures
    from .candidates import ShapeScores
    from .options import Options
    from .state import SearchState

Vector = NDArray[np.float32]

_CALLED = 0.75  # of a name: from here on a picture is called what was said
_LEAST = NAMES["least"]  # of a name: less is by chance
_UNSEEN, _SEEN = 0.1, 0.3  # strengths of meanings that say nothing of a picture, and all
_COMMON = 0.7  # what counts against pictures of known classes, for a word that is none
_PARTS = {"dinov2": 0.5}  # of an embedding's length: EfficientNet's part of a pair, which alone is asked
_BATCH = 4096
_BACKGROUND = 1024  # pictures that say what an ordinary score is
CLASSES: WeakKeyDictionary[Pictures, Vector] = WeakKeyDictionary()
"""How much each picture of a small collection is of a class, computed once."""


class WordScores:
    """What words say of a state's pictures; see `embeddings.expansion.Words`.

    Parameters
    ----------
    state : SearchState
    meaning : Meaning or None
        What they may look like.
    named : Named
        Which names have them.
    """

    def __init__(self, state: SearchState, meaning: Meaning | None, named: Named, threads: int) -> None:
        self._state, self.meaning, self._threads = state, meaning, threads
        self._query = None if meaning is None else _asked(state, meaning)
        strength = 0.0 if meaning is None or self._query is None else meaning.strength
        self.says = min(max((strength - _UNSEEN) / (_SEEN - _UNSEEN), 0.0), 1.0)
        likely = named.scores >= _LEAST
        self.ids: Ids = named.ids[likely]
        """Pictures whose names match."""
        self._matched = dict(zip(self.ids.tolist(), named.matched[likely].tolist(), strict=True))
        self._words = named.words
        self._named = np.zeros(len(state), np.float32)
        self._named[self.ids] = named.scores[likely]

    def __bool__(self) -> bool:
        """Whether they say anything."""
        return self.says > 0 or len(self.ids) > 0

    def matched(self, number: int) -> str | None:
        """The word of a picture's name that matched."""
        return self._words[self._matched[number]] if number in self._matched else None

    def named(self, ids: Ids) -> Vector:
        """How well the names of some pictures match, in [0, 1]."""
        return self._named[ids]

    def seen(self, ids: Ids) -> Vector:
        """How much some pictures look like what is meant, as a z-score; 0 where nothing is known of that."""
        if not self.says:
            return np.zeros(len(ids), np.float32)
        if self._pictures.small:
            return self._everything[ids]
        batches = [ids[i : i + _BATCH] for i in range(0, len(ids), _BATCH)]
        return np.concatenate([self._z(self._pictures.rows(some)) for some in batches] or [self._named[:0]])

    def at(self, ids: Ids) -> Vector:
        """The same of some pictures, by their names, too."""
        return self.seen(ids) + np.float32(NAMED) * self.named(ids)

    def said(self, hits: Ids, best: Ids, pictures: int) -> Said:
        """What they say of a search, from its hits and the pictures that they say most of."""
        best_cosines, cosines = self._cosines(best), self._cosines(hits)
        return Said(
            best=np.sort(self.at(best).astype(np.float64))[::-1][:BEST],
            z=self.at(hits).astype(np.float64),
            called=self.named(hits).astype(np.float64),
            pictures=pictures,
            understood=self.says,
            is_class=self._is_class,
            flat_art=self._pictures.flat_art if self.says else 0.0,
            best_cosines=np.sort(best_cosines)[::-1][:BEST],
            cosines=cosines,
            usual_cosine=float(self._background.mean()) / self._part if self.says else 0.0,
        )

    @property
    def _part(self) -> float:
        """How much of an embedding's length is asked."""
        network = self._state.embeddings.network if self._state.embeddings else None
        return _PARTS.get(network or "", 1.0)

    def _cosines(self, ids: Ids) -> NDArray[np.float64]:
        """Of what is asked with some pictures."""
        if not self.says:
            return np.zeros(len(ids))
        return self._pictures.rows(ids).cosines(self._asked).astype(np.float64) / self._part

    def best(self, k: int) -> Ids:
        """The k pictures that look most like it, and of those that are called so the k best."""
        called = self.ids[np.argsort(-self._named[self.ids], kind="stable")[:k]]
        if not self.says or self._query is None:
            return called
        return distinct(np.concatenate([called, self._pictures.best(self._query, k, self._threads)]))

    @property
    def _pictures(self) -> Pictures:
        if self._state.embeddings is None:
            raise NoEmbeddingError("This index holds no embeddings of what pictures depict.")
        return self._state.embeddings.pictures

    @cached_property
    def _everything(self) -> Vector:
        """Of a small collection, the z-scores of all."""
        pictures = self._pictures
        word = self._word(pictures.products(self._asked))
        return word if self._is_class else self._beyond(word, _known_of(pictures))

    def _z(self, rows: EmbeddingRows) -> Vector:
        word = self._word(rows.cosines(self._asked))
        return word if self._is_class else self._beyond(word, _of_a_class(rows.vectors))

    @property
    def _asked(self) -> Vector:
        if self._query is None:
            raise ValueError("the words can't be asked of pictures")
        return self._query

    @property
    def _is_class(self) -> bool:
        return self.meaning is not None and self.meaning.is_class

    @cached_property
    def _background(self) -> Vector:
        return self._pictures.background_rows.cosines(self._asked)

    @cached_property
    def _background_known(self) -> Vector:
        pictures = self._pictures
        return (
            _known_of(pictures)[pictures.background]
            if pictures.small
            else _of_a_class(pictures.background_rows.vectors)
        )

    @cached_property
    def _background_beyond(self) -> Vector:
        return self._word(self._background) - np.float32(_COMMON) * _z(
            self._background_known, self._background_known
        )

    def _word(self, cosines: Vector) -> Vector:
        return _z(cosines, self._background)

    def _beyond(self, word: Vector, known: Vector) -> Vector:
        """Of a word that is no class: a picture of a known class is rather that than what is meant."""
        return _z(word - np.float32(_COMMON) * _z(known, self._background_known), self._background_beyond)


def score_words(state: SearchState, options: Options) -> WordScores | None:
    """What the words of a search say of a state's pictures; None where there are none."""
    words = content_words(options.words or "")
    if not words:
        return None
    text = " ".join(words)
    meaning = _dictionary().meaning(text) if state.embeddings is not None else None
    return WordScores(state, meaning, state.names.scores(text), thread_count(options.threads))


def unused_words(words: str, *, drawn: bool) -> str:
    """The sentence for words that say nothing of any picture."""
    found = "the drawing was searched for without them" if drawn else "nothing was searched for"
    return f"No picture is called {words.strip()[:60]!r}, and nothing is known of how that looks: {found}."


def search_words(state: SearchState, options: Options, word_scores: WordScores) -> Hits:
    """The pictures that words alone find."""
    sketch = _nothing_drawn(options.words or "")
    ids, said = rank_words(state, options, word_scores)
    present, first_page, confidence = judge(models()["alone"], said)
    shown = slice(options.offset, options.offset + options.k)
    hits = [
        _whole(state, sketch, rank, int(number), confidence=float(chance))
        for rank, (number, chance) in enumerate(zip(ids, confidence, strict=True), 1)
    ]
    # No word is so well understood that its absence could be told.
    verdict = LIKELY if first_page >= LIKELY_FROM else CLOSEST
    return with_names(Hits(hits[shown], present, first_page, verdict), state, word_scores)


def rank_words(state: SearchState, options: Options, word_scores: WordScores) -> tuple[Ids, Said]:
    """The pictures that words alone find, those that are called so, then those that look so; and what words
    say of them."""
    among = None if options.folder is None else state.folders.under(options.folder)
    rejected = np.array([state.number(name) for name in options.rejected], np.int64)
    count = min(max(options.offset + options.k, JUDGED), len(state))
    alone = _Alone(word_scores, among)
    called = word_scores.ids[word_scores.named(word_scores.ids) >= (_CALLED if word_scores.says else 0)]
    called = called[~is_among(called, rejected) & (True if among is None else is_among(called, among))]
    called = called[np.lexsort([-word_scores.seen(called), -word_scores.named(called)])]
    looks = called[:0]
    if word_scores.says and state.embeddings is not None:
        background = default_expand(len(state)) if options.expand is None else options.expand
        looks = rerank(
            alone,
            state.embeddings.pictures,
            min(count + len(called), len(state) if among is None else len(among)),
            # Of a word that is no class, the first hits are too often something else.
            expand=background if word_scores.meaning is not None and word_scores.meaning.is_class else 0,
            blend=0.0,
            exact=False,
            picked=[state.number(name) for name in options.picked],
            rejected=rejected.tolist(),
            among=among,
            threads=thread_count(options.threads),
        ).ids
    ids = np.concatenate([called, looks[~is_among(looks, called)]])[:count]
    pictures = len(state) if among is None else len(among)
    return ids, word_scores.said(ids, alone.best(BEST), pictures)


def with_names(hits: Hits, state: SearchState, word_scores: WordScores) -> Hits:
    """The same hits, those whose names matched with the word that did."""
    return hits.others(replace(hit, matched=word_scores.matched(state.number(hit.id))) for hit in hits)


def by_names(shape: ShapeScores, word_scores: WordScores, count: int, rejected: Ids) -> tuple[Ids, Vector]:
    """The best pictures by the drawing's shape and by names, where nothing else is known: ids and scores."""
    n = len(shape.state)
    pool = np.arange(n) if shape.among is None else shape.among
    resemblance = shape.resemblance
    if len(pool) >= COMPARED:
        most = [] if resemblance is None else [resemblance.most()]
        named = distinct(np.concatenate([shape.best(2 * count), word_scores.best(count), *most]))
        pool = named[is_among(named, pool)]
    pool = pool[~is_among(pool, rejected)]
    background = np.arange(0, n, -(-n // _BACKGROUND))
    shaped = shape.at(background)

    def drawn(ids: Ids, score: Vector) -> Vector:
        seen = 0.0 if resemblance is None else np.float32(BLEND) * resemblance.at(ids)
        return _z(score, shaped) + seen

    score = _z(drawn(pool, shape.at(pool)), drawn(background, shaped)) + np.float32(
        NAMED
    ) * word_scores.named(pool)
    order = np.argsort(-score, kind="stable")[:count]
    return pool[order], score[order]


class _Alone:
    """Words in the place of a drawing's shape; see `embeddings.expansion.ShapeRanking`."""

    def __init__(self, word_scores: WordScores, among: Ids | None) -> None:
        self._word_scores, self._among = word_scores, among

    def best(self, k: int) -> Ids:
        if self._among is None:
            return self._word_scores.best(k)
        return self._among[np.argsort(-self.at(self._among), kind="stable")[:k]]

    def at(self, ids: Ids) -> Vector:
        return self._word_scores.at(ids)

    whole = at


def _whole(state: SearchState, sketch: Sketch, rank: int, number: int, *, confidence: float) -> Hit:
    """A hit that is a whole picture."""
    identifier = state.id(number)
    width, height = int(state.width[number]), int(state.height[number])
    return Hit(
        rank=rank,
        id=identifier,
        picture=state.path(number),
        score=0.0,
        confidence=round(confidence, 9),
        scale=1.0,
        mirrored=False,
        rotation=0.0,
        dx=0.0,
        dy=0.0,
        box=(0.0, 0.0, float(width), float(height)),
        width=width,
        height=height,
        sketch=sketch,
        thumbnail=lambda: state.thumbnail(identifier),
    )


def _nothing_drawn(words: str) -> Sketch:
    none = np.zeros(0, np.float32)
    return Sketch(Points(none, none, none, none, 0.0, 0.0), [], words)


def _asked(state: SearchState, meaning: Meaning) -> Vector | None:
    """What to ask stored embeddings; None where a network's say nothing of classes."""
    embeddings = state.embeddings
    if embeddings is None or embeddings.network is None:
        return None
    return query_vector(meaning.weights, embeddings.network, embeddings.pictures.means.shape[1])


def _known_of(pictures: Pictures) -> Vector:
    """Of all of a small collection, computed once."""
    if pictures not in CLASSES:
        CLASSES[pictures] = _of_a_class(pictures.vectors(np.arange(len(pictures))))
    return CLASSES[pictures]


def _of_a_class(vectors: Vector) -> Vector:
    """How much pictures (n, d) are of that class of ImageNet's that they are most of: (n,)."""
    directions = class_directions()
    return np.asarray(products(vectors[:, -directions.shape[1] :], directions).max(axis=1), np.float32)


def _z(values: Vector, background: Vector) -> Vector:
    return np.asarray((values - background.mean()) / max(float(background.std()), 1e-9), np.float32)


@cache
def _dictionary() -> Dictionary:
    return Dictionary()
