"""The Python side of the widget: strokes come in, hits go out, over the notebook's own protocol."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from ..contours.drawing import Sketch, path_data
from ..errors import SketchseekError
from ..search.hit import Hit, Hits
from ..search.html import POINTS
from ..sources.files import as_text
from . import script, style

if TYPE_CHECKING:
    from ..index import Index


class SketchWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """A sheet and the hits below it.

    strokes : [[[x, y], ...], ...] as drawn on the sheet, 1600 x 1440; set them to draw from Python.
    k : how many hits. hits : those of the drawing, as `Index.search` gives them; observe them to go on.
    """

    _esm = script()
    _css = style()
    strokes = traitlets.List().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)
    k = traitlets.Int(12, min=1, max=200)
    hits = traitlets.Instance(Hits, ())

    def __init__(self, index: Index, k: int, options: dict[str, Any]) -> None:
        self._index, self._options = index, options
        super().__init__(k=k, answer=self._said(Hits()))
        self.observe(self._search, ["strokes", "k"])

    @property
    def sketch(self) -> Sketch | None:
        """The drawing, as `Index.search` takes it; None while the sheet is empty."""
        return Sketch.from_strokes(self.strokes) if self.strokes else None

    def _search(self, _: object) -> None:
        found, problem = Hits(), ""
        try:
            if self.strokes:
                found = self._index.search(self.sketch, self.k, **self._options)
        except (SketchseekError, ValueError, TypeError) as error:
            problem = str(error)
        self.hits, self.answer = found, self._said(found, problem)

    def _said(self, found: Hits, problem: str = "") -> dict[str, Any]:
        """What the sheet shows of a search."""
        light = found[0].sketch.simplified(POINTS // len(found)) if found else None
        shown = [_shown(hit, light) for hit in found]
        return {"pictures": len(self._index), "problem": problem, "note": found.note, "hits": shown}


def _shown(hit: Hit, sketch: Sketch | None) -> dict[str, Any]:
    """What the sheet shows of a hit."""
    return {
        "picture": as_text(hit.picture),
        "name": os.path.basename(as_text(hit.picture)),
        "confidence": hit.confidence,
        "width": hit.width,
        "height": hit.height,
        "outline": path_data(hit.outline(sketch)),
        "thumbnail": "data:image/webp;base64," + base64.b64encode(hit.thumbnail()).decode(),
    }
