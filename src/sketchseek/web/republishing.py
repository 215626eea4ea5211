"""What a folder says of the site that was published there before: what a new publication keeps of it."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..errors import SketchseekError
from .published_names import SCHEMES, Label


@dataclass(frozen=True)
class Before:
    """An earlier publication in the same folder; an empty one where there is none.

    manifest : what its `index.json` says. files : those of its data.
    """

    site: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    files: set[str] = field(default_factory=set)

    @property
    def title(self) -> str:
        """What the collection was called."""
        title = self.manifest.get("title")
        return title if isinstance(title, str) else ""

    @property
    def originals(self) -> bool:
        """Whether the SVG files were published."""
        return bool(self.manifest.get("originals"))

    def labels(self) -> dict[str, Label]:
        """What the publisher said of the pictures, by their published names; sources are asked again."""
        part = self.manifest.get("names")
        if part is None:
            return {}
        try:
            columns = json.loads(gzip.decompress((self.site / part["file"]).read_bytes()))
            names = columns["picture"]
            told = [_texts(columns.get(name), len(names)) for name in ("title", "link", "set", "licence")]
            from_sources = columns.get("from_source") or [0] * len(names)
            rows = list(zip(names, from_sources, zip(*told, strict=True), strict=True))
            labels = {name: Label(*texts) for name, from_source, texts in rows if not from_source}
            known = {name: label for name, label in labels.items() if label != Label()}
            if any(urlsplit(label.link).scheme not in SCHEMES for label in known.values()):
                raise ValueError
        except (OSError, EOFError, ValueError, LookupError, AttributeError, TypeError) as error:
            raise SketchseekError(
                f"The titles and links that were published in {self.site} cannot be read: give them with "
                "--links FILE, or name a new folder."
            ) from error
        return known


def _texts(column: Any, count: int) -> list[str]:
    """A column of the names, of one text per picture or `coded`; empty texts where there is none."""
    if isinstance(column, dict):
        return [column["values"][which] if which >= 0 else "" for which in column["of"]]
    return column or [""] * count
