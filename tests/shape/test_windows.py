"""A picture's windows, in frames of their own."""

import numpy as np
import pytest

from sketchseek.contours.points import FRAME, Points
from sketchseek.contours.synthetic import outline_points, random_curves, random_shape
from sketchseek.shape.windows import FEWEST, LEVELS, MOST, shares, windows_of

SIZES = {"square": (400.0, 400.0), "wide": (400.0, 267.0), "tall": (225.0, 400.0), "strip": (400.0, 60.0)}


def dust(width: float, height: float, n: int = 4000) -> Points:
    """Points all over a frame."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.5, 0.5, (2, n)).astype(np.float32) * np.array([[width], [height]], np.float32)
    angle = rng.uniform(-1.5, 1.5, n).astype(np.float32)
    return Points(x, y, angle, rng.uniform(0.1, 1, n).astype(np.float32), width, height)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("min_object_size", LEVELS)
def test_every_point_of_a_picture_is_in_a_window_of_every_level(size, min_object_size):
    points = dust(*size)
    found = windows_of(points, (0.0, 0.0, *size), min_object_size)
    assert found[0].points is points
    assert found[0].frame == (0.0, 0.0, *size)
    assert len(found) <= MOST[min_object_size]
    if len(found) == MOST[min_object_size]:
        return  # some were left out
    for level in LEVELS[min_object_size]:
        seen = np.zeros(len(points), bool)
        for window in found[1:]:
            x0, y0, x1, y1 = window.frame
            if np.isclose(x1 - x0, level.share * FRAME):
                x, y = points.x + size[0] / 2, points.y + size[1] / 2
                seen |= (x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)
        assert seen.all()


def test_a_window_is_its_points_moved_and_enlarged():
    points, frame = dust(400, 300), (100.0, 50.0, 1700.0, 1250.0)  # four pixels to one of the frame's
    for window in windows_of(points, frame)[1:]:
        x0, y0, x1, y1 = window.frame
        enlarged = FRAME * 4 / (x1 - x0)
        assert x1 - x0 == pytest.approx(y1 - y0)
        x = (points.x * 4 + 900 - (x0 + x1) / 2) / 4 * enlarged
        y = (points.y * 4 + 650 - (y0 + y1) / 2) / 4 * enlarged
        inside = (np.abs(x) <= FRAME / 2) & (np.abs(y) <= FRAME / 2)
        assert abs(inside.sum() - len(window.points)) <= 2  # rounding at the border
        assert np.abs(window.points.x).max() <= FRAME / 2 + 1e-3
        same = np.isclose(window.points.x[:, None], x[inside], atol=1e-2) & np.isclose(
            window.points.y[:, None], y[inside], atol=1e-2
        )
        assert same.any(axis=1).all()
        assert set(window.points.weight.tolist()) <= set(points.weight.tolist())


def test_empty_windows_are_left_out():
    points = random_curves(1, closed=1).scaled(0.2).translated(-150, -150)
    corner = Points(points.x, points.y, points.angle, points.weight, 400.0, 400.0)
    found = windows_of(corner, (0.0, 0.0, 400.0, 400.0))
    assert 1 < len(found) < 6
    assert all(len(window.points) >= FEWEST for window in found)
    blank = Points(*(np.zeros(0, np.float32),) * 4, 400.0, 400.0)
    assert len(windows_of(blank, (0.0, 0.0, 400.0, 400.0))) == 1


def test_at_most_a_dozen_and_the_fullest_stay():
    points = dust(400, 400)
    upper = Points(points.x, points.y, points.angle, np.where(points.y > 0, 0.01, 1), 400.0, 400.0)
    found = windows_of(upper, (0.0, 0.0, 400.0, 400.0))
    assert len(found) == MOST[0.3] == 12
    assert sum(window.frame[1] >= 200 for window in found) == 1  # of the three emptiest


def test_shares_are_measured_by_each_pictures_own_whole():
    frames = np.array([[0, 0, 800, 600], [0, 0, 400, 400], [10, 10, 110, 60], [10, 10, 60, 60]], np.float32)
    np.testing.assert_allclose(shares(frames, np.array([0, 0, 1, 1])), [1, 0.5, 1, 0.5])


def test_an_unknown_size_is_refused():
    with pytest.raises(ValueError, match="min_object_size"):
        windows_of(dust(400, 300), (0.0, 0.0, 400.0, 300.0), 0.5)


def test_the_windows_of_a_sheet_are_its_parts():
    places = [(x, y) for y in (-120, 0, 120) for x in (-150, -50, 50, 150)]
    icons = [
        outline_points(random_shape(np.random.default_rng(i))).scaled(0.16).translated(*place)
        for i, place in enumerate(places)
    ]
    x, y, angle, weight = (
        np.concatenate([getattr(icon, name) for icon in icons]) for name in ("x", "y", "angle", "weight")
    )
    sheet = Points(x, y, angle, weight, 400.0, 400.0)
    found = windows_of(sheet, (0.0, 0.0, 800.0, 800.0), is_line_art=True)
    assert len(found) == 13
    centres = {
        (round((window.frame[0] + window.frame[2]) / 2), round((window.frame[1] + window.frame[3]) / 2))
        for window in found[1:]
    }
    assert centres == {(2 * x + 400, 2 * y + 400) for x, y in places}
    for window in found[1:]:
        assert max(window.points.width, window.points.height) == pytest.approx(FRAME)
        assert np.abs(window.points.x).max() <= FRAME / 2 + 1e-3
    frames = np.array([window.frame for window in found])
    of_parts = shares(frames, np.zeros(13, int), np.array([True]))
    assert of_parts[0] == 1
    assert (of_parts[1:] > 0.8).all()
    assert (shares(frames, np.zeros(13, int), np.array([False]))[1:] < 0.25).all()


def test_of_parts_in_the_same_box_the_fullest_is_a_window():
    """A clock is its ring and its hands, though they don't touch."""
    turn = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    ring = Points(30 * np.cos(turn), 30 * np.sin(turn), turn, np.ones(200), 400.0, 400.0)
    up = np.linspace(-18, 0, 40)
    hand = Points(np.zeros(40), up, np.zeros(40), np.ones(40), 400.0, 400.0)
    other = ring.translated(150, 0)
    parts = [ring.translated(-150, 0), hand.translated(-150, 0), other]
    x, y, angle, weight = (
        np.concatenate([getattr(part, name) for part in parts]).astype(np.float32)
        for name in ("x", "y", "angle", "weight")
    )
    found = windows_of(Points(x, y, angle, weight, 400.0, 400.0), (0.0, 0.0, 400.0, 400.0), is_line_art=True)[
        1:
    ]
    rings = [window for window in found if window.frame[2] - window.frame[0] > 55]
    assert sorted(len(window.points) for window in rings) == [200, 240]


def test_a_drawing_of_one_part_is_one_window():
    icon = outline_points(random_shape(np.random.default_rng(1)))
    assert len(windows_of(icon, (0.0, 0.0, 400.0, 400.0), is_line_art=True)) == 1
    assert len(windows_of(icon, (0.0, 0.0, 400.0, 400.0), 0.6, is_line_art=True)) == 1
