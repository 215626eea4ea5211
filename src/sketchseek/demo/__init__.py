"""The demo: photographs and icons out of ordinary packages, and drawings to look for. Downloads nothing."""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SketchseekError

if TYPE_CHECKING:
    from ..index import Index

PACKAGES = {"skimage": "data", "pytablericons": "icons"}
"""Packages that carry pictures, and the folder in each: photographs, and thousands of icons under MIT."""
VARIANTS = ("off plus minus x check up down left right search star heart dollar share exclamation cog code",
            "bolt question pin pause cancel small discount edit [0-9]")  # fmt: skip
EXCLUDE = [
    *(f"*-{word}.svg" for word in " ".join(VARIANTS).split()),
    "brand-*",
    "*letter-*",
    "*number-*",
    "*finger*",
]
"""Icons that are another icon with a mark on it, and those that are no things."""
EXAMPLE = "umbrella"


def drawings() -> dict[str, Path]:
    """The drawn examples: JSON files of strokes, by name."""
    folder = Path(__file__).with_name("drawings")
    return {path.stem: path for path in sorted(folder.glob("*.json"))}


def pictures() -> list[Path]:
    """The folders of pictures that are installed."""
    folders = []
    for package, inner in PACKAGES.items():
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise SketchseekError("The demo's pictures come with `pip install 'sketchseek[demo]'`.")
        folders.append(Path(spec.origin).parent / inner)
    return folders


def demo_index(*, published: bool = False) -> Index:
    """The demo's index in the user's cache, made or brought up to date.

    published: one that visitors load, who search by shape alone: less than half as heavy.
    """
    from ..depiction import has_extra
    from ..index import Index, make_recipe
    from ..output.progress import shown
    from ..shape.settings import DEFAULT_PRESET

    expansion = has_extra() and not published
    recipe = make_recipe("compact" if published else DEFAULT_PRESET, "neural", expansion=expansion)
    mark = hashlib.blake2b(recipe.to_json().encode(), digest_size=5).hexdigest()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    where = cache / "sketchseek" / f"demo-{mark}"  # another detector gets another index
    if (where / "pictures.lance").exists():
        index = Index.open(where)
    else:
        index = Index.create(where, recipe.preset, detector=recipe.detector, expansion=expansion)
    if len(index) == 0:
        print("Indexing the demo's pictures; this happens once.", file=sys.stderr)
    with shown(sys.stderr) as progress:
        report = index.add(pictures(), exclude=EXCLUDE, progress=progress)
    if report.interrupted:
        raise KeyboardInterrupt
    return index


def demo(serve: bool, host: str, port: int, token: str | None) -> None:
    """Index the demo's pictures, search for one drawing, and serve the page."""
    from ..contours.drawing import Sketch
    from ..output.terminal import print_hits

    index = demo_index()
    drawing = drawings()[EXAMPLE]
    print(f"{len(index):,} pictures; for example, a drawn {EXAMPLE} finds:")
    print_hits(index.search(Sketch.load(drawing), k=5), sys.stdout, pictures=not serve)
    print(f"More drawings to try: {drawing.parent}")
    words = ["sketchseek", "search", str(drawing), "--index", index.location, "--html", "hits.html"]
    print(shlex.join(words), flush=True)
    if serve:
        from ..server import serve as serve_index

        serve_index(index.location, host, port, token)
