"""Words beside a drawing, and instead of one."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from sketchseek import Index, Sketch, cli
from sketchseek.embeddings import EmbeddingIndex, Pictures
from sketchseek.errors import SketchseekError
from sketchseek.search.options import Options
from sketchseek.search.search import search
from sketchseek.search.state import PictureContours, state_of
from sketchseek.shape.settings import Settings
from sketchseek.words import Dictionary, class_directions, query_vector

STAR = [(50, 0), (61, 36), (98, 36), (68, 58), (79, 94), (50, 72), (21, 94), (32, 58), (2, 36), (39, 36)]


@pytest.fixture(scope="module")
def star() -> Sketch:
    return Sketch.from_strokes([[*STAR, STAR[0]]])


@pytest.fixture(scope="module")
def index(shape_index) -> Index:
    """Without embeddings: words are found in names."""
    return Index.open(shape_index)


def names(hits) -> list[str]:
    return [hit.picture.rpartition("/")[2] for hit in hits]


def contours(sketch: Sketch) -> PictureContours:
    return PictureContours(sketch.points, 400, 300, (0.0, 0.0, 400.0, 300.0))


def described(wanted: list[tuple[np.ndarray, int]], others: int, network: str | None = "efficientnet"):
    """A state of pictures that show some classes, and others that show none; their shapes are alike."""
    rng = np.random.default_rng(0)
    d = class_directions().shape[1]
    rows = rng.normal(size=(others + sum(n for _, n in wanted), d)).astype(np.float32)
    at = 0
    for vector, n in wanted:
        rows[at : at + n] = 20 * vector / np.linalg.norm(vector) + rng.normal(size=(n, d))
        at += n
    drawn = [
        Sketch.from_strokes([rng.uniform(0, 100, (4, 2)).tolist()])  # what is drawn tells them apart
        for _ in rows
    ]
    pictures = Pictures(rows.astype(np.float16))
    embeddings = EmbeddingIndex(lambda: pictures, lambda _: None, network=network)
    state = state_of(
        [contours(sketch) for sketch in drawn],
        Settings.preset("compact"),
        path=lambda number: f"/p/{number}.jpg",
        embeddings=embeddings,
    )
    return state, drawn


def meant(word: str) -> np.ndarray:
    meaning = Dictionary().meaning(word)
    vector = query_vector(meaning.weights, "efficientnet", class_directions().shape[1])
    assert vector is not None
    return vector


@pytest.fixture(scope="module")
def photographs():
    """Of 60 pictures the first ten are umbrellas, the next ten dogs."""
    return described([(meant("umbrella"), 10), (meant("dog"), 10)], 40)


def test_words_alone_find_names(index):
    hits = index.search(words="house", k=5)
    assert sorted(names(hits)) == ["house.svg", "house.webp"], "nothing that is not called so"
    assert {hit.matched for hit in hits} == {"house"}
    assert hits[0].to_dict()["matched"] == "house"
    assert hits.note is None
    assert 0 <= hits.present <= 1


def test_a_hit_of_words_alone_is_the_whole_picture(index):
    (hit, *_) = index.search(words="star")
    assert (hit.rank, hit.score, hit.also, hit.outline()) == (1, 0.0, (), [])
    assert hit.box == (0.0, 0.0, float(hit.width), float(hit.height))
    assert hit.thumbnail()


def test_a_plural_and_a_mistake_find_the_same(index):
    for words in ("houses", "huose", "a picture of a house"):
        assert sorted(names(index.search(words=words))) == ["house.svg", "house.webp"], words


def test_pages_of_words_alone_join(index):
    everything = names(index.search(words="arrow star", k=20))
    second = index.search(words="arrow star", k=2, offset=2)
    assert names(second) == everything[2:4]
    assert [hit.rank for hit in second] == [3, 4]


def test_names_count_beside_a_drawing(index, star):
    alone = names(index.search(star, 8))
    both = index.search(star, 8, words="bolt")
    assert names(both).index("bolt.tiff") < alone.index("bolt.tiff")
    assert [hit.matched for hit in both if hit.picture.endswith("bolt.tiff")] == ["bolt"]
    assert names(index.search(star, 8, words="small star"))[0] == "star-small.png"
    assert all(hit.box != (0, 0, hit.width, hit.height) for hit in both), "a drawing is placed as ever"


def test_unknown_words_change_nothing_and_say_so(index, star, photographs):
    alone, both = index.search(star, 8), index.search(star, 8, words="qzxwvk")
    assert [hit.to_dict() for hit in both] == [hit.to_dict() for hit in alone]
    assert both.present == alone.present
    assert alone.note is None
    assert "qzxwvk" in both.note
    nothing = index.search(words="qzxwvk")
    assert (list(nothing), nothing.present) == ([], 0)
    assert "qzxwvk" in nothing.note
    state, drawn = photographs
    for options in ({}, {"expand": 0, "blend": 0.0}):
        with_words = search(state, drawn[30], Options(60, words="qzxwvk", **options))
        assert [h.to_dict() for h in with_words] == [
            h.to_dict() for h in search(state, drawn[30], Options(60, **options))
        ]


@pytest.mark.parametrize("words", ["umbrella", "Umbrellas", "parapluie", "Regenschirm"])
def test_words_alone_find_what_looks_so(photographs, words):
    state, _ = photographs
    hits = search(state, None, Options(10, words=words))
    assert {int(hit.id) for hit in hits} == set(range(10))
    assert all(a.confidence >= b.confidence for a, b in pairwise(hits))
    assert {hit.matched for hit in hits} == {None}


def test_words_alone_among_what_is_left(photographs):
    state, _ = photographs
    hits = search(state, None, Options(10, words="umbrella", rejected=("3", "4")))
    assert {int(hit.id) for hit in hits[:8]} == set(range(10)) - {3, 4}
    assert len(search(state, None, Options(100, words="umbrella"))) == 60


def test_a_word_chooses_among_what_was_drawn(photographs):
    state, drawn = photographs
    sketch = drawn[40]  # neither an umbrella nor a dog
    alone = [int(h.id) for h in search(state, sketch, Options(20, expand=0))]
    both = [int(h.id) for h in search(state, sketch, Options(20, expand=0, words="umbrella"))]
    dogs = [int(h.id) for h in search(state, sketch, Options(20, expand=0, words="dog"))]
    assert sum(i < 10 for i in both) > sum(i < 10 for i in alone) + 2
    assert sum(10 <= i < 20 for i in dogs) > sum(10 <= i < 20 for i in alone) + 2
    assert both[0] == alone[0] == 40, "what looks the same as the drawing stays first"


def test_of_a_large_collection_candidates_are_asked(photographs, monkeypatch):
    from sketchseek.embeddings import pictures

    state, drawn = photographs
    wanted = [[h.id for h in search(state, s, Options(10, words="umbrella"))] for s in (None, drawn[3])]
    monkeypatch.setattr(pictures, "COMPARED", 1)
    monkeypatch.setattr("sketchseek.search.words.COMPARED", 1)
    found = [[h.id for h in search(state, s, Options(10, words="umbrella"))] for s in (None, drawn[3])]
    assert set(found[0]) == set(wanted[0])
    assert found[1][0] == wanted[1][0] == "3"


def test_a_network_without_classes_leaves_names():
    state, drawn = described([(meant("umbrella"), 10)], 10, network="colours")
    assert list(search(state, None, Options(words="umbrella"))) == []
    alone = search(state, drawn[2], Options(20))
    assert [h.id for h in search(state, drawn[2], Options(20, words="umbrella"))] == [h.id for h in alone]


def test_wrong_arguments(index, star):
    with pytest.raises(ValueError, match="words must be a text"):
        index.search(star, words=3)
    for words in (None, "", "  "):
        with pytest.raises(SketchseekError, match=r"Draw something, or say it in words\."):
            index.search(words=words)


def test_a_drawing_has_two_names(index, star):
    assert names(index.search(drawing=star, k=3)) == names(index.search(star, 3))


def test_on_the_command_line(shape_index, tmp_path, capsys):
    def run(*words):
        try:
            status = cli.main(["search", "--index", str(shape_index), *words])
        except SystemExit as end:
            status = end.code
        return status, *capsys.readouterr()

    drawing = tmp_path / "star.json"
    drawing.write_text(json.dumps({"strokes": [[*STAR, STAR[0]]]}))
    page = tmp_path / "hits.html"
    status, out, err = run("--words", "house", "--json", "--html", str(page))
    answer = json.loads(out)
    assert (status, answer["sketch"], answer["words"]) == (0, None, "house")
    assert [hit["matched"] for hit in answer["hits"]] == ["house", "house"]
    assert "“house”: 2 of" in page.read_text("utf-8")
    status, out, err = run(str(drawing), "--words", "bolt")
    assert status == 0
    assert "(called bolt)" in out
    status, out, err = run("--words", "qzxwvk")
    assert (status, out) == (0, "")
    assert "No picture is called 'qzxwvk'" in err
    for wrong in ([], ["--words", " "], ["--words", "star", "--box", "0,0,1,1"]):
        status, out, err = run(*wrong)
        assert (status, out) == (2, ""), wrong
        assert "Traceback" not in err
