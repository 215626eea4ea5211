import numpy as np
import pytest

from sketchseek.words.names import NameIndex
from sketchseek.words.spelling import Spelling, distance
from sketchseek.words.text import folded, stem, tokens

PATHS = [
    "/icons/outline/umbrella-2.svg",
    "/icons/outline/umbrella.svg",
    "/icons/outline/car-off.svg",
    "/photos/Umbrellas/IMG_0001.JPG",
    "/photos/misc/redCar.jpg",
    "/photos/misc/Schöne Blüten.jpg",
    "/photos/misc/regenschirm.png",
    "file.png",
    "/photos/misc/собака.png",
]


@pytest.fixture(scope="module")
def index():
    return NameIndex(PATHS)


def best(index, text):
    found = index.scores(text)
    return [int(i) for i in found.ids[np.argsort(-found.scores, kind="stable")]]


@pytest.mark.parametrize(
    ("text", "pictures"),
    [
        ("umbrella", [1, 0, 3]),  # the plainest name first, a folder's last
        ("umbrellas", [1, 0, 3]),
        ("umbrela", [1, 0, 3]),
        ("UMBRELAL", [1, 0, 3]),
        ("cars", [2, 4]),
        ("red car", [4, 2]),
        ("bluten", [5]),
        ("Blüten", [5]),
        ("schirm", [6]),
        ("собака", [8]),
        ("file", [7]),
        ("giraffe", []),
        ("", []),
        ("?!", []),
        ("0001", [3]),
    ],
)
def test_finds_names(index, text, pictures):
    assert best(index, text) == pictures


def test_says_which_word_matched(index):
    found = index.scores("umbrela")
    said = {int(i): found.words[m] for i, m in zip(found.ids, found.matched, strict=True)}
    assert said == {0: "umbrella", 1: "umbrella", 3: "umbrellas"}


def test_scores_are_shares(index):
    scores = index.scores("umbrella car").scores
    assert (scores > 0).all()
    assert (scores <= 1).all()


def test_all_words_count():
    index = NameIndex(["red.png", "car.png", "red-car.png"])
    assert best(index, "red car")[0] == 2


def test_titles_and_keywords_are_names():
    index = NameIndex(["1.jpg", "2.jpg", "umbrella.jpg"], ["umbrella rain", "", "sun"])
    assert best(index, "umbrella") == [2, 0]
    assert best(index, "sun") == [2]


def test_line_breaks_in_names_shift_nothing():
    index = NameIndex(["a\nb.png", "umbrella.png"], ["x\ny\nz", "owl"])
    assert best(index, "umbrella") == [1]
    assert best(index, "owl") == [1]
    assert best(index, "b") == [0]


@pytest.mark.parametrize("paths", [[], [""], ["/"], ["...", "_"]])
def test_names_without_words(paths):
    index = NameIndex(paths)
    assert len(index) == len(paths)
    assert not len(index.scores("umbrella").ids)


def test_many_names_are_scored_like_few():
    rng = np.random.default_rng(0)
    words = ["owl", "cat", "tree", "house", "river"]
    paths = [f"/{words[a]}/{words[b]}-{i}.png" for i, (a, b) in enumerate(rng.integers(0, 5, (300, 2)))]
    found = NameIndex(paths).scores("owl")
    alone = {i: NameIndex([path]).scores("owl").scores for i, path in enumerate(paths) if "owl" in path}
    assert found.ids.tolist() == list(alone)
    np.testing.assert_allclose(found.scores, np.concatenate(list(alone.values())))


@pytest.mark.parametrize(
    ("a", "b", "n"),
    [
        ("chair", "chair", 0),
        ("chiar", "chair", 1),
        ("chir", "chair", 1),
        ("chaair", "chair", 1),
        ("xhairs", "chair", 2),
    ],
)
def test_distance(a, b, n):
    assert distance(a, b, 2) == distance(b, a, 2) == n
    assert distance(a, b, 0) == min(n, 1)


def test_spelling_finds_every_single_mistake():
    words = ["umbrella", "elephant", "chair", "hair", "chain"]
    spelling = Spelling(words)
    for mistake in ("umrella", "umbrellla", "umbrexla", "umbrlela", "xmbrella"):
        assert spelling.near(mistake)[0] == (0, 1)
    assert [words[i] for i, _ in spelling.near("chair")] == ["chair", "chain", "hair"]
    assert spelling.near("owl") == []
    assert Spelling([]).near("umbrella") == []


def test_text():
    assert tokens("redCar-2.svg") == ["red", "car", "2", "svg"]
    assert tokens("HTMLPage_snake") == ["html", "page", "snake"]
    assert folded("Flügel ÉTÉ Straße") == "flugel ete strasse"
    assert [stem(w) for w in ("cars", "boxes", "berries", "glass", "bus", "tennis", "churches")] == [
        "car", "box", "berry", "glass", "bus", "tennis", "church"
    ]  # fmt: skip
