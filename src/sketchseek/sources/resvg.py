"""What the process that draws SVG does; nothing else is imported there."""

from __future__ import annotations

import resvg_py

from ..errors import SketchseekError


def draw(document: bytes) -> bytes:
    """PNG bytes of an SVG document, in the size it asks for."""
    text = document.decode()
    fonts = "<text" in text or ":text" in text  # looking for the system's fonts takes longer than an icon
    try:
        return bytes(resvg_py.svg_to_bytes(svg_string=text, skip_system_fonts=not fonts))
    except MemoryError:
        raise
    except BaseException as error:  # a panic in Rust is no Exception
        raise SketchseekError(str(error) or type(error).__name__) from None
