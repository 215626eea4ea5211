import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.tokens import decoded, meet, rows_and_columns
from sketchseek.embeddings.tokens import (
    ACROSS,
    CELLS,
    MOST_ACROSS,
    SCALES,
    DrawnTokens,
    TokenSpace,
    grid,
    ink_of,
    resampled,
)
from sketchseek.errors import SketchseekError
from sketchseek.shape.engine import _engine
from sketchseek.shape.engine.native import VARIABLE

CHANNELS, DIMENSION = 24, 16


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def learned(seed=0, parts=8):
    rng = np.random.default_rng(seed)
    return {
        "pictures": rng.normal(size=(2, CHANNELS)),
        "drawings": rng.normal(size=(2, CHANNELS)),
        "projection": rng.normal(size=(CHANNELS, DIMENSION)),
        "centroids": rng.normal(size=(parts, 16, DIMENSION // parts)) / 4,
    }


def drawn(space, seed, count):
    rng = np.random.default_rng(seed)
    cells = np.sort(rng.permutation(ACROSS * ACROSS)[:count])
    places = np.stack(np.divmod(cells, ACROSS), axis=1).astype(np.int32)
    tokens = unit(rng.normal(size=(count, DIMENSION))).astype(np.float32)
    weights = np.sqrt(rng.uniform(0.03, 0.5, count)).astype(np.float32)
    return DrawnTokens(tokens, weights, places, space.centroids)


def picture(space, seed, height, width):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(CHANNELS, max(height // 16, 1), max(width // 16, 1))).astype(np.float32)
    return space.encode(features, (height, width))


SHAPES = [(320, 320), (320, 224), (96, 320), (320, 32), (40, 320), (320, 300)]


@pytest.mark.parametrize("build", _engine.supported_builds())
@pytest.mark.parametrize("parts", [4, 8, 16])
def test_the_engine_meets_as_the_recipe_says(build, parts, monkeypatch):
    monkeypatch.setenv(VARIABLE, build)
    space = TokenSpace(learned(parts=parts))
    pictures = [picture(space, i, *shape) for i, shape in enumerate(SHAPES)]
    for seed, count in ((0, 1), (1, 7), (2, 90), (3, ACROSS * ACROSS)):
        mine = drawn(space, seed, count)
        found = mine.meet(np.stack(pictures))
        for i, codes in enumerate(pictures):
            tokens = decoded(codes, space.centroids)
            score, where = meet(mine.tokens, mine.weights, mine.places, tokens)
            assert found.score[i] == pytest.approx(score, abs=0.01 * max(1, abs(score)))
            if count <= 90:  # the place is that of the best, or of one that is as good but for rounding
                place = (bool(found.mirrored[i]), float(found.scale[i]), found.row[i], found.column[i])
                assert place == (*(where[0],), pytest.approx(where[1]), *where[2:]) or score_at(
                    mine, tokens, place
                ) == pytest.approx(score, abs=0.01)


def score_at(mine, tokens, place):
    """The weighted mean at one place alone."""
    mirrored, scale, row, column = place
    page = mine.places.copy()
    if mirrored:
        page[:, 1] = ACROSS - 1 - page[:, 1]
    at = np.rint(min(SCALES, key=lambda s: abs(s - scale)) * page).astype(int)
    at -= at.min(axis=0)
    total = 0.0
    for token, weight, (y, x) in zip(mine.tokens, mine.weights, at + np.array([row, column]), strict=True):
        near = tokens[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
        if 0 <= y < tokens.shape[0] and 0 <= x < tokens.shape[1]:
            total += weight * float((near @ token).max())
    return total / float(mine.weights.sum())


def test_the_patches_that_meet_are_what_the_score_is_the_mean_of():
    space = TokenSpace(learned())
    pictures = [picture(space, i, *shape) for i, shape in enumerate(SHAPES)]
    for seed, count in ((0, 1), (1, 7), (2, 90)):
        mine = drawn(space, seed, count)
        for codes, score in zip(pictures, mine.meet(np.stack(pictures)).score, strict=True):
            patches = mine.patches(codes)
            assert float(patches.weights @ patches.cosines) == pytest.approx(
                score, abs=0.01 * max(1, abs(score))
            )
            assert patches.weights.sum() <= 1 + 1e-5
            rows, columns = rows_and_columns(codes)
            tokens = decoded(codes, space.centroids)
            cells = np.rint(patches.boxes * (columns, rows, columns, rows)).astype(int)
            assert (cells[:, 2:] - cells[:, :2] == 1).all()
            products = mine.tokens @ tokens[cells[:, 1], cells[:, 0]].T
            assert np.isclose(products, patches.cosines, atol=1e-5).any(axis=0).all()
    assert mine.patches(np.zeros_like(pictures[0])) is None


def test_a_drawing_meets_the_picture_that_it_was_cut_from_where_it_was():
    space = TokenSpace(learned())
    codes = picture(space, 5, 320, 320)
    tokens = decoded(codes, space.centroids)
    places = np.array([[y, x] for y in range(2, 9) for x in range(3, 14)], np.int32)
    cut = unit(tokens[places[:, 0] + 4, places[:, 1] + 1]).astype(np.float32)
    mine = DrawnTokens(cut, np.ones(len(places), np.float32), places, space.centroids)
    others = [picture(space, 50 + i, 320, 320) for i in range(5)]
    found = mine.meet(np.stack([*others, codes]))
    assert found.score.argmax() == 5
    assert (found.mirrored[5], found.scale[5]) == (False, 1.0)
    assert abs(found.row[5] - 6) <= 1  # the best of 3 x 3 is as good one cell off
    assert abs(found.column[5] - 4) <= 1
    patches = mine.patches(codes)
    cut_from = np.stack([places[:, 1] + 1, places[:, 0] + 4], axis=1) / 16
    assert np.abs(patches.boxes[:, :2] - cut_from).max() < 2.5 / 16  # beside it one may be longer


def test_a_mirrored_drawing_is_found_the_other_way_round():
    space = TokenSpace(learned())
    codes = picture(space, 5, 320, 320)
    tokens = decoded(codes, space.centroids)
    places = np.array([[y, x] for y in range(2, 9) for x in range(3, 14)], np.int32)
    cut = unit(tokens[places[:, 0] + 4, ACROSS - 1 - places[:, 1]]).astype(np.float32)
    found = DrawnTokens(cut, np.ones(len(places), np.float32), places, space.centroids).meet(codes[None])
    assert (found.mirrored[0], found.scale[0]) == (True, 1.0)
    assert abs(found.row[0] - 6) <= 1
    assert abs(found.column[0] - 2) <= 1


def test_a_picture_without_tokens_or_with_damaged_ones_has_no_score():
    space = TokenSpace(learned())
    codes = picture(space, 0, 320, 320)
    damaged = np.stack([codes, codes, codes, np.zeros_like(codes)])
    damaged[0, -65], damaged[1, [-65, -1]], damaged[2, -1] = 255, 32, 0
    assert drawn(space, 0, 20).meet(damaged).score.tolist() == [0, 0, 0, 0]


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 20_000), st.integers(1, 20_000))
def test_the_grid_is_full_and_as_wide_as_the_picture(height, width):
    rows, columns = grid(height, width)
    assert 1 <= rows <= MOST_ACROSS
    assert 1 <= columns <= MOST_ACROSS
    assert rows * columns <= CELLS
    if max(height, width) < 4 * min(height, width):
        assert (rows + 1) * (columns + 1) > CELLS
        assert (rows - 0.001) / (columns + 1) <= height / width <= (rows + 1) / (columns - 0.001)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 24), st.integers(1, 24), st.integers(1, 32), st.integers(1, 32))
def test_resampling_keeps_what_is_even_and_where_it_rises(height, width, rows, columns):
    even = np.full((2, height, width), 3, np.float32)
    assert np.allclose(resampled(even, rows, columns), 3, atol=1e-5)
    rising = np.broadcast_to(np.arange(width, dtype=np.float32), (1, height, width))
    found = resampled(rising, rows, columns)[:, 0].reshape(rows, columns)
    assert (np.diff(found, axis=1) >= -1e-5).all()
    assert np.allclose(found, found[0])


def test_codes_are_the_nearest_centroids():
    space = TokenSpace(learned())
    features = np.random.default_rng(1).normal(size=(CHANNELS, 16, 16)).astype(np.float32)
    known = learned()
    tokens = unit((features.reshape(CHANNELS, -1).T - known["pictures"][1]) @ known["projection"])
    split = tokens.reshape(CELLS, 8, 1, -1)
    nearest = np.square(split - known["centroids"][None]).sum(axis=3).argmin(axis=2)
    expected = known["centroids"][np.arange(8), nearest].reshape(16, 16, -1)
    found = decoded(space.encode(features, (320, 320), kind=1), space.centroids)
    assert np.allclose(found.reshape(CELLS, -1)[:-1], expected.reshape(CELLS, -1)[:-1], atol=1e-6)
    assert np.allclose(found[15, 15], expected[15, 14], atol=1e-6), "its bytes say how many there are"
    fewer = space.encode(features, (320, 300), kind=1)
    assert (fewer.size, rows_and_columns(fewer)) == (CELLS * 8 // 2, grid(320, 300))


def test_ink_is_counted_where_lines_are():
    page = np.full((224, 224, 3), 255, np.uint8)
    page[14:28, 28:35] = 0
    ink = ink_of(page)
    assert ink[1, 2] == pytest.approx(0.5)
    assert ink.sum() == pytest.approx(0.5)


def test_only_cells_with_ink_have_tokens_by_the_mean_of_drawings_of_their_kind():
    known = learned()
    space = TokenSpace(known)
    features = np.random.default_rng(2).normal(size=(CHANNELS, ACROSS, ACROSS)).astype(np.float32)
    ink = np.zeros((ACROSS, ACROSS), np.float32)
    ink[3, 4], ink[5, 6], ink[7, 7] = 0.25, 0.04, 0.01
    found = space.draw(features, ink, kind=1)
    assert found.places.tolist() == [[3, 4], [5, 6]]
    assert found.weights.tolist() == pytest.approx([0.5, 0.2])
    cells = features[:, [3, 5], [4, 6]].T
    assert np.allclose(found.tokens, unit((cells - known["drawings"][1]) @ known["projection"]), atol=1e-5)
    assert space.draw(features, np.zeros_like(ink)) is None
    assert space.draw(features, np.where(ink == 0.01, ink, 0)).places.tolist() == [[7, 7]]


def test_the_version_changes_with_what_changes_codes():
    versions = {TokenSpace(learned() | {name: learned(1)[name]}).version for name in learned()}
    assert len(versions) == 4  # not with the mean of drawings, which no code depends on
    assert (
        TokenSpace(learned() | {"drawings": learned(1)["drawings"]}).version == TokenSpace(learned()).version
    )


def test_what_lacks_or_does_not_fit_is_said_in_a_sentence():
    known = learned()
    del known["drawings"]
    with pytest.raises(SketchseekError, match="lacks 'drawings'"):
        TokenSpace(known)
    with pytest.raises(SketchseekError, match="does not fit together"):
        TokenSpace(learned() | {"centroids": np.zeros((6, 16, 2))})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"places": np.full((3, 2), ACROSS, np.int32)}, "one of the drawing's cells"),
        ({"weights": np.zeros(3, np.float32)}, "not all 0"),
        ({"weights": np.full(3, np.nan, np.float32)}, "weights"),
        ({"tokens": np.full((3, DIMENSION), np.nan, np.float32)}, "tokens must be finite"),
        ({"centroids": np.zeros((8, 15, 2), np.float32)}, "centroids must be"),
        ({"scales": []}, "1 to 8 scales"),
        ({"scales": [1.5]}, "a scale must be"),
        ({"across": 21}, "1 to 20 cells"),
        ({"overhang": 3}, "overhang"),
    ],
)
def test_the_engine_refuses_what_it_cannot_lay_out(change, sentence):
    given = {
        "tokens": np.ones((3, DIMENSION), np.float32),
        "weights": np.ones(3, np.float32),
        "places": np.zeros((3, 2), np.int32),
        "across": ACROSS,
        "centroids": np.zeros((8, 16, 2), np.float32),
        "scales": [1.0],
        "mirror": True,
        "overhang": 0,
    }
    _engine.PreparedTokens(**given)
    with pytest.raises(ValueError, match=sentence):
        _engine.PreparedTokens(**given | change)


def test_other_threads_run_while_tokens_meet():
    """In a process of its own: a thread that counts goes on while one call takes long."""
    code = """
import threading, numpy as np
from sketchseek.embeddings.tokens import DrawnTokens
rng = np.random.default_rng(0)
centroids = rng.normal(size=(16, 16, 4)).astype(np.float32)
places = np.stack(np.divmod(np.arange(256), 16), axis=1).astype(np.int32)
tokens = rng.normal(size=(256, 64)).astype(np.float32)
drawn = DrawnTokens(tokens, np.ones(256, np.float32), places, centroids)
codes = rng.integers(0, 256, (5000, 2048)).astype(np.uint8)
codes[:, [-65, -1]] = 16
done, counted = threading.Event(), []
def work():
    try:
        drawn.meet(codes)
    finally:
        done.set()
thread = threading.Thread(target=work)
thread.start()
while not done.is_set():
    counted.append(1)
    done.wait(0.001)
thread.join()
print(len(counted))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 3
