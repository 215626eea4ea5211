"""Points of a strength map: thin, centred, with the right angle."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketchseek.contours import Points, strength_to_points
from sketchseek.contours.points import fold


def line(angle: float, width: int = 401, height: int = 301, thickness: float = 1.5) -> np.ndarray:
    """A soft line through the middle whose normal is at `angle` from the vertical."""
    y, x = np.mgrid[:height, :width] + 0.5
    distance = (x - width / 2) * np.sin(angle) + (y - height / 2) * np.cos(angle)
    return np.exp(-0.5 * (distance / thickness) ** 2).astype(np.float32)


def middle(points: Points, reach: float = 120) -> np.ndarray:
    return np.hypot(points.x, points.y) < reach


@settings(deadline=None, max_examples=40)
@given(st.floats(-1.57, 1.57))
def test_a_line_gives_one_row_of_points_with_its_normal(angle: float) -> None:
    points = strength_to_points(line(angle))
    inside = middle(points)
    assert np.abs(fold(points.angle[inside] - angle)).max() < 0.03
    across = points.x * np.sin(angle) + points.y * np.cos(angle)
    assert np.abs(across[inside]).max() < 0.8
    assert 0.7 * 240 < inside.sum() < 1.4 * 240, "about as many points as its length"


def test_horizontal_is_0_and_vertical_is_half_pi() -> None:
    assert np.allclose(strength_to_points(line(0.0)).angle, 0, atol=0.01)
    vertical = strength_to_points(line(np.pi / 2)).angle
    assert np.allclose(np.abs(vertical), np.pi / 2, atol=0.01)


class TestMistakes:
    """Each way to get the angle wrong, on a line that falls to the right by 30 degrees on the screen."""

    falling = np.radians(-30)  # its normal, from the vertical: (sin, cos) = (-.5, .87) is across (.87, .5)
    points = strength_to_points(line(falling))
    angle = points.angle[middle(points)]

    def test_points_lie_on_the_falling_line(self) -> None:
        inside = middle(self.points)
        slope = np.polyfit(self.points.x[inside], self.points.y[inside], 1)[0]
        assert slope == pytest.approx(np.tan(np.radians(30)), abs=0.01)  # y down

    def test_not_the_tangent(self) -> None:
        assert np.abs(fold(self.angle - (self.falling + np.pi / 2))).min() > 1

    def test_not_with_y_upwards(self) -> None:
        assert np.abs(fold(self.angle + self.falling)).min() > 0.9

    def test_not_doubled(self) -> None:
        assert np.abs(fold(self.angle - 2 * self.falling)).min() > 0.4
        assert np.abs(self.angle - self.falling).max() < 0.02

    def test_not_measured_from_the_horizontal(self) -> None:
        assert np.abs(fold(self.angle - (np.pi / 2 - self.falling))).min() > 0.4

    def test_no_direction(self) -> None:
        """A gradient turns round from one side of a line to the other; the angle of its ridge does not."""
        edges = cv2.GaussianBlur(line(self.falling, thickness=4), (0, 0), 1)
        wide = strength_to_points(edges)
        assert np.abs(fold(wide.angle[middle(wide)] - self.falling)).max() < 0.05
        assert (self.angle > -np.pi / 2).all()
        assert (self.angle <= np.pi / 2).all()


@pytest.fixture
def map_() -> np.ndarray:
    random = np.random.default_rng(5)
    strength = np.zeros((300, 400), np.float32)
    for _ in range(12):
        a, b = random.integers(10, 290, (2, 2))
        strong = float(random.uniform(0.3, 1))
        cv2.line(strength, tuple(map(int, a)), tuple(map(int, b)), strong, 2, cv2.LINE_AA)
    cv2.ellipse(strength, (250, 150), (90, 60), 20, 0, 360, 0.9, 2, cv2.LINE_AA)
    return cv2.GaussianBlur(strength, (0, 0), 1.2)


def as_set(points: Points) -> np.ndarray:
    """Rows (x, y, cos 2a, sin 2a, weight), in order."""
    doubled = 2 * points.angle.astype(np.float64)
    rows = np.stack([points.x, points.y, np.cos(doubled), np.sin(doubled), points.weight], axis=1)
    return rows[np.lexsort((rows[:, 0], rows[:, 1]))]


def test_mirroring_the_map_mirrors_the_points(map_: np.ndarray) -> None:
    np.testing.assert_allclose(
        as_set(strength_to_points(map_[:, ::-1])), as_set(strength_to_points(map_).mirrored()), atol=2e-3
    )


def test_a_quarter_turn_of_the_map_turns_the_points(map_: np.ndarray) -> None:
    turned = strength_to_points(np.rot90(map_, -1))  # clockwise
    expected = strength_to_points(map_).rotated(np.pi / 2)
    np.testing.assert_allclose(as_set(turned), as_set(expected), atol=2e-3)


def test_weights_are_strengths_and_none_is_below_the_threshold(map_: np.ndarray) -> None:
    points = strength_to_points(map_)
    rows, columns = (points.y + 150 - 0.5).astype(int), (points.x + 200 - 0.5).astype(int)
    np.testing.assert_array_equal(points.weight, map_[rows, columns])
    assert points.weight.min() >= 0.2
    assert len(points) < 0.3 * (map_ >= 0.2).sum(), "thinned"


@pytest.mark.parametrize("angle", [0.0, np.pi / 2, np.pi / 4, -np.pi / 4])
def test_a_line_between_two_rows_of_pixels_counts_once(angle: float) -> None:
    points = strength_to_points(line(angle, 400, 400))
    assert 0.7 * 240 < middle(points).sum() < 1.4 * 240


def test_slopes_of_a_ridge_grow_no_hair() -> None:
    """A broad ridge whose height wavers a little: hardly a point off its crest, or along it."""
    waver = 0.97 + 0.03 * np.sin(np.arange(401) / 3)
    points = strength_to_points(line(0.0, thickness=4) * waver.astype(np.float32))
    assert (np.abs(points.angle) > 0.5).mean() < 0.01


def test_frame_of_the_picture_is_no_contour() -> None:
    framed = np.zeros((300, 400), np.float32)
    framed[:2] = framed[-2:] = framed[:, :2] = framed[:, -2:] = 1
    assert len(strength_to_points(framed)) == 0


@pytest.mark.parametrize("shape", [(1, 400), (400, 1), (3, 400), (9, 400), (400, 400)])
def test_any_shape(shape: tuple[int, int]) -> None:
    points = strength_to_points(np.ones(shape, np.float32))
    assert (points.width, points.height) == (shape[1], shape[0])
    with pytest.raises(ValueError, match="strength"):
        strength_to_points(np.ones((4, 4, 3), np.float32))
