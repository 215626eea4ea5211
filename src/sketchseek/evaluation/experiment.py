"""A data set run through the whole path in memory: contours, descriptors, ranking, boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contours.drawing import Sketch
from ..contours.points import Points
from ..errors import SketchseekError
from ..search.clutter import STRENGTH, reordered
from ..search.hit import in_picture, tight_box
from ..search.hit import place as placed_points
from ..search.ranking import Collection, Ranking, rank, refine
from ..shape.query import Query
from ..shape.settings import Settings
from .calibration import FIRST, Hits, halves
from .datasets import DataSet
from .extraction import PictureContours, contours_of_pictures
from .scoring import SHOWN, Found, QueryScore, score, summary

if TYPE_CHECKING:
    from .depiction import Depiction

NOTHING = np.zeros(0, np.float32)


@dataclass(frozen=True)
class Experiment:
    """Contours of a data set's photos and drawings: what stays while settings and methods are tried out."""

    data: DataSet
    contours: tuple[PictureContours, ...]
    """One a photo; an unreadable photo has no points, and is found last."""
    sketches: tuple[Sketch | None, ...]
    """One a query; None where the drawing can't be read: such a query finds nothing."""
    failures: tuple[str, ...]

    @classmethod
    def of(
        cls,
        data: DataSet,
        detector: str = "neural",
        *,
        model: Path | None = None,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Experiment:
        """Find the contours, or remember them from another run."""
        contours, failures = _photos(data, detector, model, jobs, progress)
        sketches: list[Sketch | None] = []
        for query in data.queries:
            try:
                sketches.append(Sketch.load(query.sketch))
            except SketchseekError as error:
                sketches.append(None)
                failures.append(str(error))
        return cls(data, contours, tuple(sketches), tuple(failures))

    def seen_by(self, detector: str, jobs: int | None = None) -> Experiment:
        """The same drawings with the photos' contours by another detector."""
        return replace(self, contours=_photos(self.data, detector, None, jobs, None)[0])

    def sample(self, queries: int, seed: int = 0) -> Experiment:
        """The same photos with only some of the drawings, for quick looks."""
        n = len(self.data.queries)
        chosen = np.sort(np.random.default_rng(seed).permutation(n)[:queries])
        data = replace(self.data, queries=tuple(self.data.queries[i] for i in chosen))
        return replace(self, data=data, sketches=tuple(self.sketches[i] for i in chosen))

    def moved(self, shrink: float = 0.6, seed: int = 0) -> Experiment:
        """The photos' contours shrunk and moved at random inside the frame: a test of translation and scale.

        Boxes go along; sizes in pixels stay.
        """
        rng = np.random.default_rng(seed)
        contours, boxes = [], {}
        for i, c in enumerate(self.contours):
            w, h = c.points.width, c.points.height
            dx, dy = ((1 - shrink) / 2 * np.array([w, h]) * rng.uniform(-1, 1, 2)).tolist()
            p = c.points.scaled(shrink).translated(dx, dy)
            contours.append(replace(c, points=Points(p.x, p.y, p.angle, p.weight, w, h)))
            if i in self.data.boxes:
                x0, y0, x1, y1 = c.frame
                centre = np.array([x0 + x1, y0 + y1] * 2) / 2
                shift = np.array([dx, dy] * 2) * max(x1 - x0, y1 - y0) / max(w, h)
                boxes[i] = (self.data.boxes[i] - centre) * shrink + centre + shift
        return replace(
            self,
            contours=tuple(contours),
            data=replace(self.data, name=f"{self.data.name}-moved", boxes=boxes),
        )

    def collection(self, settings: Settings, storage: str = "int8") -> Collection:
        """The photos' descriptors, ready to be searched."""
        return Collection.of((c.points for c in self.contours), settings, storage)

    def run(
        self,
        collection: Collection,
        *,
        mirror: bool = True,
        clutter: float = STRENGTH,
        place: bool = True,
        depiction: Depiction | None = None,
        **method: Any,
    ) -> list[QueryScore]:
        """Search for every drawing; `method` as `rank` takes it, or with what the photos depict.

        clutter : strength of the local normalisation. place : also say where the drawing lies in the first
        hits, which takes longer than finding them.
        """
        scores = []
        for query, sketch in zip(self.data.queries, self.sketches, strict=True):
            found = Found(np.zeros(0, np.int64))
            if sketch is not None:
                asked = Query.of(sketch.points, collection.settings, mirror=mirror)
                if depiction is None:
                    ranking = rank(collection, asked, **method)
                    ranking, _ = self.reordered(collection, asked, ranking, strength=clutter)
                else:
                    ranking = depiction.search(collection, asked, sketch)
                boxes = self.boxes(sketch, collection, asked, ranking) if place else None
                found = Found(ranking.ids, boxes)
            scores.append(score(self.data, query, found))
        return scores

    def reordered(
        self, collection: Collection, query: Query, ranking: Ranking, k: int | None = None, **how: Any
    ) -> tuple[Ranking, NDArray[np.float64]]:
        """The ranking by local scores, as a search does it: line art has no clutter."""
        whole = np.array([c.is_line_art for c in self.contours])[ranking.ids]
        return reordered(collection, query, ranking, k, whole=whole, **how)

    def boxes(
        self, sketch: Sketch, collection: Collection, query: Query, ranking: Ranking
    ) -> NDArray[np.float64] | None:
        """Where the drawing lies in the hits that are shown, as a search would say; None if nobody asks."""
        if not self.data.boxes:
            return None
        return self.hit_boxes(sketch, collection, query, ranking.take(slice(SHOWN)))

    def hit_boxes(
        self, sketch: Sketch, collection: Collection, query: Query, ranking: Ranking
    ) -> NDArray[np.float64]:
        """(k, 4): where the drawing lies in each hit, in pixels of the photo."""
        shown = refine(collection, query, ranking)
        rows = [tight_box(sketch, self._placing(shown, i)) for i in range(len(shown))]
        return np.array(rows, dtype=np.float64).reshape(-1, 4)

    def _placing(self, ranking: Ranking, i: int) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
        c = self.contours[int(ranking.ids[i])]
        pose = (float(ranking.scale[i]), float(ranking.dx[i]), float(ranking.dy[i]))
        scale, dx, dy = in_picture(pose, c.frame, (c.width, c.height))
        return partial(
            placed_points,
            scale=scale,
            mirrored=bool(ranking.mirrored[i]),
            rotation=float(ranking.rotation[i]),
            translation=(dx, dy),
            size=(c.width, c.height),
        )

    def evaluate(self, settings: Settings, method: str = "exhaustive", **options: Any) -> dict[str, Any]:
        """One row of a table: the document that `evaluate --json` prints."""
        storage = options.pop("storage", "int8")
        scores = self.run(self.collection(settings, storage), method=method, **options)
        return summary(self.data, scores, method)


def _photos(
    data: DataSet,
    detector: str,
    model: Path | None,
    jobs: int | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[tuple[PictureContours, ...], list[str]]:
    """Contours of the photos, nothing for an unreadable one; and what is wrong with those."""
    found = contours_of_pictures(data.photos, detector, model=model, jobs=jobs, progress=progress)
    blank = PictureContours(
        Points(NOTHING, NOTHING, NOTHING, NOTHING, 400.0, 400.0), 400, 400, (0.0, 0.0, 400.0, 400.0)
    )
    failures = [str(c) for c in found if isinstance(c, SketchseekError)]
    return tuple(blank if isinstance(c, SketchseekError) else c for c in found), failures


def first_hits(e: Experiment) -> Hits:
    """The first hits by shape at the defaults, by their local scores: what the confidence is fitted on."""
    settings = Settings.preset()
    collection = e.collection(settings)
    scores, right, half = [], [], []
    half_of = halves([q.category for q in e.data.queries])
    for query, sketch, mine in zip(e.data.queries, e.sketches, half_of, strict=True):
        if sketch is not None:
            asked = Query.of(sketch.points, settings)
            found, local = e.reordered(collection, asked, rank(collection, asked), FIRST)
            scores.append(local)
            right.append(np.isin(found.ids, list(query.relevant)))
            half.append(np.full(len(local), mine))
    return Hits(np.concatenate(scores), np.concatenate(right), np.concatenate(half))
