"""Hits for viewers of the International Image Interoperability Framework: annotations of canvases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..contours.drawing import path_data
from ..output.html import as_text
from ..remote import Item, root_of

if TYPE_CHECKING:
    from ..contours.drawing import Sketch
    from ..index import PictureRow
    from ..search.hit import Hit

CONTEXT = "http://iiif.io/api/presentation/3/context.json"
ANNOTATIONS = f'application/ld+json;profile="{CONTEXT}"'
MANIFEST = ANNOTATIONS
MOST_POINTS = 500
"""Of an outline: a viewer draws all of them."""


def annotation_page(
    hits: Sequence[Hit], sketch: Sketch, address: str, base: str, about: Callable[[str], Item | None]
) -> dict[str, Any]:
    """An AnnotationPage of Presentation 3: for each hit the canvas, its place as xywh, the outline as SVG.

    address : the page's own. base : of this server, which has canvases of pictures that are nobody else's.
    """
    items = [_annotation(hit, sketch, f"{address}#{hit.rank}", base, about(hit.picture)) for hit in hits]
    return {"@context": CONTEXT, "id": address, "type": "AnnotationPage", "items": items}


def _annotation(hit: Hit, sketch: Sketch, address: str, base: str, item: Item | None) -> dict[str, Any]:
    x0, y0, x1, y1 = hit.box
    x, y = max(0, round(x0)), max(0, round(y0))
    width, height = max(1, round(min(x1, hit.width)) - x), max(1, round(min(y1, hit.height)) - y)
    stroke = max(hit.width, hit.height) / 250
    outline = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {hit.width} {hit.height}">'
        f'<path d="{path_data(hit.outline(sketch))}" fill="none" stroke="#00c853" '
        f'stroke-width="{stroke:.1f}"/></svg>'
    )
    if item is not None:
        canvas, manifest, name = item.name, root_of(hit.picture), item.label
    else:
        manifest = manifest_address(hit.id, base)
        canvas, name = f"{manifest}/canvas", as_text(hit.picture).rpartition("/")[2]
    return {
        "id": address,
        "type": "Annotation",
        "motivation": "highlighting",
        "label": {"none": [name]},
        "body": {
            "type": "TextualBody",
            "value": f"{name}: {hit.confidence:.0%} sure",
            "format": "text/plain",
        },
        "target": {
            "type": "SpecificResource",
            "source": {
                "id": canvas,
                "type": "Canvas",
                "partOf": [{"id": manifest, "type": "Manifest"}],
            },
            "selector": [
                {
                    "type": "FragmentSelector",
                    "conformsTo": "http://www.w3.org/TR/media-frags/",
                    "value": f"xywh={x},{y},{width},{height}",
                },
                {"type": "SvgSelector", "value": outline},
            ],
        },
    }


def manifest_address(identifier: str, base: str) -> str:
    """Where a picture of this index is a manifest."""
    return f"{base}/iiif/pictures/{quote(identifier, safe='')}/manifest.json"


def manifest_of(row: PictureRow, base: str) -> dict[str, Any]:
    """A picture as a manifest of one canvas."""
    address, name = manifest_address(row.id, base), as_text(row.picture).rpartition("/")[2]
    canvas = f"{address}/canvas"
    size = {"width": row.width, "height": row.height}
    body = {
        "id": f"{base}/api/pictures/{quote(row.id, safe='')}",
        "type": "Image",
        "format": "image/webp",
        **size,
    }
    painting = {
        "id": f"{canvas}/painting",
        "type": "Annotation",
        "motivation": "painting",
        "body": body,
        "target": canvas,
    }
    page = {"id": f"{canvas}/page", "type": "AnnotationPage", "items": [painting]}
    return {
        "@context": CONTEXT,
        "id": address,
        "type": "Manifest",
        "label": {"none": [name]},
        "items": [{"id": canvas, "type": "Canvas", "label": {"none": [name]}, **size, "items": [page]}],
    }
