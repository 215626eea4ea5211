"""Any picture file -> upright 8-bit colour pixels, at the size the method works at."""

from __future__ import annotations

import io
import logging
import re
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from ..errors import SketchseekError
from .files import Source, read_source, source_name
from .limits import FRAME, MAX_DECODED_PIXELS, MAX_PIXELS, MAX_SCANS, PIXEL_COUNTS
from .svg import is_svg
from .svg_render import render_svg

THUMBNAIL_SIDE = 256
BAND_PIXELS = 2**20
"""How many pixels of a large picture are worked on at once."""
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


def load_picture(
    source: Source, longer_side: int = int(FRAME), name: str | None = None, *, max_pixels: int = MAX_PIXELS
) -> Picture:
    """Read a picture file (path or bytes) at `longer_side` pixels; small ones are enlarged.

    name : what a sentence about it begins with, where `source` has no name.
    max_pixels : a file that claims more is refused.

    Raises SketchseekError, with the reason, for anything that is not a readable picture.
    """
    name = name or source_name(source)
    image, (width, height), kind = decode_image(read_source(source), name, longer_side, max_pixels=max_pixels)
    return Picture(on_white(image), width, height, kind)


def on_white(image: Image.Image) -> NDArray[np.uint8]:
    """Pixels (h, w, 3) of a decoded picture, what is transparent laid over white."""
    if image.mode == "RGBA":
        ground = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(ground, image)
    return np.asarray(image.convert("RGB"))


def scaled(image: Image.Image, longer_side: int) -> Image.Image:
    """A decoded picture at another size."""
    return _resize(image, _fit(*image.size, longer_side, enlarge=True))


def thumbnail(picture: Picture, longer_side: int = THUMBNAIL_SIDE) -> bytes:
    """A small WebP of a loaded picture."""
    image = Image.fromarray(picture.pixels)
    image.thumbnail((longer_side, longer_side), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.save(out, "WEBP", quality=80, method=2)
    return out.getvalue()


def decode_image(
    data: bytes, name: str, longer_side: int, *, enlarge: bool = True, max_pixels: int = MAX_PIXELS
) -> tuple[Image.Image, tuple[int, int], str]:
    """Pixels (mode RGB, or RGBA where something is transparent), upright size of the original, format."""
    if is_svg(data):
        return _decode_svg(data, name, longer_side, max_pixels)
    try:
        return _decode_raster(data, name, longer_side, enlarge, max_pixels)
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


def _decode_svg(
    data: bytes, name: str, longer_side: int, max_pixels: int
) -> tuple[Image.Image, tuple[int, int], str]:
    png, (width, height) = render_svg(data, name, longer_side, max_pixels)
    return Image.open(io.BytesIO(png), formats=["PNG"]).convert("RGBA"), (width, height), "SVG"


def _decode_raster(
    data: bytes, name: str, longer_side: int, enlarge: bool, max_pixels: int
) -> tuple[Image.Image, tuple[int, int], str]:
    _register_heif()
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:
        kind = "JPEG" if image.format == "MPO" else str(image.format)
        width, height = image.size
        if width * height * PIXEL_COUNTS.get(kind, 1.0) > max_pixels:
            raise SketchseekError(f"{name} claims {width} x {height} pixels, which is too many.")
        if kind == "JPEG":
            if _has_many_scans(data):
                raise SketchseekError(f"{name} goes over its pixels more than {MAX_SCANS} times.")
            target = _fit(width, height, longer_side, enlarge)
            image.draft(None, target)
        if image.width * image.height > MAX_DECODED_PIXELS:
            raise SketchseekError(f"{name} has {width} x {height} pixels, which is too many.")
        image.load()
        if kind != "JPEG":
            width, height = image.size  # a TIFF turns itself upright while loading
        small = _resize(image, _fit(width, height, longer_side, enlarge))
        orientation = _orientation(image, data)
    if orientation in _TRANSPOSE:
        small = small.transpose(_TRANSPOSE[orientation])
    if orientation in (5, 6, 7, 8):
        width, height = height, width
    return small, (width, height), kind


def _has_many_scans(data: bytes) -> bool:
    """Whether a JPEG has more than MAX_SCANS starts of a scan before its end.

    Other files that are inside it, a thumbnail, or behind it, as a phone's film, are passed over.
    """
    if data.count(b"\xff\xda") <= MAX_SCANS:  # nearly always: no need to look more closely
        return False
    at, scans = 2, 0
    while found := _MARKER.search(data, at):
        marker = found[0][1]
        if marker == 0xD9:
            return False
        scans += marker == 0xDA
        if scans > MAX_SCANS:
            return True
        at = found.end() + int.from_bytes(data[found.end() : found.end() + 2], "big")
    return False


_MARKER = re.compile(rb"\xff[^\x00\x01\xd0-\xd8\xff]")
"""What has a length behind it, or is the end: not a stuffed or filling byte, nor a restart."""


def _orientation(image: Image.Image, data: bytes) -> int:
    """How EXIF says a loaded picture is still to be turned."""
    turned_by_file = b"irot" in data[:65536] or b"imir" in data[:65536]
    if image.format == "HEIF" and not turned_by_file:
        # The reader takes EXIF for a copy of the file's own rotation, and drops it; here there is none.
        return image.info.get("original_orientation") or 1
    try:
        return int(image.getexif().get(0x0112, 1))
    except Exception:  # whatever odd tags make of it: text, NaN, no TIFF at all; the pixels are what counts
        return 1


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


def _resize(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """A loaded picture at that size, as RGB, or RGBA where something is transparent.

    A large one is averaged over blocks first, in bands of rows: of all its pixels there is only the decoder's
    own copy, whatever the mode it came in.
    """
    width, height = image.size
    levels = _levels(image)
    # As Pillow's `reducing_gap=3` does: blocks leave three times as many pixels as are wanted.
    x, y = (max(1, int(have / want / 3)) for have, want in zip(image.size, size, strict=True))
    as_it_is = image.mode in ("L", "RGB") or (image.mode not in ("I", "F") and width * height <= BAND_PIXELS)
    is_direct = x == y == 1 and as_it_is
    small = _eight_bit(image, levels) if is_direct else _averaged(image, levels, x, y)
    if image.size != size:
        shrinks = size[0] < width or size[1] < height
        # Lanczos keeps detail when shrinking; enlarging with it would ring, and rings look like edges.
        how = Image.Resampling.LANCZOS if shrinks else Image.Resampling.BICUBIC
        small = small.resize(size, how, (0, 0, width / x, height / y))
    return small.convert("RGBA") if small.mode == "RGBa" else small.convert("RGB")


def _averaged(image: Image.Image, levels: tuple[float, float], x: int, y: int) -> Image.Image:
    """The same as `_eight_bit`, averaged over blocks of x * y pixels, in bands of rows."""
    width, height = image.size
    rows = max(1, BAND_PIXELS // (width * y)) * y
    out: Image.Image | None = None
    for top in range(0, height, rows):
        band = image.crop((0, top, width, min(top + rows, height)))
        part = _eight_bit(band, levels).reduce((x, y))
        out = out or Image.new(part.mode, (part.width, -(-height // y)))
        out.paste(part, (0, top // y))
    assert out is not None
    return out


def _levels(image: Image.Image) -> tuple[float, float]:
    """Black and white: 32 bits have no other white than their brightest pixel."""
    if image.mode not in ("I", "F"):
        return 0.0, 255.0
    rows = max(1, BAND_PIXELS // image.width)
    bands = (
        _finite(image.crop((0, top, image.width, min(top + rows, image.height))))
        for top in range(0, image.height, rows)
    )
    ends = np.array([(values.min(), values.max()) for values in bands])
    return float(ends[:, 0].min()), float(ends[:, 1].max())


def _finite(image: Image.Image) -> NDArray[np.float32]:
    return np.nan_to_num(np.asarray(image, dtype=np.float32), posinf=0, neginf=0)


def _eight_bit(image: Image.Image, levels: tuple[float, float]) -> Image.Image:
    """The same picture as L, RGB or RGBa (colours multiplied by alpha, so that they can be averaged)."""
    if image.mode.startswith("I;16"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        low, high = levels
        values = _finite(image).astype(np.float64)  # the difference of two floats may be too large for one
        return Image.fromarray(((values - low) * (255 / (high - low or 1.0))).astype(np.uint8))
    if image.has_transparency_data:
        return image.convert("RGBA").convert("RGBa")
    return image if image.mode in ("L", "RGB") else image.convert("RGB")


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 120 else text[:117] + "..."
