"""A hasty drawing, and the photograph that it finds among those of installed packages, with its outline."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ...contours.detectors import get_detector
from ...contours.extract import picture_contours
from ...search.options import Options
from ...search.search import search
from ...search.state import PictureContours, state_of
from ...shape.settings import Settings
from . import new_figure, pagoda, save

OTHERS = "astronaut.png chelsea.png coffee.png horse.png motorcycle_left.png rocket.jpg"


def draw(out: Path) -> None:
    """Draw the demo's pagoda beside the photograph that is its first hit, searched by shape alone."""
    photograph, sketch = pagoda()
    seen = [photograph]
    spec = find_spec("skimage")
    if spec is not None and spec.origin is not None:
        detector, folder = get_detector("neural"), Path(spec.origin).parent / "data"
        paths = [folder / name for name in OTHERS.split()]
        seen += [picture_contours(str(path), detector) for path in paths if path.exists()]
    state = state_of(
        [PictureContours.whole(one.points, one.picture.pixels) for one in seen], Settings.preset("precise")
    )
    (hit,) = search(state, sketch, Options(1))
    pixels = seen[int(hit.id)].picture.pixels

    figure = new_figure(figsize=(11, 4.3))
    left, right = figure.subplots(1, 2, width_ratios=(0.82, 1.5))
    for stroke in sketch.strokes:
        left.plot(*stroke.T, color="#1d1c1a", linewidth=3.2, solid_capstyle="round", solid_joinstyle="round")
    left.set(aspect="equal", xlim=(-235, 235), ylim=(262, -240), facecolor="#fdfcf8")
    right.imshow(pixels)
    for line in hit.outline():
        for colour, width in (("white", 6.0), ("#0a9b5b", 3.2)):
            right.plot(*line.T, color=colour, linewidth=width, solid_capstyle="round")
    right.set(xlim=(0, pixels.shape[1]), ylim=(pixels.shape[0], 0))
    for panel, title in ((left, "you draw"), (right, "the first hit")):
        panel.set(xticks=[], yticks=[])
        panel.set_title(title, fontsize=13, color="#55524c", loc="left")
        for spine in panel.spines.values():
            spine.set(color="#d9d4c7")
    save(figure, out)
