"""A published collection for viewers of IIIF, as files: its pictures as canvases, its drawings answered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..contours.drawing import Sketch
from ..errors import SketchseekError
from ..server.iiif import CONTEXT, Canvas, annotation
from ..sources import Item, root_of
from ..sources.iiif import is_canvas, painted
from .parts import put

if TYPE_CHECKING:
    from ..index import Index

FOLDER = "iiif"
ANSWERED = 20
"""Pictures in the answer to a drawing that the page offers."""


def checked_address(address: str) -> str:
    """Where a site will be, as its identifiers begin; SketchseekError where that is not an address."""
    parts = urlsplit(address)
    if parts.scheme not in ("https", "http") or not parts.netloc or parts.query or parts.fragment:
        raise SketchseekError(
            f"{address!r} is not the address of a site, such as https://example.org/icons/."
        )
    return address if address.endswith("/") else f"{address}/"


@dataclass
class Canvases:
    """The pictures of a site as canvases. address : where the site will be."""

    site: Path
    address: str

    def __post_init__(self) -> None:
        self.manifest = f"{self.address}{FOLDER}/manifest.json"
        self.written: set[str] = set()

    def write(
        self, index: Index, paths: Sequence[str], names: Sequence[str], items: dict[str, Item]
    ) -> dict[str, list[str]]:
        """Write the manifest; of each picture the canvas, and the manifest that it is part of."""
        canvases = []
        for number, (path, name) in enumerate(zip(paths, names, strict=True)):
            row = index.row(index.state.id(number))
            item = items.get(path.partition("#")[2])
            if item is not None and is_canvas(item):
                body, there, root = painted(item), item.name, root_of(path)
            else:
                body = {"id": self._image(index.thumbnail(row.id)), "format": "image/webp"}
                there, root, item = f"{self.manifest}/canvas/{number}", self.manifest, None
            canvases.append(Canvas(there, root, name, row.width, row.height, body, item))
        label = {"none": [f"{len(canvases):,} pictures"]}
        document = {"@context": CONTEXT, "id": self.manifest, "type": "Manifest", "label": label}
        self._put("manifest.json", {**document, "items": [canvas.described() for canvas in canvases]})
        self._canvases = {index.state.id(number): canvas for number, canvas in enumerate(canvases)}
        return {"canvas": [c.id for c in canvases], "manifest": [c.manifest for c in canvases]}

    def answer(self, index: Index, drawings: Sequence[list[Any]]) -> None:
        """Write the answer to each drawing that the page begins with, by shape, as visitors search."""
        for number, strokes in enumerate(drawings):
            sketch = Sketch.from_strokes(strokes)
            hits = index.search(sketch, ANSWERED, expand=0, blend=0, turn=0, method="exhaustive")
            name = f"drawing-{number}.json"
            address = f"{self.address}{FOLDER}/{name}"
            found = [annotation(hit, sketch, f"{address}#{hit.rank}", self._canvases[hit.id]) for hit in hits]
            self._put(name, {"@context": CONTEXT, "id": address, "type": "AnnotationPage", "items": found})

    def _image(self, data: bytes) -> str:
        name = f"{hashlib.blake2b(data, digest_size=8).hexdigest()}.webp"
        self._keep(name, data)
        return f"{self.address}{FOLDER}/{name}"

    def _put(self, name: str, document: dict[str, Any]) -> None:
        self._keep(name, json.dumps(document, ensure_ascii=False).encode("utf-8", "replace"))

    def _keep(self, name: str, data: bytes) -> None:
        put(self.site / FOLDER / name, data)
        self.written.add(f"{FOLDER}/{name}")
