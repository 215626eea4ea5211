"""Pictures that tests make, and files of them."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw


def scene(width: int = 640, height: int = 480) -> Image.Image:
    """A scene without symmetry."""
    image = Image.new("RGB", (width, height), (225, 230, 240))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, int(height * 0.7), width, height), fill=(90, 140, 80))
    draw.polygon([(80, 340), (80, 200), (190, 110), (300, 200), (300, 340)], fill=(170, 70, 50))
    draw.ellipse((430, 50, 560, 180), fill=(250, 200, 40))
    draw.line((330, 430, 620, 300), fill=(30, 30, 60), width=9)
    return image


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    if kind in ("HEIF", "AVIF"):
        import pillow_heif

        pillow_heif.register_heif_opener()
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()
