from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketchseek.embeddings import pictures as pictures_module
from sketchseek.embeddings.expansion import default_expand, diffused, rerank
from sketchseek.embeddings.pictures import Pictures

PART = 270
"""A picture of which only a part is like any drawing."""


@dataclass(frozen=True)
class ShapeScores:
    """Shape scores that are all there: (n,)."""

    scores: np.ndarray

    def best(self, k):
        return np.argsort(-self.scores, kind="stable")[:k]

    def at(self, ids):
        return self.scores[ids]

    def whole(self, ids):
        return np.where(np.asarray(ids) == PART, 0.5, self.scores[ids])


def world(n=300, per=30, d=64, seed=0):
    """Categories in the embeddings; shape that finds only some of the first one; a drawing of it."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(n // per, d))
    category = np.repeat(np.arange(n // per), per)
    stored = (centres[category] + 0.7 * rng.normal(size=(n, d))).astype(np.float16)
    shape = rng.normal(0.3, 0.05, n).astype(np.float32)
    shape[:8] += 0.25
    drawing = centres[0] + 1.5 * rng.normal(size=d)
    return Pictures(stored), shape, (drawing / np.linalg.norm(drawing)).astype(np.float32), category == 0


def precision(ids, right, k=20):
    return right[ids[:k]].mean()


def test_expansion_finds_what_shape_does_not():
    pictures, shape, _, right = world()
    alone, _, _ = rerank(ShapeScores(shape), pictures, 20, expand=0, blend=0)
    expanded, _, _ = rerank(ShapeScores(shape), pictures, 20, expand=5, blend=0)
    assert precision(alone, right) <= 0.6
    assert precision(expanded, right) >= 0.9
    assert right[expanded[10:]].all(), "what comes after the first page is expansion's"


def test_without_anything_the_order_is_that_of_the_shape():
    pictures, shape, drawing, _ = world()
    ids, scores, _ = rerank(ShapeScores(shape), pictures, 50, drawing=drawing, expand=0, blend=0)
    np.testing.assert_array_equal(ids, np.argsort(-shape, kind="stable")[:50])
    assert (np.diff(scores) <= 0).all()


@pytest.mark.parametrize("expand", [0, 10])
def test_what_looks_the_same_comes_first(expand):
    """The very icon that was drawn, among a hundred that depict something more like it."""
    pictures, shape, drawing, right = world()
    shape = shape.copy()
    shape[[250, 260, PART]] = 0.93, 0.97, 0.99
    found = rerank(ShapeScores(shape), pictures, 20, drawing=drawing, expand=expand, blend=4.0)
    assert found.ids[:2].tolist() == [260, 250]
    assert right[found.ids[2:10]].sum() >= 7
    assert (np.diff(found.scores) <= 1e-6).all()
    picked = rerank(ShapeScores(shape), pictures, 20, drawing=drawing, picked=[0, 1, 2])
    assert right[picked.ids[:5]].all(), "somebody said what was meant"


def test_the_nearest_are_of_all_that_may_be_answered_with():
    pictures, shape, drawing, _ = world()
    network = pictures.products(drawing)
    for k in (1, 20, 300):
        found = rerank(ShapeScores(shape), pictures, k, drawing=drawing)
        np.testing.assert_array_equal(found.nearest, np.argsort(-network, kind="stable")[:60])
    some, gone = np.arange(100, 200), [int(i) for i in 100 + np.argsort(-network[100:200])[:3]]
    found = rerank(ShapeScores(shape), pictures, 20, drawing=drawing, among=some, rejected=gone)
    left = np.setdiff1d(some, gone)
    np.testing.assert_array_equal(found.nearest, left[np.argsort(-network[left], kind="stable")[:60]])
    assert len(rerank(ShapeScores(shape), pictures, 20, blend=0).nearest) == 0, "nobody was asked"
    one = Pictures(np.append(np.ones((1, 64)), [[0]], 1).astype(np.float16), np.zeros((2, 64), np.float32))
    assert rerank(ShapeScores(shape[:1]), one, 1, drawing=drawing).nearest.tolist() == [0]


def test_blending_is_the_sum_of_z_scores():
    pictures, shape, drawing, _ = world()
    ids, scores, _ = rerank(ShapeScores(shape), pictures, 300, drawing=drawing, expand=0, blend=0.5)
    network = pictures.products(drawing)
    total = (shape - shape.mean()) / shape.std() + 0.5 * (network - network.mean()) / network.std()
    cosines = (total - total.mean()) / total.std() * network.std() + network.mean()
    np.testing.assert_allclose(scores, cosines[ids], atol=0.01)
    assert (np.diff(scores) <= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_one_that_was_drawn_stays_on_the_first_page(seed):
    """A thing that is there once, among others that are like each other: expansion leads away from it."""
    pictures, shape, drawing, _ = world(seed=seed)
    stored = pictures.stored.copy()
    stored[200] = np.random.default_rng(seed).normal(size=stored.shape[1]) * 2
    shape = shape.copy()
    shape[200] = shape[:8].min() + 0.005
    alone, _, _ = rerank(ShapeScores(shape), Pictures(stored), 10, drawing=drawing, expand=0, blend=0)
    expanded, scores, _ = rerank(ShapeScores(shape), Pictures(stored), 10, drawing=drawing, blend=0)
    assert 200 in alone
    assert 200 in expanded
    assert len(set(alone.tolist()) & set(expanded.tolist())) >= 8
    assert (np.diff(scores) <= 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_of_flat_art_the_first_page_is_the_first_rankings(seed):
    pictures, shape, _, _ = world(seed=seed)
    flat = np.append(pictures.stored, np.ones((len(shape), 1), np.float16), axis=1)
    art = Pictures(flat, np.zeros((2, flat.shape[1] - 1), np.float32))
    alone, expanded = (rerank(ShapeScores(shape), art, 10, expand=n, blend=0).ids for n in (0, 10))
    assert set(alone.tolist()) == set(expanded.tolist())


def test_what_is_like_the_hits_comes_up_with_them():
    """A picture of the category that is no more like the mean of the first hits than others are."""
    pictures, shape, _, right = world()
    stored = pictures.stored.astype(np.float32)
    neighbours = np.flatnonzero(right)[10:20]
    away = stored[60:70].mean(0)
    stored[150] = 0.5 * stored[neighbours].mean(0) + 0.5 * away
    found = rerank(ShapeScores(shape), Pictures(stored.astype(np.float16)), 300, expand=5, blend=0).ids
    wanted = stored[150]
    stored[150] = away
    without = rerank(ShapeScores(shape), Pictures(stored.astype(np.float16)), 300, expand=5, blend=0).ids
    assert list(found).index(150) < 40 < list(without).index(150)
    assert np.isfinite(wanted).all()


def test_scores_spread_to_what_is_alike_and_no_further():
    vectors = np.eye(4, dtype=np.float32)[[0, 0, 1, 1, 2]]
    found = diffused(np.array([3, 0, 1, 1, 2], np.float32), vectors, 1)
    assert found[0] > found[1] > 1, "the second has what the first passes on"
    np.testing.assert_allclose(found[2:], [1, 1, 2], err_msg="alike already, or like nothing", rtol=1e-6)


@pytest.mark.parametrize("damage", [np.nan, np.inf, -np.inf])
def test_a_damaged_embedding_is_none_and_spoils_no_other(damage):
    pictures, shape, drawing, _ = world()
    damaged, without = pictures.stored.copy(), pictures.stored.copy()
    damaged[250, 7], without[250] = damage, np.nan
    found, wanted = (
        rerank(ShapeScores(shape), Pictures(stored), 300, drawing=drawing) for stored in (damaged, without)
    )
    np.testing.assert_array_equal(found.ids, wanted.ids)
    np.testing.assert_array_equal(found.scores, wanted.scores)
    assert np.isfinite(found.scores).all()


def test_picked_examples_replace_the_first_hits():
    pictures, shape, drawing, _ = world()
    picked = [100, 105, 110]
    ids, _, _ = rerank(ShapeScores(shape), pictures, 20, drawing=drawing, picked=picked)
    assert ((ids >= 90) & (ids < 120)).mean() > 0.9


@pytest.mark.parametrize("expand", [0, 10])
@pytest.mark.parametrize("picked", [[], [0, 1]])
def test_rejected_pictures_go_and_what_is_like_them_goes_down(expand, picked):
    pictures, shape, drawing, _ = world()
    shape = shape.copy()
    shape[100:106] += 0.25  # of another category, as like the drawing by shape as the right ones
    how = {"drawing": drawing, "expand": expand, "blend": 0.3, "picked": picked}
    before, _, _ = rerank(ShapeScores(shape), pictures, 300, **how)
    after, scores, _ = rerank(ShapeScores(shape), pictures, 300, **how, rejected=[100, 101])
    assert len(after) == 298
    assert not {100, 101} & set(after.tolist())
    assert np.isfinite(scores).all()
    others = [i for i in range(90, 120) if i not in (100, 101)]
    assert np.mean([list(after).index(i) for i in others]) > np.mean([list(before).index(i) for i in others])


def test_everything_rejected_is_nothing():
    pictures, shape, drawing, _ = world()
    ids, scores, _ = rerank(ShapeScores(shape), pictures, 10, drawing=drawing, rejected=range(300))
    assert len(ids) == len(scores) == 0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(0, 20), st.floats(0, 3))
def test_order_does_not_depend_on_the_scale_of_the_scores(seed, k, expand, blend):
    pictures, shape, drawing, _ = world(seed=seed)
    one = rerank(ShapeScores(shape), pictures, k, drawing=drawing, expand=expand, blend=blend)
    other = rerank(ShapeScores(shape * 0.1 + 0.3), pictures, k, drawing=drawing, expand=expand, blend=blend)
    assert len(one[0]) == k
    assert len(set(one[0].tolist())) == k
    assert (np.diff(one[1]) <= 1e-5).all()
    assert len(set(one[0].tolist()) & set(other[0].tolist())) >= k - 1


def test_pictures_without_embeddings_stay_findable():
    pictures, shape, drawing, _ = world()
    stored = pictures.stored.copy()
    stored[:4] = np.nan
    some = Pictures(stored)
    ids, scores, _ = rerank(ShapeScores(shape), some, 300, drawing=drawing)
    assert set(range(4)) <= set(ids.tolist())
    assert np.isfinite(scores).all()
    none = Pictures(np.full((300, 64), np.nan, np.float16))
    ids, _, _ = rerank(ShapeScores(shape), none, 10, drawing=drawing)
    np.testing.assert_array_equal(np.sort(ids), np.sort(np.argsort(-shape)[:10]))


@pytest.mark.parametrize("n", [1, 2, 3, 15])
def test_tiny_collections(n):
    rng = np.random.default_rng(n)
    stored = np.append(rng.normal(size=(n, 8)), rng.integers(0, 2, (n, 1)), axis=1).astype(np.float16)
    pictures = Pictures(stored, np.zeros((2, 8), np.float32))
    drawing = np.eye(8, dtype=np.float32)[0]
    ids, scores, _ = rerank(ShapeScores(rng.random(n).astype(np.float32)), pictures, n, drawing=drawing)
    assert sorted(ids.tolist()) == list(range(n))
    assert np.isfinite(scores).all()
    assert default_expand(n) == 1


def test_a_large_collection_gives_the_same_from_candidates(monkeypatch):
    """Of many pictures only candidates are scored: their first page is that of scoring everything."""
    pytest.importorskip("faiss")
    rng = np.random.default_rng(0)
    n, d = 24_000, 128
    centres = rng.normal(size=(200, d))
    category = rng.integers(200, size=n)
    stored = (centres[category] + 0.8 * rng.normal(size=(n, d))).astype(np.float16)
    shape = rng.normal(0.3, 0.05, n).astype(np.float32)
    shape[np.flatnonzero(category == 0)[:40]] += 0.1
    drawing = (centres[0] + rng.normal(size=d)).astype(np.float32)
    drawing /= np.linalg.norm(drawing)
    candidates = rerank(ShapeScores(shape), Pictures(stored), 20, drawing=drawing)
    monkeypatch.setattr(pictures_module, "LARGE", 10**9)
    monkeypatch.setattr(pictures_module, "COMPARED", 10**9)
    everything = rerank(ShapeScores(shape), Pictures(stored), 20, drawing=drawing)
    assert len(set(candidates.ids.tolist()) & set(everything.ids.tolist())) >= 18
    np.testing.assert_allclose(candidates.scores, everything.scores, atol=0.3)
    assert len(candidates.nearest) == 60
    assert len(set(candidates.nearest.tolist()) & set(everything.nearest.tolist())) >= 55


def meeting(scores):
    """Meetings of tokens as (n,) has them, and what was asked of it."""
    asked = []

    def meet(ids):
        asked.append(ids)
        return np.asarray(scores, np.float32)[ids]

    return meet, asked


def test_the_one_picture_whose_tokens_meet_comes_first_among_others_of_its_kind():
    pictures, shape, drawing, right = world()
    scores = np.random.default_rng(1).normal(0.2, 0.02, 300)
    by_shape = rerank(ShapeScores(shape), pictures, 300, drawing=drawing).ids
    drawn = by_shape[12]
    scores[drawn] = 0.4
    meet, asked = meeting(scores)
    found = rerank(ShapeScores(shape), pictures, 300, drawing=drawing, meet=meet).ids
    assert found[0] == drawn
    assert sorted(found.tolist()) == list(range(300))
    assert precision(found, right) >= precision(by_shape, right) - 0.1
    first = rerank(ShapeScores(shape), pictures, 300, drawing=drawing, expand=0).ids
    assert [sorted(ids.tolist()) for ids in asked] == [sorted(first[:200].tolist())], "candidates, once"


def test_tokens_choose_the_pictures_that_are_averaged():
    """Shape says nothing; tokens meet in one category, and the rest of it follows."""
    pictures, _, _, _ = world()
    flat = np.linspace(0.31, 0.30, 300).astype(np.float32)
    scores = np.full(300, 0.2)
    scores[60:70] = 0.4  # a third of the third category
    meet, _ = meeting(scores)
    found = rerank(ShapeScores(flat), pictures, 30, blend=0, meet=meet).ids
    assert np.isin(found, np.arange(60, 90)).mean() > 0.8
    without = rerank(ShapeScores(flat), pictures, 30, blend=0).ids
    assert np.isin(without, np.arange(60, 90)).mean() < 0.2


def test_beside_picked_pictures_tokens_choose_the_first_page_alone():
    pictures, shape, drawing, right = world()
    picked = np.flatnonzero(right)[:2].tolist()
    without = rerank(ShapeScores(shape), pictures, 300, drawing=drawing, picked=picked)
    scores = np.random.default_rng(1).normal(0.2, 0.02, 300)
    drawn = without.ids[25]
    scores[drawn] = 0.5
    meet, asked = meeting(scores)
    found = rerank(ShapeScores(shape), pictures, 300, drawing=drawing, picked=picked, meet=meet)
    assert len(asked) == 1
    assert drawn in found.ids[:10]
    others = [i for i in without.ids.tolist() if i not in found.ids[:10]]
    assert found.ids[10:].tolist() == others
    np.testing.assert_array_equal(found.scores, without.scores)


@pytest.mark.parametrize("how", [{"expand": 0}, {}])
def test_without_meetings_all_is_as_it_is_without_tokens(how):
    """For a first ranking alone, and where no candidate has tokens."""
    pictures, shape, drawing, _ = world()
    scores = np.zeros(300) if not how else np.random.default_rng(1).random(300)
    meet, asked = meeting(scores)
    without = rerank(ShapeScores(shape), pictures, 50, drawing=drawing, **how)
    found = rerank(ShapeScores(shape), pictures, 50, drawing=drawing, meet=meet, **how)
    for one, other in zip(found, without, strict=True):
        np.testing.assert_array_equal(one, other)
    assert bool(asked) is not bool(how)


def test_a_picture_without_tokens_is_neither_praised_nor_blamed():
    pictures, shape, drawing, _ = world()
    even = np.random.default_rng(1).normal(0.2, 0.02, 300)
    first = rerank(ShapeScores(shape), pictures, 100, drawing=drawing, expand=0).ids
    even[first[0]] = 0
    meet, _ = meeting(even)
    found = rerank(ShapeScores(shape), pictures, 300, drawing=drawing, meet=meet).ids
    assert first[0] in found[:5]


def test_only_pictures_that_may_be_answered_with_meet():
    pictures, shape, drawing, _ = world()
    some, gone = np.arange(0, 300, 2), [0, 2]
    meet, asked = meeting(np.random.default_rng(1).random(300))
    found = rerank(ShapeScores(shape), pictures, 20, drawing=drawing, among=some, rejected=gone, meet=meet)
    assert np.isin(found.ids, some).all()
    assert not np.isin(found.ids, gone).any()
    assert np.isin(asked[0], some).all()
    assert not np.isin(asked[0], gone).any()


def test_what_looks_the_same_comes_first_whatever_tokens_say():
    pictures, shape, drawing, _ = world()
    shape[200] = 0.95
    scores = np.full(300, 0.2)
    scores[:5] = 0.5
    meet, _ = meeting(scores)
    assert rerank(ShapeScores(shape), pictures, 20, drawing=drawing, meet=meet).ids[0] == 200


@pytest.mark.parametrize("n", [1, 2, 15])
def test_tokens_in_tiny_collections(n):
    rng = np.random.default_rng(n)
    pictures = Pictures(rng.normal(size=(n, 8)).astype(np.float16))
    meet, _ = meeting(rng.random(n))
    shape = ShapeScores(rng.random(n).astype(np.float32))
    ids, scores, _ = rerank(shape, pictures, n, drawing=np.eye(8, dtype=np.float32)[0], meet=meet)
    assert sorted(ids.tolist()) == list(range(n))
    assert np.isfinite(scores).all()


def test_the_background_does_not_depend_on_the_order_of_pictures():
    rng = np.random.default_rng(12)
    stored = np.concatenate([rng.standard_normal((1500, 70)), rng.random((1500, 1)) < 0.3], axis=1)
    stored = stored.astype(np.float16)
    prior = rng.standard_normal((2, 70)).astype(np.float32)
    order = rng.permutation(len(stored))
    one, other = (Pictures(rows, prior) for rows in (stored, stored[order]))
    assert len(one.background) < len(stored)
    np.testing.assert_array_equal(one.background, order[other.background])
    np.testing.assert_array_equal(one.means, other.means)
    np.testing.assert_array_equal(one.background_rows.vectors, other.background_rows.vectors)
    assert one.flat_art == other.flat_art
