import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketchseek.expansion import pictures as pictures_module
from sketchseek.expansion.pictures import Cache, Pictures
from sketchseek.expansion.quantisation import BYTES, ProductCodes, ScalarCodes

faiss = pytest.importorskip("faiss")


def clustered(n, d=256, seed=0, centres=40):
    rng = np.random.default_rng(seed)
    middle = np.random.default_rng(99).normal(size=(centres, d))
    x = middle[rng.integers(centres, size=n)] + 0.5 * rng.normal(size=(n, d))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 60), st.integers(1, 40))
def test_one_byte_is_within_half_a_step(seed, n, d):
    rng = np.random.default_rng(seed)
    x, query = rng.normal(size=(n, d)).astype(np.float32), rng.normal(size=d).astype(np.float32)
    codes = ScalarCodes(x)
    assert codes.codes.nbytes == n * d
    bound = (np.abs(query) * np.abs(x).max(0) / 254).sum() + 1e-4
    assert np.abs(codes.products(query) - x @ query).max() <= bound


@pytest.fixture(scope="module")
def codes():
    x = clustered(3000)
    made = ProductCodes.train(x, len(x))
    made.encode([x[:1000], x[1000:]])
    return x, made


def test_sixty_four_bytes_a_vector(codes):
    assert codes[1]._index.code_size == BYTES


def test_products_of_codes_are_those_of_their_definition(codes):
    """Asymmetric: the query whole, each part of the vector replaced by its nearest centroid."""
    x, made = codes
    pq = made._index.pq
    centroids = faiss.vector_to_array(pq.centroids).reshape(pq.M, pq.ksub, pq.dsub)
    parts = x.reshape(len(x), pq.M, pq.dsub)
    nearest = ((parts[:, :, None] - centroids[None]) ** 2).sum(-1).argmin(-1)
    defined = centroids[np.arange(pq.M), nearest].reshape(len(x), -1)
    np.testing.assert_allclose(made.decoded(), defined, atol=1e-6)
    query = clustered(1, seed=5)[0]
    expected = np.argsort(-(defined @ query))[:50]
    # FAISS rounds its tables to a byte while scanning: the order may differ among near equals.
    assert len(set(made.best(query, 100).tolist()) & set(expected.tolist())) >= 48


def test_candidates_hold_the_true_neighbours(codes):
    x, made = codes
    query = clustered(1, seed=7)[0]
    true = np.argsort(-(x @ query))[:50]
    assert len(set(made.best(query, 300).tolist()) & set(true.tolist())) >= 45


def test_saved_and_loaded(codes, tmp_path):
    made = codes[1]
    path = tmp_path / "codes.faiss"
    made.save(path)
    loaded = ProductCodes.load(path, made.trained_on)
    np.testing.assert_array_equal(loaded.decoded(), made.decoded())
    path.write_bytes(path.read_bytes()[:1000])
    assert ProductCodes.load(path, 1) is None
    assert ProductCodes.load(tmp_path / "none.faiss", 1) is None
    assert [p.name for p in tmp_path.iterdir()] == ["codes.faiss"]


def test_codes_grow_with_the_collection(tmp_path, monkeypatch):
    """Kept per version; encoded again when it changes; learned again when it has doubled; nothing is lost."""
    monkeypatch.setattr(pictures_module, "LARGE", 700)
    trained = []
    train = ProductCodes.train
    monkeypatch.setattr(ProductCodes, "train", lambda sample, n: trained.append(n) or train(sample, n))

    def files():
        return [path.name for path in tmp_path.iterdir()]

    x = clustered(1700).astype(np.float16)
    for n, version, names, learned in (
        (800, "1", ["expansion-1-800.faiss"], [800]),
        (800, "1", ["expansion-1-800.faiss"], [800]),
        (1500, "2", ["expansion-2-800.faiss"], [800]),
        (1700, "3", ["expansion-3-1700.faiss"], [800, 1700]),
    ):
        collection = Pictures(x[:n], cache=Cache(tmp_path, version))
        assert files() == names
        assert trained == learned
        query = collection.vectors(np.array([n - 1]))[0]
        assert collection.best(query, 20)[0] == n - 1
    (tmp_path / names[0]).write_bytes(b"cut short")
    assert len(Pictures(x, cache=Cache(tmp_path, "3")).best(query, 20)) == 20


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures_module, "LARGE", 700)
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    assert len(Pictures(clustered(800).astype(np.float16), cache=Cache(blocked, "1"))) == 800


def test_centred_on_the_mean_and_missing_ones_are_zero():
    x = clustered(100).astype(np.float16)
    x[7] = np.nan
    collection = Pictures(x)
    ids = np.arange(100)
    np.testing.assert_allclose(collection.mean, np.nanmean(x.astype(np.float32), axis=0), atol=1e-3)
    assert not collection.has(np.array([7]))[0]
    lengths = np.linalg.norm(collection.vectors(ids), axis=1)
    assert lengths[7] == 0
    np.testing.assert_allclose(np.delete(lengths, 7), 1, atol=1e-5)
    query = collection.vectors(np.array([3]))[0]
    assert collection.products(query)[7] == 0
    np.testing.assert_allclose(collection.products(query), collection.vectors(ids) @ query, atol=0.02)


def test_a_small_collection_leans_on_the_usual_mean():
    prior = np.ones(256, np.float32)
    few = Pictures(clustered(4).astype(np.float16), prior)
    many = Pictures(clustered(5000).astype(np.float16), prior)
    assert np.abs(few.mean - 1).max() < 0.1
    assert np.abs(many.mean).max() < 0.1
