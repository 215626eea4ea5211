"""The paper's ablations (figure `exp_triplet`) on any annotated set: accuracy against one quantity at a time.

Each gives curves: for every way of doing it, points (quantity, one score per drawing). All score by the
paper's cosine of whole pictures, without local normalisation and coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..contours.drawing import Sketch
from ..errors import SketchseekError
from ..kernels import RBF
from ..maps import HarmonicMap
from ..search.collection import Collection
from ..search.options import Options
from ..search.ranking import PRE_SHORTLIST, best_first, rank
from ..shape.query import Query
from ..shape.settings import PAPER, Settings, X, Y
from ..shape.windows import WHOLE
from .datasets import data_folder, load
from .experiment import Experiment
from .scoring import QueryScore, RankedPhotos, score
from .separate_kernels import SeparateKernels

Curves = dict[str, list[tuple[float, list[QueryScore]]]]
Order = NDArray[np.int64]

DPF = ("dpf, higher variance first", "dpf, lower variance first", "dpf, x first", "dpf, y first")
SETS = ("sysu", "s2c", "sketchy")
FREQUENCIES = (3, 4, 5, 6, 7, 8, 9, 10)
ORIENTATIONS = (2, 4)
SHARES = (0.02, 1 / 15, 0.1, 0.2, 1 / 3, 0.5)
NEIGHBOURHOODS = (1, 3, 5, 7, 9, 11)
REFINEMENTS = ("binary", "local", "binary-all", "local-all")
THIRD = 1 / 3
NOTHING: Order = np.zeros(0, np.int64)
SAMPLE = 100
"""Drawings of each set, at random, where there are more: these curves are many."""


def development_sets(jobs: int | None = None) -> list[Experiment]:
    """The sets that choices are made on."""
    place = data_folder()
    if place is None:
        raise SketchseekError("The development sets are not there: set SKETCHSEEK_DATA.")
    return [Experiment.of(load(place / name), jobs=jobs) for name in SETS]


def frequencies(e: Experiment) -> Curves:
    """Against the number of spatial frequencies: what the joint map is for, at the paper's settings.

    "one descriptor a kernel" is what the paper compares with at large scale (TBFJ15): harmonic maps.
    """
    curves: Curves = {}
    for o in ORIENTATIONS:
        for n in FREQUENCIES:
            joint = Settings.fit(n, o, **PAPER)
            for name, settings in (("joint", joint), ("harmonic", harmonic(joint))):
                scores = e.run(
                    e.state(settings, min_object_size=WHOLE), Options(local_normalization=0.0), place=False
                )
                curves.setdefault(f"{name}, {o} of orientation", []).append((n, scores))
    for n in FREQUENCIES:
        separate = SeparateKernels.of([c.points for c in e.contours], Settings.fit(n, 2, **PAPER))
        scores = scores_of_orders(e, partial(_by_all, separate))
        curves.setdefault("one descriptor a kernel, 2 of orientation", []).append((n, scores))
    return curves


def _by_all(separate: SeparateKernels, sketch: Sketch) -> Order:
    return separate.rank(sketch.points).ids


def harmonic(settings: Settings) -> Settings:
    """The same with Fourier's frequencies and weights instead of the joint map's."""
    maps = HarmonicMap([RBF(0.2 * s) for s in settings.scales], len(settings.frequencies)).fit()
    return replace(
        settings,
        frequencies=tuple(map(float, maps.frequencies_)),
        weights=tuple(tuple(map(float, row)) for row in maps.weights_),
    )


def shortlists(e: Experiment, settings: Settings) -> Curves:
    """Against the share of the collection that is re-ranked exactly, by what names the shortlist.

    What is not on the shortlist follows in the order of the projections. `dpf` computes the second projection
    for three times the shortlist only; the paper begins with the axis along which the drawing varies more,
    and compares with always beginning with the same one.
    """
    collection = e.state(settings, min_object_size=WHOLE).collection
    names = ("Sx + Sy", "Sx", "Sy", *DPF)
    shares = (0.0, *SHARES, 1.0)
    curves: Curves = {name: [(share, []) for share in shares] for name in names}
    for annotated, sketch in zip(e.data.queries, e.sketches, strict=True):
        query = None if sketch is None else Query.of(sketch.points, settings)
        for name, points in curves.items():
            for share, scores in points:
                size = round(share * len(collection))
                ids = NOTHING if query is None else _shortlisted(collection, query, name, size)
                scores.append(score(e.data, annotated, RankedPhotos(ids)))
    return curves


def _shortlisted(collection: Collection, query: Query, name: str, size: int) -> Order:
    engine = collection.engine
    scores = {axis: engine.project(query, axis) for axis in (X, Y)}
    if name in DPF:
        higher = query.first_projection
        first = (higher, Y if higher == X else X, X, Y)[DPF.index(name)]
        total = scores[first] - 4  # those that the second projection never sees come after all others
        kept = best_first(scores[first], max(PRE_SHORTLIST * size, 1))
        total[kept] = scores[X][kept] + scores[Y][kept]
    else:
        total = {"Sx + Sy": scores[X] + scores[Y], "Sx": scores[X], "Sy": scores[Y]}[name]
    order = best_first(total, len(total))
    if size == 0:
        return order
    top = np.sort(order[:size])
    return np.concatenate([top[best_first(engine.scores(query, top), size)], order[size:]])


def rerankings(e: Experiment, settings: Settings) -> Curves:
    """Against the neighbourhood in which a third of the collection, by projections, is refined."""
    collection = e.state(settings, min_object_size=WHOLE).collection
    size = max(1, round(THIRD * len(collection)))

    def ordered(rerank: str, neighborhood: int) -> list[QueryScore]:
        def order(sketch: Sketch) -> Order:
            query = Query.of(sketch.points, settings)
            return rank(
                collection,
                query,
                method="projections",
                shortlist=size,
                rerank=rerank,
                neighborhood=neighborhood,
            ).ids

        return scores_of_orders(e, order)

    exact = ordered("exact", 1)
    curves: Curves = {"exact": [(n, exact) for n in NEIGHBOURHOODS]}
    for rerank in REFINEMENTS:
        curves[rerank] = [(n, ordered(rerank, n)) for n in NEIGHBOURHOODS]
    return curves


def scores_of_orders(e: Experiment, order: Callable[[Sketch], Order]) -> list[QueryScore]:
    """One score a drawing, from a function that orders all photos for it."""
    return [
        score(e.data, query, RankedPhotos(NOTHING if sketch is None else order(sketch)))
        for query, sketch in zip(e.data.queries, e.sketches, strict=True)
    ]
