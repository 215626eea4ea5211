"""What a published picture is called: as little of its path as tells it from the others."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from ..errors import SketchseekError
from ..sources.files import as_text
from ..sources.volumes import volume_and_page

SCHEMES = ("", "http", "https")
"""Links may begin with these: a page's own address, or nothing. No script."""
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Label:
    """What a visitor reads of a picture, where a click leads, and what to choose by; empty for none."""

    title: str = ""
    link: str = ""
    set: str = ""
    licence: str = ""


def published_names(paths: Sequence[str]) -> list[str]:
    """File names; where two are the same, with as many of the folders before them as tell them apart."""
    parts = [PurePosixPath(as_text(path)).parts for path in paths]
    depth = [1] * len(parts)
    while True:
        names = [
            "/".join(part for part in mine[-d:] if part != "/") for mine, d in zip(parts, depth, strict=True)
        ]
        counts = Counter(names)
        again = [i for i, name in enumerate(names) if counts[name] > 1 and depth[i] < len(parts[i])]
        if not again:
            return names
        for i in again:
            depth[i] += 1


def read_labels(file: Path) -> dict[str, Label]:
    """Titles, links, sets and licences from a CSV with a header or from JSON, by what they call the picture.

    CSV columns and JSON fields: `picture`, and any of the others. JSON is a list of such objects, or an
    object of them by picture.
    """
    try:
        if file.stat().st_size > MOST_BYTES:
            raise SketchseekError(f"{file} is too long for a list of links.")
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise SketchseekError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SketchseekError(f"{file} cannot be read: it is not in UTF-8.") from error
    is_json = text.lstrip()[:1] in ("[", "{")
    rows = _json_rows(text, file) if is_json else csv.DictReader(io.StringIO(text, newline=""))
    labels = {}
    for row in rows:
        fields = {name: row.get(name) or "" for name in ("picture", "title", "link", "set", "licence")}
        if not fields["picture"] or not all(isinstance(value, str) for value in fields.values()):
            raise SketchseekError(
                f"{file} must say `picture`, and `title`, `link`, `set` or `licence`, of each picture."
            )
        if urlsplit(fields["link"]).scheme not in SCHEMES:
            raise SketchseekError(f"{file} has a link that is not the address of a page: {fields['link']!r}.")
        picture = fields.pop("picture")
        labels[picture] = Label(**fields)
    return labels


def labelled(
    paths: Sequence[str], names: Sequence[str], labels: dict[str, Label]
) -> tuple[list[Label], list[str]]:
    """The label of each picture, known by its published name, its path, or its file name, also with its
    folder or without its suffix.

    A page is also known by the name of its volume, and its link leads to the page.

    And what those labels call it that belong to no picture.
    """
    used: set[str] = set()
    found = []
    for path, name in zip(paths, names, strict=True):
        file = PurePosixPath(as_text(path))
        volume, page = volume_and_page(file.name)
        known_as = (name, str(file), f"{file.parent.name}/{file.name}", file.name, volume, file.stem)
        key = next((k for k in known_as if k in labels), None)
        label = labels[key] if key is not None else Label()
        if key == volume and page is not None:
            at = f"#page={page}" if label.link and "#" not in label.link else ""
            label = replace(label, title=label.title and f"{label.title}, page {page}", link=label.link + at)
        found.append(label)
        used.update([key] if key is not None else [])
    return found, [key for key in labels if key not in used]


def _json_rows(text: str, file: Path) -> Iterable[dict[str, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SketchseekError(f"{file} is neither JSON nor a table.") from error
    if isinstance(document, dict):
        document = [
            {"picture": k, **(v if isinstance(v, dict) else {"link": v})} for k, v in document.items()
        ]
    if not all(isinstance(row, dict) for row in document):
        raise SketchseekError(
            f"{file} must say `picture`, and `title`, `link`, `set` or `licence`, of each picture."
        )
    return document  # type: ignore[no-any-return]
