"""SVG -> pixels, in a process with limits: what a document costs does not show in its length."""

from __future__ import annotations

import atexit
import xml.etree.ElementTree as ET

from ..errors import SketchseekError
from .limits import DRAWING_MEMORY, DRAWING_PATIENCE, DRAWING_SECONDS, MAX_PIXELS
from .sandbox import Children, LimitError
from .svg import intrinsic_size, parse_svg, view_box
from .svg_allowed import drop_unlisted

_drawing = Children(
    "sketchseek.sources.resvg:draw",
    memory=DRAWING_MEMORY,
    seconds=DRAWING_SECONDS,
    patience=DRAWING_PATIENCE,
)
atexit.register(_drawing.close)


def render_svg(
    data: bytes, name: str, longer_side: int, max_pixels: int = MAX_PIXELS
) -> tuple[bytes, tuple[int, int]]:
    """PNG bytes whose longer side is `longer_side`, and the size that the file asks for."""
    root = parse_svg(data, name)
    width, height = intrinsic_size(root)
    if not width * height <= max_pixels:
        raise SketchseekError(f"{name} claims {width:.6g} x {height:.6g} pixels, which is too many.")
    scale = longer_side / max(width, height)
    if view_box(root) is None:
        root.set("viewBox", f"0 0 {width} {height}")
    root.set("width", str(max(1, round(width * scale))))
    root.set("height", str(max(1, round(height * scale))))
    drop_unlisted(root)
    try:
        png = _drawing.ask(ET.tostring(root, encoding="utf-8"))
    except LimitError as error:
        raise SketchseekError(f"{name} takes {error} to draw.") from error
    except SketchseekError as error:
        raise SketchseekError(f"{name} could not be drawn ({error}).") from error
    return png, (max(1, round(width)), max(1, round(height)))
