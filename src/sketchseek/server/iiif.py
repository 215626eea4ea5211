"""Hits for viewers of the International Image Interoperability Framework: annotations of canvases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..contours.drawing import path_data
from ..sources import Item, root_of
from ..sources.files import as_text
from ..sources.iiif import is_canvas, painted

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

    address : the page's own. base : of this server, which has canvases of its own pictures.
    """
    items = []
    for hit in hits:
        canvas = _canvas(hit, base, about(hit.picture))
        items.append(annotation(hit, sketch, f"{address}#{hit.rank}", canvas))
    return {"@context": CONTEXT, "id": address, "type": "AnnotationPage", "items": items}


def hits_manifest(
    hits: Sequence[Hit], sketch: Sketch, address: str, base: str, about: Callable[[str], Item | None]
) -> dict[str, Any]:
    """The canvases of hits as one manifest that any viewer opens, each with its outline; see above."""
    items = []
    for hit in hits:
        canvas = _canvas(hit, base, about(hit.picture))
        page = {"id": f"{address}#page-{hit.rank}", "type": "AnnotationPage"}
        page["items"] = [annotation(hit, sketch, f"{address}#{hit.rank}", canvas)]  # type: ignore[assignment]
        items.append({**canvas.described(), "annotations": [page]})
    label = {"none": [f"{len(items)} pictures that show the drawing best"]}
    return {"@context": CONTEXT, "id": address, "type": "Manifest", "label": label, "items": items}


@dataclass(frozen=True)
class Canvas:
    """What a hit is in a viewer. body : what is painted on it. about : of who has it, if it is elsewhere."""

    id: str
    manifest: str
    name: str
    width: int
    height: int
    body: dict[str, Any]
    about: Item | None = None

    def described(self) -> dict[str, Any]:
        """The canvas by itself."""
        size = {"width": self.width, "height": self.height}
        painting = {
            "id": f"{self.id}/painting",
            "type": "Annotation",
            "motivation": "painting",
            "body": {"type": "Image", **size, **self.body},
            "target": self.id,
        }
        page = {"id": f"{self.id}/page", "type": "AnnotationPage", "items": [painting]}
        found = {"id": self.id, "type": "Canvas", "label": {"none": [self.name]}, **size, "items": [page]}
        if self.about is not None:
            found["partOf"] = [{"id": self.manifest, "type": "Manifest"}]
            if self.about.rights:
                said = {"label": {"en": ["Rights"]}, "value": {"none": [self.about.rights]}}
                found["requiredStatement"] = said
            if self.about.link not in ("", self.manifest):
                page_there = {"id": self.about.link, "type": "Text", "format": "text/html"}
                found["homepage"] = [{**page_there, "label": {"none": [self.name]}}]
        return found


def _canvas(hit: Hit, base: str, item: Item | None) -> Canvas:
    """The canvas of a museum where the picture is one, a canvas of this server otherwise."""
    if item is not None and is_canvas(item):
        name, manifest = item.label or item.name, root_of(hit.picture)
        return Canvas(item.name, manifest, name, hit.width, hit.height, painted(item), item)
    return own_canvas(hit.id, hit.picture, (hit.width, hit.height), base)


def own_canvas(identifier: str, picture: str, size: tuple[int, int], base: str) -> Canvas:
    """A picture of this server as a canvas."""
    address, name = manifest_address(identifier, base), as_text(picture).rpartition("/")[2]
    image = f"{base}/api/pictures/{quote(identifier, safe='')}"
    return Canvas(f"{address}/canvas", address, name, *size, {"id": image, "format": "image/webp"})


def annotation(hit: Hit, sketch: Sketch, address: str, canvas: Canvas) -> dict[str, Any]:
    """A hit as an annotation of its canvas: the place as xywh, the outline as SVG."""
    x0, y0, x1, y1 = hit.box
    x, y = max(0, round(x0)), max(0, round(y0))
    width, height = max(1, round(min(x1, hit.width)) - x), max(1, round(min(y1, hit.height)) - y)
    stroke = max(hit.width, hit.height) / 250
    outline = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {hit.width} {hit.height}">'
        f'<path d="{path_data(hit.outline(sketch))}" fill="none" stroke="#00c853" '
        f'stroke-width="{stroke:.1f}"/></svg>'
    )
    return {
        "id": address,
        "type": "Annotation",
        "motivation": ["commenting", "highlighting"],  # viewers show comments, and may pass over the rest
        "label": {"none": [canvas.name]},
        "body": {
            "type": "TextualBody",
            "value": f"{canvas.name}: {hit.confidence:.0%} sure",
            "format": "text/plain",
        },
        "target": {
            "type": "SpecificResource",
            "source": {
                "id": canvas.id,
                "type": "Canvas",
                "partOf": [{"id": canvas.manifest, "type": "Manifest"}],
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
    canvas = own_canvas(row.id, row.picture, (row.width, row.height), base)
    return {
        "@context": CONTEXT,
        "id": canvas.manifest,
        "type": "Manifest",
        "label": {"none": [canvas.name]},
        "items": [canvas.described()],
    }
