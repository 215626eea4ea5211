"""`evaluate --paper` against a script that was written from the paper's equations alone, on real contours."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import script

from sketchseek.contours import strength_to_points
from sketchseek.contours.detectors.canny import Canny
from sketchseek.contours.drawing import Sketch
from sketchseek.contours.points import Points
from sketchseek.demo import drawings
from sketchseek.evaluation import paper
from sketchseek.kernels import RBF
from sketchseek.maps import HarmonicMap, JointMap
from sketchseek.search.options import Options
from sketchseek.search.search import Answer, find
from sketchseek.search.state import PictureContours, SearchState, state_of
from sketchseek.shape.settings import Settings
from sketchseek.shape.windows import WHOLE

pytestmark = pytest.mark.slow

skimage_data = pytest.importorskip("skimage.data", reason="the extra `demo` is not installed")

N_X, N_ANGLE = 5, 2
TOLERANCE = 1e-5
METHODS = [("exhaustive", "exact", 0)] + [
    (method, rerank, size)
    for method in ("projections", "dpf")
    for rerank in ("exact", "binary", "local")
    for size in (6, 12)
]


@pytest.fixture(scope="module")
def maps() -> script.Maps:
    space = JointMap([RBF(s) for s in script.SIGMAS], N_X, np.pi).fit()
    angle = HarmonicMap(RBF(0.8), N_ANGLE, np.pi, weighting="best").fit()
    return script.Maps(
        space.frequencies_, space.weights_, angle.frequencies_, np.asarray(angle.weights_).ravel()
    )


@pytest.fixture(scope="module")
def pictures() -> list[PictureContours]:
    """Parts of photographs that come with a package, seen by Canny: busy, and of every shape."""
    found = []
    for photo in (skimage_data.astronaut(), skimage_data.coffee(), skimage_data.chelsea()):
        height, width = photo.shape[:2]
        for part in range(6):
            rng = np.random.default_rng(part)
            w, h = rng.integers(160, 280, 2)
            x, y = rng.integers(0, width - w), rng.integers(0, height - h)
            pixels = np.ascontiguousarray(photo[y : y + h, x : x + w])
            points = strength_to_points(Canny()(pixels))
            thin = rng.permutation(len(points))[:400]  # enough for contours, few enough for a slow script
            columns = [getattr(points, name)[thin] for name in ("x", "y", "angle", "weight")]
            found.append(PictureContours.whole(Points(*columns, points.width, points.height), pixels))
    return found


@pytest.fixture(scope="module")
def sketches() -> list[Sketch]:
    chosen = [Sketch.load(path) for path in list(drawings().values())[:12:4]]
    few = []
    for sketch in chosen:
        points = paper.evenly_weighed(sketch).points
        thin = np.random.default_rng(0).permutation(len(points))[:150]
        columns = [getattr(points, name)[thin] for name in ("x", "y", "angle", "weight")]
        few.append(replace(sketch, points=Points(*columns, points.width, points.height)))
    return few


@pytest.fixture(scope="module")
def state(pictures: list[PictureContours]) -> SearchState:
    return state_of(pictures, Settings.paper("compact"), "float32", min_object_size=WHOLE)


@pytest.fixture(scope="module")
def described(pictures: list[PictureContours], maps: script.Maps) -> list[script.Picture]:
    return [script.Picture(rows(c.points), maps) for c in pictures]


@pytest.fixture(scope="module")
def searches(sketches: list[Sketch], maps: script.Maps) -> list[script.Search]:
    return [script.Search(rows(s.points), maps) for s in sketches]


def rows(p: Points) -> np.ndarray:
    return np.stack([p.x, p.y, p.angle, p.weight], axis=1).astype(np.float64)


def found_by(state: SearchState, sketch: Sketch, method: str, rerank: str, size: int, **changes) -> Answer:
    shortlisted = {} if method == "exhaustive" else {"shortlist": size, "rerank": rerank}
    options = paper.options_of(Options(k=len(state), method=method, **shortlisted))
    return find(state, sketch, replace(options, **changes), place=False)


@pytest.mark.parametrize(("method", "rerank", "size"), METHODS)
def test_every_method_agrees_with_the_script(state, sketches, searches, described, method, rerank, size):
    for sketch, search in zip(sketches, searches, strict=True):
        found = found_by(state, sketch, method, rerank, size)
        order, scores = script.ranked(search, described, method, rerank, size)
        np.testing.assert_allclose(found.order[: len(scores)], scores, atol=TOLERANCE)
        assert found.pictures.tolist() == order


def test_neighbourhoods_of_every_size(state, sketches, searches, described):
    for neighborhood in (1, 5):
        for rerank in ("binary", "local"):
            found = found_by(state, sketches[0], "projections", rerank, 12, neighborhood=neighborhood)
            _, scores = script.ranked(searches[0], described, "projections", rerank, 12, neighborhood)
            np.testing.assert_allclose(found.order[:12], scores, atol=TOLERANCE)


def differs(found, expected: tuple[list[int], np.ndarray]) -> bool:
    order, scores = expected
    close = np.allclose(found.order[: len(scores)], scores, atol=TOLERANCE)
    return found.pictures.tolist() != order or not close


@pytest.mark.parametrize(
    "settings",
    [
        Settings.fit(5, 2, orientation_sigma=0.5, orientation_constant=1.0, spatial_constant=1.0),
        Settings.fit(5, 2, orientation_sigma=0.8, orientation_constant=0.5, spatial_constant=1.0),
        Settings.fit(5, 2, orientation_sigma=0.8, orientation_constant=1.0, spatial_constant=0.75),
    ],
    ids=["orientation's width", "orientation's constant", "spatial constant"],
)
def test_other_settings_are_noticed(pictures, sketches, searches, described, settings):
    other = state_of(pictures, settings, "float32", min_object_size=WHOLE)
    expected = script.ranked(searches[0], described, "exhaustive")
    assert differs(found_by(other, sketches[0], "exhaustive", "exact", 0), expected)


def test_other_rules_are_noticed(state, sketches, searches, described):
    expected = script.ranked(searches[0], described, "exhaustive")
    normalised = find(state, sketches[0], Options(k=len(state)), place=False)
    scores = normalised.order[: len(expected[1])]
    assert not np.allclose(scores, expected[1], atol=TOLERANCE), "local normalisation"
    points = sketches[0].points
    inside = replace(points, weight=np.where(np.arange(len(points)) % 2, 0.6, 1.0).astype(np.float32))
    weighed = replace(sketches[0], points=inside)
    assert differs(found_by(state, weighed, "exhaustive", "exact", 0), expected), "weights inside a drawing"
    for rerank in ("local", "binary"):
        expectations = [script.ranked(s, described, "projections", rerank, 12) for s in searches]
        everywhere = [found_by(state, s, "projections", f"{rerank}-all", 12) for s in sketches]
        pairs = zip(everywhere, expectations, strict=True)
        assert any(differs(f, e) for f, e in pairs), f"{rerank} that refines every scale and mirror"


def test_line_art_is_seen_by_the_detector_when_the_paper_says_so(tmp_path: Path):
    from PIL import Image, ImageDraw

    from sketchseek.evaluation.extraction import contours_of_pictures

    image = Image.new("L", (300, 200), 255)
    ImageDraw.Draw(image).rectangle((60, 50, 200, 150), outline=0, width=3)
    image.save(tmp_path / "box.png")
    (followed,) = contours_of_pictures([tmp_path / "box.png"], "canny", jobs=1)
    (detected,) = contours_of_pictures([tmp_path / "box.png"], "canny", line_art=False, jobs=1)
    assert followed.is_line_art
    assert not detected.is_line_art
    assert detected.frame == (0.0, 0.0, 300.0, 200.0)


def test_expansion_is_the_mean_of_the_first(state, sketches):
    pytest.importorskip("faiss", reason="the extra `expansion` is not installed")
    from sketchseek.embeddings import EmbeddingIndex, Pictures

    rng = np.random.default_rng(3)
    stored = rng.standard_normal((len(state), 128)).astype(np.float16)
    embeddings = EmbeddingIndex(lambda: Pictures(stored), lambda _: None)
    options = paper.options_of(Options())
    vectors = embeddings.pictures.vectors(np.arange(len(state)))
    first = found_by(state, sketches[0], "exhaustive", "exact", 0).pictures[:3]
    expected = np.argsort(-(vectors @ vectors[first].mean(axis=0)), kind="stable")
    np.testing.assert_array_equal(paper.expansion_order(state, embeddings, options)(sketches[0]), expected)


def test_codes_have_64_parts_of_256_centroids():
    pytest.importorskip("faiss", reason="the extra `expansion` is not installed")
    vectors = np.random.default_rng(4).standard_normal((700, 128)).astype(np.float32)
    coded = paper.product_coded(vectors)
    parts = coded.reshape(700, 64, 2)
    assert max(len(np.unique(parts[:, i], axis=0)) for i in range(64)) <= 256
    error = np.linalg.norm(coded - vectors, axis=1) / np.linalg.norm(vectors, axis=1)
    assert 0.01 < error.mean() < 0.2
