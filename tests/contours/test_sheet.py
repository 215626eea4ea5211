"""A drawing on a sheet of paper that lies on a desk is found, straightened and traced."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from sketchseek.contours import Sketch
from sketchseek.contours.sheet import find_sheet

STAR = [
    (50, 0),
    (61, 36),
    (98, 36),
    (68, 58),
    (79, 94),
    (50, 72),
    (21, 94),
    (32, 58),
    (2, 36),
    (39, 36),
    (50, 0),
]
SQUARE = [(0, 0), (100, 0), (100, 100), (0, 100), (0, 0)]
LYING = [(190.0, 150.0), (800.0, 110.0), (850.0, 560.0), (150.0, 620.0)]


def desk(rng: np.random.Generator, size: tuple[int, int] = (960, 720)) -> NDArray[np.float32]:
    """Planks of dark wood, with grain."""
    width, height = size
    planks = 70 + 25 * np.sin(np.arange(width) / 37)[None] + rng.normal(0, 9, (height, width))
    return (planks[..., None] * np.array([1.0, 0.75, 0.5])).astype(np.float32)


def photographed(
    corners: list[tuple[float, float]], shape: list[tuple[float, float]], seed: int = 0
) -> NDArray[np.uint8]:
    """A shape on a sheet whose corners lie there, in the uneven light of a lamp."""
    rng = np.random.default_rng(seed)
    sheet = np.full((600, 800, 3), 238, np.float32)
    drawn = (np.array(shape, float) * 4 + [200, 90]).round().astype(np.int32)
    cv2.polylines(sheet, [drawn], False, (40, 45, 90), 6, cv2.LINE_AA)
    to = cv2.getPerspectiveTransform(
        np.array([[0, 0], [800, 0], [800, 600], [0, 600]], np.float32), np.array(corners, np.float32)
    )
    picture = desk(rng)
    height, width = picture.shape[:2]
    covered = cv2.warpPerspective(np.ones(sheet.shape[:2], np.float32), to, (width, height))[..., None]
    picture = picture * (1 - covered) + cv2.warpPerspective(sheet, to, (width, height)) * covered
    lamp = 0.8 + 0.25 * np.linspace(-1, 1, width)[None, :, None]
    lit = cv2.GaussianBlur((picture * lamp + rng.normal(0, 4, picture.shape)).astype(np.float32), (0, 0), 1)
    return lit.clip(0, 255).astype(np.uint8)


def far_from(sketch: Sketch, shape: list[tuple[float, float]]) -> float:
    """How far, on average, the points of a sketch lie from a shape, in its frame of 400."""
    meant = Sketch.from_strokes([shape])
    a, b = (np.stack([s.points.x, s.points.y], axis=1) for s in (sketch, meant))
    gaps = np.hypot(*(a[:, None] - b[None]).transpose(2, 0, 1))
    return float((gaps.min(axis=0).mean() + gaps.min(axis=1).mean()) / 2)


@pytest.mark.parametrize("shape", [STAR, SQUARE])
@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_drawn_on_a_sheet_is_taken_and_nothing_else(
    shape: list[tuple[float, float]], seed: int
) -> None:
    picture = photographed(LYING, shape, seed)
    sketch = Sketch.from_image(Image.fromarray(picture))
    assert sketch.picture is None  # it is a drawing, no photograph to look for
    assert far_from(sketch, shape) < 20  # of 400: whether paper is square cannot be known


def test_a_sheet_that_is_cut_off_by_the_picture_is_one() -> None:
    low = [(120.0, 130.0), (820.0, 130.0), (860.0, 760.0), (80.0, 760.0)]
    sheet = find_sheet(photographed(low, STAR, 3))
    assert sheet is not None
    assert far_from(Sketch.from_bitmap(sheet), STAR) < 25  # what is below the picture's edge bends it


def test_where_there_is_no_sheet_none_is_found() -> None:
    rng = np.random.default_rng(5)
    assert find_sheet(desk(rng).clip(0, 255).astype(np.uint8)) is None
    assert find_sheet(photographed(LYING, [(0, 0), (0, 0)])) is None  # nothing is drawn on it
    clean = np.full((700, 900, 3), 250, np.uint8)
    cv2.polylines(clean, [np.array(SQUARE, np.int32) * 6 + 40], False, (0, 0, 0), 5)  # a frame is no sheet
    cv2.circle(clean, (340, 340), 90, (0, 0, 0), 4)
    assert find_sheet(clean) is None
    filled = np.full((700, 900, 3), 60, np.uint8)
    cv2.circle(filled, (450, 350), 250, (240, 240, 240), -1)  # a plate is none, either
    cv2.line(filled, (350, 300), (550, 400), (30, 30, 30), 6)
    assert find_sheet(filled) is None


@pytest.mark.parametrize("name", ["coffee", "chelsea", "astronaut", "rocket", "camera"])
def test_photographs_hold_no_sheet(name: str) -> None:
    data = pytest.importorskip("skimage.data")
    pixels = np.asarray(Image.fromarray(getattr(data, name)()).convert("RGB"))
    assert find_sheet(pixels) is None
