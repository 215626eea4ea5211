"""A collection that anybody can search by drawing, with no server at all: static files for any web host.

The page is the server's, its `api.js` replaced by one that asks a worker; the worker runs the engine,
compiled to WebAssembly, over the same codes (docs/how-to/publish.md).
"""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from ..embeddings.icons import weights
from ..errors import SketchseekError
from ..search.confidence import models
from ..search.core import EVIDENCE
from ..search.engine_arrays import EngineArrays
from ..sources import Item, is_remote
from ..storage.location import Location
from ..storage.source_cache import items_of
from .canvases import FOLDER, Canvases, checked_address
from .large import RECORDS, arranged, halved, is_large, neighbours_first, ordinary, records
from .parts import Parts, coded, distinct, put
from .published_names import SCHEMES, Label, labelled, published_names, read_labels

if TYPE_CHECKING:
    from ..index import Index
    from ..progress import Progress

FORMAT = "sketchseek site 2"
MANIFEST = "index.json"
ENGINES = ("sketchseek.wasm", "sketchseek-relaxed.wasm")
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "style-src 'self'; img-src 'self' blob: data:; base-uri 'none'; form-action 'none'"
)
"""What the page may do: run its own scripts and its engine, and ask its own host for files."""
CODES_IN_A_PART = 1 << 21
KEPT_OFFLINE = 16 * 2**20
"""Bytes of thumbnails that a browser keeps for when it is offline; beyond, it keeps those it has seen."""
_BATCH = 512
_LARGEST_SVG = 1 << 18
_TITLE = "sketchseek: draw a shape, find it in your pictures"
_HEAD = '<meta charset="utf-8">'
_HEADING = "</svg>sketchseek</h1>"
_COPY = "Copy path"
_FOLDERS = "Only pictures of this folder, and of those in it."
_STYLE = '<link rel="stylesheet" href="page/style.css">'


def publish(
    index: Index,
    site: Path,
    *,
    links: Path | None = None,
    title: str | None = None,
    iiif: str | None = None,
    originals: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write the pictures of an index as a site that searches itself in the browser, into a folder of its own.

    links : a CSV or JSON of titles and links (`read_labels`). title : what the collection is called; None for
        what it was called when it was published there before, if it was.
    originals : also publish the SVG files, for visitors to copy.
    iiif : the address at which the site will be, to write its pictures as canvases for viewers of IIIF, too.
    progress : told how many thumbnails of how many are written.
    """
    engines = _engines()
    canvases = None if iiif is None else Canvases(site, checked_address(iiif))
    before, called = _check_site(site)
    title = called if title is None else title
    labels = read_labels(links) if links is not None else {}
    if len(index) == 0:
        raise SketchseekError("There are no pictures in the index: there is nothing to publish.")
    state = index.state
    layout = EngineArrays.of(state)
    different, which = distinct(layout.codes)
    large = canvases is None and is_large(state, len(different))
    embeddings = state.icon_codes if state.icons is not None else None
    order = np.arange(len(state))
    if large and embeddings is not None:
        order = neighbours_first(embeddings)
        embeddings = embeddings[order]
    numbers = order.tolist()
    paths = [state.path(i) for i in numbers]
    names = published_names(paths)
    shown, unused = labelled(paths, names, labels)
    items = items_of(Location(index.location)) if any(map(is_remote, paths)) else {}
    shown = _of_sources(items, paths, shown)
    parts = Parts(site)
    pictures, rows = arranged(layout, order)
    if large and embeddings is not None:
        different = ordinary(layout, pictures, rows)
    rows_in_a_part = max(1, CODES_IN_A_PART // layout.codes.shape[1])
    codes = []
    for start in range(0, len(different), rows_in_a_part):
        some = different[start : start + rows_in_a_part]  # component after component, which packs better
        codes.append({**parts.add_packed("codes", some.T.tobytes()), "rows": len(some)})
    icons = kept = None
    if embeddings is not None:  # as the codes, component after component
        seen = halved(embeddings) if large else embeddings.T
        packed_embeddings = parts.add_packed("embeddings", seen.tobytes())
        icons = {"network": parts.add_packed("network", weights()), "embeddings": packed_embeddings}
        if large:
            kept, _ = parts.add_pieces("records", records(embeddings, layout, pictures, rows), RECORDS)
    ids = [state.id(i) for i in numbers]
    thumbnails, lengths = parts.add_pieces("thumbnails", _thumbnails(index, ids, progress))
    svgs, svg_lengths = parts.add_pieces("originals", map(_svg_of, paths)) if originals else (None, None)
    tables: list[np.ndarray[Any, Any]] = [pictures.T, lengths]
    tables += [] if svg_lengths is None else [svg_lengths]
    tables += [layout.synthetic] if large else [which, layout.frames, layout.synthetic]
    begin = _beginning(index, np.argsort(order).tolist())
    columns: dict[str, Any] = {
        "picture": names,
        "title": [x.title for x in shown],
        "link": [x.link for x in shown],
    }
    if canvases is not None:
        called_so = [label.title or name for label, name in zip(shown, names, strict=True)]
        columns |= canvases.write(index, paths, called_so, items)
        canvases.answer(index, [example["strokes"] for example in begin["examples"]])
        parts.written |= canvases.written
    columns |= {"set": coded([x.set for x in shown]), "licence": coded([x.licence for x in shown])}
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "title": title,
        "pictures": len(state),
        "rows": len(layout.codes),
        "different": len(different),
        "dimensions": int(layout.codes.shape[1]),
        "synthetic": len(layout.synthetic),
        "evidence": list(EVIDENCE),
        "settings": layout.settings.tolist(),
        "model": models()["shape"].numbers.tolist(),
        "codes": codes,
        "icons": icons,
        "tables": parts.add_packed("tables", b"".join(table.tobytes() for table in tables)),
        "names": parts.add_packed("names", _packed(columns)),
        "thumbnails": thumbnails,
        "originals": svgs,
        "records": kept,
        "begin": begin,
    }
    manifest["version"] = hashlib.blake2b(json.dumps(manifest).encode(), digest_size=8).hexdigest()
    code = dict(_code(title, engines))
    shell = {**code, MANIFEST: json.dumps(manifest).encode()}
    for name, data in code.items():
        put(site / name, data)
    put(site / "sw.js", _service_worker(shell, manifest))
    put(site / MANIFEST, shell[MANIFEST])  # last: from here on the new files are asked for
    _clean(site, before - parts.written)
    loaded = sum(part["bytes"] for part in [*codes, manifest["tables"], manifest["names"]])
    later = [*(svgs or []), *(kept or [])]
    return {
        "site": str(site),
        "pictures": len(state),
        "windows": len(layout.codes),
        "views": len(layout.codes),  # the same by its earlier name
        "bytes": {
            "index": loaded + len(shell[MANIFEST]),
            "icons": sum(part["bytes"] for part in (icons or {}).values()),
            "thumbnails": sum(part["bytes"] for part in thumbnails),
            "fetched when searched": sum(part["bytes"] for part in later),
            "page": sum(len(data) for data in code.values()),
        },
        "large": kept is not None,
        "labelled": sum(label != Label() for label in shown),
        "unused_labels": unused,
    }


def _of_sources(items: dict[str, Item], paths: list[str], shown: list[Label]) -> list[Label]:
    """Of pictures that live elsewhere, what their sources say, where the publisher has said nothing."""
    found = []
    for path, label in zip(paths, shown, strict=True):
        item = items.get(path.partition("#")[2]) if is_remote(path) else None
        if item is None or label != Label():
            found.append(label)
        else:
            said = " · ".join(filter(None, (item.label, item.rights)))
            found.append(Label(said, item.link if urlsplit(item.link).scheme in SCHEMES else ""))
    return found


def _engines() -> dict[str, bytes]:
    folder = files(__package__) / "engine"
    if not all((folder / name).is_file() for name in ENGINES):
        raise SketchseekError("The engine for browsers is not in this installation: `make wasm` builds it.")
    return {f"engine/{name}": (folder / name).read_bytes() for name in ENGINES}


def _check_site(site: Path) -> tuple[set[str], str]:
    """The data files and the title of an earlier publication; an error where there is something else."""
    try:
        there = site.exists()
    except OSError as error:
        raise SketchseekError(f"Cannot write {site}: {error.strerror}.") from error
    if not there:
        return set(), ""
    if not site.is_dir():
        raise SketchseekError(f"{site} is not a folder.")
    try:
        known = json.loads((site / MANIFEST).read_bytes())
        if known["format"].startswith("sketchseek site"):
            title = known.get("title")
            files = {f"data/{path.name}" for path in (site / "data").glob("*.bin")}
            files |= {
                f"{FOLDER}/{p.name}" for kind in ("json", "webp") for p in (site / FOLDER).glob(f"*.{kind}")
            }
            return files, title if isinstance(title, str) else ""
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        pass
    if any(site.iterdir()):
        raise SketchseekError(
            f"{site} holds files that are not a published site: name an empty or new folder."
        )
    return set(), ""


def _thumbnails(index: Index, ids: list[str], progress: Progress | None) -> Iterator[bytes]:
    for start in range(0, len(ids), _BATCH):
        yield from index.thumbnails(ids[start : start + _BATCH])
        if progress is not None:
            progress(min(start + _BATCH, len(ids)), len(ids))


def _svg_of(path: str) -> bytes:
    """An SVG file, where it is one and still there."""
    file = Path(path)
    try:
        return (
            file.read_bytes()
            if file.suffix.lower() == ".svg" and file.stat().st_size <= _LARGEST_SVG
            else b""
        )
    except OSError:
        return b""


def _beginning(index: Index, published: list[int]) -> dict[str, Any]:
    """Numbers of the pictures on the first page, and the drawings that are offered there.

    published : the number of each picture in the site.
    """
    from .examples import examples, shown_pictures, traced

    offered = examples(index, traced, expand=0, blend=0.0)  # visitors search by shape
    return {
        "pictures": [published[picture["number"]] for picture in shown_pictures(index)],
        "examples": [{"number": published[one["number"]], "strokes": one["strokes"]} for one in offered],
    }


def _packed(columns: dict[str, Any]) -> bytes:
    """What the pictures are called, and whatever else there is of any of them, by columns."""
    return json.dumps({name: column for name, column in columns.items() if column and any(column)}).encode()


def _code(title: str, engines: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """The files that are the same for every site, but for the title: name, content."""
    yield from engines.items()
    page, own = files("sketchseek") / "web" / "page", files(__package__) / "site"
    yield "index.html", _page((page / "index.html").read_text("utf-8"), title).encode()
    for folder, inside in ((page, "page/"), (own / "page", "page/"), (own / "engine", "engine/"), (own, "")):
        for file in _files(folder):
            if file.name not in ("index.html", "sw.js") and not (folder == page and file.name == "api.js"):
                yield inside + file.name, file.read_bytes()


def _files(folder: Traversable) -> list[Traversable]:
    return sorted((file for file in folder.iterdir() if file.is_file()), key=lambda file: file.name)


def _page(text: str, title: str) -> str:
    """The server's page with the policy, the title and the style of a published one."""
    said = html.escape(title) or "Draw to find"
    for before, after in (
        (_HEAD, f'{_HEAD}\n<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        (_STYLE, f'{_STYLE}\n<link rel="stylesheet" href="page/published.css">'),
        (f"<title>{_TITLE}</title>", f"<title>{said}</title>"),
        (_HEADING, f"</svg>{said}</h1>"),
        (_COPY, _COPY.replace("path", "name")),
        (_FOLDERS, "Only these."),
    ):
        if before not in text:
            raise ValueError(f"the page has no {before!r} any more")
        text = text.replace(before, after, 1)
    return text


def _service_worker(shell: dict[str, bytes], manifest: dict[str, Any]) -> bytes:
    """What keeps the site for when there is no network: its own files, then what is the same everywhere."""
    data = [part["file"] for part in [*manifest["codes"], manifest["tables"], manifest["names"]]]
    seen = [part["file"] for part in (manifest["icons"] or {}).values()]
    small = sum(part["bytes"] for part in manifest["thumbnails"]) <= KEPT_OFFLINE
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(shell):
        digest.update(name.encode() + shell[name])
    site = {
        "version": digest.hexdigest(),
        "files": ["./", *(name for name in shell if name != "index.html"), *data],
        "later": [*seen, *([part["file"] for part in manifest["thumbnails"]] if small else [])],
    }
    source = (files(__package__) / "site" / "sw.js").read_bytes()
    return b"const SITE = " + json.dumps(site).encode() + b";\n" + source


def _clean(site: Path, stale: set[str]) -> None:
    """Remove data that only an earlier publication used."""
    for name in stale:
        (site / name).unlink(missing_ok=True)
