"""What the process that opens volumes does. A message is a line, `count` or `page N`, and the file's path."""

from __future__ import annotations

import ctypes
import io
import os
import re
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from PIL import Image

from ..errors import SketchseekError
from .files import open_regular
from .limits import (
    MAX_BYTES,
    MAX_DECODED_PIXELS,
    MAX_ENTRIES,
    MAX_PAGES,
    MAX_VOLUME_BYTES,
    PAGE_SIDE,
    SCAN_SIDE,
)

FULL = 0.9
"""The share of a page, each way, that its only picture covers if the page is a scan."""
PICTURES = frozenset([".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif", ".bmp", ".tif", ".tiff"])
REDUCED = 1
"""Of a TIFF's directory: a smaller copy of another page."""


@dataclass
class Volume:
    """An open volume: how many pages, and how one is read; `pages` is told a number from 0 on."""

    count: int
    page: Callable[[int], bytes]
    close: Callable[[], None]


_opened: tuple[tuple[object, ...], Volume] | None = None


def work(message: bytes) -> bytes:
    """What the process does with one message; the volume stays open for the next page of it."""
    what, _, path = message.partition(b"\n")
    volume = _open(path)
    if what == b"count":
        return b"%d" % volume.count
    number = int(what.split()[1])
    if number > volume.count:
        raise SketchseekError(f"has {volume.count:,} pages, and no page {number:,}")
    return volume.page(number - 1)


def _open(path: bytes) -> Volume:
    global _opened  # noqa: PLW0603
    found = os.stat(path)
    key = (path, found.st_size, found.st_mtime_ns, found.st_ino)
    if _opened is not None and _opened[0] == key:
        return _opened[1]
    if _opened is not None:
        _opened[1].close()
        _opened = None
    try:
        with open_regular(path, "It", MAX_VOLUME_BYTES) as file:
            head = file.read(1024)
    except OSError as error:
        raise SketchseekError(f"could not be read: {error.strerror or error}") from error
    if not head:
        raise SketchseekError("is empty")
    volume = _kind(head)(path)
    _opened = (key, volume)
    return volume


def _kind(head: bytes) -> Callable[[bytes], Volume]:
    if b"%PDF-" in head:
        return _pdf
    if head[:2] == b"PK":
        return _comic
    if head[:4] in (b"II*\0", b"MM\0*"):
        return _tiff
    return _film


# --- comic archives, TIFF, films ---------------------------------------------------------------------------


def _comic(path: bytes) -> Volume:
    try:
        archive = zipfile.ZipFile(os.fsdecode(path))
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise SketchseekError(f"is damaged or cut short ({error})") from error
    if len(archive.infolist()) > MAX_ENTRIES:
        raise SketchseekError(f"holds more than {MAX_ENTRIES:,} files")
    inside = [entry for entry in archive.infolist() if _is_comic_page(entry.filename)]
    inside.sort(key=lambda entry: _natural(entry.filename))

    def page(number: int) -> bytes:
        entry = inside[number]
        if entry.flag_bits & 1:
            raise SketchseekError("is encrypted")
        if entry.file_size > MAX_BYTES:
            raise SketchseekError(f"has a page of more than {MAX_BYTES // 2**20} MB")
        try:
            with archive.open(entry) as file:
                data = file.read(MAX_BYTES + 1)
        except MemoryError:
            raise
        except Exception as error:  # zlib, lzma, a wrong sum, an unknown method
            raise SketchseekError(f"is damaged or cut short ({error})") from error
        if len(data) > MAX_BYTES:
            raise SketchseekError(f"has a page of more than {MAX_BYTES // 2**20} MB")
        return data

    return Volume(len(inside), page, archive.close)


def _is_comic_page(name: str) -> bool:
    parts = PurePosixPath(name).parts
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in parts)
    return not hidden and PurePosixPath(name).suffix.lower() in PICTURES


def _natural(name: str) -> list[tuple[int, str]]:
    """Page 10 after page 9, as people number them."""
    return [
        (int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d{1,18})", name.lower())
    ]


def _tiff(path: bytes) -> Volume:
    with open_regular(path, "It", MAX_VOLUME_BYTES) as file:
        frames = _tiff_frames(file)
    return _images(path, frames)


def _tiff_frames(file: io.BufferedReader) -> list[int]:
    """The numbers of a TIFF's directories that are pages, not smaller copies of others."""
    head = file.read(8)
    order = "<" if head[:2] == b"II" else ">"
    (at,) = struct.unpack(f"{order}I", head[4:8])
    frames, seen, number = [], set[int](), 0
    while at and at not in seen and number <= 2 * MAX_PAGES:
        seen.add(at)
        file.seek(at)
        entries = file.read(2)
        if len(entries) < 2:
            break
        (count,) = struct.unpack(f"{order}H", entries)
        directory = file.read(12 * count + 4)
        if len(directory) < 12 * count + 4:
            break
        reduced = False
        for tag, kind, _, value in struct.iter_unpack(f"{order}HHI4s", directory[:-4]):
            if tag == 254:  # NewSubfileType
                width = "I" if kind == 4 else "H"
                reduced = bool(struct.unpack_from(order + width, value)[0] & REDUCED)
        if not reduced:
            frames.append(number)
        number += 1
        (at,) = struct.unpack(f"{order}I", directory[-4:])
    return frames


def _film(path: bytes) -> Volume:
    return _images(path, None)


def _images(path: bytes, frames: list[int] | None) -> Volume:
    """What Pillow reads several pictures of. frames : numbers of those that count; None for all."""
    try:
        image = Image.open(os.fsdecode(path), formats=["TIFF", "GIF", "WEBP", "PNG"])
        chosen = range(getattr(image, "n_frames", 1)) if frames is None else frames
    except MemoryError:
        raise
    except Exception as error:
        raise SketchseekError(f"is damaged or cut short ({error})") from error

    def page(number: int) -> bytes:
        try:
            image.seek(chosen[number])
            if image.width * image.height > MAX_DECODED_PIXELS:
                raise SketchseekError(
                    f"has a page of {image.width} x {image.height} pixels, which is too many"
                )
            image.load()
            out = io.BytesIO()
            plain = image if image.mode not in ("P", "PA", "LA", "La", "RGBa") else image.convert("RGBA")
            plain.save(out, "TIFF")  # as it is, not compressed: it goes to the next process only
            return out.getvalue()
        except (SketchseekError, MemoryError):
            raise
        except Exception as error:
            raise SketchseekError(f"is damaged or cut short ({error})") from error

    return Volume(len(chosen), page, image.close)


# --- PDF ---------------------------------------------------------------------------------------------------


def _pdf(path: bytes) -> Volume:
    import pypdfium2 as pdfium
    import pypdfium2.raw as c

    handle = c.FPDF_LoadDocument(path + b"\0", None)
    if not handle:
        encrypted = c.FPDF_GetLastError() in (c.FPDF_ERR_PASSWORD, c.FPDF_ERR_SECURITY)
        raise SketchseekError("is encrypted: save it without a password" if encrypted else "is damaged")
    document = pdfium.PdfDocument(handle)

    def page(number: int) -> bytes:
        try:
            opened = document[number]
        except pdfium.PdfiumError as error:
            raise SketchseekError(f"has a damaged page {number + 1}") from error
        try:
            return _pdf_page(opened, c)
        except pdfium.PdfiumError as error:
            raise SketchseekError(f"has a page {number + 1} that can't be drawn ({error})") from error
        finally:
            opened.close()

    return Volume(len(document), page, document.close)


def _pdf_page(page: Any, c: Any) -> bytes:
    width, height = page.get_size()
    if not (width > 0 and height > 0):
        raise SketchseekError("has a page without a size")
    objects = list(page.get_objects(max_depth=1))
    seen = [one for one in objects if not _is_invisible(one, c)]
    turned = page.get_rotation() != 0
    side = PAGE_SIDE
    if len(seen) == 1 and seen[0].type == c.FPDF_PAGEOBJ_IMAGE and _fills(seen[0], page):
        jpeg = None if turned else _jpeg(seen[0], c)
        if jpeg is not None:
            return jpeg
        side = min(max(seen[0].get_px_size()), SCAN_SIDE)
    elif seen and not turned and all(one.type == c.FPDF_PAGEOBJ_PATH for one in seen):
        drawing = _line_drawing(seen, page, c)
        if drawing is not None:
            return drawing
    image = page.render(scale=side / max(width, height), may_draw_forms=False).to_pil()
    out = io.BytesIO()
    image.convert("RGB").save(out, "BMP")  # as fast as can be: it goes to the next process only
    return out.getvalue()


def _is_invisible(one: Any, c: Any) -> bool:
    """Whether it is the text that a recognition of letters lays under a scan."""
    text = one.type == c.FPDF_PAGEOBJ_TEXT
    return bool(text and c.FPDFTextObj_GetTextRenderMode(one) == c.FPDF_TEXTRENDERMODE_INVISIBLE)


def _fills(image: Any, page: Any) -> bool:
    left, bottom, right, top = image.get_bounds()
    x0, y0, x1, y1 = page.get_cropbox()
    across, along = min(right, x1) - max(left, x0), min(top, y1) - max(bottom, y0)
    inside = left > x0 - 0.05 * (x1 - x0) and right < x1 + 0.05 * (x1 - x0)
    return bool(inside and across > FULL * (x1 - x0) and along > FULL * (y1 - y0))


def _jpeg(image: Any, c: Any) -> bytes | None:
    """The file of an embedded photograph or scan that is upright and needs nothing else to be shown."""
    matrix = image.get_matrix()
    upright = matrix.a > 0 and matrix.d > 0 and abs(matrix.b) + abs(matrix.c) < 1e-3 * (matrix.a + matrix.d)
    if not upright or image.get_filters() != ["DCTDecode"]:
        return None
    size = c.FPDFImageObj_GetImageDataRaw(image, None, 0)
    if not 0 < size <= MAX_BYTES:
        return None
    data = (ctypes.c_ubyte * size)()
    c.FPDFImageObj_GetImageDataRaw(image, data, size)
    raw = bytes(data)
    try:
        with Image.open(io.BytesIO(raw), formats=["JPEG"]) as opened:
            plain = opened.mode in ("L", "RGB") and opened.getexif().get(0x0112, 1) == 1
    except Exception:
        return None
    return raw if plain else None


def _line_drawing(paths: list[Any], page: Any, c: Any) -> bytes | None:
    """A page of lines of one colour, as SVG; None where there is more on it."""
    x0, y0, x1, y1 = page.get_cropbox()
    scale = PAGE_SIDE / max(x1 - x0, y1 - y0)
    drawn, colours = [], set()
    for one in paths:
        mode, stroked = ctypes.c_int(), ctypes.c_int()
        if not c.FPDFPath_GetDrawMode(one, mode, stroked):
            return None
        if not stroked.value:
            if mode.value and not _is_paper(one, c):
                return None
            continue
        if mode.value or c.FPDFPageObj_HasTransparency(one):
            return None
        colour = _colour(one, c.FPDFPageObj_GetStrokeColor)
        width = ctypes.c_float()
        c.FPDFPageObj_GetStrokeWidth(one, width)
        matrix = one.get_matrix()
        to_picture = (scale * matrix.a, -scale * matrix.b, scale * matrix.c, -scale * matrix.d)
        moved = (scale * (matrix.e - x0), scale * (y1 - matrix.f))
        data = _path_data(one, c, to_picture, moved)
        if data is None or colour is None:
            return None
        pen = max(width.value * scale * abs(matrix.a * matrix.d - matrix.b * matrix.c) ** 0.5, 0.5)
        colours.add(colour)
        drawn.append(f'<path d="{data}" stroke-width="{pen:.2f}"/>')
    if len(colours) != 1 or min(colours)[0] + min(colours)[1] + min(colours)[2] > 3 * 160:
        return None
    red, green, blue = min(colours)
    size = f'width="{(x1 - x0) * scale:.2f}" height="{(y1 - y0) * scale:.2f}"'
    style = f'fill="none" stroke="#{red:02x}{green:02x}{blue:02x}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>'
    return (head + "".join(drawn) + "</svg>").encode()


def _colour(one: Any, get: Any) -> tuple[int, int, int] | None:
    values = [ctypes.c_uint() for _ in range(4)]
    if not get(one, *values) or values[3].value != 255:
        return None
    return values[0].value, values[1].value, values[2].value


def _is_paper(one: Any, c: Any) -> bool:
    """Whether a filled shape is white, as the ground is that some programs paint first."""
    colour = _colour(one, c.FPDFPageObj_GetFillColor)
    return colour is not None and min(colour) >= 250


def _path_data(one: Any, c: Any, to: tuple[float, ...], moved: tuple[float, float]) -> str | None:
    x, y = ctypes.c_float(), ctypes.c_float()
    words, bent = [], 0
    for i in range(c.FPDFPath_CountSegments(one)):
        segment = c.FPDFPath_GetPathSegment(one, i)
        c.FPDFPathSegment_GetPoint(segment, x, y)
        kind = c.FPDFPathSegment_GetType(segment)
        right = to[0] * x.value + to[2] * y.value + moved[0]
        down = to[1] * x.value + to[3] * y.value + moved[1]
        at = f"{right:.2f} {down:.2f}"
        if kind == c.FPDF_SEGMENT_BEZIERTO:  # three of them are one curve
            words.append(f"C{at}" if bent % 3 == 0 else at)
            bent += 1
        elif kind in (c.FPDF_SEGMENT_MOVETO, c.FPDF_SEGMENT_LINETO):
            words.append(("M" if kind == c.FPDF_SEGMENT_MOVETO else "L") + at)
        else:
            return None
        if c.FPDFPathSegment_GetClose(segment):
            words.append("Z")
    return " ".join(words) if bent % 3 == 0 and words and "n" not in "".join(words) else None
