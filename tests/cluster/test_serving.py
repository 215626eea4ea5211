"""An index on shards answers as the index on one machine does."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from comparing import alive, eventually, same_hits, write

from sketchseek import Index
from sketchseek.shape.query import Query

pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")

from sketchseek.cluster import engine as engine_module
from sketchseek.cluster.fleet import ClusterOptions
from sketchseek.cluster.index import ClusterIndex
from sketchseek.cluster.shard import GROUP_OF, GROUPS

DEADLINE = 60.0  # of tests that are not about deadlines, on machines with much else to do


@pytest.fixture(scope="module")
def spread(cluster: Any, collection: Path) -> Iterator[ClusterIndex]:
    with ClusterIndex.spread(collection, ClusterOptions(shards=3, deadline=DEADLINE)) as index:
        yield index


@pytest.mark.parametrize(
    "how",
    [
        {"method": "exhaustive"},
        *(
            {"method": m, "rerank": r, "shortlist": 60}
            for m in ("projections", "dpf")
            for r in ["exact", "binary", "local", "binary-all", "local-all"]
        ),
    ],
    ids=lambda how: " ".join(map(str, how.values())),
)
def test_every_method_has_the_answers_of_one_machine(
    spread: ClusterIndex, collection: Path, drawings: Any, how: dict[str, Any]
) -> None:
    alone = Index.open(collection)
    for drawing in drawings:
        found = spread.search(drawing, 30, **how)
        assert len(found) == 30
        assert same_hits(found, alone.search(drawing, 30, **how))
        assert found.covered == 1.0


def test_folders_offsets_turns_and_rejection_too(
    spread: ClusterIndex, collection: Path, drawings: Any
) -> None:
    alone = Index.open(collection)
    first = alone.search(drawings[0], 3)[0].id
    for options in (
        {"folder": "/pictures/2"},
        {"offset": 40, "k": 7},
        {"turn": 30.0},
        {"rejected": [first], "mirror": False},
        {"k": 900},
    ):
        assert same_hits(spread.search(drawings[0], **options), alone.search(drawings[0], **options)), options
    assert spread.folders() == alone.folders()
    assert (len(spread), spread.version, spread.method) == (len(alone), alone.version, alone.method)


@pytest.mark.parametrize("few", [0, 10**9], ids=["where they are", "fetched"])
def test_the_engine_of_engines_is_one_engine(
    spread: ClusterIndex, collection: Path, drawings: Any, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    from sketchseek.cluster import engine as engine_module

    monkeypatch.setattr(engine_module, "FEW", few)
    one, other = Index.open(collection).state.collection, spread.state.collection
    query = Query.of(drawings[1].points, one.settings)
    n = len(one.engine)
    assert len(other.engine) == n > 1500
    some = np.random.default_rng(3).permutation(n)[:333]
    for ids in (None, some):
        assert np.array_equal(one.engine.scores(query, ids), other.engine.scores(query, ids))
        for axis in (1, 2):
            found = other.engine.project(query, axis, ids)
            assert np.array_equal(one.engine.project(query, axis, ids), found)
        for guide in (None, "binary", "local-all"):
            placed, expected = (c.engine.locate(query, ids, guide, 5) for c in (other, one))
            for name in ("score", "pose", "mirrored", "dx", "dy"):
                assert np.array_equal(getattr(placed, name), getattr(expected, name)), (name, guide)
    assert np.array_equal(one.vectors[some], other.vectors[some])
    strange = (np.arange(n) % 7).astype(np.int32)  # pictures whose windows are in several shards
    prior = np.linspace(0.2, 1, n, dtype=np.float32)
    for groups, factors in ((None, None), (strange, None), (strange, prior), (None, prior)):
        for k in (1, 5, n + 10):
            ids, scores = other.engine.top(query, k, groups=groups, prior=factors)
            right_ids, right_scores = one.engine.top(query, k, groups=groups, prior=factors)
            assert np.array_equal(ids, right_ids)
            assert np.array_equal(scores, right_scores)
    with pytest.raises(ValueError, match="k must be positive"):
        other.engine.top(query, 0)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.35, 1.0])
def test_shards_that_name_too_few_are_asked_again(
    spread: ClusterIndex, collection: Path, drawings: Any, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With these shares of the best, each shard names too few; so many that only some do; and all."""
    monkeypatch.setattr(engine_module, "likely", lambda k, _: max(1, int(share * k)))
    alone = Index.open(collection).state.collection
    engine = spread.state.collection.engine
    asked: Counter[str] = Counter()
    real = engine._ask
    monkeypatch.setattr(engine, "_ask", lambda name, requests: asked.update([name]) or real(name, requests))
    for k in (1, 7, 200, 850):
        for drawing in drawings:
            query = Query.of(drawing.points, alone.settings)
            monkeypatch.setattr(engine, "_wary", 0)
            rows, scores = engine.top(query, k, groups=alone.pictures, prior=alone.prior)
            right = alone.engine.top(query, k, groups=alone.pictures, prior=alone.prior)
            assert np.array_equal(rows, right[0])
            assert np.array_equal(scores, right[1])
    assert asked["top"] == {0.0: 14, 1.0: 8}.get(share, asked["top"])
    assert asked["top"] > 8 or share == 1.0


@pytest.mark.parametrize("large", [10**6, 100], ids=["compared in full", "product codes"])
def test_expansion_has_the_answers_of_one_machine(
    cluster: Any,
    synthetic: Any,
    tmp_path: Path,
    drawings: Any,
    monkeypatch: pytest.MonkeyPatch,
    large: int,
) -> None:
    pytest.importorskip("faiss")
    from sketchseek.embeddings import pictures
    from sketchseek.storage.schema import Expansion

    monkeypatch.setattr(pictures, "LARGE", large)
    monkeypatch.setattr(pictures, "COMPARED", large)
    monkeypatch.setattr("sketchseek.embeddings.expansion._CANDIDATES_PER_SCORE", 60)
    index = Index.create(tmp_path / "i", "compact", detector="canny", expansion=False)
    index.store.set_expansion(Expansion("made-up", "1", 128))
    write(tmp_path / "i", synthetic(range(300), expansion=128))
    write(tmp_path / "i", synthetic(range(300, 420), expansion=128))
    alone = Index.open(tmp_path / "i")
    with ClusterIndex.spread(tmp_path / "i", ClusterOptions(shards=3, deadline=DEADLINE)) as index:
        assert index.state.embeddings is not None
        assert index.state.embeddings.pictures.small == (large > 420)
        for drawing in drawings:
            first = alone.search(drawing, 10, expand=0, blend=0)
            for options in ({"expand": 3}, {"picked": [first[2].id]}, {"rejected": [first[0].id]}):
                assert same_hits(index.search(drawing, 25, **options), alone.search(drawing, 25, **options))


class Seer:
    """Sees the same tokens in every drawing."""

    name, version, blend, reference = "efficientnet", "1", 1.0, None

    def __init__(self, dimension: int, parts: int) -> None:
        from sketchseek.embeddings.tokens import DrawnTokens

        random = np.random.default_rng(3)
        tokens = random.normal(size=(40, 4 * parts)).astype(np.float32)
        tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
        places = np.argwhere(random.permuted(np.arange(256) < 40).reshape(16, 16)).astype(np.int32)
        centroids = random.normal(size=(parts, 16, 4)).astype(np.float32)
        drawn = DrawnTokens(tokens, np.ones(40, np.float32), places, centroids)
        vectors = random.normal(size=(2, dimension - 1)).astype(np.float32)
        self._seen = vectors / np.linalg.norm(vectors, axis=1, keepdims=True), [drawn, drawn]
        self.tokens = SimpleNamespace(version="those", bytes=128 * parts)

    def drawing(self, strokes: Any, kinds: Any = (0, 1)) -> Any:
        return self._seen[0]

    def drawing_with_tokens(self, strokes: Any, kinds: Any = (0, 1)) -> Any:
        return self._seen


@pytest.mark.parametrize("large", [10**6, 100], ids=["compared in full", "product codes"])
def test_tokens_have_the_answers_of_one_machine(
    cluster: Any,
    synthetic: Any,
    tmp_path: Path,
    drawings: Any,
    monkeypatch: pytest.MonkeyPatch,
    large: int,
) -> None:
    pytest.importorskip("faiss")
    from sketchseek.embeddings import pictures
    from sketchseek.embeddings.encoders import prior_mean
    from sketchseek.storage.schema import Expansion
    from sketchseek.words import class_directions

    dimension = class_directions().shape[1] + 1  # the kind is the last
    assert prior_mean("efficientnet", dimension) is not None
    monkeypatch.setattr(pictures, "LARGE", large)
    monkeypatch.setattr(pictures, "COMPARED", large)
    monkeypatch.setattr("sketchseek.embeddings.expansion._CANDIDATES_PER_SCORE", 60)
    seer = Seer(dimension, parts=8)
    monkeypatch.setattr("sketchseek.index._encoder", lambda _: seer)
    index = Index.create(tmp_path / "i", "compact", detector="canny", expansion=False)
    index.store.set_expansion(Expansion("efficientnet", "1", dimension, "those", seer.tokens.bytes))
    write(tmp_path / "i", synthetic(range(300), expansion=dimension, tokens=seer.tokens.bytes))
    write(tmp_path / "i", synthetic(range(300, 400), expansion=dimension, tokens=seer.tokens.bytes))
    write(tmp_path / "i", synthetic(range(400, 420), expansion=dimension))  # without tokens
    alone = Index.open(tmp_path / "i")
    with ClusterIndex.spread(tmp_path / "i", ClusterOptions(shards=3, deadline=DEADLINE)) as index:
        for drawing in drawings:
            expected = alone.search(drawing, 25, turn=0)  # a cluster turns nothing by itself
            assert same_hits(index.search(drawing, 25, turn=0), expected)
            with monkeypatch.context() as without:
                without.setattr(seer.tokens, "version", "others")
                assert not same_hits(alone.search(drawing, 25, turn=0), expected)


@pytest.mark.parametrize("large", [10**6, 100], ids=["compared in full", "product codes"])
def test_words_have_the_answers_of_one_machine(
    cluster: Any,
    synthetic: Any,
    tmp_path: Path,
    drawings: Any,
    monkeypatch: pytest.MonkeyPatch,
    large: int,
) -> None:
    pytest.importorskip("faiss")
    from sketchseek.embeddings import pictures
    from sketchseek.storage.schema import Expansion
    from sketchseek.words import class_directions

    dimension = class_directions().shape[1] + 1  # the kind is the last
    monkeypatch.setattr(pictures, "LARGE", large)
    monkeypatch.setattr(pictures, "COMPARED", large)
    monkeypatch.setattr("sketchseek.embeddings.expansion._CANDIDATES_PER_SCORE", 60)
    index = Index.create(tmp_path / "i", "compact", detector="canny", expansion=False)
    index.store.set_expansion(Expansion("efficientnet", "1", dimension))
    write(tmp_path / "i", synthetic(range(420), expansion=dimension))
    alone = Index.open(tmp_path / "i")
    with ClusterIndex.spread(tmp_path / "i", ClusterOptions(shards=3, deadline=DEADLINE)) as index:
        for drawing in (None, drawings[0]):
            for words in ("dog", "000007", "qwzxv"):  # what it looks like, what it is called, nothing
                options = {"words": words, "blend": 0, "k": 25}
                found, expected = index.search(drawing, **options), alone.search(drawing, **options)
                assert same_hits(found, expected)
                assert found.note == expected.note
                assert bool(found) == (words != "qwzxv" or drawing is not None)


def test_new_commits_reach_the_shards_while_others_search(
    cluster: Any, synthetic: Any, tmp_path: Path, drawings: Any
) -> None:
    where = tmp_path / "i"
    Index.create(where, "compact", detector="canny", expansion=False)
    write(where, synthetic(range(90)))
    options = ClusterOptions(shards=3, deadline=DEADLINE)
    with ClusterIndex.spread(where, options, follow=True) as index:
        assert len(index.search(drawings[0], 500)) == 90
        covered = []
        for last in (120, 150):
            write(where, synthetic(range(last - 30, last)))
            while len(index) < last:
                covered.append(index.search(drawings[0], 20).covered)
        assert set(covered) <= {1.0}
        Index.open(where).remove("/pictures/1")
        assert eventually(lambda: len(index) < 120, 60)
        assert same_hits(index.search(drawings[1], 100), Index.open(where).search(drawings[1], 100))
        bytes_held = [row["rows"] for row in index.fleet.status()]
        assert max(bytes_held) < 2 * min(bytes_held)


def test_fronts_that_come_later_take_the_layout_that_is_there(
    cluster: Any, synthetic: Any, tmp_path: Path, drawings: Any
) -> None:
    where = tmp_path / "i"
    Index.create(where, "compact", detector="canny", expansion=False)
    write(where, synthetic(range(60)))
    with ClusterIndex.spread(where, ClusterOptions(shards=3, deadline=DEADLINE)) as one:
        for last in (70, 95, 100):  # dealt from the start, these would lie elsewhere
            write(where, synthetic(range(len(one), last)))
            one.refresh()
        with ClusterIndex.spread(where, ClusterOptions(deadline=DEADLINE)) as other:
            assert other.fleet.shards == 3
            assert other.layout is not None
            assert one.layout is not None
            assert other.layout.keys == one.layout.keys
            assert other.fleet.counts["started"] == 0
            write(where, synthetic(range(100, 103)))
            other.refresh()
            assert one.search(drawings[0]).covered == 1.0, "it is still at the version before"
            assert same_hits(other.search(drawings[0]), Index.open(where).search(drawings[0]))


def test_two_fronts_share_the_shards(cluster: Any, collection: Path, drawings: Any) -> None:
    options = ClusterOptions(shards=2, deadline=DEADLINE)
    with ClusterIndex.spread(collection, options) as one:
        with ClusterIndex.spread(collection, options) as other:
            pids = [{row["pid"] for row in index.fleet.status()} for index in (one, other)]
            assert pids[0] == pids[1]
            assert other.fleet.counts["started"] == 0
        assert one.search(drawings[0]).covered == 1.0, "the other front has left, and took nothing along"
    assert eventually(lambda: not any(alive(pid) for pid in pids[0]), 30), "nobody uses them any more"


def test_a_front_without_work_rests(spread: ClusterIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[float] = []
    real = spread.fleet._tend
    monkeypatch.setattr(spread.fleet, "_tend", lambda: rounds.append(time.monotonic()) or real())
    assert eventually(lambda: len(rounds) >= 8, 60)
    assert len(rounds) < 50 * (rounds[-1] - rounds[0]), "rounds a second"


def test_scans_take_turns_and_rows_are_fetched_meanwhile(cluster: Any) -> None:
    import ray

    class Watched:
        def __init__(self) -> None:
            self.scanning = self.most = 0
            self.fetched = threading.Event()

        def top(self) -> bool:
            self.scanning += 1
            self.most = max(self.most, self.scanning)
            done = self.fetched.wait(60)
            self.scanning -= 1
            return done

        def rows(self) -> None:
            self.fetched.set()

        def at_once(self) -> int:
            return self.most

    actor = ray.remote(concurrency_groups=GROUPS)(Watched).options(num_cpus=0).remote()
    scans = [actor.top.options(concurrency_group=GROUP_OF["top"]).remote() for _ in range(4)]
    ray.get(actor.rows.options(concurrency_group=GROUP_OF["rows"]).remote())
    assert all(ray.get(scans))
    assert ray.get(actor.at_once.remote()) == 1
