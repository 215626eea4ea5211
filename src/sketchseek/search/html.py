"""Hits as HTML: thumbnails inside the page, the outline drawn over each in green. Needs no other file."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from ..contours.drawing import path_data
from ..sources.files import printable
from ..sources.volumes import volume_and_page

if TYPE_CHECKING:
    from ..contours.drawing import Sketch
    from .hit import Hit

GREEN = "#00c853"
POINTS = 100_000
"""Of all outlines on a page: a few bytes each, however many points the drawing has."""

_STYLE = """
:root { color-scheme: light dark; font: 15px/1.4 system-ui, sans-serif; }
body { margin: 1.5rem; }
h1 { font-size: 1.2rem; font-weight: 600; }
.sketch svg { height: 9rem; background: white; border: 1px solid #8886; border-radius: 6px; }
"""
_GALLERY_STYLE = """
.hits { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1rem; }
.hits figure { margin: 0; max-width: 26rem; }
.hits a { color: inherit; }
.hits figure svg { display: block; width: 100%; height: auto; border-radius: 6px; background: #8882; }
.hits figcaption { font-size: .85rem; overflow-wrap: anywhere; padding-top: .3rem; }
.hits figcaption b { font-variant-numeric: tabular-nums; }
"""


def page(sketch: Sketch | None, hits: Sequence[Hit], pictures: int, words: str | None = None) -> str:
    """A self-contained page of results for a drawing, words, or both."""
    drawn = [] if sketch is None else [os.path.basename(sketch.name) or "drawing"]
    asked = " and ".join([*drawn, *([f"“{words}”"] if words else [])])
    title = escape(printable(f"{asked}: {len(hits)} of {pictures:,} pictures"))
    drawing = "" if sketch is None else f'<p class="sketch">{sketch.to_svg()}</p>\n'
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f"{drawing}<main>\n{gallery(hits, link=True)}\n</main>\n"
        "</body>\n</html>\n"
    )


def gallery(hits: Iterable[Hit], link: bool = False) -> str:
    """Hits side by side, as a part of a page or of a notebook."""
    shown = list(hits)
    drawings = {id(hit.sketch): hit.sketch for hit in shown}  # one, where the hits are of one search
    light = {key: sketch.simplified(POINTS // len(shown)) for key, sketch in drawings.items()}
    figures = "\n".join(figure(hit, link, light[id(hit.sketch)]) for hit in shown)
    return f'<style>{_GALLERY_STYLE}</style>\n<div class="hits">\n{figures}\n</div>'


def figure(hit: Hit, link: bool = False, sketch: Sketch | None = None) -> str:
    """One hit: its thumbnail, the outline over it, and a line of text; `link` leads to the picture's file.

    sketch : what is drawn as the outline, if not the hit's own.
    """
    data = base64.b64encode(hit.thumbnail()).decode()
    width, height = hit.width, hit.height
    stroke = max(width, height) / 130
    name = escape(printable(hit.picture))
    start, end = (f'<a href="{escape(address_of(hit.picture))}">', "</a>") if link else ("", "")
    return (
        f'<figure>{start}<svg viewBox="0 0 {width} {height}" role="img" aria-label="{name}">'
        f'<image href="data:image/webp;base64,{data}" width="{width}" height="{height}" '
        f'preserveAspectRatio="none"/><path fill="none" stroke="{GREEN}" stroke-width="{stroke:.2f}" '
        f'stroke-linecap="round" stroke-linejoin="round" d="{path_data(hit.outline(sketch))}"/>'
        f"</svg>{end}<figcaption><b>{hit.rank}</b> · score {hit.score:.3f} · confidence {hit.confidence:.0%}"
        f"{' · mirrored' if hit.mirrored else ''}<br>{name}</figcaption></figure>"
    )


def painted_png(hit: Hit) -> bytes:
    """The thumbnail with the outline painted on it, as PNG."""
    from PIL import Image, ImageDraw

    image = Image.open(io.BytesIO(hit.thumbnail())).convert("RGB")
    scale = np.array(image.size) / (hit.width, hit.height)
    draw = ImageDraw.Draw(image)
    for stroke in hit.outline():
        points = [tuple(point) for point in (stroke * scale).tolist()]
        draw.line(points * 2 if len(points) == 1 else points, fill=GREEN, width=2, joint="curve")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def address_of(picture: str) -> str:
    """What a browser opens: the file, its name in whatever bytes it has; a URI is one already."""
    if not picture.startswith("/"):
        return picture
    file, page = volume_and_page(picture)
    return f"file://{quote(os.fsencode(file))}" + (f"#page={page}" if page else "")
