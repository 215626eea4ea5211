"""A sheet to draw on in a notebook, and what is found below it."""

from __future__ import annotations

import re
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import SketchseekError

if TYPE_CHECKING:
    from ..index import Index
    from .widget import SketchWidget

MISSING_EXTRA = "Drawing in a notebook needs the extra: pip install 'sketchseek[notebook]'."

_IMPORT = re.compile(r'^import \{ ([^}]+) \} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:const|function|class) (\w+))", re.MULTILINE)


def sketch_widget(index: Index, k: int = 12, **options: Any) -> SketchWidget:
    """The widget of `Index.draw`; SketchseekError where the extra is not installed."""
    if find_spec("anywidget") is None:
        raise SketchseekError(MISSING_EXTRA)
    from .widget import SketchWidget

    return SketchWidget(index, k, options)


def script() -> str:
    """The widget's module and those of the page that it imports, as the one that a notebook loads."""
    page, own = files("sketchseek") / "web" / "page", files(__package__)
    made: dict[str, str] = {}

    def text(source: str) -> str:
        for _, module in _IMPORT.findall(source):
            if module not in made:
                inside = (page / f"{module}.js").read_text("utf-8")
                body, given = text(inside), ", ".join(_EXPORT.findall(inside))
                made[module] = f"const {module}_js = (() => {{\n{body}\nreturn {{ {given} }};\n}})();\n"
        return _EXPORT.sub("", _IMPORT.sub(r"const { \1 } = \2_js;\n", source))

    main = text((own / "widget.js").read_text("utf-8"))
    return "".join(made.values()) + main


def style() -> str:
    """The widget's style sheet."""
    return (files(__package__) / "widget.css").read_text("utf-8")
