"""The engine on descriptors of real photos and drawings, where the data is."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from test_native import assert_refines

from reference.engine import ReferenceEngine
from reference.kernels import InspectedEngine as NativeEngine
from sketchseek.contours import picture_contours
from sketchseek.contours.detectors import get_detector
from sketchseek.contours.drawing import Sketch
from sketchseek.contours.points import Points
from sketchseek.shape.descriptor import describe, encode, norms
from sketchseek.shape.query import Query
from sketchseek.shape.settings import PRESETS, Settings, X, Y

DATA = Path(os.environ.get("SKETCHSEEK_DATA", Path(__file__).parents[4] / "shared" / "data")) / "sysu"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no real data at {DATA}")


@pytest.fixture(scope="module")
def photos() -> list[Points]:
    detector = get_detector("canny")
    return [
        picture_contours(path, detector).points for path in sorted((DATA / "photos").rglob("*.jpg"))[::14]
    ]


@pytest.fixture(scope="module")
def drawings() -> list[Points]:
    queries = json.loads((DATA / "groundtruth.json").read_text())["queries"]
    return [Sketch.load(DATA / query["sketch"]).points for query in queries[::6]]


@pytest.mark.parametrize("preset", PRESETS)
def test_engine_and_reference_agree(photos: list[Points], drawings: list[Points], preset: str) -> None:
    settings = Settings.preset(preset)
    vectors = np.stack([describe(points, settings) for points in photos])
    its_norms = norms(vectors, settings)
    native, reference = (e(vectors, its_norms, settings) for e in (NativeEngine, ReferenceEngine))
    query = Query.of(drawings[0], settings)
    np.testing.assert_allclose(native.scores(query), reference.scores(query), atol=1e-5)
    for axis in (X, Y):
        np.testing.assert_allclose(native.project(query, axis), reference.project(query, axis), atol=1e-5)
    codes = encode(vectors, settings)
    code_norms = norms(codes, settings)
    bytes_ = NativeEngine(codes, code_norms, settings)
    assert_refines(bytes_, ReferenceEngine(codes, code_norms, settings), query)
    errors = np.abs([bytes_.scores(q) - native.scores(q) for q in (Query.of(d, settings) for d in drawings)])
    assert errors.max() < 0.005
    assert errors.mean() < 0.001


def test_the_pruned_top_is_the_exhaustive_one(photos: list[Points], drawings: list[Points]) -> None:
    settings = Settings.preset("compact")
    seeds = np.stack([describe(points, settings) for points in photos])
    rng = np.random.default_rng(0)
    one, two = seeds[rng.integers(0, len(seeds), (2, 20_000))]
    codes = encode(one / one[:, :1] + 0.5 * rng.random((20_000, 1)) * two / two[:, :1], settings)
    engine = NativeEngine(codes, norms(codes, settings), settings)
    for drawing in drawings:
        query = Query.of(drawing, settings)
        scores = engine.scores(query)
        order = np.argsort(-scores, kind="stable")[:100]
        ids, found = engine.top(query, 100)
        np.testing.assert_array_equal(ids, order)
        np.testing.assert_array_equal(found, scores[order])
