"""SVG, from strangers: parsed without entities, and followed as curves."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from .limits import (
    MAX_ATTRIBUTE,
    MAX_DECLARATIONS,
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_READ,
    MAX_SEGMENTS,
    MAX_STYLES,
    MAX_SVG_BYTES,
    MAX_VERTICES,
    MAX_VISITS,
    check_size,
)

THICK_STROKE, THICK_PEN = 0.24, 0.04
"""Shares of a drawing: a wider stroke is a shape, to the eye; a pen that is wider makes dots that show."""

Float = NDArray[np.float64]
SVG = "{http://www.w3.org/2000/svg}"
HREFS = ("href", "{http://www.w3.org/1999/xlink}href")
LONG = {"d", "points", *HREFS}


def is_svg(data: bytes) -> bool:
    """Whether the bytes are markup; no other format here begins with "<"."""
    return data[:256].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")


# --- the tree --------------------------------------------------------------------------------------------


def parse_svg(data: bytes, name: str) -> ET.Element:
    """The document's tree; no entity is ever declared, so none can be expanded or fetched."""
    if len(data) > MAX_SVG_BYTES:
        raise SketchseekError(f"{name} is larger than {MAX_SVG_BYTES // 2**20} MB, too large for an SVG.")
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    depth = count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        depth, count = depth + 1, count + 1
        if depth > MAX_DEPTH or count > MAX_ELEMENTS:
            raise SketchseekError(f"{name} has too many elements, or too deeply nested ones.")
        named = {_clark(key): value for key, value in attributes.items()}
        if any(len(value) > MAX_ATTRIBUTE for key, value in named.items() if key not in LONG):
            raise SketchseekError(f"{name} has an attribute that is too long.")
        builder.start(_clark(tag), named)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(_clark(tag))

    def refuse(*_: object) -> None:
        raise SketchseekError(f"{name} declares XML entities, which are not read.")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
        root = builder.close()
    except SketchseekError:
        raise
    except Exception as error:
        raise SketchseekError(f"{name} is not well-formed SVG ({error}).") from error
    if root.tag not in (SVG + "svg", "svg"):
        raise SketchseekError(f"{name} is markup, but not SVG.")
    if root.tag == "svg":  # written without its namespace
        for element in root.iter():
            if "}" not in element.tag:
                element.tag = SVG + element.tag
    return root


def _too_large() -> SketchseekError:
    return SketchseekError(
        f"The SVG is too large for a drawing: {MAX_SEGMENTS:,} lines and curves are the most."
    )


def _clark(name: str) -> str:
    return "{" + name if "}" in name else name


UNITS = {
    "": 1.0,
    "px": 1.0,
    "pt": 4 / 3,
    "pc": 16.0,
    "mm": 96 / 25.4,
    "cm": 96 / 2.54,
    "in": 96.0,
    "em": 16.0,
}
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
LENGTH = re.compile(rf"\s*({NUMBER.pattern})\s*([a-z%]*)\s*")


def _length(text: str | None, whole: float, default: float = 0.0) -> float:
    match = LENGTH.fullmatch(text or "") if len(text or "") < 64 else None
    if not match:
        return default
    number, unit = float(match[1]), match[2]
    value = number * whole / 100 if unit == "%" else number * UNITS.get(unit, 1.0)
    return value if np.isfinite(value) else default


def view_box(element: ET.Element) -> tuple[float, float, float, float] | None:
    """x, y, width and height of an element's view box, if it has a good one."""
    numbers = [float(number) for number in NUMBER.findall(element.get("viewBox", "")[:256])]
    if len(numbers) == 4 and np.isfinite(numbers).all() and numbers[2] > 0 and numbers[3] > 0:
        return numbers[0], numbers[1], numbers[2], numbers[3]
    return None


def intrinsic_size(root: ET.Element) -> tuple[float, float]:
    """Width and height in CSS pixels: from the attributes, else the view box, else where the curves are."""
    box = view_box(root)
    width = 0.0 if "%" in root.get("width", "") else _length(root.get("width"), 0)
    height = 0.0 if "%" in root.get("height", "") else _length(root.get("height"), 0)
    if box:
        if width > 0 and height <= 0:
            height = width * box[3] / box[2]
        elif height > 0 and width <= 0:
            width = height * box[2] / box[3]
        elif width <= 0:
            width, height = box[2], box[3]
    elif width <= 0 or height <= 0:
        corners = [c.reshape(-1, 2).max(axis=0) for c, _ in _curves(root)] or [np.ones(2)]
        reach = np.max(corners, axis=0)
        width, height = (width or float(reach[0])), (height or float(reach[1]))
    return max(width, 1.0), max(height, 1.0)


# --- as curves -------------------------------------------------------------------------------------------


def svg_strokes(data: bytes, name: str) -> list[Float] | None:
    """Polylines (n, 2) along every visible stroke, and around every filled shape.

    None if only the pixels can tell: the document has no shapes but, say, text, or shapes of one colour
    without a stroke, which may well be lines that a program has turned into shapes.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = list(_curves(parse_svg(data, name)))
    if not any(style.stroked for _, style in found) and len({style.fill for _, style in found}) <= 1:
        return None
    check_size(len(found))
    curves = [cubics for cubics, _ in found]
    everything = np.concatenate(curves).reshape(-1, 2)
    if not (np.abs(everything) < 1e9).all():
        raise SketchseekError(f"{name} has coordinates that are not ordinary numbers.")
    extent = max(float(np.ptp(everything, axis=0).max()), 1e-9)
    tolerance = _tolerance(curves, extent)
    return [_flatten(_or_dot(cubics, style, style.pen, extent), tolerance) for cubics, style in found]


def _or_dot(cubics: Float, style: _Style, pen: float, whole: float) -> Float:
    """A stroke; or the dot that is seen where a thick round pen hardly moved, or closed a circle to a blot.

    pen, whole : its width and the drawing's extent, in the units of the cubics.
    """
    low, high = cubics.reshape(-1, 2).min(axis=0), cubics.reshape(-1, 2).max(axis=0)
    extent = high - low
    touched = extent.max() < 0.15 * pen and style.line_cap == "round"
    closed = extent.max() <= pen and extent.min() > 0.8 * extent.max() and len(cubics) >= 4
    if not style.stroked or pen < THICK_PEN * whole or not (touched or closed):
        return cubics
    (x, y), r = (low + high) / 2, (extent.max() + pen) / 2
    return path_cubics(f"M{x - r} {y}A{r} {r} 0 1 1 {x + r} {y}A{r} {r} 0 1 1 {x - r} {y}Z")[0]


LINES_ONLY = {SVG + tag for tag in ("svg", "g", "title", "desc", "path", "rect", "circle", "ellipse", "line",
                                   "polyline", "polygon")}  # fmt: skip
SAFE_ATTRIBUTES = {
    "id", "class", "role", "aria-hidden", "aria-label", "focusable", "version", "width", "height", "viewBox",
    "color", "fill", "stroke", "stroke-width", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit",
    "transform", "d", "points", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry",
}  # fmt: skip


def svg_lines(data: bytes, name: str) -> tuple[list[Float], tuple[float, float]] | None:
    """Polylines (n, 2) of a document that is nothing but lines of one colour, and its width and height.

    None if there is any doubt that its pixels would show these lines and no other.
    """
    root = parse_svg(data, name)
    for element in root.iter():
        if element.tag not in LINES_ONLY or not element.attrib.keys() <= SAFE_ATTRIBUTES:
            return None
    with np.errstate(over="ignore", invalid="ignore"):
        found = list(_curves(root))
    styles = {style for _, style in found}
    if {style.fill for style in styles} != {"none"} or len({style.stroke for style in styles}) != 1:
        return None
    width, height = intrinsic_size(root)
    box = view_box(root) or (0.0, 0.0, width, height)
    scale = min(width / box[2], height / box[3])
    origin = np.array([width, height]) / 2 - scale * (np.array(box[:2]) + np.array(box[2:]) / 2)
    curves = [cubics * scale + origin for cubics, _ in found]
    everything = np.concatenate(curves).reshape(-1, 2)
    extent = float(np.ptp(everything, axis=0).max())
    thick = max(style.pen for style in styles) * scale
    inside = (everything >= 0).all() and (everything <= [width, height]).all()
    if not inside or thick > THICK_STROKE * (extent + thick):
        return None
    tolerance = _tolerance(curves, extent)
    lines = [
        _flatten(_or_dot(cubics, style, style.pen * scale, extent), tolerance)
        for cubics, (_, style) in zip(curves, found, strict=True)
    ]
    return lines, (width, height)


@dataclass(frozen=True)
class _Style:
    fill: str = "black"
    stroke: str = "none"
    stroke_width: str = "1"
    line_cap: str = "butt"
    visibility: str = "visible"

    @property
    def drawn(self) -> bool:
        filled = self.fill not in ("none", "transparent")
        return (filled or (self.stroked and self.pen > 0)) and self.visibility not in ("hidden", "collapse")

    @property
    def pen(self) -> float:
        return _length(self.stroke_width, 100, 1.0)

    @property
    def stroked(self) -> bool:
        return self.stroke not in ("none", "transparent")


NEVER_DRAWN = {
    SVG + tag
    for tag in (
        "defs", "symbol", "clipPath", "mask", "pattern", "marker", "linearGradient", "radialGradient",
        "filter", "style", "script", "title", "desc", "metadata", "foreignObject",
    )
}  # fmt: skip


class _Walker:
    """Walks the tree, carrying transform and style, and yields each drawn shape's cubics."""

    def __init__(self, root: ET.Element) -> None:
        self.rules = _style_sheet(root)
        self.ids = {element.get("id"): element for element in root.iter() if element.get("id")}
        box = view_box(root)
        self.view = (
            (box[2], box[3]) if box else (_length(root.get("width"), 0), _length(root.get("height"), 0))
        )
        self.origin = (box[0], box[1]) if box else (0.0, 0.0)
        self.segments = self.visits = self.read = 0
        self.shapes: dict[ET.Element, list[Float]] = {}

    def walk(
        self, element: ET.Element, matrix: Float, style: _Style, depth: int = 0
    ) -> Iterator[tuple[Float, _Style]]:
        self.visits += 1
        self.read += sum(map(len, element.attrib.values()))
        if depth > MAX_DEPTH or self.visits > MAX_VISITS or self.read > MAX_READ:
            raise SketchseekError("The SVG has too many shapes for a drawing, or uses itself.")
        declared = _declarations(element, self.rules)
        if declared.get("display") == "none":
            return
        style = _inherit(style, declared)
        matrix = matrix @ _transform(declared.get("transform", ""))
        if element.tag == SVG + "use":
            href = next((element.get(key) for key in HREFS if element.get(key)), "") or ""
            target = self.ids.get(href[1:]) if href.startswith("#") else None
            if target is not None:
                x, y = _length(element.get("x"), self.view[0]), _length(element.get("y"), self.view[1])
                inner = matrix @ _translation(x, y)
                if target.tag == SVG + "symbol":
                    yield from self._children(target, inner, style, depth)
                else:
                    yield from self.walk(target, inner, style, depth + 1)
            return
        if element.tag in NEVER_DRAWN:
            return
        if style.drawn:
            if element not in self.shapes:
                self.shapes[element] = _shape(element, self.view)
            for cubics in self.shapes[element]:
                self.segments += len(cubics)
                if self.segments > MAX_SEGMENTS:
                    raise SketchseekError(
                        f"The SVG is too large for a drawing: {MAX_SEGMENTS:,} lines and curves are the most."
                    )
                yield cubics @ matrix[:2, :2].T + matrix[:2, 2], style
        yield from self._children(element, matrix, style, depth)

    def _children(
        self, element: ET.Element, matrix: Float, style: _Style, depth: int
    ) -> Iterator[tuple[Float, _Style]]:
        for child in element:
            yield from self.walk(child, matrix, style, depth + 1)


def _curves(root: ET.Element) -> Iterator[tuple[Float, _Style]]:
    walker = _Walker(root)
    x0, y0 = walker.origin
    page = np.array([[x0, y0], [x0 + walker.view[0], y0 + walker.view[1]]])
    for cubics, style in walker.walk(root, np.eye(3), _Style()):
        corners = cubics.reshape(-1, 2)
        covers = (corners.min(axis=0) <= page[0]).all() and (corners.max(axis=0) >= page[1]).all()
        box = len(cubics) <= 4 and bool((cubics[:, 3] == cubics[:, 0]).any(axis=1).all())
        if style.stroked or not (covers and box):  # not a painted background
            yield cubics, style


def _style_sheet(root: ET.Element) -> dict[str, dict[str, str]]:
    """Declarations by simple selector: `path`, `.class`, `#id`."""
    rules: dict[str, dict[str, str]] = {}
    for sheet in root.iter(SVG + "style"):
        for selector, declared in parse_rules(sheet.text or ""):
            rules.setdefault(selector, {}).update(declared)
    return rules


def parse_rules(text: str) -> list[tuple[str, dict[str, str]]]:
    """A style sheet's rules, one for each selector; those that begin with @ are left out."""
    first, *commented = text.split("/*")
    plain = first + "".join(part.partition("*/")[2] for part in commented)
    rules: list[tuple[str, dict[str, str]]] = []
    declarations = 0
    for rule in plain.split("}"):
        names, _, body = rule.partition("{")
        declared = parse_declarations(body)
        selectors = [name.strip() for name in names.split(",") if "@" not in names and name.strip()]
        declarations += len(selectors) * len(declared)
        if len(text) > MAX_STYLES or declarations > MAX_DECLARATIONS:
            raise SketchseekError("The SVG has too long a style sheet for a drawing.")
        rules += [(selector, declared) for selector in selectors]
    return rules


def parse_declarations(text: str) -> dict[str, str]:
    """What a style says: `fill: red; stroke: none`."""
    pairs = (declaration.split(":", 1) for declaration in text.split(";") if ":" in declaration)
    return {key.strip().lower(): value.replace("!important", "").strip() for key, value in pairs}


def _declarations(element: ET.Element, rules: dict[str, dict[str, str]]) -> dict[str, str]:
    declared = dict(element.attrib)
    if rules:
        selectors = [element.tag.removeprefix(SVG)]
        selectors += ["." + name for name in element.get("class", "").split()]
        selectors += ["#" + element.get("id", "")]
        for selector in selectors:
            declared.update(rules.get(selector, {}))
    declared.update(parse_declarations(element.get("style", "")))
    return declared


def _inherit(style: _Style, declared: dict[str, str]) -> _Style:
    def value(key: str, inherited: str) -> str:
        found = declared.get(key, "inherit").strip().lower()
        return inherited if found in ("", "inherit") else found

    fill, stroke = value("fill", style.fill), value("stroke", style.stroke)
    if declared.get("opacity", "1").strip() in ("0", "0%"):
        fill = stroke = "none"
    fill = "none" if declared.get("fill-opacity", "1").strip() in ("0", "0%") else fill
    stroke = "none" if declared.get("stroke-opacity", "1").strip() in ("0", "0%") else stroke
    width = value("stroke-width", style.stroke_width)
    cap = value("stroke-linecap", style.line_cap)
    return _Style(fill, stroke, width, cap, value("visibility", style.visibility))


def _translation(x: float, y: float) -> Float:
    return np.array([[1.0, 0, x], [0, 1, y], [0, 0, 1]])


def _transform(text: str) -> Float:
    """The matrix of a transform attribute."""
    matrix = np.eye(3)
    for step_text in text.split(")"):
        kind, _, arguments = (part.strip(" ,\t\r\n") for part in step_text.partition("("))
        a = [float(number) for number in NUMBER.findall(arguments)]
        if kind == "matrix" and len(a) == 6:
            step = np.array([[a[0], a[2], a[4]], [a[1], a[3], a[5]], [0, 0, 1]])
        elif kind == "translate" and a:
            step = _translation(a[0], a[1] if len(a) > 1 else 0.0)
        elif kind == "scale" and a:
            step = np.diag([a[0], a[1] if len(a) > 1 else a[0], 1.0])
        elif kind == "rotate" and a:
            c, s = np.cos(np.radians(a[0])), np.sin(np.radians(a[0]))
            step = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
            if len(a) >= 3:
                step = _translation(a[1], a[2]) @ step @ _translation(-a[1], -a[2])
        elif kind in ("skewX", "skewY") and a:
            t = np.tan(np.radians(a[0]))
            step = np.array(
                [[1, t, 0], [0, 1, 0], [0, 0, 1]] if kind == "skewX" else [[1, 0, 0], [t, 1, 0], [0, 0, 1]]
            )
        else:
            continue
        matrix = matrix @ step
    return matrix


def _shape(element: ET.Element, view: tuple[float, float]) -> list[Float]:
    """Subpaths of a basic shape, each an array of cubic curves (k, 4, 2)."""
    diagonal = float(np.hypot(*view)) / np.sqrt(2)

    def get(key: str, whole: float, default: float = 0.0) -> float:
        return _length(element.get(key), whole, default)

    tag = element.tag.removeprefix(SVG)
    if tag == "path":
        return path_cubics(element.get("d", ""))
    if tag == "line":
        ends = [(get("x1", view[0]), get("y1", view[1])), (get("x2", view[0]), get("y2", view[1]))]
        return [_lines(np.array(ends))]
    if tag in ("polyline", "polygon"):
        found = islice(NUMBER.finditer(element.get("points", "")), 2 * MAX_SEGMENTS + 4)
        numbers = [float(number[0]) for number in found]
        corners = np.array(numbers[: len(numbers) // 2 * 2]).reshape(-1, 2)
        if tag == "polygon" and len(corners):
            corners = np.vstack([corners, corners[:1]])
        return [_lines(corners)] if len(corners) > 1 else []
    if tag in ("circle", "ellipse"):
        cx, cy = get("cx", view[0]), get("cy", view[1])
        rx = get("r", diagonal) if tag == "circle" else get("rx", view[0], get("ry", view[1]))
        ry = rx if tag == "circle" else get("ry", view[1], rx)
        return (
            path_cubics(f"M{cx - rx} {cy}A{rx} {ry} 0 1 1 {cx + rx} {cy}A{rx} {ry} 0 1 1 {cx - rx} {cy}Z")
            if rx > 0 < ry
            else []
        )
    if tag == "rect":
        x, y, w, h = get("x", view[0]), get("y", view[1]), get("width", view[0]), get("height", view[1])
        if w <= 0 or h <= 0:
            return []
        rx = min(get("rx", view[0], get("ry", view[1])), w / 2)
        ry = min(get("ry", view[1], rx), h / 2)
        if rx <= 0 or ry <= 0:
            return path_cubics(f"M{x} {y}h{w}v{h}h{-w}Z")
        arc = f"a{rx} {ry} 0 0 1 "
        return path_cubics(
            f"M{x + rx} {y}h{w - 2 * rx}{arc}{rx} {ry}v{h - 2 * ry}{arc}{-rx} {ry}"
            f"h{2 * rx - w}{arc}{-rx} {-ry}v{2 * ry - h}{arc}{rx} {-ry}Z"
        )
    return []


def _lines(corners: Float) -> Float:
    """Straight pieces as cubics, their control points at thirds."""
    a, b = corners[:-1, None], corners[1:, None]
    return np.asarray(a + (b - a) * np.array([0, 1 / 3, 2 / 3, 1])[None, :, None])


ARGUMENTS = {"m": 2, "l": 2, "h": 1, "v": 1, "c": 6, "s": 4, "q": 4, "t": 2, "a": 7, "z": 0}
LETTER, FLAG, SKIP = re.compile(r"[MmZzLlHhVvCcSsQqTtAa]"), re.compile(r"[01]"), re.compile(r"[\s,]*")


def path_cubics(d: str) -> list[Float]:
    """Subpaths of path data, each an array of cubic curves (k, 4, 2). Stops at a mistake, as SVG says."""
    subpaths: list[list[Float]] = []
    here = start = np.zeros(2)
    control: Float | None = None  # last control point, for S and T
    previous = ""
    segments = 0
    for command, a in _commands(d):
        kind = command.lower()
        relative = command != command.upper()
        base = here if relative else np.zeros(2)
        if segments > MAX_SEGMENTS:
            raise SketchseekError(
                f"The SVG is too large for a drawing: {MAX_SEGMENTS:,} lines and curves are the most."
            )
        if kind == "m":
            segments += 1
            here = start = base + a
            subpaths.append([])
            control, previous = None, kind
            continue
        if not subpaths:
            break
        if previous == "z" and kind != "z":
            subpaths.append([])
        pieces: list[Float] = []
        if kind == "z":
            if np.any(here != start):
                pieces = [_lines(np.array([here, start]))[0]]
            here = start
        elif kind in "lhv":
            end = here.copy()
            if kind == "l":
                end = base + a
            else:
                axis = 0 if kind == "h" else 1
                end[axis] = base[axis] + a[0]
            pieces = [_lines(np.array([here, end]))[0]]
            here = end
        elif kind in "cs":
            points = base + np.array(a).reshape(-1, 2)
            if kind == "s":
                first = 2 * here - control if control is not None and previous in "cs" else here
                points = np.vstack([first, points])
            pieces = [np.vstack([here, points])]
            control, here = points[1], points[2]
        elif kind in "qt":
            points = base + np.array(a).reshape(-1, 2)
            if kind == "t":
                first = 2 * here - control if control is not None and previous in "qt" else here
                points = np.vstack([first, points])
            bend, end = points
            pieces = [np.array([here, here + 2 / 3 * (bend - here), end + 2 / 3 * (bend - end), end])]
            control, here = bend, end
        elif kind == "a":
            end = base + np.array(a[5:7])
            pieces = _arc(here, end, a[0], a[1], np.radians(a[2]), large=a[3] > 0, sweep=a[4] > 0)
            here = end
        if kind not in "csqt":
            control = None
        previous = kind
        subpaths[-1].extend(pieces)
        segments += max(len(pieces), 1)
    return [np.array(pieces) for pieces in subpaths if pieces]


def _commands(d: str) -> Iterator[tuple[str, list[float]]]:
    """Commands with their numbers, repeated ones spelt out; flags of arcs may touch what follows them."""
    position, command = 0, ""
    while True:
        position = SKIP.match(d, position).end()  # type: ignore[union-attr]
        found = LETTER.match(d, position)
        if found:
            command, position = found[0], found.end()
        elif position >= len(d) or not command or command in "Zz":
            return
        elif command in "Mm":
            command = "L" if command == "M" else "l"
        numbers: list[float] = []
        for index in range(ARGUMENTS[command.lower()]):
            position = SKIP.match(d, position).end()  # type: ignore[union-attr]
            flag = command in "Aa" and index in (3, 4)
            number = FLAG.match(d, position) if flag else NUMBER.match(d, position)
            if not number:
                return
            numbers.append(float(number[0]))
            position = number.end()
        yield command, numbers


def _arc(
    start: Float, end: Float, rx: float, ry: float, phi: float, *, large: bool, sweep: bool
) -> list[Float]:
    """An elliptical arc as cubics of at most a quarter turn (SVG 1.1, appendix F.6)."""
    rx, ry = abs(rx), abs(ry)
    if np.all(start == end):
        return []
    if rx == 0 or ry == 0:
        return [_lines(np.array([start, end]))[0]]
    turn = np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]])
    x, y = turn.T @ (start - end) / 2
    grow = np.sqrt(max(1.0, (x / rx) ** 2 + (y / ry) ** 2))
    rx, ry = rx * grow, ry * grow
    u, v = x / rx, y / ry  # start on the unit circle, seen from the middle of the chord
    square = u * u + v * v
    offset = np.sqrt(max(0.0, 1 / square - 1)) * (-1 if large == sweep else 1)
    cu, cv = offset * v, -offset * u
    a0 = np.arctan2(v - cv, u - cu)
    a1 = np.arctan2(-v - cv, -u - cu)
    span = (a1 - a0) % (2 * np.pi)
    if not sweep:
        span -= 2 * np.pi
    if not np.isfinite(span):
        return []
    n = max(1, int(np.ceil(abs(span) / (np.pi / 2) - 1e-9)))
    k = 4 / 3 * np.tan(span / n / 4)
    middle = (start + end) / 2
    pieces = []
    for t in a0 + span / n * np.arange(n):
        s = t + span / n
        unit = np.array([
            [np.cos(t), np.sin(t)],
            [np.cos(t) - k * np.sin(t), np.sin(t) + k * np.cos(t)],
            [np.cos(s) + k * np.sin(s), np.sin(s) - k * np.cos(s)],
            [np.cos(s), np.sin(s)],
        ])  # fmt: skip
        pieces.append(middle + ((unit + np.array([cu, cv])) * [rx, ry]) @ turn.T)
    return pieces


def _tolerance(curves: list[Float], extent: float) -> float:
    """How far polylines may lie from a drawing's curves: a 4000th of it, or what leaves them few points."""
    finest = extent / 4000
    vertices = sum(int(_counts(cubics, finest).sum()) for cubics in curves)
    return finest * max(1.0, vertices / (MAX_VERTICES / 2)) ** 2


def _counts(cubics: Float, tolerance: float) -> NDArray[np.intp]:
    """Into how many straight pieces (k,) each cubic is to be cut."""
    bend = np.abs(np.diff(cubics, n=2, axis=1)).max(axis=(1, 2))
    return np.asarray(np.clip(np.ceil(np.sqrt(0.75 * bend / tolerance)), 1, 200)).astype(np.intp)


def _flatten(cubics: Float, tolerance: float) -> Float:
    """A polyline along joined cubics, nowhere further than `tolerance` from them."""
    counts = _counts(cubics, tolerance)
    of = np.repeat(np.arange(len(cubics)), counts)
    t = ((np.arange(len(of)) - (np.cumsum(counts) - counts)[of] + 1) / counts[of])[:, None]
    p0, p1, p2, p3 = np.moveaxis(cubics[of], 1, 0)
    points = (1 - t) ** 3 * p0 + 3 * t * (1 - t) ** 2 * p1 + 3 * t**2 * (1 - t) * p2 + t**3 * p3
    return np.concatenate([cubics[:1, 0], points])
