"""SVG whose cost does not show in its length: drawn within limits, or refused, and never in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from xml.etree import ElementTree

import numpy as np
import pytest

from sketchseek.contours import Sketch, picture_contours
from sketchseek.contours.detectors import get_detector
from sketchseek.errors import SketchseekError
from sketchseek.shape.descriptor import describe
from sketchseek.shape.settings import Settings
from sketchseek.sources import svg_render
from sketchseek.sources.limits import MAX_SAMPLES
from sketchseek.sources.picture import load_picture
from sketchseek.sources.sandbox import Children
from sketchseek.sources.svg import SVG, parse_svg
from sketchseek.sources.svg_allowed import drop_unlisted

pytestmark = pytest.mark.slow

HEAD = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 400">'
SHADOWS = " ".join(["drop-shadow(16px 16px 40px red)"] * 60)
RECT = '<rect x="60" y="80" width="200" height="150" fill="#123"'
GOOD = f"{HEAD}{RECT}/></svg>".encode()


def document(body: str) -> bytes:
    return f"{HEAD}{body}</svg>".encode()


def uses(target: str, count: int = 9000) -> bytes:
    return document(target + '<use href="#a"/>' * count)


CIRCLES = '<g id="a" opacity=".5"><circle r="300" fill="red"/><circle r="200" opacity=".4"/></g>'
MASK = '<mask id="m"><rect width="400" height="400" fill="#fff"/></mask>'
MARKER = '<marker id="m" markerWidth="400" markerHeight="400"><circle r="200"/></marker>'
COSTLY = {
    "uses": uses('<path id="a" d="M0 0' + "L400 400L0 390" * 500 + 'z" stroke="red"/>'),
    "uses of layers": uses(CIRCLES),
    "masks in masks": document(MASK + ('<g mask="url(#m)">' * 150 + f"{RECT}/>" + "</g>" * 150) * 40),
    "markers": document(MARKER + '<path marker-mid="url(#m)" d="M0 0' + "L400 400L0 390" * 3000 + '"/>'),
    "layers": document(('<g opacity=".9">' * 15 + f"{RECT}/>" + "</g>" * 15) * 600),
    "blurs": document(
        '<filter id="f"><feGaussianBlur stdDeviation="90"/></filter>'
        + f'<g filter="url(#f)">{RECT}/></g>' * 5000
    ),
    "plain elements": document('<circle r="400" fill="red" opacity=".5"/>' * 20000),
}


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three tenths of a processor's second for a drawing: these take fifty times that and more."""
    impatient = Children("sketchseek.sources.resvg:draw", memory=2**30, seconds=0.3, patience=300)
    monkeypatch.setattr(svg_render, "_drawing", impatient)
    yield
    impatient.close()


@pytest.mark.parametrize("name", COSTLY)
def test_what_takes_too_long_is_refused(name: str, short_patience: None) -> None:
    for data in (COSTLY[name], COSTLY[name].replace(b"<svg", b"<!-- again --><svg")):
        with pytest.raises(SketchseekError, match=r"takes too much time to draw|could not be drawn"):
            load_picture(data)
        assert load_picture(GOOD).pixels.min() < 100  # the next one gets another process


@pytest.mark.parametrize(
    "shape",
    [
        f'{RECT} filter="{SHADOWS}"/>',
        f'{RECT} style="filter:{SHADOWS}"/>',
        f"<style>rect {{ filter: {SHADOWS} }}</style>{RECT}/>",
        f'<filter id="f"><feTurbulence numOctaves="99999"/></filter>{RECT} filter="url(#f)"/>',
        f'<filter id="f"><feMorphology radius="300"/></filter>{RECT} style="filter:url(#f)"/>',
        f'{RECT} filter="url(#nowhere)"/>',
        f'{RECT} filter="url(http://127.0.0.1:9/x#f)"/>',
        f'{RECT} onload="alert(1)" onclick="alert(2)"/>',
        f'<a href="https://example.org/">{RECT}/></a>',
        f"<foreignObject><p>hello</p></foreignObject><script>1</script>{RECT}/>",
        f"<style>@import url(file:///etc/passwd); rect {{ opacity: 1 }}</style>{RECT}/>",
    ],
)
def test_what_is_not_on_the_lists_is_left_out(shape: str, short_patience: None) -> None:
    """Not refused: the picture is what it would be without."""
    assert np.array_equal(load_picture(document(shape)).pixels, load_picture(GOOD).pixels)


def test_what_is_on_the_lists_is_drawn() -> None:
    plain = load_picture(GOOD).pixels
    for extra in (
        '<filter id="f"><feGaussianBlur stdDeviation="9"/></filter>' + f'{RECT} filter="url(#f)"/>',
        f'<clipPath id="c"><circle cx="100" cy="100" r="60"/></clipPath>{RECT} clip-path="url(#c)"/>',
        f'{MASK}{RECT} mask="url(#m)" opacity=".4"/>',
        f'<style>.a {{ fill: red }}</style>{RECT} class="a" style="fill:lime"/>',
        f'{RECT} stroke="red" stroke-dasharray="4 2" transform="rotate(20)"/>',
        '<linearGradient id="g"><stop stop-color="red"/></linearGradient>'
        + RECT.replace("#123", "url(#g)")
        + "/>",
    ):
        drawn = load_picture(document(extra)).pixels
        assert drawn.min() < 240
        assert not np.array_equal(drawn, plain)


def test_only_listed_names_are_left() -> None:
    data = document(
        '<g onload="x" data-a="1" fill="red" style="fill:blue;behavior:url(x);-moz-binding:url(#y);'
        'stroke:url(y)"><image href="file:///etc/passwd"/><image href="data:image/png;base64,AAAA"/>'
        '<use href="other.svg#a"/><use href="#a"/><unknown/><path id="a" d="M0 0"/></g>'
    )
    root = parse_svg(data, "it")
    drop_unlisted(root)
    text = ElementTree.tostring(root, encoding="unicode")
    for dropped in ("onload", "data-a", "behavior", "binding", "stroke", "passwd", "other.svg", "unknown"):
        assert dropped not in text
    assert [element.tag.removeprefix(SVG) for element in root.iter()] == ["svg", "g", "image", "use", "path"]
    assert root[0].get("style") == "fill:blue"


LONG_WINDED = {
    "a path with blanks, used": uses('<path id="a" d="M0 0L9 9' + " " * 1_000_000 + '" stroke="red"/>'),
    "points that are none, used": uses('<polyline id="a" points="' + "x" * 1_000_000 + '" stroke="red"/>'),
    "a style": document('<path d="M0 0L9 9" style="' + "a:b;" * 200_000 + '"/>'),
    "lifts of the pen": document('<path d="' + "M0 0" * 3_000_000 + '" stroke="red"/>'),
    "transforms": document('<path transform="' + "scale(1)" * 1_500_000 + '" d="M0 0L9 9"/>'),
    "points": document('<polyline points="' + "1 2 " * 3_500_000 + '" stroke="red"/>'),
    "selectors": document(
        f"<style>{','.join(['a'] * 30_000)} {{{''.join(f'a{i}:b;' for i in range(30_000))}}}</style>{RECT}/>"
    ),
    "classes": document(
        "<style>" + "a{b:c}" * 90_000 + "</style>" + f'{RECT} class="' + "a " * 400_000 + '"/>'
    ),
}


@pytest.mark.parametrize("name", LONG_WINDED)
def test_long_ways_to_say_little_are_not_followed(name: str, short_patience: None) -> None:
    """Following curves is done in this process: it counts what it reads. It took minutes, or for ever."""
    with pytest.raises(SketchseekError):
        Sketch.load(LONG_WINDED[name])
    with suppress(SketchseekError):
        picture_contours(LONG_WINDED[name], get_detector("canny"))


def test_a_drawing_that_goes_over_the_page_for_ever() -> None:
    """Seven million points of it filled the memory; some of them say the same."""
    once = Sketch.from_strokes([[[0, 0], [100, 3], [50, 60]]])
    forever = Sketch.from_strokes([[[0, 0], [100, 3], [50, 60], [100, 3]] * 5000])
    assert len(forever.points) <= 1.01 * MAX_SAMPLES
    assert len(once.points) < 1000
    settings = Settings.preset("precise")
    u, v = (describe(sketch.points, settings) for sketch in (once, forever))
    assert u @ v > 0.95 * np.linalg.norm(u) * np.linalg.norm(v)
    lines = document('<path fill="none" stroke="red" d="M0 0' + "L390 9L0 390" * 3000 + '"/>')
    for points in (Sketch.load(lines).points, picture_contours(lines, get_detector("canny")).points):
        assert 1000 < len(points) <= 1.01 * MAX_SAMPLES


def test_nothing_is_drawn_in_this_process() -> None:
    load_picture(GOOD)
    Sketch.load(document('<text x="9" y="90" font-size="80">Hello</text>' + f"{RECT}/>"))
    assert "resvg_py" not in sys.modules
