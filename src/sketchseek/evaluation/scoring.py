"""Rankings against the right answers: one row of figures per query, and their summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .datasets import AnnotatedQuery, DataSet
from .metrics import average_precision, bootstrap_interval, box_iou, mean_over, precision_at

SHOWN = 20
"""How many hits a person looks at: boxes are judged among these."""
DEPTHS = (5, 10, 20, 25, 50)
"""Where precision is measured: 20 as the paper does on ETHZ, the others as in its large-scale table."""
RECALLS = (1, 5, 10)
"""Among how many first hits the one picture that was drawn is looked for."""
WELL_PLACED = 0.5
"""IoU from which a box counts as found."""


@dataclass(frozen=True)
class RankedPhotos:
    """What a search gave for one query: photos, best first, and where the drawing lies in the first ones."""

    ids: NDArray[np.int64]
    """Positions in `DataSet.photos`."""
    boxes: NDArray[np.float64] | None = None
    """(SHOWN, 4) or fewer, in pixels of the photo."""


@dataclass(frozen=True)
class QueryScore:
    """Figures of one query.

    precision : at each of `DEPTHS`. iou : the mean over its `placed` right hits among those shown.
    well_placed : the share of those shown that are right and overlap a true box by half.
    """

    average_precision: float
    precision: dict[int, float]
    instance_rank: int | None
    iou: float
    placed: int
    well_placed: float

    @property
    def p20(self) -> float:
        """Precision among the hits that are shown."""
        return self.precision[SHOWN]


def score(data: DataSet, query: AnnotatedQuery, found: RankedPhotos) -> QueryScore:
    """Compare one ranking with the right answers."""
    right = np.isin(found.ids, list(query.relevant))
    instance = None
    if query.instance is not None:
        at = np.flatnonzero(found.ids == query.instance)
        instance = int(at[0]) + 1 if len(at) else len(data.photos) + 1
    overlaps = []
    if found.boxes is not None:
        shown = zip(found.ids[:SHOWN], right, found.boxes, strict=False)
        overlaps = [box_iou(b, data.boxes[int(i)]).max() for i, r, b in shown if r and int(i) in data.boxes]
    return QueryScore(
        average_precision(right, len(query.relevant)),
        {k: precision_at(right, k) for k in DEPTHS},
        instance,
        float(np.mean(overlaps)) if overlaps else 0.0,
        len(overlaps),
        sum(o >= WELL_PLACED for o in overlaps) / SHOWN,
    )


def summary(data: DataSet, scores: Sequence[QueryScore], method: str) -> dict[str, Any]:
    """The document that `evaluate --json` prints: fractions, with 95% bootstrap intervals over queries."""
    columns: dict[str, tuple[list[float], list[int] | None]] = {
        "map": ([s.average_precision for s in scores], None),
        **{f"p@{k}": ([s.precision[k] for s in scores], None) for k in DEPTHS},
    }
    ranks = [s.instance_rank for s in scores if s.instance_rank is not None]
    if ranks:
        columns |= {f"instance_recall@{k}": ([r <= k for r in ranks], None) for k in RECALLS}
    placed = [s.placed for s in scores]
    if sum(placed):
        columns["box_iou"] = ([s.iou for s in scores], placed)
        columns["placed@20"] = ([s.well_placed for s in scores], None)
    categories = [q.category for q in data.queries]
    names = ("map", "p@5", "p@20")
    per_category = {name: mean_over(categories, columns[name][0]) for name in names}
    return {
        "name": data.name,
        "queries": len(data.queries),
        "pictures": len(data.photos),
        "method": method,
        **{name: float(np.average(v, weights=w)) for name, (v, w) in columns.items()},
        "per_category": {c: {n: per_category[n][c] for n in names} for c in per_category["map"]},
        "intervals": {name: list(bootstrap_interval(v, w)) for name, (v, w) in columns.items()},
    }
