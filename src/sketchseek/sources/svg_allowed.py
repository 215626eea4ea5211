"""What an SVG may hold when it is drawn: elements, attributes and styles by list, everything else is dropped.

Nothing on the lists runs anything, or opens anything outside the document. What is on them may still cost
much, a blur in a mask in a pattern: that is for the limits of the process that draws (`svg_render.py`).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from .svg import HREFS, SVG, parse_declarations, parse_rules

XML_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
FILTERS = {
    SVG + tag
    for tag in (
        "feBlend", "feColorMatrix", "feComponentTransfer", "feComposite", "feDropShadow",
        "feFlood", "feFuncA", "feFuncB", "feFuncG", "feFuncR", "feGaussianBlur", "feMerge",
        "feMergeNode", "feOffset",
    )
}  # fmt: skip
"""Steps of a filter whose cost is that of a few passes over the picture."""
ELEMENTS = FILTERS | {
    SVG + tag
    for tag in (
        "svg", "g", "a", "defs", "symbol", "switch", "use", "style", "image", "clipPath", "mask",
        "marker", "pattern", "filter", "linearGradient", "radialGradient", "stop", "path", "rect",
        "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "textPath",
    )
}  # fmt: skip
PROPERTIES = frozenset({
    "clip-path", "clip-rule", "color", "color-interpolation", "color-interpolation-filters",
    "display", "fill", "fill-opacity", "fill-rule", "filter", "flood-color", "flood-opacity",
    "image-rendering", "isolation", "marker", "marker-end", "marker-mid", "marker-start", "mask",
    "mask-type", "mix-blend-mode", "opacity", "overflow", "paint-order", "shape-rendering",
    "stop-color", "stop-opacity", "stroke", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap",
    "stroke-linejoin", "stroke-miterlimit", "stroke-opacity", "stroke-width", "transform",
    "transform-origin", "visibility", "alignment-baseline", "baseline-shift", "direction",
    "dominant-baseline", "font", "font-family", "font-size", "font-stretch", "font-style",
    "font-variant", "font-weight", "letter-spacing", "text-anchor", "text-decoration",
    "text-rendering", "word-spacing", "writing-mode",
})  # fmt: skip
"""As attributes, in a style or in a style sheet."""
ATTRIBUTES = PROPERTIES | {
    XML_SPACE, *HREFS,
    "id", "class", "style", "version", "viewBox", "preserveAspectRatio", "width", "height", "x", "y",
    "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "fx", "fy", "fr", "d", "points", "dx", "dy",
    "rotate", "textLength", "lengthAdjust", "startOffset", "systemLanguage", "gradientUnits",
    "gradientTransform", "spreadMethod", "offset", "patternUnits", "patternContentUnits",
    "patternTransform", "clipPathUnits", "maskUnits", "maskContentUnits", "markerUnits",
    "markerWidth", "markerHeight", "refX", "refY", "orient", "filterUnits", "primitiveUnits", "in",
    "in2", "result", "stdDeviation", "edgeMode", "mode", "operator", "k1", "k2", "k3", "k4", "values",
    "type", "tableValues", "slope", "intercept", "amplitude", "exponent",
}  # fmt: skip
EMBEDDED = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,", re.IGNORECASE)
OWN = re.compile(r"""url\(\s*["']?#([^"'()]*)["']?\s*\)""")
"""A reference into the document."""


def drop_unlisted(root: ET.Element) -> None:
    """Take out of a document everything that is not on the lists, and references to what is not in it."""
    _drop_elements(root)
    filters = {element.get("id") for element in root.iter(SVG + "filter")}
    for element in root.iter():
        attributes = {
            name: value
            for name, value in element.attrib.items()
            if _is_allowed(name, value, ATTRIBUTES, filters)
        }
        if "style" in attributes:
            attributes["style"] = _style(parse_declarations(attributes["style"]), filters)
        element.attrib.clear()
        element.attrib.update(attributes)
        if element.tag == SVG + "style":
            rules = [(selector, _style(body, filters)) for selector, body in parse_rules(element.text or "")]
            element.text = "\n".join(f"{selector} {{{body}}}" for selector, body in rules if body)


def _drop_elements(root: ET.Element) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            inside = all(is_inside(child.get(key, "#")) for key in HREFS) or child.tag == SVG + "a"
            if child.tag not in ELEMENTS or not inside or _is_odd_filter(child):
                parent.remove(child)


def is_inside(link: str) -> bool:
    """Whether a link leads to a part of the document, or to a picture in it."""
    return link.lstrip().startswith("#") or EMBEDDED.match(link.lstrip()[:64]) is not None


def _is_odd_filter(element: ET.Element) -> bool:
    """Whether a filter has a step that is not on the list: without it, it would do something else."""
    return element.tag == SVG + "filter" and any(step.tag not in FILTERS for step in list(element.iter())[1:])


def _style(declared: dict[str, str], filters: set[str | None]) -> str:
    kept = {name: value for name, value in declared.items() if _is_allowed(name, value, PROPERTIES, filters)}
    return ";".join(f"{name}:{value}" for name, value in kept.items())


def _is_allowed(name: str, value: str, names: frozenset[str], filters: set[str | None]) -> bool:
    if name not in names:
        return False
    if name in HREFS:
        return is_inside(value)
    if name not in PROPERTIES:
        return True
    if name == "filter":  # not a list of functions, each of which is a filter of its own
        own = OWN.fullmatch(value.strip())
        return own is not None and own[1] in filters
    return "url(" not in OWN.sub("", value).replace(" ", "").lower() and not set("{}@") & set(value)
