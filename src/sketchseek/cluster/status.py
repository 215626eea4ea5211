"""What runs of sketchseek on a cluster, for people and for monitoring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from .connection import NAMESPACE, ray_or_sentence

ANSWER_S = 5.0


def status() -> dict[str, Any]:
    """The nodes of the cluster that this process has joined, and every shard that runs there."""
    ray = ray_or_sentence()
    nodes = [
        {
            "node": node["NodeID"],
            "address": node["NodeManagerAddress"],
            "cores": node["Resources"].get("CPU", 0.0),
            "memory": int(node["Resources"].get("memory", 0)),
        }
        for node in ray.nodes()
        if node["Alive"]
    ]
    return {"nodes": nodes, "shards": list(_shards(ray))}


def _shards(ray: Any) -> Iterator[dict[str, Any]]:
    names = sorted(
        entry["name"]
        for entry in ray.util.list_named_actors(all_namespaces=True)
        if entry["namespace"] == NAMESPACE
    )
    asked = {}
    for name in names:
        with suppress(ValueError):  # it has just ended
            asked[name] = ray.get_actor(name, namespace=NAMESPACE).status.remote()
    done, _ = ray.wait(list(asked.values()), num_returns=len(asked), timeout=ANSWER_S) if asked else ([], [])
    for name, ref in asked.items():
        *_, shard, replica = name.rsplit("-", 2)
        row: dict[str, Any] = {"shard": int(shard), "replica": int(replica)}
        answer: dict[str, Any] = {"state": "no answer"}
        if ref in done:
            with suppress(Exception):
                answer = {"state": "ready", **ray.get(ref)}
        yield {**row, **answer}


def lines(found: dict[str, Any]) -> Iterator[str]:
    """The same as a table."""
    yield f"{len(found['nodes'])} nodes, {sum(node['cores'] for node in found['nodes']):g} cores"
    for index, rows in _by_index(found["shards"]):
        yield f"{index}"
        for row in rows:
            name = f"  shard {row['shard']}, replica {row['replica']}"
            if row["state"] != "ready":
                yield f"{name}: {row['state']}"
                continue
            asked = sum(row["questions"].values())
            each = 1e3 * sum(row["seconds"].values()) / asked if asked else 0.0
            yield (
                f"{name}: {row['pictures']:,} pictures, {row['rows']:,} windows, "
                f"{row['bytes'] / 1e6:,.1f} MB, "
                f"{asked:,} questions of {each:.1f} ms, node {row['node'][:8]}"
            )
    if not found["shards"]:
        yield "No index is served here."


def _by_index(rows: Iterable[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row.get("index", "of an index that does not say which"), []).append(row)
    return sorted(found.items())
