"""Is it here at all? Each drawing against a collection that has what it shows, and against one that has not.

What confidence is fitted on and judged by (benchmarks/confidence.py, docs/explanation/confidence.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..contours.drawing import Sketch
from ..search.options import Options
from ..search.search import find
from ..search.state import SearchState
from ..shape.engine import Ids
from .embeddings import PhotoFeatures
from .experiment import Experiment

FEW_KINDS = 5
"""A collection may be of so few kinds of things that a good part of it is right."""
FIRST = 20
"""Hits of a drawing that count: a page of them."""


FLAT = 0.2
"""A collection of which a larger share is line art is one of icons or drawings."""
SCRAWL = 3


@dataclass(frozen=True)
class Trial:
    """One search.

    evidence : (k, F) of its first hits. likeness : see `evidence.likeness`. right : (k,) which of the hits
    are. present : whether the collection had what was drawn. name : of the set. category : what was drawn.
    pictures : how many there were. side : of what make; pictures of two sides have nothing in common.
    confidence, chance : what the answer said of its hits, and of the thing being there.
    """

    evidence: NDArray[np.float64]
    likeness: NDArray[np.float64] | None
    right: NDArray[np.bool_]
    present: bool
    name: str
    category: str
    pictures: int
    confidence: NDArray[np.float64]
    chance: float
    side: int = 0


@dataclass(frozen=True)
class Described:
    """A collection whose pictures' features are at hand, so that parts of it can be searched."""

    state: SearchState
    features: PhotoFeatures | None = None

    def part(self, ids: Ids) -> SearchState:
        """Some of the pictures, numbered anew."""
        embeddings = None if self.features is None else self.features.part(ids).embeddings()
        return self.state.part(ids, lambda: embeddings)


def trials(
    e: Experiment, whole: Described, sizes: tuple[int | None, ...] = (None, 100, 10, 1), seed: int = 0
) -> Iterator[Trial]:
    """Search for every drawing in collections with and without what it shows, both of each size.

    sizes : None is all of the set but the right ones. Of a collection as large a share is right as of the
    set, one at least: the very one that was drawn, where that is known. Where folders tell pictures of
    one kind from those of another, also in a collection of a few kinds.
    """
    rng = np.random.default_rng(seed)
    options = Options(FIRST)
    everything = np.arange(len(whole.state))
    drawn: dict[tuple[frozenset[int], int | None], list[int]] = {}
    for i, query in enumerate(e.data.queries):
        if e.sketches[i] is not None:
            drawn.setdefault((query.relevant, query.instance), []).append(i)
    folders = np.array([photo.parent.name for photo in e.data.photos])
    for (relevant, instance), queries in drawn.items():
        right = np.array(sorted(relevant))
        others = np.setdiff1d(everything, right)
        kinds = np.unique(folders[others])
        for size in (*sizes, FEW_KINDS) if len(kinds) > 2 * FEW_KINDS else sizes:
            wrong = rng.permutation(others)[:size]
            share = max(1, round(len(wrong) * len(right) / len(everything)))
            some = rng.permutation(right)
            some = some[np.argsort(some != instance, kind="stable")][:share]
            among = wrong[: len(wrong) - len(some)]
            if size == FEW_KINDS:
                chosen = rng.permutation(kinds)[:FEW_KINDS]
                some, among = right, others[np.isin(folders[others], chosen[1:])]
                wrong = others[np.isin(folders[others], chosen)]
            for present, ids in ((True, np.sort(np.concatenate([some, among]))), (False, np.sort(wrong))):
                state = whole.part(ids)
                for i in queries:
                    sketch = e.sketches[i]
                    assert sketch is not None
                    answer = find(state, sketch, options, place=False)
                    yield Trial(
                        answer.evidence,
                        answer.likeness,
                        np.isin(ids[answer.pictures], right),
                        present,
                        e.data.name,
                        e.data.queries[i].category,
                        len(state),
                        answer.confidence,
                        answer.present,
                    )


def slips(e: Experiment, whole: Described, count: int = 30, seed: int = 1) -> Iterator[Trial]:
    """Searches for what is no drawing of anything: a slip of the pen, a corner, an arc, a scrawl.

    Among icons and emoji only scrawls: there are arrows, circles and bars.
    """
    rng = np.random.default_rng(seed)
    state = whole.part(np.arange(len(whole.state)))
    flat = whole.state.is_line_art.mean() > FLAT or e.data.photos[0].suffix == ".svg"
    for i in range(count):
        sketch = Sketch.from_strokes([slip(rng, SCRAWL if flat else i % 4)])
        answer = find(state, sketch, Options(FIRST), place=False)
        nothing = np.zeros(len(answer.pictures), bool)
        yield Trial(
            answer.evidence,
            answer.likeness,
            nothing,
            False,
            e.data.name,
            f"slip {i}",
            len(state),
            answer.confidence,
            answer.present,
        )


def slip(rng: np.random.Generator, kind: int) -> NDArray[np.float64]:
    """One stroke (n, 2): a line, a corner, an arc or a scrawl (`SCRAWL`)."""
    if kind == 0:
        return np.array([[0.0, 0.0], rng.normal(0, 1, 2)]) * 3
    if kind == 1:
        return np.cumsum(np.vstack([[0.0, 0.0], rng.normal(0, 1, (2, 2))]), axis=0)
    if kind == 2:
        t = np.linspace(0, rng.uniform(1, 5), 30)
        return np.stack([np.cos(t) * rng.uniform(0.3, 1), np.sin(t)], axis=1)
    steps = rng.normal(0, 1, (int(rng.integers(4, 12)), 2))
    return np.cumsum(steps, axis=0)


def auroc(score: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """The chance that a positive scores more than a negative; ties count half.

    >>> auroc(np.array([.9, .2, .5]), np.array([True, False, False]))
    1.0
    """
    from scipy.stats import rankdata

    ranks = rankdata(score)
    n, m = int(positive.sum()), int((~positive).sum())
    if n == 0 or m == 0:
        return float("nan")
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * m))
