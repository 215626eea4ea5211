"""IIIF: manifests, collections and streams of changes, of Presentation 2 and 3; pictures by the Image API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from ..errors import SketchseekError
from . import LONGEST_NAME, LONGEST_SIDE, LONGEST_TEXT, Item, Kept
from .http import Polite, may_lead

SIDE = 1200
"""Pixels of the longer side that a picture is asked for with."""
MAX_DEPTH = 8
MAX_MANIFESTS = 100_000
MAX_CANVASES = 20_000
GONE = ("Delete", "Remove", "Move")
STRANGE = (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError, RecursionError)
"""What a document leads to that is otherwise than IIIF says."""
_ADDRESS = re.compile(r"[^\s\ud800-\udfff]+")

Json = dict[str, Any]


class IIIF:
    """See `Source`."""

    def __init__(self, polite: Polite | None = None) -> None:
        self._ask = polite or Polite()

    def items(self, root: str, kept: Kept) -> Iterator[Item]:
        """The canvases of all manifests that an address leads to."""
        seen: set[str] = set()
        waiting = [(root, 0)]
        while waiting:
            url, depth = waiting.pop(0)
            if url in seen or not may_lead(root, url):
                continue
            seen.add(url)
            if depth > MAX_DEPTH or len(seen) > MAX_MANIFESTS:
                raise SketchseekError(f"{root} leads to more than {MAX_MANIFESTS:,} manifests, or too deep.")
            known = self._known(url, kept, root)
            waiting += [(address, depth + 1) for address in known["leads"]]
            found = (Item(**one) for one in known["items"])
            yield from (item for item in found if may_lead(root, item.reference.partition(" ")[0]))

    def _known(self, url: str, kept: Kept, root: str) -> Json:
        """What a document says, read again where it has changed; of one that is gone, what it said before."""
        before = kept.get(f"iiif {url}")
        try:
            document, tags = self._ask.document(url, before and before["tags"])
        except SketchseekError:
            if url == root or before is None:
                raise
            return before
        if document is None and before is not None:
            return before
        if not isinstance(document, dict):
            raise SketchseekError(f"{url} is not a IIIF manifest or collection.")
        try:
            leads, items = self._understood(document, url, root)
        except STRANGE as error:
            raise SketchseekError(
                f"{url} is not a IIIF manifest or collection that can be understood."
            ) from error
        known = {"tags": tags, "leads": leads, "items": items}
        kept.put(f"iiif {url}", known)
        return known

    def _understood(self, document: Json, url: str, root: str) -> tuple[list[str], list[Json]]:
        kind = str(document.get("type") or document.get("@type") or "").rpartition(":")[2]
        if kind == "Manifest":
            return [], list(_canvases(document, url))
        if kind == "Collection":
            parts = [*_list(document.get("items")), *_list(document.get("members"))]
            parts += [*_list(document.get("manifests")), *_list(document.get("collections"))]
            return [_id(part) for part in parts if _id(part)], []
        if kind == "OrderedCollection":
            return self._changed(document, root), []
        raise SketchseekError(f"{url} is not a IIIF manifest or collection.")

    def _changed(self, stream: Json, root: str) -> list[str]:
        """The manifests that a stream of changes leaves, newest first."""
        state: dict[str, bool] = {}
        page: Any = stream.get("last") or stream.get("first")
        seen: set[str] = set()
        while page and _id(page) not in seen and may_lead(root, _id(page)) and len(seen) < MAX_MANIFESTS:
            seen.add(_id(page))
            read, _ = self._ask.document(_id(page))
            for activity in reversed(_list(read.get("orderedItems"))):
                thing = activity.get("object") or {}
                if thing.get("type", "Manifest") in ("Manifest", "Collection"):
                    state.setdefault(_id(thing), activity.get("type") not in GONE)
            page = read.get("prev")
        return [url for url, there in state.items() if there and url]

    def fetch(self, item: Item) -> bytes:
        """The picture at the size that we need, by the Image API or as the file that it is."""
        address, _, rest = item.reference.partition(" ")
        if not rest:
            return _bytes(self._ask, address)
        version, level, sizes = rest.split(" ", 2)
        return _bytes(
            self._ask, self._sized(address, int(version), level, _pairs(sizes), (item.width, item.height))
        )

    def _sized(
        self, service: str, version: int, level: str, sizes: list[tuple[int, int]], size: tuple[int, int]
    ) -> str:
        """The request for a whole picture whose longer side is about SIDE."""
        whole = "full" if version < 3 else "max"
        if level == "0" and not sizes:
            info, _ = self._ask.document(f"{service}/info.json")
            try:
                sizes = _sizes(info)
            except STRANGE as error:
                raise SketchseekError(f"{service}/info.json can't be understood.") from error
        if level == "0":
            enough = sorted(sizes, key=lambda s: (max(s) < SIDE, abs(max(s) - SIDE)))
            if not enough:
                return f"{service}/full/{whole}/0/default.jpg"
            width, height = enough[0]
        elif max(size) > SIDE:
            width, height = (max(1, round(side * SIDE / max(size))) for side in size)
        else:
            return f"{service}/full/{whole}/0/default.jpg"
        wanted = f"{width}," if version < 3 else f"{width},{height}"
        return f"{service}/full/{wanted}/0/default.jpg"


def is_canvas(item: Item) -> bool:
    """Whether a picture is a canvas of a manifest, and not of a source of another kind."""
    return item.name.startswith(("https://", "http://"))


def painted(item: Item) -> Json:
    """What is painted on a canvas: an image, and the service that gives it in any size if there is one."""
    address, _, rest = item.reference.partition(" ")
    if not rest:
        return {"id": address}
    version, level, _ = rest.split(" ", 2)
    kind, profile, whole = f"ImageService{version}", f"level{level}", "max" if version == "3" else "full"
    service = {"id": address, "type": kind} if version == "3" else {"@id": address, "@type": kind}
    image = f"{address}/full/{whole}/0/default.jpg"
    return {"id": image, "format": "image/jpeg", "service": [{**service, "profile": profile}]}


def _canvases(manifest: Json, url: str) -> Iterator[Json]:
    title, rights = _text(manifest.get("label")), _rights(manifest)
    home = _home(manifest)
    if "sequences" in manifest:
        canvases = [c for s in _list(manifest["sequences"]) for c in _list(s.get("canvases"))]
    else:
        canvases = _list(manifest.get("items"))
    for canvas in canvases[:MAX_CANVASES]:
        found = _picture(canvas)
        if found is None or not _id(canvas):
            continue
        reference, (width, height) = found
        size = _side(canvas.get("width")) or width, _side(canvas.get("height")) or height
        label = ", ".join(part for part in (title, _text(canvas.get("label"))) if part)
        yield {
            "name": _id(canvas),
            "reference": reference,
            "stamp": "",
            "width": size[0],
            "height": size[1],
            "label": label[:LONGEST_TEXT],
            "rights": (_rights(canvas) or rights)[:LONGEST_TEXT],
            "link": _home(canvas) or home or url,
        }


def _picture(canvas: Json) -> tuple[str, tuple[int, int]] | None:
    """What to ask for to see a canvas, and the picture's own size."""
    bodies = []
    if "images" in canvas:
        bodies = [image.get("resource") or {} for image in _list(canvas["images"])]
    else:
        for page in _list(canvas.get("items")):
            for annotation in _list(page.get("items")):
                bodies += _list(annotation.get("body"))
    for body in bodies:
        chosen = body.get("default") or (_list(body.get("items")) or [body])[0] if _is_choice(body) else body
        service = next((s for s in _list(chosen.get("service")) if _is_image_service(s)), None)
        size = _side(chosen.get("width")), _side(chosen.get("height"))
        if service is not None and _id(service):
            version = 3 if str(service.get("type") or service.get("@type") or "").endswith("3") else 2
            level = _level(service)
            sizes = ";".join(f"{width}x{height}" for width, height in _sizes(service))
            return f"{_id(service).rstrip('/')} {version} {level} {sizes}", size
        if _id(chosen) and not str(chosen.get("format", "image/")).startswith(("video", "audio", "text")):
            return _id(chosen), size
    return None


def _is_choice(body: Json) -> bool:
    return str(body.get("type") or body.get("@type") or "").rpartition(":")[2] == "Choice"


def _is_image_service(service: Any) -> bool:
    said = " ".join(str(service.get(name, "")) for name in ("type", "@type", "@context", "profile"))
    return "ImageService" in said or "iiif.io/api/image" in said or "level" in said


def _level(service: Json) -> str:
    said = str(service.get("profile") or "")
    return next((level for level in "012" if f"level{level}" in said or f"#level{level}" in said), "1")


def _pairs(text: str) -> list[tuple[int, int]]:
    pairs = (part.split("x") for part in text.split(";") if part)
    return [(int(width), int(height)) for width, height in pairs]


def _bytes(ask: Polite, address: str) -> bytes:
    data = ask.get(address).data
    if not data:
        raise SketchseekError(f"{address} is empty.")
    return data


def _side(value: Any) -> int:
    """A length in pixels; 0 where it is none that a picture has."""
    return int(value) if isinstance(value, int | float) and 0 < value <= LONGEST_SIDE else 0


def _sizes(service: Json) -> list[tuple[int, int]]:
    """The sizes in which a service has a picture at hand."""
    found = [(_side(one.get("width")), _side(one.get("height"))) for one in _list(service.get("sizes"))]
    return [size for size in found if min(size) > 0]


def _list(value: Any) -> list[Any]:
    found = value if isinstance(value, list) else [] if value is None else [value]
    return [one for one in found if one is not None]


def _id(thing: Any) -> str:
    found = thing if isinstance(thing, str) else (thing.get("id") or thing.get("@id") or "")
    proper = isinstance(found, str) and len(found) <= LONGEST_NAME and _ADDRESS.fullmatch(found)
    return found if proper else ""


def _text(label: Any) -> str:
    """A label as one line, in English where there are several languages."""
    if isinstance(label, dict) and "@value" not in label:
        values = label.get("en") or label.get("none") or next(iter(label.values()), "")
        return _text(values)
    if isinstance(label, list):
        return "; ".join(filter(None, (_text(one) for one in label[:3])))
    said = label.get("@value", "") if isinstance(label, dict) else label
    line = " ".join(str(said).split()) if said is not None else ""
    return line.encode("utf-8", "replace").decode()  # half a character is none


def _rights(thing: Json) -> str:
    statement = thing.get("requiredStatement") or {}
    said = [_text(statement.get("value")), _text(thing.get("attribution"))]
    said += [_text(thing.get("rights")), _text(thing.get("license"))]
    return "; ".join(filter(None, said))


def _home(thing: Json) -> str:
    """The page that people look at, if it is one that a browser may open."""
    for one in [*_list(thing.get("homepage")), *_list(thing.get("related"))]:
        address = _id(one)
        if urlsplit(address).scheme in ("http", "https"):
            return address
    return ""
