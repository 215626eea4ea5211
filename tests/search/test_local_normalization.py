"""Where a vector's norm comes from, and scores normalised by the part inside the drawing's box."""

from dataclasses import replace

import numpy as np
import pytest

from reference.energy import CELLS, energy_cells, orientation_weights, roots, samples
from reference.local_normalization import STRENGTH, local_scores, share_inside
from reference.order import order_scores, reordered
from sketchseek.contours.points import Points
from sketchseek.contours.synthetic import outline_points, random_curves, random_shape
from sketchseek.maps.components import columns
from sketchseek.search.collection import Collection
from sketchseek.search.ranking import rank
from sketchseek.shape.descriptor import decode, describe, encode, norms
from sketchseek.shape.query import Query
from sketchseek.shape.settings import Settings

SETTINGS = Settings.preset("precise")


def joined(*parts):
    columns = [np.concatenate([getattr(p, name) for p in parts]) for name in ("x", "y", "angle", "weight")]
    return Points(*columns, 400.0, 400.0)


def collection_of(*points):
    return Collection.of(points, SETTINGS, "float32")


def test_energy_is_the_norm():
    """Parseval: the mean energy over a period is the squared norm, if the frequencies were multiples."""
    v = describe(random_curves(3), SETTINGS)
    along = columns(samples(SETTINGS), SETTINGS.frequencies) * roots(SETTINGS)
    cube = v.reshape(SETTINGS.shape)
    total = 0.0
    for c, w in enumerate(orientation_weights(SETTINGS)):
        total += w * np.mean((along @ cube[..., c] @ along.T) ** 2)
    assert total == pytest.approx(norms(v, SETTINGS)[1, 0] ** 2, rel=0.02)


def test_energy_lies_where_the_points_are():
    shape = outline_points(random_shape(np.random.default_rng(0))).scaled(0.2)
    for dx, dy in [(-120, 90), (100, -100), (0, 0)]:
        (cells,) = energy_cells(describe(shape.translated(dx, dy), SETTINGS)[None], SETTINGS)
        assert cells.sum() == pytest.approx(1, abs=1e-5)
        assert (cells >= 0).all()
        width = 2 * 400 / SETTINGS.frequencies[1] / CELLS
        centres = (np.arange(CELLS) + 0.5 - CELLS / 2) * width
        assert cells.sum(axis=1) @ centres == pytest.approx(dx, abs=15)
        assert cells.sum(axis=0) @ centres == pytest.approx(dy, abs=15)


def test_one_byte_codes_give_the_same_cells():
    v = np.stack([describe(random_curves(i), SETTINGS) for i in range(4)])
    codes = encode(v, SETTINGS)
    np.testing.assert_allclose(energy_cells(codes, SETTINGS), energy_cells(v, SETTINGS), atol=2e-3)
    np.testing.assert_allclose(
        energy_cells(codes, SETTINGS), energy_cells(decode(codes, SETTINGS), SETTINGS), atol=1e-6
    )


def test_share_is_all_for_a_box_around_everything_and_less_beside_clutter():
    rng = np.random.default_rng(4)
    shape = outline_points(random_shape(rng))
    alone = shape.scaled(0.6).translated(-70, -40)
    clutter = outline_points(random_shape(rng)).scaled(0.25).translated(140, 120)
    collection = collection_of(alone, joined(alone, clutter, clutter, clutter))
    query = Query.of(shape, SETTINGS)
    where = {"scale": 0.6, "dx": -70.0, "dy": -40.0}
    there = {name: np.full(2, value, np.float32) for name, value in where.items()}
    placed = replace(rank(collection, query), ids=np.arange(2), **there)
    whole, part = share_inside(energy_cells(collection.vectors, SETTINGS), query, placed)
    assert whole > 0.8
    assert part < 0.7


def test_a_shape_in_clutter_gains_on_one_without_and_scores_stay_bounded():
    rng = np.random.default_rng(1)
    shape = outline_points(random_shape(rng))
    placed = shape.scaled(0.6).translated(-70, -40)
    busy = joined(
        placed, *(outline_points(random_shape(rng)).scaled(0.3).translated(130, y) for y in (-90, 90))
    )
    others = [outline_points(random_shape(rng)).scaled(0.6) for _ in range(20)]
    collection = collection_of(busy, *others)
    query = Query.of(shape, SETTINGS)
    found = rank(collection, query)
    local = local_scores(collection, query, found)
    assert (local >= found.score - 1e-6).all()
    assert (local <= found.score / np.sqrt(1 - STRENGTH) + 1e-6).all()
    mine, best_other = found.ids == 0, found.ids != 0
    plain_ratio = found.score[mine][0] / found.score[best_other].max()
    assert local[mine][0] / local[best_other].max() > plain_ratio
    order, by = reordered(found, order_scores(collection, query, found))
    assert (np.diff(by) <= 0).all()
    assert sorted(order.ids) == sorted(found.ids)
    assert order.score[list(order.ids).index(0)] == found.score[mine][0]  # the cosine stays


def test_strength_zero_changes_nothing_and_wrong_ones_are_refused():
    collection = collection_of(*(random_curves(i) for i in range(5)))
    query = Query.of(outline_points(random_shape(np.random.default_rng(2))), SETTINGS)
    found = rank(collection, query)
    np.testing.assert_allclose(local_scores(collection, query, found, strength=0.0), found.score)
    with pytest.raises(ValueError, match="strength"):
        local_scores(collection, query, found, strength=1.0)


def test_a_blank_picture_scores_zero():
    nothing = np.zeros(0, np.float32)
    blank = Points(nothing, nothing, nothing, nothing, 400.0, 300.0)
    collection = collection_of(blank, random_curves(1))
    query = Query.of(outline_points(random_shape(np.random.default_rng(2))), SETTINGS)
    found = rank(collection, query)
    local = local_scores(collection, query, found)
    assert local[found.ids == 0][0] == 0
    assert np.isfinite(local).all()
