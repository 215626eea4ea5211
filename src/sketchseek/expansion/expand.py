"""From the shape that was drawn to the things it stands for: blending and average query expansion.

The first ranking is by shape, with the network's opinion of the drawing blended in. The descriptors of its
first hits are averaged, and all pictures compared with the average ("Query expansion", section 5.3 of the
paper); a second round averages the first hits of that.

Scores of different kinds are compared as z-scores: how many deviations above the collection's mean.

References
----------
Chum, Philbin, Sivic, Isard and Zisserman, "Total recall: automatic query expansion with a generative feature
model for object retrieval", ICCV 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sketchseek.expansion.pictures import Pictures
from sketchseek.expansion.quantisation import Ids, Vector

EXPAND = 15
BLEND = 0.75
_CARRIED = 0.3  # weight of the first ranking's z-score beside the first round's, when choosing for the second
_KEPT = 0.2  # the same in the final score
_FIRST = 20  # so many come first by the final score; among them, the drawing itself counts once more
_AGAIN = 0.3
_USUAL = 3  # hits beyond this many times those averaged are no longer first hits
_POOL = 2000  # of a large collection, how many candidates each kind of score may name
_YARDSTICK = 2048  # pictures that say what a usual score is


class Shape(Protocol):
    """The drawing's shape scores, for the whole collection."""

    def best(self, k: int) -> Ids:
        """The k best pictures, by number, best first."""

    def at(self, ids: Ids) -> Vector:
        """The scores of some pictures."""


@dataclass(frozen=True)
class ShapeScores:
    """Shape scores that are all there: (n,)."""

    scores: NDArray[np.float32]

    def best(self, k: int) -> Ids:
        """The k best pictures, by number, best first."""
        return np.argsort(-self.scores, kind="stable")[:k]

    def at(self, ids: Ids) -> Vector:
        """The scores of some pictures."""
        return self.scores[ids]


def default_expand(pictures: int) -> int:
    """How many first hits to average; fewer where a collection is too small to have that many right ones."""
    return min(EXPAND, max(pictures // 10, 1))


def rerank(
    shape: Shape,
    pictures: Pictures,
    k: int,
    *,
    drawing: Vector | None = None,
    expand: int = EXPAND,
    blend: float = BLEND,
    picked: Sequence[int] = (),
    threads: int = 1,
) -> tuple[Ids, Vector]:
    """The k best pictures by shape, the network's opinion of the drawing, and what the first hits depict.

    Parameters
    ----------
    shape : Shape
    pictures : Pictures
    k : int
    drawing : ndarray of shape (d,), optional
        The drawing's own descriptor, centred on that of drawings, of length 1.
    expand : int
        How many first hits to average, each by how far it stands out; 0 leaves the first ranking as it is.
    blend : float
        Weight of the drawing's descriptor beside its shape; 0 is shape alone.
    picked : sequence of int
        Pictures that the user chose: they are averaged, instead of the first hits.
    threads : int

    Returns
    -------
    ids, scores : ndarrays of shape (k,)
        Pictures by number, best first, and what ordered them.
    """
    n = len(pictures)
    pool = max(_POOL, k)
    yardstick = pictures.spread[:: -(-len(pictures.spread) // _YARDSTICK) or 1]

    usual_shape = shape.at(yardstick)

    def alike(query: Vector, ids: Ids) -> Vector:
        return _z(pictures.products(query, ids), pictures.products(query, yardstick))

    def blended(ids: Ids) -> Vector:
        score = _z(shape.at(ids), usual_shape)
        return score if drawing is None or not blend else score + blend * alike(drawing, ids)

    usual = blended(yardstick)
    ids: Ids = np.arange(n)
    if n > pool * 10:
        ids = shape.best(pool)
        if drawing is not None and blend:
            ids = np.union1d(ids, pictures.best(drawing, pool, threads))
    score = before = _z(blended(ids), usual)
    rounds: list[tuple[float, _Chosen | None]]
    if len(picked):
        rounds = [(_KEPT, _Chosen(np.asarray(picked, np.int64), np.ones(len(picked), np.float32)))]
    else:
        rounds = [(_CARRIED, None), (_KEPT, None)] if expand else []
    for kept, given in rounds:
        query = _average(pictures, given or _best(ids, score, expand))
        if query is None:
            break
        if n > pool * 10:
            ids = np.union1d(ids, pictures.best(query, pool, threads))
            before = _z(blended(ids), usual)
        score = alike(query, ids) + kept * before
    order = np.argsort(-score, kind="stable")[: max(k, _FIRST)]
    score = score[order]
    if rounds:
        first_page = order[:_FIRST]
        again = np.argsort(-(score[:_FIRST] + _AGAIN * before[first_page]), kind="stable")
        order[:_FIRST] = first_page[again]
    return ids[order[:k]], score[:k]


def _z(values: Vector, usual: Vector) -> Vector:
    return np.asarray((values - usual.mean()) / max(float(usual.std()), 1e-9), np.float32)


@dataclass(frozen=True)
class _Chosen:
    """Pictures to average, and their weights."""

    ids: Ids
    weights: Vector


def _best(ids: Ids, score: Vector, n: int) -> _Chosen:
    """The n best, weighted by how far their scores stand above those of the usual hits further down.

    So the number of pictures that count adapts: few when few stand out, all when all are alike.
    """
    order = np.argsort(-score, kind="stable")[: _USUAL * n]
    above = score[order] - score[order[-1]]
    return _Chosen(ids[order[:n]], above[:n] if above[0] > 0 else np.ones_like(above[:n]))


def _average(pictures: Pictures, chosen: _Chosen) -> Vector | None:
    """The weighted mean of descriptors, of length 1; None when no picture has one."""
    mean = chosen.weights @ pictures.vectors(chosen.ids)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length, np.float32) if length > 0 else None
