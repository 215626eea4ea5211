"""Descriptors against the sums that define them, and the one-byte code against its wrong variant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from sketchseek.contours.points import Points
from sketchseek.contours.synthetic import random_curves
from sketchseek.shape.descriptor import decode, describe, encode, mirror_signs, norms
from sketchseek.shape.query import Query
from sketchseek.shape.settings import FULL, PRESETS, RADIANS, Settings, X, Y

COMPACT = Settings.preset("compact")


def points_of(seed: int, n: int = 40) -> Points:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-200, 200, (2, n)).astype(np.float32)
    angle = rng.uniform(-np.pi / 2, np.pi / 2, n).astype(np.float32)
    return Points(x, y, angle, rng.uniform(0.1, 1, n).astype(np.float32), 400, 400)


def double_sum(p: Points, q: Points, settings: Settings, kernel: int) -> float:
    """The similarity that two descriptors stand for, with the approximated kernels, pair by pair."""
    x = np.subtract.outer(p.x.astype(float), q.x) * RADIANS
    y = np.subtract.outer(p.y.astype(float), q.y) * RADIANS
    o = 2 * np.subtract.outer(p.angle.astype(float), q.angle)
    spatial = settings.weights[kernel], settings.frequencies
    orientation = settings.orientation_weights, settings.orientation_frequencies
    product = np.ones_like(x)
    for (weights, frequencies), d in ((spatial, x), (spatial, y), (orientation, o)):
        product *= np.tensordot(weights, np.cos(np.multiply.outer(frequencies, d)), 1)
    return float(p.weight @ product @ q.weight)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_the_papers_dimensions_and_survives_json(preset: str) -> None:
    settings = Settings.preset(preset)
    assert settings.dimensions == {"compact": 243, "precise": 605, "full": 1125}[preset]
    assert Settings.from_json(settings.to_json()) == settings


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(ValueError, match="preset must be one of compact, precise, full"):
        Settings.preset("tiny")


@given(st.integers(0, 10_000), st.integers(0, 2))
@examples(max_examples=25, deadline=None)
def test_products_of_descriptors_are_the_double_sum(seed: int, kernel: int) -> None:
    p, q = points_of(seed), points_of(seed + 1)
    v, w = describe(p, COMPACT).astype(float), describe(q, COMPACT).astype(float)
    product = v @ (COMPACT.component_weights[kernel] * w)
    assert product == pytest.approx(double_sum(p, q, COMPACT, kernel), abs=2e-4 * len(p))


def test_norms_are_those_of_the_kernels_and_of_both_projections() -> None:
    p = points_of(3)
    v = describe(p, COMPACT)
    found = norms(v, COMPACT)
    assert found.shape == (3, 3)
    cube = v.reshape(COMPACT.shape).astype(float)
    o = np.repeat(COMPACT.orientation_weights, [1, 2])
    for kernel in range(3):
        assert found[kernel, FULL] ** 2 == pytest.approx(double_sum(p, p, COMPACT, kernel), rel=1e-4)
        x = np.repeat(COMPACT.weights[kernel], [1, 2, 2, 2, 2])
        assert found[kernel, X] ** 2 == pytest.approx((cube[:, 0] ** 2 * np.outer(x, o)).sum(), rel=1e-4)
        assert found[kernel, Y] ** 2 == pytest.approx((cube[0] ** 2 * np.outer(x, o)).sum(), rel=1e-4)


@given(st.integers(0, 10_000), st.floats(-150, 150), st.floats(-150, 150))
@examples(max_examples=25, deadline=None)
def test_norms_stay_under_translation_and_mirroring(seed: int, dx: float, dy: float) -> None:
    p = points_of(seed)
    here = norms(describe(p, COMPACT), COMPACT)
    for other in (p.translated(dx, dy), p.mirrored()):
        np.testing.assert_allclose(norms(describe(other, COMPACT), COMPACT), here, rtol=2e-4)


def test_norms_of_a_vector_do_not_depend_on_its_neighbours() -> None:
    """To the last bit: an index must not answer differently for the order of its rows."""
    precise = Settings.preset("precise")
    codes = np.random.default_rng(0).integers(-127, 128, (700, precise.dimensions)).astype(np.int8)
    together = norms(codes, precise)
    for size in (1, 3, 64, 561):
        parts = [norms(codes[i : i + size], precise) for i in range(0, len(codes), size)]
        np.testing.assert_array_equal(np.concatenate(parts), together)
    np.testing.assert_array_equal(norms(codes[::-1], precise)[::-1], together)


def test_mirroring_changes_the_signs_of_sines_of_x_and_of_the_angle() -> None:
    p = points_of(5)
    expected = describe(p, COMPACT) * mirror_signs(COMPACT)
    np.testing.assert_allclose(describe(p.mirrored(), COMPACT), expected, atol=1e-3)


def test_a_line_has_no_direction() -> None:
    p = points_of(6)
    turned = Points(p.x, p.y, (p.angle + np.pi).astype(np.float32), p.weight, p.width, p.height)
    np.testing.assert_allclose(describe(turned, COMPACT), describe(p, COMPACT), atol=1e-3)


def test_a_tangent_taken_for_a_normal_matches_nothing() -> None:
    one = np.ones(50, np.float32)
    line = np.linspace(-100, 100, 50, dtype=np.float32)
    flat = describe(Points(line, 0 * one, 0 * one, one, 400, 400), COMPACT)
    wrong = describe(Points(line, 0 * one, one * np.float32(np.pi / 2), one, 400, 400), COMPACT)
    scale = norms(flat, COMPACT)[0, FULL] * norms(wrong, COMPACT)[0, FULL]
    assert (flat * COMPACT.component_weights[0]) @ wrong / scale < 0.1


def test_no_points_are_the_zero_vector() -> None:
    v = describe(points_of(0, 0), COMPACT)
    assert v.shape == (243,)
    assert not v.any()
    assert not encode(v, COMPACT).any()
    assert not norms(v, COMPACT).any()


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return np.stack([describe(random_curves(seed), COMPACT) for seed in range(300)])


def test_a_code_fills_its_byte_and_is_never_clipped(vectors: np.ndarray) -> None:
    codes = encode(vectors, COMPACT)
    assert (np.abs(codes.astype(int)).max(axis=1) == 127).all()
    back = decode(codes, COMPACT)
    cosine = (back * vectors).sum(1) / np.linalg.norm(back, axis=1) / np.linalg.norm(vectors, axis=1)
    assert cosine.min() > 0.999
    np.testing.assert_array_equal(encode(vectors * 1024, COMPACT), codes)


def test_steps_are_tied_across_what_a_translation_mixes(vectors: np.ndarray) -> None:
    """A step of its own for each component, folded into a query that then moves, is wrong."""
    drawing = random_curves(777, closed=1)
    still, moved = (Query.of(p, COMPACT) for p in (drawing, drawing.translated(44, -28)))
    unit, moved_unit = (q.vectors[0] / q.norms[0, FULL] for q in (still, moved))

    def error(folded_and_moved: np.ndarray, codes: np.ndarray, steps: np.ndarray) -> float:
        exact = vectors @ moved_unit / norms(vectors, COMPACT)[:, 0, FULL]
        scores = codes @ folded_and_moved / norms(codes * steps, COMPACT)[:, 0, FULL]
        return float(np.abs(scores - exact).max())

    tied = COMPACT.component_scales
    right = error(_moved(unit * tied, 44, -28), encode(vectors, COMPACT).astype(np.float32), tied)
    own = np.abs(vectors).max(axis=0) / 127
    wrong = error(_moved(unit * own, 44, -28), np.rint(vectors / own), own)
    assert right < 0.005
    assert wrong > 4 * right


def _moved(vector: np.ndarray, dx: float, dy: float) -> np.ndarray:
    """A vector's cosine and sine parts turned (equation vectrans)."""
    cube = vector.reshape(COMPACT.shape).astype(float).copy()
    for axis, d in ((0, dx), (1, dy)):
        part = np.moveaxis(cube, axis, 0)
        for k, w in enumerate(COMPACT.frequencies[1:], start=1):
            c, s = np.cos(w * d * RADIANS), np.sin(w * d * RADIANS)
            cosine, sine = part[2 * k - 1].copy(), part[2 * k].copy()
            part[2 * k - 1], part[2 * k] = c * cosine - s * sine, s * cosine + c * sine
    return cube.ravel()


def test_a_query_has_the_papers_translations() -> None:
    query = Query.of(points_of(1), COMPACT)
    assert [2 * int(r) + 1 for r in query.reach] == [9, 13, 23]
    np.testing.assert_allclose(query.translations(0), np.arange(-80, 81, 20))
    assert query.translations(2)[-1] == pytest.approx(132)


def test_more_scales_and_rotations_cost_the_database_nothing() -> None:
    more = COMPACT.with_scales((1.0, 0.8, 0.6, 0.45))
    assert more.frequencies == COMPACT.frequencies
    np.testing.assert_allclose(more.weights[:3], COMPACT.weights, atol=5e-3)
    query = Query.of(points_of(1), more, rotations=(-0.1, 0.0, 0.1))
    assert query.vectors.shape == (12, 243)
