"""Nodes and processes that die, and shards that are slow."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from comparing import NODE, alive, eventually, same_hits

from sketchseek import Index

pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")

from sketchseek.cluster.fleet import ClusterOptions
from sketchseek.cluster.index import ClusterIndex

SLOW = 120.0
"""Seconds that a slow shard takes: nobody waits for it."""


def test_a_node_and_its_shard_are_killed(cluster: Any, collection: Path, drawings: Any) -> None:
    import ray

    alone = Index.open(collection).search(drawings[0], 30)
    with ClusterIndex.spread(collection, ClusterOptions(shards=3, deadline=30.0)) as index:
        assert same_hits(index.search(drawings[0], 30), alone)
        here = ray.get_runtime_context().get_node_id()
        shard = next(row for row in index.fleet.status() if row["node"] != here)
        node = next(n for n in cluster.worker_nodes if n.node_id == shard["node"])
        os.kill(shard["pid"], signal.SIGKILL)
        cluster.remove_node(node, allow_graceful=False)
        assert eventually(lambda: not alive(shard["pid"]), 30)
        began = time.monotonic()
        partial = index.search(drawings[0], 30)
        assert time.monotonic() - began < 30.0
        if partial.covered < 1:  # a machine may be so busy that the shard is back before this search
            assert partial.covered == pytest.approx(1 - shard["pictures"] / 900, abs=1e-5)
            assert partial
            assert {hit.id for hit in partial} < {f"{n:016x}" for n in range(900)}
        assert eventually(lambda: index.search(drawings[0], 30).covered == 1.0, 120)
        print(f"whole again {time.monotonic() - began:.1f} s after a node and its shard were killed")
        assert same_hits(index.search(drawings[0], 30), alone)
        assert all(row["node"] != shard["node"] for row in index.fleet.status())
    cluster.add_node(**NODE)


def test_without_one_shard_the_answer_says_so(cluster: Any, collection: Path, drawings: Any) -> None:
    import ray

    alone = Index.open(collection).search(drawings[0])
    with ClusterIndex.spread(collection, ClusterOptions(shards=3, deadline=12.0)) as index:
        slow = index.fleet._replicas[1, 0]
        ray.get(slow.actor.slow_down.remote(SLOW))
        began = time.monotonic()
        partial = index.search(drawings[0], 900)
        took = time.monotonic() - began
        pictures = index.fleet.status()[1]["pictures"]
        assert took < SLOW, "it did not wait for the slow one"
        assert partial.covered == pytest.approx(1 - pictures / 900, abs=1e-5)
        assert len(partial) == 900 - pictures
        ray.get(slow.actor.slow_down.remote(0.0))
        assert eventually(lambda: index.search(drawings[0]).covered == 1.0, 60)
        assert same_hits(index.search(drawings[0]), alone), "what was missing has left no trace"


def test_a_second_replica_answers_for_a_slow_one(cluster: Any, collection: Path, drawings: Any) -> None:
    import ray

    alone = Index.open(collection).search(drawings[1])
    with ClusterIndex.spread(collection, ClusterOptions(shards=2, replicas=2, deadline=300.0)) as index:
        assert eventually(lambda: {row["state"] for row in index.fleet.status()} == {"ready"}, 60)
        nodes = {(row["shard"], row["node"]) for row in index.fleet.status()}
        assert len(nodes) == 4, "replicas of a shard are on different nodes"
        ray.get(index.fleet._replicas[0, 0].actor.slow_down.remote(SLOW))
        for _ in range(4):
            began = time.monotonic()
            assert same_hits(index.search(drawings[1]), alone)
            assert time.monotonic() - began < SLOW
        assert index.fleet.counts["hedged"] > 0


def test_a_rolling_restart_leaves_nothing_out(cluster: Any, collection: Path, drawings: Any) -> None:
    alone = Index.open(collection).search(drawings[1])
    with ClusterIndex.spread(collection, ClusterOptions(shards=2, deadline=60.0)) as index:
        before = {row["pid"] for row in index.fleet.status()}
        index.fleet.replace_all()
        assert same_hits(index.search(drawings[1]), alone)
        assert before.isdisjoint({row["pid"] for row in index.fleet.status()})
        assert eventually(lambda: not any(map(alive, before)), 30)
