"""Figures of merit, against cases worked by hand and against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sketchseek.evaluation.metrics import (
    average_precision,
    bootstrap_interval,
    box_iou,
    mean_over,
    precision_at,
)


@pytest.mark.parametrize(
    ("relevant", "n_relevant", "expected"),
    [
        ([1, 1, 1], 3, 1.0),
        ([1, 0, 0], 1, 1.0),
        ([0, 1], 1, (0 + 1 / 2) / 2),  # precision 0 before, 1/2 at the hit
        ([0, 0, 1], 1, (0 + 1 / 3) / 2),
        ([1, 0, 1], 2, ((1 + 1) / 2 + (1 / 2 + 2 / 3) / 2) / 2),
        ([0, 1, 1, 0, 1], 3, ((0 + 1 / 2) / 2 + (1 / 2 + 2 / 3) / 2 + (2 / 4 + 3 / 5) / 2) / 3),
        ([1, 0, 0, 0], 4, 1 / 4),  # three right answers never found
        ([0, 0, 0], 2, 0.0),
        ([], 0, 0.0),
    ],
)
def test_average_precision_by_hand(relevant, n_relevant, expected):
    assert average_precision(np.array(relevant, bool), n_relevant) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 5))
def test_average_precision_is_the_trapezoidal_area(relevant, missing):
    n = sum(relevant) + missing
    area, recall, precision, found = 0.0, 0.0, 1.0, 0
    for rank, right in enumerate(relevant, 1):
        found += right
        if n:
            area += (found / n - recall) * (precision + found / rank) / 2
            recall = found / n
        precision = found / rank
    assert average_precision(relevant, n) == pytest.approx(area, abs=1e-12)


@given(st.lists(st.booleans(), min_size=2, max_size=40), st.integers(0, 38))
def test_moving_a_right_hit_up_never_hurts(relevant, i):
    i = min(i, len(relevant) - 2)
    better = list(relevant)
    if relevant[i + 1] and not relevant[i]:
        better[i], better[i + 1] = True, False
    assert average_precision(better) >= average_precision(relevant) - 1e-12


def test_average_precision_refuses_fewer_answers_than_it_sees():
    with pytest.raises(ValueError, match="n_relevant"):
        average_precision([True, True], 1)


def test_precision_counts_a_short_ranking_as_wrong_beyond_its_end():
    assert precision_at([True, False, True, True], 2) == 0.5
    assert precision_at([True], 5) == 0.2
    with pytest.raises(ValueError, match="k must"):
        precision_at([True], 0)


def test_box_iou_by_hand():
    others = [[0, 0, 10, 10], [5, 0, 15, 10], [10, 10, 20, 20], [2, 2, 4, 4], [0, 0, 0, 0]]
    np.testing.assert_allclose(box_iou([0, 0, 10, 10], others), [1, 50 / 150, 0, 4 / 100, 0])


@given(st.lists(st.floats(0, 100, width=32), min_size=8, max_size=8))
def test_box_iou_is_symmetric_and_bounded(v):
    a, b = [*np.sort(v[:2]), *np.sort(v[2:4])], [*np.sort(v[4:6]), *np.sort(v[6:])]
    a, b = [a[0], a[2], a[1], a[3]], [b[0], b[2], b[1], b[3]]
    there, back = box_iou(a, [b])[0], box_iou(b, [a])[0]
    assert there == pytest.approx(back)
    assert 0 <= there <= 1 + 1e-9


def test_bootstrap_interval_covers_the_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    covered = 0
    for trial in range(200):
        low, high = bootstrap_interval(rng.normal(3, 1, 60), samples=400, seed=trial)
        covered += low <= 3 <= high
    assert 180 <= covered <= 199


def test_bootstrap_interval_weighs_queries_and_repeats_itself():
    values, weights = [0.0, 1.0, 0.5], [0, 2, 0]
    assert bootstrap_interval(values, weights) == (1.0, 1.0)
    assert bootstrap_interval([0.1, 0.9, 0.4]) == bootstrap_interval([0.1, 0.9, 0.4])
    assert np.isnan(bootstrap_interval([], [])).all()


def test_mean_over_groups():
    assert mean_over(["b", "a", "b"], [1, 5, 2]) == {"a": 5.0, "b": 1.5}
