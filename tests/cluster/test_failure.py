"""Nodes and processes that die, and processes that stand still: answers come without them, and say so."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from comparing import NODE, alive, eventually, same_hits

from sketchseek import Index

pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")

from sketchseek.cluster import fleet
from sketchseek.cluster.fleet import ClusterOptions
from sketchseek.cluster.index import ClusterIndex

FOR_EVER = 1e9


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A process stands still, as one on a machine that swaps does."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_one_shard_stands_still_and_nobody_waits_for_it(
    cluster: Any, collection: Path, drawings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "SILENCE_S", FOR_EVER)  # it is not replaced: who waited for it would for ever
    alone = Index.open(collection).search(drawings[0])
    with ClusterIndex.spread(collection, ClusterOptions(shards=2, deadline=8.0)) as index:
        assert same_hits(index.search(drawings[0]), alone)
        row = index.fleet.status()[1]
        with stopped(row["pid"]):
            for drawing in drawings:
                partial = index.search(drawing, 900)
                assert partial.covered == pytest.approx(1 - row["pictures"] / 900, abs=1e-5)
                assert len(partial) == 900 - row["pictures"]
            assert [state["state"] for state in index.fleet.status()] == ["ready", "silent"]
        assert eventually(lambda: index.search(drawings[0]).covered == 1.0, 60)
        assert same_hits(index.search(drawings[0]), alone), "what was missing has left no trace"
        assert index.fleet.status()[1]["pid"] == row["pid"]


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGSTOP], ids=lambda way: way.name)
def test_one_shard_is_lost_and_comes_back(
    cluster: Any, collection: Path, drawings: Any, way: signal.Signals
) -> None:
    alone = Index.open(collection).search(drawings[0])
    with ClusterIndex.spread(collection, ClusterOptions(shards=2, deadline=8.0)) as index:
        row = index.fleet.status()[0]
        os.kill(row["pid"], way)
        found: set[float] = set()

        def new() -> bool:
            found.add(index.search(drawings[0]).covered)
            return index.fleet.status()[0].get("pid", row["pid"]) != row["pid"]

        assert eventually(new, 120)
        assert eventually(lambda: index.search(drawings[0]).covered == 1.0, 60)
        assert same_hits(index.search(drawings[0]), alone)
        partial = round(1 - row["pictures"] / 900, 6)
        assert found <= {1.0, partial}
        assert partial in found or way is signal.SIGKILL, "Ray may be faster than a search"
        assert index.fleet.counts["started"] == 2 + (way is signal.SIGSTOP), "Ray restarts what has ended"
        assert eventually(lambda: not alive(row["pid"]), 60)


def test_a_node_and_its_shard_are_killed(cluster: Any, collection: Path, drawings: Any) -> None:
    import ray

    alone = Index.open(collection).search(drawings[0], 30)
    with ClusterIndex.spread(collection, ClusterOptions(shards=3, deadline=8.0)) as index:
        assert same_hits(index.search(drawings[0], 30), alone)
        list_local = ray.get_runtime_context().get_node_id()
        rows = index.fleet.status()
        assert len({row["node"] for row in rows}) == 3, "Ray spreads them"
        shard = next(row for row in rows if row["node"] != list_local)
        node = next(n for n in cluster.worker_nodes if n.node_id == shard["node"])
        os.kill(shard["pid"], signal.SIGKILL)
        cluster.remove_node(node, allow_graceful=False)
        try:
            partial = index.search(drawings[0], 30)
            if partial.covered < 1:  # a machine may be so busy that the shard is back before this search
                assert partial.covered == pytest.approx(1 - shard["pictures"] / 900, abs=1e-5)
                assert partial
            assert eventually(lambda: index.search(drawings[0], 30).covered == 1.0, 120)
            assert same_hits(index.search(drawings[0], 30), alone)
            assert all(row["node"] != shard["node"] for row in index.fleet.status())
        finally:
            cluster.add_node(**NODE)


def test_a_second_replica_answers_for_one_that_stands_still(
    cluster: Any, collection: Path, drawings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "SILENCE_S", FOR_EVER)
    alone = Index.open(collection).search(drawings[1])
    with ClusterIndex.spread(collection, ClusterOptions(shards=1, replicas=2, deadline=12.0)) as index:
        assert eventually(lambda: {row["state"] for row in index.fleet.status()} == {"ready"}, 60)
        rows = index.fleet.status()
        assert len({row["node"] for row in rows}) == 2, "replicas of a shard are on different nodes"
        with stopped(rows[0]["pid"]):
            for _ in range(4):
                found = index.search(drawings[1])
                assert found.covered == 1.0
                assert same_hits(found, alone)
