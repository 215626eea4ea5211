"""SVG curves lie where a renderer paints them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sketchseek.contours import Sketch
from sketchseek.errors import SketchseekError
from sketchseek.sources.picture import load_picture
from sketchseek.sources.svg import path_cubics, svg_strokes

BODIES = {
    "path": '<path d="M10 80C40 10 65 10 95 80S150 150 180 80"/>',
    "relative and repeated": '<path d="m10 10 30 0 0 30-30 0zm60 0l20,5,20-5 v40h-40z"/>',
    "quadratic": '<path d="M10 80Q52 10 95 80T180 80"/>',
    "arcs": '<path d="M20 100A45 30 20 0 1 110 100a20 40-30 1 0 50-20A10 10 0 00190 60"/>',
    "arc flags together": '<path d="M20 100a45 30 0 11 60 20"/>',
    "arc too small": '<path d="M20 100A5 5 0 0 1 120 60"/>',
    "exponents": '<path d="M1e1 1.5e2L.1e3-1e-9 1.9E2 4e1"/>',
    "rect": '<rect x="20" y="30" width="150" height="100"/>',
    "round rect": '<rect x="20" y="30" width="150" height="100" rx="30"/>',
    "circle": '<circle cx="90" cy="100" r="70"/>',
    "ellipse": '<ellipse cx="90" cy="100" rx="80" ry="30"/>',
    "lines": '<line x1="5" y1="190" x2="190" y2="10"/><polyline points="10,10 50 60,90,20"/>',
    "polygon": '<polygon points="100,10 190,190 10,190"/>',
    "transforms": '<g transform="translate(100 100) rotate(30) scale(.5 -.8)"><g transform="skewX(20)">'
    '<circle r="90"/><path d="M-80 0L80 20" transform="matrix(1 .2 .3 1 5 6)"/></g></g>',
    "rotation about a point": '<rect x="50" y="50" width="100" height="40" transform="rotate(40, 100, 70)"/>',
    "use": '<defs><path id="a" d="M0 0L50 20 20 60z"/></defs><use href="#a" x="30" y="20"/>'
    '<use href="#a" transform="translate(100 100) scale(1.5)"/>',
    "style sheet": "<style>/* no */ .gone, #out {stroke: none; fill: none}</style>"
    '<path d="M10 10L190 150"/><path class="gone" d="M0 190h200"/><path id="out" d="M190 0v200"/>',
    "hidden": '<path d="M10 10L190 150"/><path display="none" d="M0 190h200"/>'
    '<g visibility="hidden"><path d="M190 0v200"/></g><path style="opacity:0" d="M5 5h190"/>',
}


@pytest.mark.parametrize("name", BODIES)
def test_curves_lie_under_the_rendered_strokes(name: str) -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200" fill="none" stroke="black" '
        f'stroke-width="2">{BODIES[name]}</svg>'
    ).encode()
    ink = load_picture(svg, longer_side=800).pixels[..., 0] < 128
    drawn = np.zeros((200, 200), bool)
    for stroke in svg_strokes(svg, "x") or []:
        steps = np.concatenate([np.linspace(a, b, 200) for a, b in pairwise(stroke)])
        inside = steps[((steps >= 0) & (steps < 199.5)).all(axis=1)]
        assert ink[(inside[:, 1] * 4).astype(int), (inside[:, 0] * 4).astype(int)].mean() > 0.99
        drawn[inside[:, 1].astype(int), inside[:, 0].astype(int)] = True
    near = np.zeros_like(drawn)
    for dy in (-2, -1, 0, 1, 2):
        for dx in (-2, -1, 0, 1, 2):
            near |= np.roll(drawn, (dy, dx), axis=(0, 1))
    inked = ink.reshape(200, 4, 200, 4).any(axis=(1, 3))
    assert near[inked].mean() > 0.99, "and nothing that is painted is missing"


def test_strokes_and_fills() -> None:
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200">'
    both = Sketch.from_svg(head + '<circle cx="100" cy="100" r="80" stroke="red" fill="blue"/></svg>')
    fill = Sketch.from_svg(head + '<circle cx="100" cy="100" r="80"/></svg>')
    for sketch in (both, fill):
        assert len(sketch.points) == pytest.approx(400 * np.pi, rel=0.02)
        radius = np.hypot(sketch.points.x, sketch.points.y)
        np.testing.assert_allclose(radius, 200, atol=1.5)
        # The normal of a circle points to its middle.
        x, y = sketch.points.x / radius, sketch.points.y / radius
        along = np.abs(np.sin(sketch.points.angle) * x + np.cos(sketch.points.angle) * y)
        assert np.quantile(along, 0.01) > 0.99


def test_lines_turned_into_shapes_are_lines_again() -> None:
    """A ring, thin enough to be the stroke of a circle, as an outlined icon has it."""
    ring = "M100 10a90 90 0 1 0 .01 0zM100 22a78 78 0 1 1-.01 0z"
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200">'
    sketch = Sketch.from_svg(f'{head}<path fill-rule="evenodd" d="{ring}"/></svg>')
    assert len(sketch.points) == pytest.approx(400 * np.pi, rel=0.03)


def test_a_painted_background_is_no_contour() -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 200">'
        '<rect width="200" height="200" fill="#fff"/>'
        '<path d="M50 50L100 100" stroke="black"/></svg>'
    )
    points = Sketch.from_svg(svg).points
    assert np.abs(points.x - points.y).max() < 1e-3


def test_path_data_stops_at_a_mistake() -> None:
    assert path_cubics("L5 5") == []
    assert path_cubics("") == []
    assert len(path_cubics("M0 0L5 5 L oops 9")[0]) == 1


@pytest.mark.parametrize(
    "text", ["not markup", "<svg", "<html/>", '<svg xmlns="http://www.w3.org/2000/svg"/>']
)
def test_no_drawing_in_it(text: str) -> None:
    with pytest.raises(SketchseekError):
        Sketch.from_svg(text)
