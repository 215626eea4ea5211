"""Fewer points on the same lines."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketchseek.contours.simplification import COARSEST, FINEST, simplified

Strokes = list[np.ndarray]


def distance(points: np.ndarray, stroke: np.ndarray) -> np.ndarray:
    """Of each point from a polyline, by the definition."""
    best = np.full(len(points), np.inf)
    for a, b in zip(stroke[:-1].astype(float), stroke[1:].astype(float), strict=True):
        square = ((b - a) ** 2).sum()
        share = np.clip((points - a) @ (b - a) / square, 0, 1) if square > 0 else np.zeros(len(points))
        best = np.minimum(best, np.linalg.norm(points - (a + share[:, None] * (b - a)), axis=1))
    return best


def circle(n: int, radius: float = 200) -> np.ndarray:
    t = np.linspace(0, 2 * np.pi, n)
    return (radius * np.stack([np.cos(t), np.sin(t)], axis=1)).astype(np.float32)


@pytest.mark.parametrize("most", [5000, 120, 60])
def test_a_smooth_line_is_followed_as_closely_as_its_points_allow(most: int) -> None:
    line = circle(5000)
    (found,) = simplified([line], most)
    assert len(found) <= min(most, 200)
    assert (found[0] == line[0]).all()
    assert (found[-1] == line[-1]).all()
    # A polygon of n corners in a circle of radius r is r (1 - cos(pi / n)) away from it.
    assert distance(line.astype(float), found).max() < max(FINEST, 8 * 200 * (1 - np.cos(np.pi / most)))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.sampled_from([2, 3, 50, 1000]))
def test_never_more_points_than_asked_for(seed: int, count: int, most: int) -> None:
    random = np.random.default_rng(seed)
    strokes: Strokes = []
    for _ in range(count):
        steps = random.normal(0, random.choice([0.01, 1, 60]), (random.integers(2, 400), 2))
        strokes.append(np.cumsum(steps, axis=0).astype(np.float32))
    found = simplified(strokes, most)
    assert sum(map(len, found)) <= most
    assert all(len(stroke) >= 2 for stroke in found)
    given_points = {point for stroke in strokes for point in map(tuple, stroke.tolist())}
    assert {point for stroke in found for point in map(tuple, stroke.tolist())} <= given_points


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_every_point_left_out_lay_on_the_line(seed: int) -> None:
    random = np.random.default_rng(seed)
    line = np.cumsum(random.normal(0, 2, (500, 2)), axis=0).astype(np.float32)
    found = simplified([line], 500)
    (only,) = found
    assert distance(line.astype(float), only).max() <= FINEST
    (coarse,) = simplified([line], 300)
    assert distance(line.astype(float), coarse).max() <= COARSEST


def test_strokes_that_come_back_to_their_start_stay() -> None:
    square = np.array([[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]], np.float32)
    there_and_back = np.array([[0, 0], [50, 0], [0, 0]], np.float32)
    found = simplified([square, there_and_back], 100)
    assert [stroke.tolist() for stroke in found] == [square.tolist(), there_and_back.tolist()]


def test_of_too_many_strokes_the_longest_are_kept() -> None:
    strokes = [np.array([[0, i], [i + 1, i]], np.float32) for i in range(100)]
    found = simplified(strokes, 20)
    assert [stroke.tolist() for stroke in found] == [stroke.tolist() for stroke in strokes[90:]]
