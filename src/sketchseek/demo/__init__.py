"""The demo: photographs and icons out of ordinary packages, and drawings to look for. Downloads nothing."""

from __future__ import annotations

import hashlib
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from .. import system
from ..errors import SketchseekError

if TYPE_CHECKING:
    from ..index import Index

PACKAGES = {"skimage": "data", "sklearn": "datasets/images", "pytablericons": "icons"}
"""Packages that carry pictures, and the folder in each: photographs, and thousands of icons under MIT."""
PHOTOGRAPHS = "astronaut.png camera.png chelsea.png coffee.png horse.png motorcycle_left.png rocket.jpg"
MORE_PHOTOGRAPHS = "china.jpg flower.jpg"
ICONS = (
    "abacus air-balloon alarm alien ambulance anchor apple armchair axe baby-carriage backpack "
    "ball-football balloon bandage barbell basket bat bath battery bed beer bell bike bomb bone book "
    "bottle bow bowl brain briefcase brush bucket bug building-bridge building-castle building-factory "
    "building-lighthouse building-skyscraper bulb burger bus butterfly cactus cake calculator camera "
    "campfire candle candy car carrot cat chair-director chart-pie cheese cherry christmas-tree cloud "
    "cloud-rain clover comet compass cookie crane crown cube cup deer diamond dog door drone droplet ear "
    "egg eyeglass feather fence fish flag flame flask flower fridge gas-station ghost gift glass "
    "glass-cocktail globe golf guitar-pick hammer hand-stop hanger headphones heart helicopter helmet "
    "home horseshoe hourglass ice-cream keyboard ladder lamp leaf lemon lifebuoy lock lollipop luggage "
    "lungs magnet mail mailbox map medal melon microphone microscope moon mouse mug mushroom music "
    "paperclip parachute paw pepper phone piano pig plane planet plant plug poo printer pumpkin-scary "
    "puzzle rainbow razor robot rocket ruler sailboat salt satellite scissors search shield ship shirt "
    "shoe shopping-cart shovel skull snowflake snowman sock sofa soup star steering-wheel stethoscope sun "
    "sunglasses teapot telescope tent tie toilet-paper tornado train trash tree trees trident trophy "
    "truck ufo umbrella vaccine virus volcano wallet wand wheelchair windmill world yin-yang zeppelin"
)
"""What the demo shows: photographs, and things that people draw, each once."""
EXAMPLE = "pagoda"


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


def chosen() -> list[Path]:
    """The pictures of the demo, those that the installed packages have."""
    icons = " ".join(f"outline/{name}.svg" for name in ICONS.split())
    names = (PHOTOGRAPHS, MORE_PHOTOGRAPHS, icons)
    paths = [folder / name for folder, some in zip(pictures(), names, strict=True) for name in some.split()]
    return [path for path in paths if path.exists()]


def demo_index(*, published: bool = False) -> Index:
    """The demo's index in the user's cache, made or brought up to date.

    published: one that visitors load, who search by shape alone: less than half as heavy.
    """
    from ..index import Index, make_config
    from ..networks.graph import has_extra
    from ..progress import shown
    from ..shape.settings import DEFAULT_PRESET

    expansion = has_extra() and not published
    config = make_config("compact" if published else DEFAULT_PRESET, "neural", expansion=expansion)
    files = chosen()
    mark = hashlib.blake2b(f"{config.to_json()} {files}".encode(), digest_size=5).hexdigest()
    where = (
        system.cache_folder() / "sketchseek" / f"demo-{mark}"
    )  # other pictures, or another detector, get another index
    if (where / "pictures.lance").exists():
        index = Index.open(where)
    else:
        index = Index.create(where, config.preset, detector=config.detector, expansion=expansion)
    if len(index) == 0:
        print("Indexing the demo's pictures; this happens once.", file=sys.stderr)
    with shown(sys.stderr) as progress:
        report = index.add(files, progress=progress)
    if report.interrupted:
        raise KeyboardInterrupt
    return index


def demo(serve: bool, host: str, port: int, token: str | None) -> None:
    """Index the demo's pictures, search for one drawing, and serve the page."""
    from ..contours.drawing import Sketch
    from ..search.terminal import print_hits

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
