"""Every kind of picture file comes out as the same upright pixels and the same points as its PNG twin."""

from __future__ import annotations

import io
import struct
import warnings

import numpy as np
import pytest
from PIL import Image, ImageDraw

from made_pictures import saved, scene
from sketchseek.contours import picture_contours
from sketchseek.contours.detectors import get_detector
from sketchseek.shape.descriptor import describe
from sketchseek.shape.settings import Settings
from sketchseek.sources.picture import load_picture, thumbnail

CANNY = get_detector("canny")
SETTINGS = Settings.preset("precise")


def likeness(a: bytes, b: bytes) -> float:
    """Cosine of the descriptors of two files' contour points."""
    u, v = (describe(picture_contours(data, CANNY).points, SETTINGS) for data in (a, b))
    return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))


def grey16(image: Image.Image) -> Image.Image:
    return Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)


FILES = {
    "jpeg": lambda i: saved(i, "JPEG", quality=92),
    "jpeg progressive": lambda i: saved(i, "JPEG", quality=92, progressive=True),
    "jpeg grey": lambda i: saved(i.convert("L"), "JPEG", quality=92),
    "jpeg cmyk": lambda i: saved(i.convert("CMYK"), "JPEG", quality=92),
    "png palette": lambda i: saved(i.quantize(32), "PNG"),
    "png grey": lambda i: saved(i.convert("L"), "PNG"),
    "png 16-bit grey": lambda i: saved(grey16(i), "PNG"),
    "png alpha": lambda i: saved(i.convert("RGBA"), "PNG"),
    "webp": lambda i: saved(i, "WEBP", quality=90),
    "webp lossless": lambda i: saved(i, "WEBP", lossless=True),
    "avif": lambda i: saved(i, "AVIF", quality=85, speed=9),
    "heic": lambda i: saved(i, "HEIF", quality=85),
    "tiff": lambda i: saved(i, "TIFF"),
    "tiff lzw": lambda i: saved(i, "TIFF", compression="tiff_lzw"),
    "tiff 16-bit grey": lambda i: saved(grey16(i), "TIFF"),
    "tiff cmyk": lambda i: saved(i.convert("CMYK"), "TIFF"),
    "tiff float": lambda i: saved(Image.fromarray(np.float32(i.convert("L")) / 255), "TIFF"),
    "bmp": lambda i: saved(i, "BMP"),
    "gif": lambda i: saved(i, "GIF"),
    "gif, first of two frames": lambda i: saved(
        i, "GIF", save_all=True, append_images=[Image.new("RGB", i.size, "blue")]
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_same_points_as_its_png_twin(name: str) -> None:
    data = FILES[name](scene())
    twin = saved(scene().convert("L") if "grey" in name or "float" in name else scene(), "PNG")
    picture = load_picture(data)
    assert (picture.width, picture.height) == (640, 480)
    assert picture.pixels.shape == (300, 400, 3)
    assert picture.pixels.dtype == np.uint8
    assert likeness(data, twin) > 0.98


def test_16_bit_colour() -> None:
    import cv2

    pixels = np.asarray(scene()).astype(np.uint16) * 257
    data = cv2.imencode(".png", pixels[..., ::-1])[1].tobytes()
    np.testing.assert_allclose(
        load_picture(data).pixels.astype(int), load_picture(saved(scene(), "PNG")).pixels, atol=2
    )
    tiff = cv2.imencode(".tiff", pixels[..., ::-1])[1].tobytes()
    np.testing.assert_allclose(
        load_picture(tiff).pixels.astype(int), load_picture(saved(scene(), "PNG")).pixels, atol=2
    )


def test_svg_picture_is_like_its_png_twin() -> None:
    svg = b"""<svg xmlns="http://www.w3.org/2000/svg" width="640" height="480">
      <rect width="640" height="480" fill="rgb(225,230,240)"/>
      <rect y="336" width="640" height="150" fill="rgb(90,140,80)"/>
      <polygon points="80,340 80,200 190,110 300,200 300,340" fill="rgb(170,70,50)"/>
      <circle cx="495" cy="115" r="65" fill="rgb(250,200,40)"/>
      <line x1="330" y1="430" x2="620" y2="300" stroke="rgb(30,30,60)" stroke-width="9"/></svg>"""
    picture = load_picture(svg)
    assert (picture.width, picture.height, picture.format) == (640, 480, "SVG")
    assert likeness(svg, saved(scene(), "PNG")) > 0.98


EVERY_WAY = [(kind, k) for kind in ("JPEG", "PNG", "WEBP", "TIFF") for k in range(1, 9)]
SOME_WAYS = [(kind, k) for kind in ("AVIF", "HEIF") for k in (2, 6, 7)]  # slow to encode


@pytest.mark.parametrize(("kind", "orientation"), EVERY_WAY + SOME_WAYS)
def test_exif_orientation_is_undone(kind: str, orientation: int) -> None:
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }  # fmt: skip
    stored = scene().transpose(undo[orientation]) if orientation > 1 else scene()
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = load_picture(saved(stored, kind, exif=exif))
    upright = load_picture(saved(scene(), "PNG"))
    assert (picture.width, picture.height) == (640, 480)
    difference = np.abs(picture.pixels.astype(int) - upright.pixels)
    assert difference.mean() < 4


def test_transparency_lies_on_white() -> None:
    image = Image.new("RGBA", (400, 400), (0, 0, 0, 0))
    ImageDraw.Draw(image).rectangle((100, 100, 299, 299), fill=(200, 0, 0, 255))
    pixels = load_picture(saved(image, "PNG")).pixels
    assert tuple(pixels[5, 5]) == (255, 255, 255)
    assert tuple(pixels[200, 200]) == (200, 0, 0)
    palette = load_picture(saved(image, "GIF")).pixels
    assert tuple(palette[5, 5]) == (255, 255, 255)


@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (3000, 1), (37, 90), (400, 400), (4000, 3000)])
def test_longer_side_is_400_whatever_the_size(size: tuple[int, int]) -> None:
    picture = load_picture(saved(Image.new("RGB", size, (10, 200, 30)), "JPEG"))
    assert max(picture.pixels.shape[:2]) == 400
    assert min(picture.pixels.shape[:2]) >= 1
    assert (picture.width, picture.height) == size
    assert len(picture_contours(saved(Image.new("RGB", size), "PNG"), CANNY).points) == 0


def test_reading_a_jpeg_at_a_fraction_of_its_size_changes_little() -> None:
    big = scene().resize((2560, 1920), Image.Resampling.LANCZOS)
    assert likeness(saved(big, "JPEG", quality=92), saved(big, "PNG")) > 0.98


def test_thumbnail() -> None:
    small = Image.open(io.BytesIO(thumbnail(load_picture(saved(scene(), "PNG")))))
    assert (small.format, small.size) == ("WEBP", (256, 192))


def exif(kind: int, count: int, value: bytes) -> bytes:
    """A block of EXIF whose only tag is the orientation."""
    entry = struct.pack("<HHHL", 1, 0x0112, kind, count) + value
    return b"II*\0" + struct.pack("<L", 8) + entry + bytes(68)


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize(
    "block",
    [
        exif(1, 1, b"\6\0\0\0"),
        exif(2, 3, b"ab\0\0"),
        exif(2, 1, b"\0\0\0\0"),
        exif(7, 3, b"\xff\xff\xff\0"),
        exif(11, 1, b"\xff\xff\xff\x7f"),  # a float that is no number
        exif(12, 1000, b"\xff\xff\xff\x7f"),
        b"abcdefgh",
        b"II*\0",
        b"",
    ],
)
def test_odd_exif_is_no_damage(format: str, block: bytes) -> None:
    plain = saved(scene(), format)
    odd = saved(scene(), format, exif=(b"Exif\0\0" if format == "JPEG" else b"") + block)
    np.testing.assert_array_equal(load_picture(odd).pixels, load_picture(plain).pixels)


@pytest.mark.parametrize("size", [1e-30, 1.0, 3e38])
def test_a_float_picture_of_any_size_is_the_same(size: float) -> None:
    values = np.asarray(scene().convert("L"), np.float32) / 127.5 - 1
    few, many = (saved(Image.fromarray(values * np.float32(s)), "TIFF") for s in (1.0, size))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        difference = load_picture(many).pixels.astype(int) - load_picture(few).pixels
    assert np.abs(difference).max() <= 1
    assert np.ptp(load_picture(many).pixels) > 100
