"""Listing folders with the workers of a cluster and without: where it pays.

    python benchmarks/listing.py [--folders 2000] [--files 20]

Folders on this machine's disk, each of which answers so many milliseconds late, as a file server or an object
store does; a Ray cluster of three nodes with a core each, all on this machine.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from sketchseek import __version__
from sketchseek.cluster import listing
from sketchseek.cluster.connection import NAMESPACE
from sketchseek.indexing import walk as walk_module
from sketchseek.indexing.walk import (
    LISTED_AT_ONCE,
    Listing,
    Listings,
    Rules,
    Walk,
    absolute,
    list_folder,
    walk,
)

LATE_MS = (0, 1, 5, 50)


def main() -> None:
    """A table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folders", type=int, default=2000)
    parser.add_argument("--files", type=int, default=20)
    args = parser.parse_args()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, namespace=NAMESPACE, log_to_driver=False)
    try:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), args.folders, args.files)
    finally:
        ray.shutdown()
        cluster.shutdown()


def measure(root: Path, folders: int, files: int) -> None:
    """Walks with folders that are late, without workers and with them."""
    for number in range(folders):
        place = root / f"{number % 40}" / f"{number}"
        place.mkdir(parents=True)
        for name in range(files):
            (place / f"{name}.jpg").touch()
    print("| folders | pictures | late by | s here | s with workers |\n|---|---|---|---|---|")
    for late in LATE_MS:
        slow_down(late / 1e3)
        seen, here_s = timed(root, None)
        same, shared_s = timed(root, listing.ClusterListings())
        assert seen == same
        print(
            f"| {folders:,} | {len(seen.files):,} | {late} ms | {here_s:.2f} | {shared_s:.2f} |", flush=True
        )


def slow_down(seconds: float) -> None:
    """Every listing, here and with workers, takes so much longer."""

    def late(folder: bytes, rules: Rules) -> Listing:
        time.sleep(seconds)
        return list_folder(folder, rules)

    def all_late(folders: list[bytes], rules: Rules) -> tuple[str, list[Listing]]:
        with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:
            return __version__, list(pool.map(lambda folder: late(folder, rules), folders))

    walk_module.list_folder = listing.list_folder = late
    listing.list_folders = all_late


def timed(root: Path, listings: Listings | None) -> tuple[Walk, float]:
    """The walk, and the seconds it took."""
    began = time.perf_counter()
    seen = walk([absolute(root)], listings=listings)
    return seen, time.perf_counter() - began


if __name__ == "__main__":
    main()
