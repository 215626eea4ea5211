"""A drawing, whatever it comes as -> strokes and contour points in one frame."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ArgumentError, SketchseekError
from ..sources.files import Source, read_source, source_name
from ..sources.limits import KEPT_VERTICES, MAX_PIXELS
from .outline import weighed
from .points import FRAME, Points
from .simplification import simplified
from .strokes import check_shape, clean_strokes, is_strokes, parse_strokes, sample_strokes, to_frame

if TYPE_CHECKING:
    from PIL import Image

BITMAP_SIDE = 1024
"""A drawing in pixels is thinned at this size at most."""
SVG_SIDE = 640
"""The size at which an SVG becomes pixels, where it has to."""

Drawing: TypeAlias = (
    "Sketch | str | os.PathLike[str] | bytes | Sequence[Any] | NDArray[np.uint8] | Image.Image"
)
"""What may be searched for: a sketch, the path or the bytes of a file, the text of an SVG, strokes
[[[x, y], ...], ...], pixels (h, w), (h, w, 3) or (h, w, 4), or a Pillow image."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """A drawing to search for.

    points : contour points, weight 1 on the outline and less inside it (`outline.py`); the drawing's tight
        box has its longer side at 400 pixels and its middle at the origin.
    strokes : polylines (n, 2) float32 in the same coordinates, for drawing the outline on a hit; simplified
        where there were more than `KEPT_VERTICES` points.
    name : what to call it.
    picture : (h, w, 3) uint8, RGB, of a photograph whose contours these are; None for what was drawn.
    """

    points: Points
    strokes: list[NDArray[np.float32]]
    name: str
    picture: NDArray[np.uint8] | None = None

    @classmethod
    def load(
        cls,
        source: Source,
        name: str | None = None,
        *,
        box: Sequence[float] | None = None,
        max_pixels: int = MAX_PIXELS,
    ) -> Sketch:
        """A bitmap, an SVG or a JSON file of strokes (path or bytes), told apart by its content.

        Of a photograph, its stronger contours and what it shows. A file that claims more than `max_pixels` is
        refused.

        box : (x0, y0, x1, y1), the part of a bitmap that is meant, in its upright pixels.
        """
        title = name or (os.fspath(source) if isinstance(source, str | Path) else "drawing")
        data, said = read_source(source), source_name(source)
        if is_strokes(data) and box is None:  # nothing heavy is imported for these
            return cls._of(parse_strokes(data, said), title)
        from ..sources.svg import is_svg, svg_strokes

        if box is not None and (is_strokes(data) or is_svg(data)):
            raise SketchseekError("A box is a part of a picture in pixels; a drawing is searched as a whole.")
        strokes = svg_strokes(data, said) if is_svg(data) else None
        if strokes is not None:
            return cls._of(strokes, title)
        from ..sources.picture import decode_image

        side = SVG_SIDE if is_svg(data) else BITMAP_SIDE
        image, size, kind = decode_image(data, said, side, enlarge=False, max_pixels=max_pixels)
        if box is not None:
            from .photograph import part

            image = part(image, box, size)
        return cls.from_image(image, title) if kind != "SVG" else cls.from_bitmap(np.asarray(image), title)

    @classmethod
    def of(cls, drawing: Drawing) -> Sketch:
        """Whatever a drawing may be given as; see `Drawing`."""
        if isinstance(drawing, Sketch):
            return drawing
        if isinstance(drawing, list | tuple):
            return cls.from_strokes(drawing)
        if isinstance(drawing, str) and drawing.lstrip()[:1] == "<":
            return cls.from_svg(drawing)
        if isinstance(drawing, bytes | str | os.PathLike):
            return cls.load(drawing if isinstance(drawing, bytes) else os.fspath(drawing))
        if isinstance(drawing, np.ndarray):
            return cls.from_pixels(drawing)
        image: Any = drawing
        if not hasattr(image, "mode"):
            raise ArgumentError(
                "A drawing is a Sketch, a list of strokes, a path, the bytes of a file, the text of an SVG, "
                f"a Pillow image or a NumPy array, not of type {type(drawing).__name__}."
            )
        return cls.from_image(image)

    @classmethod
    def from_pixels(cls, pixels: NDArray[np.uint8], name: str = "drawing") -> Sketch:
        """Pixels (h, w), (h, w, 3) or (h, w, 4), of a drawing, a sheet or a photograph."""
        from PIL import Image

        return cls.from_image(Image.fromarray(_checked_pixels(pixels)), name)

    @classmethod
    def from_image(cls, image: Image.Image, name: str = "drawing") -> Sketch:
        """A Pillow image: of a drawing, or a sheet that is drawn on, the lines; of a photograph, contours."""
        from ..sources.picture import on_white, scaled
        from .photograph import photograph_strokes
        from .sheet import find_sheet

        if image.mode not in ("RGB", "RGBA") or max(image.size) > BITMAP_SIDE:
            image = scaled(image, min(max(image.size), BITMAP_SIDE))
        sheet = find_sheet(np.asarray(image)) if image.mode == "RGB" else None
        if sheet is not None:
            return cls.from_bitmap(sheet, name)
        strokes = photograph_strokes(image)
        if strokes is None:
            return cls.from_bitmap(np.asarray(image), name)
        return replace(cls._of(strokes, name), picture=on_white(scaled(image, int(FRAME))))

    @classmethod
    def from_strokes(cls, strokes: Sequence[ArrayLike], name: str = "drawing") -> Sketch:
        """Strokes [[[x, y], ...], ...], in any unit, x to the right and y downwards."""
        return cls._of(clean_strokes(strokes), name)

    @classmethod
    def from_svg(cls, text: str | bytes, name: str = "drawing") -> Sketch:
        """The visible lines of an SVG document, and the outlines of its filled shapes."""
        from ..sources.svg import is_svg

        data = text.encode() if isinstance(text, str) else text
        if not is_svg(data):
            raise SketchseekError("The drawing is not SVG.")
        return cls.load(data, name)

    @classmethod
    def from_bitmap(cls, pixels: NDArray[np.uint8], name: str = "drawing") -> Sketch:
        """Pixels (h, w), (h, w, 3) or (h, w, 4) of a drawing in ink of any colour on plain ground."""
        pixels = _checked_pixels(pixels)
        from .bitmap import bitmap_strokes

        return cls._of(bitmap_strokes(pixels), name)

    @classmethod
    def _of(cls, strokes: list[NDArray[np.float64]], name: str) -> Sketch:
        framed, width, height = to_frame(strokes)
        if sum(map(len, framed)) > KEPT_VERTICES:
            framed = simplified(framed, KEPT_VERTICES)
        points = sample_strokes(framed, width, height)
        check_shape(points)
        return cls(weighed(points), framed, name)

    def simplified(self, most: int) -> Sketch:
        """The same drawing with at most so many points on its strokes, for drawing it many times."""
        if most < 2:
            raise ArgumentError(f"most must be 2 or more, got {most}")
        return replace(self, strokes=simplified(self.strokes, most) if self.strokes else [])

    def to_svg(self) -> str:
        """The drawing, black on white, as an SVG document; a notebook shows it."""
        w, h = self.points.width * 1.1 + 20, self.points.height * 1.1 + 20
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" height="200" style="background: white" '
            f'viewBox="{-w / 2:.1f} {-h / 2:.1f} {w:.1f} {h:.1f}" role="img" aria-label="the drawing">'
            f'<path fill="none" stroke="black" stroke-width="5" stroke-linecap="round" '
            f'stroke-linejoin="round" d="{path_data(self.strokes)}"/></svg>'
        )

    _repr_svg_ = to_svg


def path_data(strokes: Iterable[NDArray[np.float32]]) -> str:
    """Polylines (n, 2) as the data of an SVG path; a single point becomes a dot."""
    parts = []
    for stroke in strokes:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in stroke.tolist())
        parts.append(f"M{points}" + ("z" if len(stroke) == 1 else ""))
    return "".join(parts)


def _checked_pixels(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pixels, once they are what they must be."""
    channels = pixels.shape[2:]
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or 0 in pixels.shape or channels == (1,):
        raise ArgumentError("Pixels must be uint8 of shape (h, w), (h, w, 3) or (h, w, 4).")
    return pixels
