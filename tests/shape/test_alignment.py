"""The polynomials of translation against descriptors of translated points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from reference.alignment import align, align_near, align_projection, climb
from sketchseek.contours.synthetic import random_curves
from sketchseek.errors import SketchseekError
from sketchseek.shape.descriptor import describe, norms, projection
from sketchseek.shape.polynomial import (
    binary_2d,
    evaluate_1d,
    evaluate_2d,
    polynomial_1d,
    polynomial_2d,
    variants,
)
from sketchseek.shape.query import Query
from sketchseek.shape.settings import FULL, Settings, X, Y

COMPACT = Settings.preset("compact")
SHAPE = random_curves(1, closed=1)
PICTURE = random_curves(2)
V = describe(PICTURE, COMPACT).astype(float)
QUERY = Query.of(SHAPE, COMPACT)

pixels = st.floats(-150, 150)


@given(pixels, pixels, st.integers(0, 2))
@examples(max_examples=30, deadline=None)
def test_the_polynomial_is_the_product_with_the_translated_drawing(dx: float, dy: float, pose: int) -> None:
    moved = SHAPE.scaled(QUERY.scales[pose]).translated(dx, dy)
    direct = (describe(moved, COMPACT) * COMPACT.component_weights[pose]) @ V
    coefficients = polynomial_2d(QUERY.vectors[pose], V, COMPACT)
    assert coefficients.shape == (9, 9)  # N2 = 4 * 4^2 + 4 * 4 + 1
    assert evaluate_2d(coefficients, [dx], [dy], COMPACT)[0, 0] == pytest.approx(direct, rel=1e-3, abs=1e-2)


@given(pixels, st.sampled_from([X, Y]))
@examples(max_examples=30, deadline=None)
def test_a_projections_polynomial_knows_one_axis(d: float, axis: int) -> None:
    moved = SHAPE.translated(*((d, 33) if axis == X else (33, d)))
    side = projection(describe(moved, COMPACT), axis, COMPACT) * COMPACT.projection_weights[0]
    direct = side @ projection(V, axis, COMPACT)
    coefficients = polynomial_1d(QUERY.projections[0, axis - 1], projection(V, axis, COMPACT), COMPACT)
    assert evaluate_1d(coefficients, [d], COMPACT)[0] == pytest.approx(direct, rel=1e-3, abs=1e-2)


@pytest.mark.parametrize(("scale", "dx", "dy", "mirrored"), [(1.0, 40, -20, False), (0.6, -72, 96, True)])
def test_a_drawing_is_found_where_it_is(scale: float, dx: float, dy: float, mirrored: bool) -> None:
    placed = (SHAPE.mirrored() if mirrored else SHAPE).scaled(scale).translated(dx, dy)
    v = describe(placed, COMPACT)[None]
    found = align(v, norms(v, COMPACT), QUERY)
    assert found.score[0] == pytest.approx(1, abs=1e-4)
    assert (QUERY.scales[found.pose[0]], found.mirrored[0]) == (scale, mirrored)
    assert (found.dx[0], found.dy[0]) == pytest.approx((dx, dy))


def test_guesses_are_refined_on_the_grid_and_never_beat_it() -> None:
    vectors = np.stack([describe(random_curves(i), COMPACT) for i in range(30)])
    its_norms = norms(vectors, COMPACT)
    exact = align(vectors, its_norms, QUERY)
    for guide in ("binary", "binary-all", "local-all"):
        near, wide = (align_near(vectors, its_norms, QUERY, guide, n) for n in (3, 45))
        assert (near.score <= exact.score + 1e-6).all()
        assert (near.score <= wide.score + 1e-6).all()
        if guide != "binary":  # which looks at one pose only
            np.testing.assert_allclose(wide.score, exact.score, atol=1e-6)  # a neighbourhood of everything
    with pytest.raises(ValueError, match="guide"):
        align_near(vectors, its_norms, QUERY, "luck")
    with pytest.raises(SketchseekError, match="odd number of translations"):
        align_near(vectors, its_norms, QUERY, "binary", 2)


def test_the_binary_polynomial_counts_agreeing_signs() -> None:
    coefficients = polynomial_2d(QUERY.vectors[0], V, COMPACT)
    values = binary_2d(coefficients, [-40, 0, 20], [0, 60], COMPACT)
    assert values.shape == (3, 2)
    assert (np.abs(values) <= 81).all()
    assert (values % 2 == 1).all()


def test_projections_alone_score_a_perfect_match_one() -> None:
    v = describe(SHAPE.translated(20, -40), COMPACT)[None]
    for axis in (X, Y):
        assert align_projection(v, norms(v, COMPACT), QUERY, axis)[0] == pytest.approx(1, abs=1e-4)


def test_a_blank_picture_and_a_blank_drawing_score_zero() -> None:
    blank = np.zeros((1, 243), np.float32)
    assert align(blank, norms(blank, COMPACT), QUERY).score[0] == 0
    nothing = Query.of(random_curves(1, closed=1).scaled(0.0), COMPACT)
    empty = Query.of(type(SHAPE)(*(np.empty(0, np.float32),) * 4, 400, 400), COMPACT)
    assert np.isfinite(align(V[None], norms(V[None], COMPACT), nothing).score[0])
    assert align(V[None], norms(V[None], COMPACT), empty).score[0] == 0


@given(st.floats(-30, 30), st.floats(-30, 30))
@examples(max_examples=20, deadline=None)
def test_climbing_finds_the_place_between_grid_points(dx: float, dy: float) -> None:
    v = describe(SHAPE.translated(dx, dy), COMPACT)[None].astype(float)
    _, _, unit = variants(QUERY)[0]
    coefficients = polynomial_2d(unit, v, COMPACT)
    start_x, start_y = (20 * round(d / 20) for d in (dx, dy))
    x, y, value = climb(coefficients, [start_x], [start_y], [20.0], COMPACT)
    assert (x[0], y[0]) == pytest.approx((dx, dy), abs=0.05)
    assert value[0] == pytest.approx(norms(v, COMPACT)[0, 0, FULL], rel=1e-4)
