"""Pictures that are drawings: told from photographs, and followed along the middle of their lines."""

from __future__ import annotations

import io
import itertools

import cv2
import numpy as np
import pytest
from PIL import Image

from sketchseek.contours import Contours, Sketch, picture_contours
from sketchseek.contours.detectors import get_detector
from sketchseek.contours.line_art import drawn_strokes, is_line_art
from sketchseek.shape.descriptor import describe
from sketchseek.shape.settings import Settings
from sketchseek.sources.picture import load_picture

CANNY = get_detector("canny")


def seen(pixels: np.ndarray) -> Contours:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return picture_contours(out.getvalue(), CANNY)


def likeness(a, b) -> float:
    u, v = (describe(points, Settings.preset("precise")) for points in (a, b))
    return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))


@pytest.mark.parametrize("width", [1, 2, 4, 7, 10, 20, 30])
@pytest.mark.parametrize("colour", [(0, 0, 0), (230, 40, 30), (40, 90, 220)])
def test_a_stroke_on_paper_is_one_contour_along_its_middle(width: int, colour: tuple) -> None:
    pixels = np.full((300, 400, 3), 255, np.uint8)
    cv2.line(pixels, (200, 20), (200, 280), colour, width, cv2.LINE_AA)
    points = seen(pixels).points
    inner = np.abs(points.y) < 100  # not the ends
    assert inner.sum() == pytest.approx(200, abs=4)  # all along, and once
    assert np.abs(points.x[inner] - 0.5).max() <= 1
    assert np.ptp(points.y) == pytest.approx(260, abs=4 + width / 4)


def test_light_on_dark_is_seen_as_dark_on_light() -> None:
    pixels = np.full((200, 300, 3), 250, np.uint8)
    cv2.ellipse(pixels, (150, 100), (100, 60), 20, 0, 360, (20, 20, 20), 5, cv2.LINE_AA)
    assert likeness(seen(pixels).points, seen(255 - pixels).points) > 0.999


def test_a_solid_shape_is_its_outline() -> None:
    pixels = np.full((300, 400, 3), 255, np.uint8)
    cv2.circle(pixels, (200, 150), 90, (30, 120, 40), -1, cv2.LINE_AA)
    points = seen(pixels).points
    assert len(points) > 300
    assert np.quantile(np.abs(np.hypot(points.x, points.y) - 90), 0.95) <= 2


def test_drawings_are_told_from_photos() -> None:
    from skimage.data import astronaut, coffee

    paper = np.full((200, 200, 3), 240, np.uint8)
    assert not is_line_art(paper)  # nothing on it
    cv2.line(paper, (20, 20), (180, 150), (200, 30, 30), 3, cv2.LINE_AA)
    assert is_line_art(paper)
    for photo in (astronaut(), coffee()):
        assert not is_line_art(photo)
        assert drawn_strokes(photo) is None
    shaded = np.full((200, 200, 3), 255, np.uint8)  # an object on white ground
    shaded[50:150, 50:150] = np.linspace(30, 220, 100)[:, None, None]
    assert not is_line_art(shaded)


LINES = (
    '<path d="M4 6h16v10a3 3 0 0 1-3 3H7a3 3 0 0 1-3-3z"/><circle cx="12" cy="11" r="3"/>'
    '<g transform="translate(1 0) scale(.9)"><line x1="4" y1="3" x2="16" y2="3"/></g>'
)
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="24" viewBox="0 0 24 24" fill="none" '
    'stroke="currentColor" stroke-linecap="round" stroke-linejoin="round" stroke-width="1.5">{}</svg>'
)


def test_lines_of_an_svg_are_followed_as_their_pixels_are() -> None:
    followed = picture_contours(SVG.format(LINES).encode(), CANNY)
    traced = seen(load_picture(SVG.format(LINES).encode(), 800).pixels)
    assert (followed.picture.width, followed.picture.height) == (48, 24)
    assert likeness(followed.points, traced.points) > 0.98
    assert followed.points.width == traced.points.width


@pytest.mark.parametrize(
    "more",
    [
        '<rect x="2" y="2" width="9" height="9" fill="white" stroke="none"/>',
        '<path d="M2 2L20 20" stroke="red"/>',
        '<path d="M2 2L20 20" stroke-dasharray="1 2"/>',
        '<path d="M2 2L20 20" style="stroke-opacity: .3"/>',
        '<path d="M2 2L60 20"/>',
        '<path d="M2 2L20 20" clip-path="url(#a)"/>',
        "<text>no</text>",
        "<style>path { stroke: none }</style>",
    ],
)
def test_an_svg_whose_pixels_may_show_something_else_is_drawn(more: str) -> None:
    from sketchseek.sources.svg import svg_lines

    assert svg_lines(SVG.format(LINES).encode(), "it") is not None
    assert svg_lines(SVG.format(LINES + more).encode(), "it") is None


def test_the_subject_of_line_art_is_its_ink() -> None:
    pixels = np.full((300, 400, 3), 255, np.uint8)
    cv2.rectangle(pixels, (40, 60), (140, 110), (0, 0, 0), 3)
    contours = seen(np.repeat(np.repeat(pixels, 2, axis=0), 2, axis=1))  # an original of 800 x 600
    points, frame = contours.subject()
    assert frame == pytest.approx((81, 121, 281, 221), abs=3)
    assert points.width == pytest.approx(400)
    assert points.height == pytest.approx(200, abs=3)
    drawn = Sketch.from_strokes([[[0, 0], [100, 0], [100, 50], [0, 50], [0, 0]]])
    assert likeness(points, drawn.points) > 0.99


def test_a_sheet_is_read_closely_enough_for_what_is_on_it() -> None:
    """Six small things on a large page: each is as exact as if it were alone."""
    page = np.full((900, 1200, 3), 255, np.uint8)
    corners = np.array([[0, 0], [40, 0], [40, 18], [22, 18], [22, 40], [0, 40]])
    for x in (100, 500, 900):
        for y in (150, 600):
            cv2.polylines(page, [corners + np.array([x, y])], True, (0, 0, 0), 3, cv2.LINE_AA)
    points = seen(page).points
    assert seen(page).is_line_art
    scale = 400 / 1200
    middle = (np.array([520, 170]) - (600, 450)) * scale
    mine = (np.abs(points.x - middle[0]) < 12) & (np.abs(points.y - middle[1]) < 12)
    true = np.vstack([corners, corners[:1]]) * scale + (np.array([500.5, 150.5]) - (600, 450)) * scale
    sides = [np.linspace(a, b, 200) for a, b in itertools.pairwise(true)]
    found = np.stack([points.x[mine], points.y[mine]], axis=1)
    apart = np.linalg.norm(found[:, None] - np.concatenate(sides)[None], axis=2).min(axis=1)
    assert len(found) > 40
    assert np.median(apart) < 0.12  # pixels of the frame of 400; read at that size it is twice as much


def test_the_subject_of_a_photograph_is_all_of_it() -> None:
    from skimage.data import coffee

    contours = seen(coffee())
    points, frame = contours.subject()
    assert points is contours.points
    assert frame == (0, 0, 600, 400)
