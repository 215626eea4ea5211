"""A data set run through the whole path in memory: contours, descriptors, ranking, boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contours.drawing import Sketch
from ..contours.points import Points
from ..errors import SketchseekError
from ..search.core import PLACE
from ..search.options import Options
from ..search.search import find
from ..search.state import PictureContours, SearchState, state_of
from ..shape.settings import Settings
from ..shape.windows import MIN_OBJECT_SIZE
from .datasets import DataSet
from .extraction import contours_of_pictures, with_embedding
from .scoring import SHOWN, QueryScore, RankedPhotos, score, summary

if TYPE_CHECKING:
    from ..embeddings import EmbeddingIndex

NOTHING = np.zeros(0, np.float32)
NO_IDS = np.zeros(0, np.int64)
ALL = Options()
"""A search at its defaults; `Experiment.run` asks it for all photos."""


@dataclass(frozen=True)
class Experiment:
    """Contours of a data set's photos and drawings: what stays while settings and methods are tried out."""

    data: DataSet
    contours: tuple[PictureContours, ...]
    """One per photo; an unreadable photo has no points, and is found last."""
    sketches: tuple[Sketch | None, ...]
    """One per query; None where the drawing can't be read: such a query finds nothing."""
    failures: tuple[str, ...]

    @classmethod
    def of(
        cls,
        data: DataSet,
        detector: str = "neural",
        *,
        line_art: bool = True,
        jobs: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Experiment:
        """Find the contours, or remember them from another run.

        line_art : whether pictures that are line art are recognised and their lines followed.
        """
        contours, failures = _photos(data, detector, line_art=line_art, jobs=jobs, progress=progress)
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
        return replace(self, contours=_photos(self.data, detector, jobs=jobs)[0])

    def sample(self, queries: int, seed: int = 0) -> Experiment:
        """The same photos with only some of the drawings, for quick looks."""
        n = len(self.data.queries)
        return self.only(np.sort(np.random.default_rng(seed).permutation(n)[:queries]))

    def only(self, chosen: Sequence[int] | NDArray[np.int64]) -> Experiment:
        """The same photos with these drawings alone."""
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

    def state(
        self,
        settings: Settings,
        storage: str = "int8",
        embeddings: EmbeddingIndex | None = None,
        min_object_size: float = MIN_OBJECT_SIZE,
    ) -> SearchState:
        """The photos as a search sees them."""
        photos = self.data.photos
        return state_of(
            self.contours,
            settings,
            storage,
            min_object_size=min_object_size,
            path=lambda i: str(photos[i]),
            embeddings=embeddings,
        )

    def run(self, state: SearchState, options: Options = ALL, *, place: bool = True) -> list[QueryScore]:
        """Search for every drawing, ranking all photos.

        place : also say where the drawing lies in the first hits, which takes longer than finding them.
        """
        options = replace(options, k=min(SHOWN, len(state)))
        place = place and bool(self.data.boxes)
        scores = []
        for query, sketch in zip(self.data.queries, self.sketches, strict=True):
            found = RankedPhotos(NO_IDS)
            if sketch is not None:
                answer = find(state, sketch, options, count=len(state), place=place)
                boxes = None
                if place:
                    _, first = np.unique(answer.places[:, PLACE.index("hit")], return_index=True)
                    boxes = answer.places[first][:, [PLACE.index(name) for name in ("x0", "y0", "x1", "y1")]]
                found = RankedPhotos(answer.pictures, boxes)
            scores.append(score(self.data, query, found))
        return scores

    def evaluate(
        self,
        settings: Settings,
        options: Options = ALL,
        storage: str = "int8",
        embeddings: EmbeddingIndex | None = None,
        min_object_size: float = MIN_OBJECT_SIZE,
    ) -> dict[str, Any]:
        """One row of a table: the document that `evaluate --json` prints."""
        scores = self.run(self.state(settings, storage, embeddings, min_object_size), options)
        return summary(self.data, scores, options.method or "exhaustive")


def _photos(
    data: DataSet,
    detector: str,
    *,
    line_art: bool = True,
    jobs: int | None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[tuple[PictureContours, ...], list[str]]:
    """Contours of the photos, nothing for an unreadable one; and what is wrong with those."""
    found = contours_of_pictures(data.photos, detector, line_art=line_art, jobs=jobs, progress=progress)
    blank = PictureContours(
        Points(NOTHING, NOTHING, NOTHING, NOTHING, 400.0, 400.0), 400, 400, (0.0, 0.0, 400.0, 400.0)
    )
    failures = [str(c) for c in found if isinstance(c, SketchseekError)]
    contours = [blank if isinstance(c, SketchseekError) else c for c in found]
    if line_art:
        paired = zip(data.photos, contours, strict=True)
        contours = [c if c is blank else with_embedding(path, c) for path, c in paired]
    return tuple(contours), failures
