import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketchseek.embeddings import pictures as pictures_module
from sketchseek.embeddings.pictures import CodeCache, Pictures
from sketchseek.embeddings.quantisation import BYTES, ProductCodes, ScalarCodes
from sketchseek.shape.engine import _engine
from sketchseek.shape.engine.native import VARIABLE, largest_sums

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
    x, made = codes
    assert made.codes.nbytes == -(-len(x) // 64) * 64 * BYTES


def test_codes_are_those_of_their_definition(codes):
    """Each part of the vector is replaced by its nearest centroid."""
    x, made = codes
    parts, _, length = made.centroids.shape
    nearest = ((x.reshape(len(x), parts, 1, length) - made.centroids) ** 2).sum(-1).argmin(-1)
    defined = made.centroids[np.arange(parts), nearest].reshape(len(x), -1)
    np.testing.assert_allclose(made.decoded(), defined, atol=1e-6)


@pytest.mark.parametrize("build", _engine.supported_builds())
def test_the_scan_is_its_definition_and_agrees_with_faiss(codes, build, monkeypatch):
    """Asymmetric: the query whole. Tables are rounded to a byte while scanning, here as in FAISS."""
    monkeypatch.setenv(VARIABLE, build)
    x, made = codes
    query = clustered(1, seed=5)[0]
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 256, (len(made.centroids), 16), dtype=np.uint8)
    each = made.codes.transpose(0, 2, 1).reshape(-1, BYTES)[: len(x)]
    each = np.stack([each & 15, each >> 4], axis=-1).reshape(len(x), -1)
    sums = tables[np.arange(len(tables)), each].sum(axis=1, dtype=np.int64)
    for k, threads in ((1, 1), (100, 2), (len(x), 1)):
        found = largest_sums(made.codes, tables, len(x), k, threads)
        np.testing.assert_array_equal(found, np.argsort(-sums, kind="stable")[:k])
    expected = np.argsort(-(made.decoded() @ query))[:50]
    assert len(set(made.best(query, 100).tolist()) & set(expected.tolist())) >= 48
    theirs = faiss.IndexPQ(x.shape[1], 2 * BYTES, 4, faiss.METRIC_INNER_PRODUCT)
    faiss.copy_array_to_vector(made.centroids.ravel(), theirs.pq.centroids)
    theirs.is_trained = True
    theirs.add(x)
    products, ids = theirs.search(query[None], 50)
    np.testing.assert_allclose(made.decoded()[ids[0]] @ query, products[0], atol=1e-5)
    assert len(set(made.best(query, 100).tolist()) & set(ids[0].tolist())) >= 48


def test_candidates_hold_the_true_neighbours(codes):
    x, made = codes
    query = clustered(1, seed=7)[0]
    true = np.argsort(-(x @ query))[:50]
    assert len(set(made.best(query, 300).tolist()) & set(true.tolist())) >= 45


def test_a_changed_file_is_made_again(codes, tmp_path):
    """Whatever bit it is: the codes are those that were saved, or none."""
    made = codes[1]
    path, rng = tmp_path / "codes.codes", np.random.default_rng(0)
    made.save(path)
    whole = np.fromfile(path, np.uint8)
    ends = np.concatenate([np.arange(300), np.arange(len(whole) - 300, len(whole))])
    d = made.centroids.shape[0] * made.centroids.shape[2]
    for at in np.concatenate([ends, rng.integers(0, len(whole), 300)]):
        damaged = whole.copy()
        damaged[at] ^= 1 << rng.integers(8)
        damaged.tofile(path)
        loaded = ProductCodes.load(path, made.trained_on, d)
        if loaded is not None:
            np.testing.assert_array_equal(loaded.codes, made.codes)
            np.testing.assert_array_equal(loaded.centroids, made.centroids)


def test_saved_and_loaded(codes, tmp_path):
    made = codes[1]
    path = tmp_path / "codes.codes"
    made.save(path)
    loaded = ProductCodes.load(path, made.trained_on, made.centroids.shape[0] * made.centroids.shape[2])
    np.testing.assert_array_equal(loaded.decoded(), made.decoded())
    path.write_bytes(path.read_bytes()[:1000])
    assert ProductCodes.load(path, 1, 512) is None
    assert ProductCodes.load(tmp_path / "none.codes", 1, 512) is None
    assert [p.name for p in tmp_path.iterdir()] == ["codes.codes"]


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
        (800, "1", ["expansion-1-800.codes"], [800]),
        (800, "1", ["expansion-1-800.codes"], [800]),
        (1500, "2", ["expansion-2-800.codes"], [800]),
        (1700, "3", ["expansion-3-1700.codes"], [800, 1700]),
    ):
        collection = Pictures(x[:n], cache=CodeCache(tmp_path, version))
        assert files() == names
        assert trained == learned
        query = collection.vectors(np.array([n - 1]))[0]
        assert collection.best(query, 20)[0] == n - 1
    (tmp_path / names[0]).write_bytes(b"cut short")
    assert len(Pictures(x, cache=CodeCache(tmp_path, "3")).best(query, 20)) == 20


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures_module, "LARGE", 700)
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    assert len(Pictures(clustered(800).astype(np.float16), cache=CodeCache(blocked, "1"))) == 800


def test_centred_on_the_mean_and_missing_ones_are_zero():
    x = clustered(100).astype(np.float16)
    x[7] = np.nan
    collection = Pictures(x)
    ids = np.arange(100)
    np.testing.assert_allclose(collection.means[0], np.nanmean(x.astype(np.float32), axis=0), atol=1e-3)
    assert not collection.has(np.array([7]))[0]
    lengths = np.linalg.norm(collection.vectors(ids), axis=1)
    assert lengths[7] == 0
    np.testing.assert_allclose(np.delete(lengths, 7), 1, atol=1e-5)
    query = collection.vectors(np.array([3]))[0]
    assert collection.products(query)[7] == 0
    np.testing.assert_allclose(collection.products(query), collection.vectors(ids) @ query, atol=0.02)


def test_a_small_collection_leans_on_the_prior_mean():
    prior = np.stack([np.ones(256), -np.ones(256)]).astype(np.float32)
    few, many = (Pictures(of_kinds(clustered(n), np.zeros(n)), prior) for n in (4, 5000))
    assert np.abs(few.means[0] - 1).max() < 0.1
    assert np.abs(many.means[0]).max() < 0.1
    np.testing.assert_array_equal(many.means[1], many.means[0], "it has none of that kind")


def of_kinds(vectors, kinds):
    """As an index stores them."""
    return np.concatenate([vectors, np.asarray(kinds)[:, None]], axis=1).astype(np.float16)


def test_each_kind_has_a_mean_and_a_question_of_its_own():
    rng = np.random.default_rng(1)
    kinds = rng.integers(0, 2, 600)
    x = clustered(600)
    stored = of_kinds(x + 3 * kinds[:, None], kinds)
    stored[5] = np.nan
    pictures = Pictures(stored, np.zeros((2, 256), np.float32))
    everything = np.arange(600)
    np.testing.assert_array_equal(np.delete(pictures.rows(everything).kinds, 5), np.delete(kinds, 5))
    query = rng.normal(size=(2, 256)).astype(np.float32)
    rows = stored[:, :-1].astype(np.float32)
    found = pictures.rows(everything).cosines(query)
    there = everything != 5
    for kind in (0, 1):
        chosen = there & (kinds == kind)
        own = rows[chosen] - rows[chosen].sum(0) / (chosen.sum() + 64)
        own /= np.linalg.norm(own, axis=1, keepdims=True)
        np.testing.assert_allclose(
            pictures.rows(everything).cosines(query)[chosen], own @ query[kind], atol=1e-4
        )
    found = pictures.rows(everything).cosines(query)
    assert found[5] == 0
    np.testing.assert_allclose(pictures.products(query), found, atol=0.3)
    np.testing.assert_allclose(pictures.background_rows.cosines(query), found[pictures.background], atol=1e-5)
    both = np.stack([query[0], query[0]])
    np.testing.assert_allclose(
        pictures.rows(everything).cosines(both), pictures.rows(everything).cosines(query[0]), atol=1e-5
    )


def test_a_rare_kind_is_centred_and_asked_as_the_others_are():
    kinds = np.arange(400) % 40 == 0
    pictures = Pictures(of_kinds(clustered(400) + kinds[:, None], kinds), np.zeros((2, 256), np.float32))
    assert pictures.kinds_here == [0]
    np.testing.assert_array_equal(pictures.means[1], pictures.means[0])
    both = Pictures(of_kinds(clustered(400), np.arange(400) % 10 == 0), np.zeros((2, 256), np.float32))
    assert both.kinds_here == [0, 1]
    assert np.abs(both.means[1] - both.means[0]).max() > 0


def test_candidates_of_both_kinds(monkeypatch):
    """Of a large collection the best of each kind are among the candidates."""
    pytest.importorskip("faiss")
    monkeypatch.setattr("sketchseek.embeddings.pictures.LARGE", 500)
    kinds = np.arange(800) % 2
    pictures = Pictures(of_kinds(clustered(800), kinds), np.zeros((2, 256), np.float32))
    query = pictures.vectors(np.array([10, 21]))
    assert {10, 21} <= set(pictures.best(query, 20).tolist())


def test_how_many_are_flat_art():
    prior = np.zeros((2, 256), np.float32)
    assert Pictures(of_kinds(clustered(500), np.arange(500) % 4 == 0), prior).flat_art == 0.25
    assert Pictures(clustered(500).astype(np.float16)).flat_art == 0, "nobody knows"
    assert Pictures(np.full((3, 257), np.nan, np.float16), prior).flat_art == 0, "none is described yet"
