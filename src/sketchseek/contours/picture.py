"""Any picture file -> upright 8-bit colour pixels, at the size the method works at."""

from __future__ import annotations

import io
import logging
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from ..errors import SketchseekError
from .points import FRAME
from .source import Source, read_source, source_name
from .svg import is_svg
from .svg_render import render_svg

MAX_PIXELS = 175_000_000
"""A header that claims more is refused. Just below the size at which Pillow itself refuses to open."""
MAX_DECODED_PIXELS = 100_000_000
"""Most pixels held in memory at once; a JPEG may claim more, being decoded at a fraction of its size."""
THUMBNAIL_SIDE = 256
FORMATS = ("JPEG", "PNG", "WEBP", "AVIF", "HEIF", "TIFF", "BMP", "GIF")

# A picture is read or refused, in words. What Pillow says besides, about odd tags or its own lower cap,
# would land between the lines of a progress report.
warnings.filterwarnings("ignore", module=r"PIL\.")
logging.getLogger("PIL").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded picture.

    pixels : (h, w, 3) uint8, RGB, upright, transparency laid over white; max(h, w) is the size asked for.
    width, height : size of the original in its own pixels, upright as EXIF says.
    format : "JPEG", "PNG", ..., "SVG".
    """

    pixels: NDArray[np.uint8]
    width: int
    height: int
    format: str


def load_picture(source: Source, longer_side: int = int(FRAME), name: str | None = None) -> Picture:
    """Read a picture file (path or bytes) at `longer_side` pixels; small ones are enlarged.

    name : what a sentence about it begins with, where `source` has no name.

    Raises SketchseekError, with the reason, for anything that is not a readable picture.
    """
    image, (width, height), kind = decode(read_source(source), name or source_name(source), longer_side)
    if image.mode == "RGBA":
        ground = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(ground, image)
    return Picture(np.asarray(image.convert("RGB")), width, height, kind)


def thumbnail(picture: Picture, longer_side: int = THUMBNAIL_SIDE) -> bytes:
    """A small WebP of a loaded picture."""
    image = Image.fromarray(picture.pixels)
    image.thumbnail((longer_side, longer_side), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "WEBP", quality=80, method=2)
    return out.getvalue()


def decode(
    data: bytes, name: str, longer_side: int, *, enlarge: bool = True
) -> tuple[Image.Image, tuple[int, int], str]:
    """Pixels (mode RGB, or RGBA where something is transparent), upright size of the original, format."""
    if is_svg(data):
        return _decode_svg(data, name, longer_side)
    try:
        return _decode_raster(data, name, longer_side, enlarge)
    except SketchseekError:
        raise
    except UnidentifiedImageError as error:
        known = ", ".join(FORMATS)
        raise SketchseekError(f"{name} is not a picture of a known format ({known}, SVG).") from error
    except Image.DecompressionBombError as error:
        raise SketchseekError(f"{name} claims more than {MAX_PIXELS // 10**6} million pixels.") from error
    except MemoryError as error:
        raise SketchseekError(f"{name} needs more memory than there is.") from error
    except Exception as error:
        # Decoders meet a damaged file with whatever error it causes: struct, zlib, index, syntax, ...
        raise SketchseekError(f"{name} is damaged or cut short ({_one_line(error)}).") from error


def _decode_svg(data: bytes, name: str, longer_side: int) -> tuple[Image.Image, tuple[int, int], str]:
    png, (width, height) = render_svg(data, name, longer_side, MAX_PIXELS)
    return Image.open(io.BytesIO(png), formats=["PNG"]).convert("RGBA"), (width, height), "SVG"


def _decode_raster(
    data: bytes, name: str, longer_side: int, enlarge: bool
) -> tuple[Image.Image, tuple[int, int], str]:
    _register_heif()
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:
        kind = "JPEG" if image.format == "MPO" else str(image.format)
        width, height = image.size
        if width * height > MAX_PIXELS:
            raise SketchseekError(f"{name} claims {width} x {height} pixels, which is too many.")
        if kind == "JPEG":
            target = _fit(width, height, longer_side, enlarge)
            image.draft(None, target)
        if image.width * image.height > MAX_DECODED_PIXELS:
            raise SketchseekError(f"{name} has {width} x {height} pixels, which is too many.")
        image.load()
        if kind != "JPEG":
            width, height = image.size  # a TIFF turns itself upright while loading
        small = _resize(_eight_bit(image), _fit(width, height, longer_side, enlarge))
        orientation = _orientation(image, data)
    if orientation in _TRANSPOSE:
        small = small.transpose(_TRANSPOSE[orientation])
    if orientation in (5, 6, 7, 8):
        width, height = height, width
    return small, (width, height), kind


def _orientation(image: Image.Image, data: bytes) -> int:
    """How EXIF says a loaded picture is still to be turned."""
    turned_by_file = b"irot" in data[:65536] or b"imir" in data[:65536]
    if image.format == "HEIF" and not turned_by_file:
        # The reader takes EXIF for a copy of the file's own rotation, and drops it; here there is none.
        return image.info.get("original_orientation") or 1
    return int(image.getexif().get(0x0112, 1))


_TRANSPOSE = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def _register_heif() -> None:
    if "HEIF" not in Image.OPEN:
        import pillow_heif

        pillow_heif.register_heif_opener()


def _fit(width: int, height: int, longer_side: int, enlarge: bool) -> tuple[int, int]:
    longer = max(width, height)
    if longer < longer_side and not enlarge:
        return width, height
    return max(1, round(width * longer_side / longer)), max(1, round(height * longer_side / longer))


def _eight_bit(image: Image.Image) -> Image.Image:
    """The same picture as L, RGB or RGBa (colours multiplied by alpha, so that they can be averaged)."""
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):  # 32 bits: no telling what is white but the brightest pixel
        values = np.nan_to_num(np.asarray(image, dtype=np.float32), posinf=0, neginf=0)
        low, high = float(values.min()), float(values.max())
        return Image.fromarray(((values - low) * (255 / max(high - low, 1e-12))).astype(np.uint8))
    if image.has_transparency_data:
        return image.convert("RGBA").convert("RGBa")
    return image if image.mode in ("L", "RGB") else image.convert("RGB")


def _resize(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    if image.size != size:
        shrinks = size[0] < image.width or size[1] < image.height
        # Lanczos keeps detail when shrinking; enlarging with it would ring, and rings look like edges.
        how = Image.Resampling.LANCZOS if shrinks else Image.Resampling.BICUBIC
        image = image.resize(size, how, reducing_gap=3.0 if shrinks else None)
    return image.convert("RGBA") if image.mode == "RGBa" else image.convert("RGB")


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 120 else text[:117] + "..."
