"""The paper's figures, redrawn from this implementation: `sketchseek figure NAME --out FILE`.

Each module beside this one is a figure: `joint_approximation.py` is "joint-approximation". Its function
`draw(out)` writes the picture, and the first line of its docstring says what is seen.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import SketchseekError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...contours.drawing import Sketch
    from ...contours.extract import Contours
    from ..ablations import Curves


def names() -> list[str]:
    """Names of all figures."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def draw(name: str, out: str | Path) -> None:
    """Draw one figure into a file; its suffix says in which format."""
    if name not in names():
        raise SketchseekError(f"There is no figure {name!r}. The figures are: {', '.join(names())}.")
    import_module(f"{__name__}.{name.replace('-', '_')}").draw(Path(out))


def new_figure(**options: Any) -> Figure:
    """A matplotlib figure that needs no screen, with the options of `matplotlib.figure.Figure`."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SketchseekError(
            "Figures need matplotlib. Install it with: pip install 'sketchseek[figures]'"
        ) from None
    return Figure(layout="constrained", **options)


def pagoda() -> tuple[Contours, Sketch]:
    """The demo's photograph of a pagoda, as the program sees it, and a drawing of it."""
    from importlib.resources import files
    from importlib.util import find_spec

    from ...contours.detectors import get_detector
    from ...contours.drawing import Sketch
    from ...contours.extract import picture_contours

    spec = find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise SketchseekError("The photograph comes with scikit-learn: pip install 'sketchseek[demo]'.")
    photograph = Path(spec.origin).parent / "datasets" / "images" / "china.jpg"
    drawing = files("sketchseek").joinpath("demo", "drawings", "pagoda.json").read_bytes()
    return picture_contours(str(photograph), get_detector("neural")), Sketch.load(drawing)


def curves(measured: dict[str, Curves], quantity: str, out: Path) -> None:
    """A panel per set, a curve per way of doing it: mAP, in percent, with its 95% interval over drawings."""
    from ..metrics import bootstrap_interval

    figure = new_figure(figsize=(3.7 * len(measured), 3.2))
    panels = figure.subplots(1, len(measured), squeeze=False)[0]
    for panel, (title, ways) in zip(panels, measured.items(), strict=True):
        for name, points in ways.items():
            x = [at for at, _ in points]
            values = [[100 * s.average_precision for s in scores] for _, scores in points]
            (line,) = panel.plot(x, [sum(v) / len(v) for v in values], marker="o", markersize=3, label=name)
            low, high = zip(*(bootstrap_interval(v) for v in values), strict=True)
            panel.fill_between(x, low, high, color=line.get_color(), alpha=0.1, linewidth=0)
        panel.set(title=title, xlabel=quantity)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("mAP")
    panels[-1].legend(fontsize="x-small")
    save(figure, out)


def save(figure: Figure, out: Path) -> None:
    """Write a figure, the same bytes each time; a wrong suffix or folder gets a sentence."""
    from matplotlib import rc_context

    suffix = out.suffix.lower().removeprefix(".")
    formats = ("png", "svg", "pdf")
    if suffix not in formats:
        raise SketchseekError(f"{out} must end in one of .{', .'.join(formats)}: that says the format.")
    no_date = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[suffix]
    try:
        with rc_context({"svg.hashsalt": "sketchseek"}):
            figure.savefig(out, dpi=160, metadata=no_date)
    except OSError as error:
        raise SketchseekError(f"Cannot write {out}: {error.strerror or error}.") from None
