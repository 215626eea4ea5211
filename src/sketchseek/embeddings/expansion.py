"""From the shape that was drawn to the things it stands for: blending and average query expansion.

The first ranking is by shape, with the network's opinion of the drawing blended in. The embeddings of its
first hits are averaged, and all pictures compared with the average ("Query expansion", section 5.3 of the
paper); a second round averages the first hits of that, and what is alike among its hits is brought together
by diffusion. The first page is nearly the first ranking's, in another order.

Scores of different kinds are compared as z-scores: how many deviations above the collection's mean.

References
----------
Chum, Philbin, Sivic, Isard and Zisserman, "Total recall: automatic query expansion with a generative feature
model for object retrieval", ICCV 2007.

Zhou, Weston, Gretton, Bousquet and Schoelkopf, "Ranking on data manifolds", NIPS 2003.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..shape.engine import _engine
from ..shape.engine.ids import distinct, is_among
from ..shape.engine.native import products
from .icons import BLEND, BLEND_BESIDE, SAME, UNSEEN
from .pictures import Pictures, QueryEmbeddings
from .quantisation import Ids, Vector

EXPAND = 10
SPREAD = 400
"""First hits among which scores spread to what is alike."""
_FIRST_ROUND_WEIGHT = (
    0.3  # weight of the first ranking's z-score beside the first round's, when choosing for the second
)
_FIRST_RANKING_WEIGHT = 0.2  # the same in the final score
_DIFFUSION = 0.95  # the share of a score that comes from the nearest others
_FIRST_PAGE = (
    10  # hits of a first page: nearly the first ranking's own, since the thing may be here only once
)
_FINAL_WEIGHT = (
    0.2  # what the final score says beside the first ranking's, when the page is chosen from photographs
)
_ORDER_WEIGHT = 0.8  # what that ranking's z-score weighs once more when the page is ordered
_MATCHED_HITS = 200  # first hits of the first ranking with which a drawing's tokens meet
_MATCH_WEIGHT = 2.0  # what their meeting weighs beside the first ranking's z-score, on the first page
_MATCH_SEED_WEIGHT = 1.0  # the same where the hits to average are chosen: of a kind, not of one picture
_MATCH_PAGE_WEIGHT = 0.5  # what the final score says beside both, when the page is chosen from photographs
_MET_PICKED = 1.0  # what meeting weighs beside the final score on that of picked pictures
_REJECTED_WEIGHT = 0.5  # weight of the likeness to pictures that were rejected
_BACKGROUND_RANK = 3  # this many times further down than the last hit averaged, hits are nothing special
_NEAREST = 60  # pictures that are most like the drawing itself, which are named beside the hits
_WORDS_WEIGHT = 3.0  # what words weigh beside the drawing
_SEEN_FROM = 3.0  # deviations above the mean from which on a picture shows what a word means
_AGREEING_HITS = 20  # first hits of the drawing that say whether a word means the same
_DISAGREEMENT_WEIGHT = 0.4  # weight of words that mean something else than what was drawn
NAMED = float(json.loads(_engine.description())["names"]["weight"])
"""What a name that matches counts, in deviations."""
_CANDIDATES_PER_SCORE = 500  # of a large collection, how many candidates each kind of score may name


class ShapeRanking(Protocol):
    """The drawing's shape scores, for the whole collection."""

    def best(self, k: int) -> Ids:
        """The k best pictures, by number, best first."""

    def at(self, ids: Ids) -> Vector:
        """The scores of some pictures."""

    def whole(self, ids: Ids) -> Vector:
        """Those of the pictures as a whole, which a part of them may surpass."""


Meet = Callable[[Ids], Vector]
"""How well a drawing's tokens meet those of some pictures, by number: the mean cosine at the best place."""


class Words(Protocol):
    """What words beside the drawing say, for the whole collection."""

    says: float
    """In [0, 1]: how much of what they mean can be seen."""

    def best(self, k: int) -> Ids:
        """The k pictures that they are said of most, by number."""

    def seen(self, ids: Ids) -> Vector:
        """How much some pictures look like what they mean, as a z-score."""

    def named(self, ids: Ids) -> Vector:
        """How well the names of some pictures match, in [0, 1]; 0 for not at all."""


class Resembling(Protocol):
    """How much pictures resemble the drawing, as the icon network sees both, for the whole collection."""

    def most(self) -> Ids:
        """Those that resemble it most."""

    def at(self, ids: Ids) -> Vector:
        """How much some do, as a z-score."""


class Reranked(NamedTuple):
    """Pictures by number, best first, and what ordered them: about the cosine with what was asked last.

    ids, scores : (k,), or shorter without those that were rejected.
    nearest : (m,) those that are most like the drawing itself, among all that may be answered with.
    """

    ids: Ids
    scores: Vector
    nearest: Ids


def default_expand(pictures: int) -> int:
    """How many first hits to average; fewer where a collection is too small to have that many right ones."""
    return min(EXPAND, max(pictures // 10, 1))


def rerank(
    shape: ShapeRanking,
    pictures: Pictures,
    k: int,
    *,
    drawing: QueryEmbeddings | None = None,
    expand: int = EXPAND,
    blend: float = 1.0,
    exact: bool = True,
    picked: Sequence[int] = (),
    rejected: Sequence[int] = (),
    among: Ids | None = None,
    meet: Meet | None = None,
    words: Words | None = None,
    resemblance: Resembling | None = None,
    threads: int = 1,
) -> Reranked:
    """The k best pictures by shape, the network's opinion of the drawing, and what the first hits depict.

    Parameters
    ----------
    shape : ShapeRanking
    pictures : Pictures
    k : int
    drawing : ndarray of shape (d,) or (2, d), optional
        The drawing's own embedding, as it is asked of each kind, centred on that of drawings, of length 1.
    expand : int
        How many first hits to average, each by how far it stands out; 0 leaves the first ranking as it is.
    blend : float
        Weight of the drawing's embedding beside its shape; 0 is shape alone.
    exact : bool
        Whether what looks the same by its shape comes first; a photograph's contours are not what was meant.
    picked : sequence of int
        Pictures that the user chose: they are averaged, instead of the first hits, and come first.
    rejected : sequence of int
        Pictures that are not what was meant: they go, and what is more like them than usual goes down.
    among : ndarray of shape (m,), optional
        The only pictures to answer with, at least k; `ShapeRanking.best` names none but these. What the first
        hits depict is learned from the whole collection all the same.
    meet : callable, optional
        Where a drawing's tokens meet pictures': the very picture that was drawn stands out. Where the user
        picked others, on the first page alone.
    words : Words, optional
        What was said beside the drawing: part of the first ranking, so that everything starts from both.
    resemblance : Resembling, optional
        What the icon network says, where it knows such pictures: part of the first ranking, too.
    threads : int
    """
    first = _First(shape, pictures, drawing if blend else None, blend, resemblance)
    known = _ScoredPictures(
        pictures, first, max(_CANDIDATES_PER_SCORE, 2 * k), threads, np.asarray(rejected, np.int64)
    )
    known.add(shape.best)
    if first.drawing is not None:
        known.add_like(first.drawing)
    if resemblance is not None:
        known.add(lambda _: resemblance.most())
    if words is not None:
        known.score_words(words)
    met = None
    if meet is not None and (expand or len(picked)):
        met = _match_tokens(known, meet, _may_answer(known.ids, among, rejected))
    score = known.before - known.against()
    if met is not None and not len(picked):
        score = score + _MATCH_SEED_WEIGHT * met
    rounds: list[tuple[float, _Chosen | None]]
    if len(picked):
        rounds = [
            (_FIRST_RANKING_WEIGHT, _Chosen(np.asarray(picked, np.int64), np.ones(len(picked), np.float32)))
        ]
    else:
        rounds = [(_FIRST_ROUND_WEIGHT, None), (_FIRST_RANKING_WEIGHT, None)] if expand else []
    asked = first.drawing
    for kept, given in rounds:
        query = _average(pictures, given or _best(known.ids, score, expand))
        if query is None:
            break
        asked = query
        known.add_like(query)
        score = known.alike(query) + kept * known.before - known.against()
    inside = _may_answer(known.ids, among, rejected)
    ids, before, score = known.ids[inside], known.before[inside], score[inside]
    network, shaped = known.network[inside], known.shape[inside]
    order = np.argsort(-score, kind="stable")
    shown = score[order[:k]]
    if met is not None:  # none that came to be known later was among the first
        met = np.pad(met, (0, len(known.ids) - len(met)), constant_values=met.min())[inside]
        if len(picked):
            order = _page_first(order, score + _MET_PICKED * met)
    if len(picked):  # what somebody says is right comes first, whatever was drawn
        right = is_among(ids[order], np.asarray(picked, np.int64))
        order = np.concatenate([order[right], order[~right]])
    if rounds and not len(picked):
        first_hits, others = np.split(order, [SPREAD])
        score[first_hits] = diffused(score[first_hits], known.vectors(inside[first_hits]), expand)
        order = np.concatenate([first_hits[np.argsort(-score[first_hits], kind="stable")], others])
        if met is None:
            order = _first_page(order, score, before, _FINAL_WEIGHT * (1 - pictures.flat_art))
        else:
            order = _page_first(
                order, before + _MATCH_WEIGHT * met + _MATCH_PAGE_WEIGHT * (1 - pictures.flat_art) * score
            )
    if exact and not len(picked):
        order = _exact_first(order, ids, shaped, shape)
    if asked is not None:  # back to cosines, which mean the same for every query and collection
        background = pictures.background_rows.cosines(asked)
        shown = shown * background.std() + background.mean()
    nearest = np.argsort(-network, kind="stable")[:_NEAREST] if first.drawing is not None else order[:0]
    return Reranked(ids[order[:k]], shown, ids[nearest])


def diffused(score: Vector, vectors: NDArray[np.float32], neighbours: int) -> Vector:
    """Scores f of pictures (n,) with f = (1 - a) s + a W f: each has a share of what its nearest have.

    W are the cosines with so many neighbours, none below zero, brought to the sum 1.
    """
    return _engine.diffused(score, products(vectors, vectors), neighbours, _DIFFUSION)


def _first_page(order: Ids, score: Vector, before: Vector, say: float) -> Ids:
    """The same order, except that on the first page are the first hits by `before`, `score` having its say.

    Expansion finds more of what there are many of. Of what there is one, it finds others; nothing in the
    first ranking was found to tell the two apart, so that it keeps nearly all its places. Of flat art, of
    which a collection mostly has one each, it keeps all.
    """
    page = np.argsort(-(before + say * score), kind="stable")[:_FIRST_PAGE]
    others = order[~is_among(order, page)]
    page = page[np.argsort(-(score[page] + _ORDER_WEIGHT * before[page]), kind="stable")]
    return np.concatenate([page, others])


def _page_first(order: Ids, by: Vector) -> Ids:
    """The same order, except that on the first page are the best by something else, in its order."""
    page = np.argsort(-by, kind="stable")[:_FIRST_PAGE]
    return np.concatenate([page, order[~is_among(order, page)]])


def _may_answer(ids: Ids, among: Ids | None, rejected: Sequence[int]) -> Ids:
    """Which of some pictures may be answered with."""
    if among is None and not len(rejected):
        return np.arange(len(ids))
    return np.flatnonzero(~is_among(ids, rejected) & (True if among is None else is_among(ids, among)))


def _match_tokens(known: _ScoredPictures, meet: Meet, inside: Ids) -> Vector | None:
    """What the meeting of tokens adds to the first ranking, of all that are known; None where none meet.

    Only the first hits meet, and what they have is brought to the spread that their ranking has. All others
    have what the least of these has, and a picture without tokens, of which nothing is known, the mean.
    """
    first = inside[np.argsort(-known.before[inside], kind="stable")[:_MATCHED_HITS]]
    scores = meet(known.ids[first])
    have = scores != 0
    if not have.any():
        return None
    z = np.where(have, _z(scores, scores[have]), 0) * known.before[first].std()
    met = np.full(len(known.ids), z.min(), np.float32)
    met[first] = z
    return met


def _exact_first(order: Ids, ids: Ids, scores: Vector, shape: ShapeRanking) -> Ids:
    """The same order, except that what looks the same as the drawing comes first, by how much it does."""
    near = order[scores[order] >= SAME]
    if not len(near):
        return order
    whole = shape.whole(ids[near])
    best_first = np.argsort(-whole, kind="stable")
    same = near[best_first[whole[best_first] >= SAME]]
    return np.concatenate([same, order[~is_among(order, same)]])


class _First:
    """The first ranking's score: shape, the network's opinion of the drawing, and words, as one z-score."""

    def __init__(
        self,
        shape: ShapeRanking,
        pictures: Pictures,
        drawing: QueryEmbeddings | None,
        blend: float,
        resemblance: Resembling | None = None,
    ) -> None:
        self.drawing, self.shape, self._blend = drawing, shape, blend
        self._resemblance = resemblance
        self._icon_blend = BLEND_BESIDE if drawing is not None else BLEND
        self.everything = shape.at(np.arange(len(pictures))) if pictures.small else None
        """Of a small collection all scores by shape, computed once."""
        background = pictures.background
        self._background_shape = (
            shape.at(background) if self.everything is None else self.everything[background]
        )
        self._usual_network = pictures.background_rows.cosines(drawing) if drawing is not None else None
        self._spread = max(float(self._drawn(self._background_shape, self._usual_network).std()), 1e-9)
        self._background = self._sum(background, self._background_shape, self._usual_network)
        self._background_ids = background
        self._words: Words | None = None
        self._weight, self._background_words = 0.0, self._background

    def _drawn(self, shape: Vector, network: Vector | None) -> Vector:
        total = _z(shape, self._background_shape)
        if network is not None and self._usual_network is not None:
            total = total + self._blend * _z(network, self._usual_network)
        return total

    def _sum(self, ids: Ids, shape: Vector, network: Vector | None) -> Vector:
        total = self._drawn(shape, network)
        if self._resemblance is None:
            return total
        # 0 stands for a picture that the icon network has not seen.
        seen = self._resemblance.at(ids)
        resembles = np.where(seen == 0, np.float32(UNSEEN / self._spread) * total, seen)
        return np.asarray(total + np.float32(self._icon_blend) * resembles, np.float32)

    def score_words(self, words: Words, agree: float) -> None:
        """Let words count from now on; less where what was drawn is something else."""
        self._words, self._weight = words, _WORDS_WEIGHT * words.says * agree
        background = _z(self._background, self._background)
        self._background_words = background + self._weighted_words(words, self._background_ids)

    def _weighted_words(self, words: Words, ids: Ids) -> Vector:
        named = np.float32(NAMED) * words.named(ids)
        # A word tells a kind from others, not one picture of the kind from another: that is the drawing's.
        seen = np.float32(self._weight) * np.minimum(words.seen(ids), _SEEN_FROM) if self._weight else 0.0
        return np.asarray(seen + named, np.float32)

    def __call__(self, ids: Ids, shape: Vector, network: Vector | None) -> Vector:
        drawn = _z(self._sum(ids, shape, network), self._background)
        if self._words is None:
            return drawn
        return _z(drawn + self._weighted_words(self._words, ids), self._background_words)


class _ScoredPictures:
    """Pictures that are being ranked: all of a small collection, of a large one those that were ever near."""

    def __init__(self, pictures: Pictures, first: _First, pool: int, threads: int, rejected: Ids) -> None:
        self._pictures, self._first, self._rejected = pictures, first, rejected
        self._pool, self._threads = pool, threads
        self.ids: Ids = np.zeros(0, np.int64)
        self.shape: Vector = np.zeros(0, np.float32)
        self.before: Vector = np.zeros(0, np.float32)
        self.network: Vector = np.zeros(0, np.float32)  # cosines with the drawing; 0 without one
        self._rows = pictures.rows(self.ids)

    def add(self, best: Callable[[int], Ids]) -> None:
        """Know those that `best` names, too."""
        if self._pictures.small:
            new = np.arange(len(self._pictures)) if not len(self.ids) else self.ids[:0]
        else:
            new = distinct(best(self._pool))
            new = new[~is_among(new, self.ids)]
            self._rows += self._pictures.rows(new)
        if len(new):
            self.ids = np.concatenate([self.ids, new])
            drawing = self._first.drawing
            network = None if drawing is None else self._products(drawing)[-len(new) :]
            everything = self._first.everything
            shape = self._first.shape.at(new) if everything is None else everything[new]
            self.shape = np.concatenate([self.shape, shape])
            self.before = np.concatenate([self.before, self._first(new, shape, network)])
            said = np.zeros(len(new), np.float32) if network is None else network
            self.network = np.concatenate([self.network, said])

    def add_like(self, query: QueryEmbeddings) -> None:
        """Know those that are most like the query, too."""
        self.add(lambda k: self._pictures.best(query, k, self._threads))

    def score_words(self, words: Words) -> None:
        """Rank by words, too: as much as the drawing's own first hits agree with them."""
        drawn = self.ids[np.argsort(-self.before, kind="stable")[:_AGREEING_HITS]]
        agreed = float(np.maximum(words.seen(drawn), 0).mean()) if words.says and len(drawn) else 0.0
        self._first.score_words(words, min(max(agreed, _DISAGREEMENT_WEIGHT), 1.0))
        network = None if self._first.drawing is None else self.network
        self.before = self._first(self.ids, self.shape, network)
        self.add(words.best)

    def vectors(self, some: Ids) -> NDArray[np.float32]:
        """The embeddings of some of these."""
        return self._pictures.vectors(self.ids[some]) if self._pictures.small else self._rows.vectors[some]

    def alike(self, query: Vector) -> Vector:
        """How much each is like the query, as a z-score."""
        return _z(self._products(query), self._pictures.background_rows.cosines(query))

    def against(self) -> Vector:
        """What speaks against each: how much more than usual it is like what was rejected; never chosen."""
        everything = np.zeros(len(self.ids), np.float32)
        unlike = _average(self._pictures, _Chosen(self._rejected, np.ones(len(self._rejected), np.float32)))
        if unlike is not None:
            everything += np.float32(_REJECTED_WEIGHT) * np.maximum(self.alike(unlike), 0)
        everything[is_among(self.ids, self._rejected)] = np.inf
        return everything

    def _products(self, query: QueryEmbeddings) -> Vector:
        return self._pictures.products(query) if self._pictures.small else self._rows.cosines(query)


def _z(values: Vector, background: Vector) -> Vector:
    return np.asarray((values - background.mean()) / max(float(background.std()), 1e-9), np.float32)


@dataclass(frozen=True)
class _Chosen:
    """Pictures to average, and their weights."""

    ids: Ids
    weights: Vector


def _best(ids: Ids, score: Vector, n: int) -> _Chosen:
    """The n best, weighted by how far their scores stand above those of ordinary hits further down.

    So the number of pictures that count adapts: few when few stand out, all when all are alike.
    """
    order = np.argsort(-score, kind="stable")[: _BACKGROUND_RANK * n]
    order = order[np.isfinite(score[order])]  # none that was rejected
    if not len(order):
        return _Chosen(ids[:0], score[:0])
    above = score[order] - score[order[-1]]
    return _Chosen(ids[order[:n]], above[:n] if above[0] > 0 else np.ones_like(above[:n]))


def _average(pictures: Pictures, chosen: _Chosen) -> Vector | None:
    """The weighted mean of embeddings, of length 1; None when no picture has one."""
    mean = (chosen.weights[:, None] * pictures.vectors(chosen.ids)).sum(axis=0)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length, np.float32) if length > 0 else None
