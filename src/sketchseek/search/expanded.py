"""A search with everything the index holds: shape, the network's opinion of the drawing, expansion."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..depiction.describers import PictureDescriber
from ..depiction.expand import BLEND, default_expand, rerank
from ..depiction.pictures import Pictures
from ..depiction.quantisation import Ids, Vector
from ..errors import SketchseekError
from ..shape.query import Query
from .confidence import BY_EVERYTHING
from .ranking import Collection, Ranking, place, rank

if TYPE_CHECKING:
    from ..contours.drawing import Sketch


@dataclass(frozen=True)
class Expanded:
    """How to search beyond the shape; None stands for the default."""

    describer: PictureDescriber | None
    """Missing where the extra is: then the drawing's own descriptor is, too."""
    pictures: Pictures
    expand: int | None = None
    blend: float | None = None
    picked: Sequence[int] = ()

    def search(
        self, collection: Collection, query: Query, sketch: Sketch, k: int, threads: int | None, **method: Any
    ) -> tuple[Ranking, NDArray[np.float64]]:
        """The k best, placed by their shape; and the confidence that orders them, (k,) in [0, 1]."""
        if len(self.picked) and not self.pictures.has(np.asarray(self.picked)).any():
            raise SketchseekError(
                "None of the picked pictures has a descriptor yet: run `sketchseek index --expansion` again."
            )
        blend = BLEND if self.blend is None else self.blend
        drawing = self.describer.drawing(sketch.strokes) if blend and self.describer else None
        if self.blend and drawing is None:
            raise SketchseekError(
                "The picture network of this index cannot read drawings: search with --blend 0."
            )
        ids, score = rerank(
            _Scored(collection, query, threads, method),
            self.pictures,
            k,
            drawing=drawing,
            expand=default_expand(len(self.pictures)) if self.expand is None else self.expand,
            blend=blend,
            picked=self.picked,
            threads=threads or os.cpu_count() or 1,
        )
        return place(collection, query, ids, threads), BY_EVERYTHING(score)


@dataclass(frozen=True)
class _Scored:
    """Shape scores from the engine, computed where they are asked for."""

    collection: Collection
    query: Query
    threads: int | None
    method: dict[str, Any]

    def best(self, k: int) -> Ids:
        """The k best pictures, by number, best first."""
        if self.method.get("method", "exhaustive") == "exhaustive":  # nobody asks where they are
            return self.collection.engine.top(self.query, k, self.threads)[0]
        return rank(self.collection, self.query, k=k, threads=self.threads, **self.method).ids

    def at(self, ids: Ids) -> Vector:
        """The scores of some pictures."""
        return self.collection.engine.scores(self.query, ids, self.threads)
