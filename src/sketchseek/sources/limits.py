"""What reading one file of a stranger's may cost, for the command line, the index and the server alike."""

from __future__ import annotations

from typing import Final

from ..errors import SketchseekError

FRAME: Final = 400.0
"""Longer side of every picture and drawing, in pixels (section 6). The maps take FRAME pixels as pi."""
MAX_BYTES: Final = 256 * 2**20
"""No picture file is larger than this; a larger one is refused unread."""
MAX_PIXELS: Final = 175_000_000
"""A header that claims more is refused. Just below the size at which Pillow itself refuses to open."""
MAX_DECODED_PIXELS: Final = 100_000_000
"""Most pixels held in memory at once; a JPEG may claim more, being decoded at a fraction of its size."""
PIXEL_COUNTS: Final = {"WEBP": 1.75, "JPEG": 0.8}
"""For so many a pixel counts: the decoder of WebP keeps four copies, that of JPEG hardly a part of one."""
MAX_SCANS: Final = 64
"""Scans of a JPEG, each of which goes over the whole picture. Those of cameras and programs are 1 to 20."""

DRAWING_SECONDS: Final = 5.0
"""Most processor time for drawing one SVG."""
DRAWING_PATIENCE: Final = 60.0
"""Most seconds for it by the clock: a busy machine is not the file's fault."""
DRAWING_MEMORY: Final = 2**30
"""Most address space for it."""

MAX_SVG_BYTES: Final = 16 * 2**20
MAX_ELEMENTS: Final = 100_000
MAX_DEPTH: Final = 200
MAX_VISITS: Final = 20_000
"""Elements of a drawing, each counted as often as it is used."""
MAX_SEGMENTS: Final = 50_000
"""Pieces of curve in a drawing, lifts of the pen included."""
MAX_ATTRIBUTE: Final = 2**16
"""Characters of an attribute that is neither a path nor a picture."""
MAX_STYLES: Final = 2**20
"""Characters of style sheets."""
MAX_DECLARATIONS: Final = 100_000
"""Declarations in them, each counted for every selector that it stands behind."""
MAX_READ: Final = 32 * 2**20
"""Characters of attributes that are read, each counted as often as its element is used."""

MAX_JSON_BYTES: Final = 8 * 2**20
"""Of a drawing in JSON: the points below with all their digits."""
MAX_STROKES: Final = 20_000
MAX_VERTICES: Final = 200_000
"""Points of all strokes of a drawing that is read."""
KEPT_VERTICES: Final = 20_000
"""Those that are kept of it: a drawing that has more is simplified."""
MAX_SAMPLES: Final = 40_000
"""Points along all of a drawing's lines; those that are longer than that many pixels get fewer a pixel."""

MAX_VOLUME_BYTES: Final = 4 * 2**30
"""Of a file whose pages are pictures: it is not read at once."""
MAX_PAGES: Final = 5_000
"""Of one volume."""
MAX_ENTRIES: Final = 20_000
"""Files in a comic archive, pages or not."""
PAGE_SIDE: Final = 1600
"""Longer side, in pixels, at which a page is drawn that is not one scan."""
SCAN_SIDE: Final = 4096
"""The most pixels of the longer side of a page that is one."""
PAGE_SECONDS: Final = 10.0
"""Most processor time for one page."""
PAGE_PATIENCE: Final = 90.0
"""Most seconds for it by the clock."""
PAGE_MEMORY: Final = 2**30
"""Most address space for it."""


def check_size(strokes: int, vertices: int = 0) -> None:
    """Refuse what is too much for a drawing, before anything is made of it."""
    if strokes > MAX_STROKES or vertices > MAX_VERTICES:
        raise too_large()


def too_large() -> SketchseekError:
    """The sentence for it."""
    return SketchseekError(
        f"The drawing is too large: {MAX_STROKES:,} strokes with {MAX_VERTICES:,} points are the most."
    )
