"""A cluster some of whose nodes have graphics processors: shards go there first, and none waits for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from comparing import NODE, same_hits

from sketchseek import Index

pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")

from sketchseek.cluster.fleet import ClusterOptions
from sketchseek.cluster.index import ClusterIndex


def test_a_shard_for_each_card_and_the_others_without(cluster: Any, collection: Path, drawings: Any) -> None:
    with_card = cluster.add_node(**NODE, num_gpus=1)  # which is what Ray is told: nothing here needs one
    try:
        cluster.wait_for_nodes()
        options = ClusterOptions(shards=3, deadline=60.0, device="cuda")
        with ClusterIndex.spread(collection, options) as spread:
            found = spread.search(drawings[0], 30)
            assert found.covered == 1.0
            assert same_hits(found, Index.open(collection).search(drawings[0], 30))
            import ray

            places = [row["node"] for row in spread.fleet.status()]
            name = next(n["NodeID"] for n in ray.nodes() if n["Resources"].get("GPU") and n["Alive"])
            assert len(places) == 3
            assert places.count(name) == 1
    finally:
        cluster.remove_node(with_card)
