"""SVG -> pixels; what could cost more than it seems is drawn in a child process with limits."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET

from ..errors import SketchseekError
from .svg import HREFS, SVG, intrinsic_size, parse_svg, view_box

SECONDS = 5
"""Most time for drawing one file."""
MEMORY = 2**30
"""Most address space for drawing one file."""
PLAIN_BYTES, PLAIN_DEPTH = 2**18, 16

PLAIN = {
    SVG + tag
    for tag in (
        "svg", "g", "defs", "title", "desc", "metadata", "style", "path", "rect", "circle", "ellipse", "line",
        "polyline", "polygon", "linearGradient", "radialGradient", "stop",
    )
}  # fmt: skip
"""Elements whose cost is about their length: nothing in them repeats, filters or decodes anything."""
EMBEDDED = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,", re.IGNORECASE)


def render_svg(data: bytes, name: str, longer_side: int, max_pixels: int) -> tuple[bytes, tuple[int, int]]:
    """PNG bytes whose longer side is `longer_side`, and the size that the file asks for."""
    root = parse_svg(data, name)
    width, height = intrinsic_size(root)
    if not width * height <= max_pixels:
        raise SketchseekError(f"{name} claims {width:.6g} x {height:.6g} pixels, which is too many.")
    scale = longer_side / max(width, height)
    if view_box(root) is None:
        root.set("viewBox", f"0 0 {width} {height}")
    root.set("width", str(max(1, round(width * scale))))
    root.set("height", str(max(1, round(height * scale))))
    drop_outside_references(root)
    text = ET.tostring(root, encoding="unicode")
    png = _draw(text, name) if len(text) <= PLAIN_BYTES and _is_plain(root) else _draw_in_child(text, name)
    return png, (max(1, round(width)), max(1, round(height)))


def drop_outside_references(root: ET.Element) -> None:
    """Take out scripts, foreign content, other namespaces, and everything that would open another file."""
    for parent in list(root.iter()):
        for child in list(parent):
            links = [child.get(key, "#").strip() for key in HREFS]
            outside = not all(link.startswith("#") or EMBEDDED.match(link) for link in links)
            foreign = not child.tag.startswith(SVG)
            if outside or foreign or child.tag in (SVG + "script", SVG + "foreignObject"):
                parent.remove(child)


def _is_plain(element: ET.Element, depth: int = 0) -> bool:
    """Whether drawing costs little: plain elements, and few groups in groups, each being a layer."""
    inner = all(_is_plain(child, depth + 1) for child in element)
    return inner and element.tag in PLAIN and depth <= PLAIN_DEPTH


def _draw(text: str, name: str) -> bytes:
    import resvg_py

    try:
        return bytes(resvg_py.svg_to_bytes(svg_string=text, skip_system_fonts=True))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in Rust is no Exception
        raise SketchseekError(f"{name} could not be drawn ({error}).") from None


CHILD = """
import resource, sys
sys.path[:] = {path!r}
for limit, most in ("AS", {memory}), ("CPU", {seconds}), ("CORE", 0):
    try:
        resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (most, most))
    except (ValueError, OSError):
        pass  # not every system limits everything
import resvg_py
text = sys.stdin.buffer.read().decode()
png = resvg_py.svg_to_bytes(svg_string=text, skip_system_fonts="<text" not in text and ":text" not in text)
sys.stdout.buffer.write(bytes(png))
"""


def _draw_in_child(text: str, name: str) -> bytes:
    code = CHILD.format(path=[entry for entry in sys.path if entry], memory=MEMORY, seconds=SECONDS)
    command = [sys.executable, "-I", "-c", code]
    try:
        child = subprocess.run(
            command, input=text.encode(), capture_output=True, timeout=2 * SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise SketchseekError(f"{name} takes too long to draw.") from None
    if child.returncode or not child.stdout:
        raise SketchseekError(f"{name} could not be drawn within {SECONDS} s and {MEMORY // 2**20} MB.")
    return child.stdout
