"""The cluster path beside the local one, and where it leads: the tables of docs/research/cluster.md.

    python benchmarks/cluster.py [--pictures 20000] [--queries 1000] [--windows 1]

Synthetic pictures (random curves and mixtures of them), synthetic drawings, one machine: a Ray cluster of its
own is started, and ended. Everything measured is printed; what is modelled says so.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sketchseek import Index, Sketch
from sketchseek.cluster.connection import NAMESPACE, connect
from sketchseek.cluster.engine import ClusterEngine, searching
from sketchseek.cluster.fleet import ClusterOptions
from sketchseek.cluster.index import ClusterIndex
from sketchseek.contours.synthetic import random_curves
from sketchseek.indexing.commits import row_of, table_of
from sketchseek.indexing.worker import Described, PictureShape
from sketchseek.search.core import CORE
from sketchseek.shape.descriptor import describe, encode, norms
from sketchseek.shape.query import Query
from sketchseek.shape.settings import Settings
from sketchseek.storage.store import Change, Store

CANDIDATES = int(CORE["candidates"])
PRESET = "precise"
BASE = 200
SHARDS = (1, 2, 4)
DEADLINE = 30.0
CLIENTS = (1, 4)
TIMED = 200
"""Searches that are counted for searches a second."""
ROUND_TRIP_MS = 0.3
"""Modelled: between machines of one network."""
SCAN_S = 0.5
"""Of the sizing table: so long may the shards' scan take."""
CORES_A_SHARD = 16
FRONT_BYTES_A_PICTURE, FRONT_BYTES_A_WINDOW = 97, 36
"""The arrays that a front keeps, with paths of 60 bytes."""


def main() -> None:
    """Overhead, throughput, recovery, sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=20_000)
    parser.add_argument("--windows", type=int, default=1)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--recoveries", type=int, default=5)
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sketchseek-cluster-"))
    try:
        where = folder / "index"
        write(where, args.pictures, args.windows)
        drawings = [synthetic_drawing(seed) for seed in range(args.queries)]
        with one_core(), connect("local"):
            service = measured(where, drawings, args)
            recovery(where, drawings, args.recoveries)
        sizes(service)
    finally:
        shutil.rmtree(folder)


@contextmanager
def one_core() -> Iterator[None]:
    """A cluster whose node says that it has one core: every shard works on one thread."""
    import ray

    ray.init(
        "local",
        num_cpus=1,
        namespace=NAMESPACE,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )
    try:
        yield
    finally:
        ray.shutdown()


def write(where: Path, pictures: int, windows: int) -> None:
    """An index of synthetic pictures."""
    settings = Settings.preset(PRESET)
    base = np.stack([describe(random_curves(seed), settings) for seed in range(BASE)])
    random = np.random.default_rng(1)
    Index.create(where, PRESET, detector="canny", expansion=False)
    store = Store.open(where)
    frame = np.array([0, 0, 400, 300], np.float32)
    for start in range(0, pictures, 5000):
        rows = []
        for number in range(start, min(start + 5000, pictures)):
            pairs = random.integers(0, BASE, (windows, 2))
            mixed = (
                base[pairs[:, 0]]
                + random.uniform(0.2, 0.6, (windows, 1)).astype(np.float32) * base[pairs[:, 1]]
            )
            codes = encode(mixed, settings)
            own = norms(codes[:1], settings)
            shape = PictureShape(
                codes[0].tobytes(),
                own[0].tobytes(),
                frame.tobytes(),
                codes[1:].tobytes(),
                np.tile(frame / 2, windows - 1).astype(np.float32).tobytes(),
                0.3,
                False,
            )
            item = Described(b"/made/up/%d.png" % number, 1, 1, b"d", 400, 300, b"", shape, None)
            rows.append(row_of(f"{number:016x}", item, ()))
        table = table_of(rows, store)
        store.commit(lambda table=table: Change(table))


def synthetic_drawing(seed: int) -> Sketch:
    """A closed wobbly line."""
    random = np.random.default_rng(10_000 + seed)
    angle = np.linspace(0, 2 * np.pi, 60)
    radius = 1 + sum(
        random.normal(0, 0.3 / k) * np.cos(k * angle + random.uniform(0, 7)) for k in range(2, 6)
    )
    return Sketch.from_strokes([np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).tolist()])


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - began)


def measured(where: Path, drawings: list[Sketch], args: argparse.Namespace) -> dict[str, float]:
    """Overhead and throughput; what a shard's answers take, and what an answer costs the front."""
    alone = Index.open(where, device="cpu")
    rows = len(alone.state.collection.engine)
    print(
        f"{args.pictures:,} pictures, {rows:,} rows, {PRESET}, {os.cpu_count()} cores, {len(drawings)} drawn"
    )
    print(
        "\n| shards | searches | ms on one machine | on the cluster | more (pairs) |\n|---|---|---|---|---|"
    )
    service: dict[str, float] = {}
    costs = {}
    throughput = []
    for shards in SHARDS:
        options = ClusterOptions(shards=shards, deadline=DEADLINE)
        with ClusterIndex.spread(where, options) as index:
            for drawing in drawings[:5]:
                assert [h.to_dict() for h in index.search(drawing)] == [
                    h.to_dict() for h in alone.search(drawing)
                ]
            pin(index)
            local, spread = [], []
            for drawing in drawings if shards == 1 else drawings[: len(drawings) // 5]:
                spread.append(timed(lambda d=drawing: index.search(d, turn=0, threads=1)))
                local.append(timed(lambda d=drawing: alone.search(d, turn=0, threads=1)))
                if len(local) % 50 == 0:
                    so_far = statistics.median(np.subtract(spread, local))
                    print(f"{len(local)} searches, {so_far:.1f} ms more", file=sys.stderr, flush=True)
            more = statistics.median(np.subtract(spread, local))
            medians = f"{statistics.median(local):.1f} | {statistics.median(spread):.1f} | {more:.1f}"
            print(f"| {shards} | {len(local):,} | {medians} |", flush=True)
            top, costs[shards] = tops(index, drawings[:200], CANDIDATES)
            for clients in CLIENTS:
                throughput.append((shards, clients, statistics.median(top), *rate(index, drawings, clients)))
            if shards == 1:
                service["row_us"] = 1e3 * statistics.median(top) / rows
                service["row_bytes"] = index.fleet.status()[0]["bytes"] / rows
    service["answer_ms"] = (costs[SHARDS[-1]] - costs[1]) / (SHARDS[-1] - 1)
    print(
        "\n| shards | at once | ms for the first question | searches a second | ms of the front's processor "
        "| of the shards' | other load |\n|---|---|---|---|---|---|---|"
    )
    for shards, clients, *figures in throughput:
        print(f"| {shards} | {clients} | " + " | ".join(f"{figure:.1f}" for figure in figures) + " |")
    return service


def pin(index: ClusterIndex) -> None:
    """Each shard to a core of its own, in turn: where others are busy, the system would put two on one."""
    if not hasattr(os, "sched_setaffinity"):
        return
    cores = sorted(os.sched_getaffinity(0))
    for row in index.fleet.status():
        for task in Path(f"/proc/{row['pid']}/task").iterdir():
            os.sched_setaffinity(int(task.name), {cores[row["shard"] % len(cores)]})


def rate(index: ClusterIndex, drawings: list[Sketch], at_once: int) -> tuple[float, float, float, float]:
    """Searches a second, so many at once; milliseconds of processor time that one takes the front and the
    shards; the machine's load beside that, in processors."""
    waiting = drawings[:TIMED]
    count = len(waiting)
    shards = [int(row["pid"]) for row in index.fleet.status()]

    def client() -> None:
        while waiting:
            index.search(waiting.pop(), threads=1)

    clients = [threading.Thread(target=client) for _ in range(at_once)]
    before = time.process_time(), sum(map(processor_s, shards)), machine_s()
    began = time.perf_counter()
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    took = time.perf_counter() - began
    front = time.process_time() - before[0]
    theirs = sum(map(processor_s, shards)) - before[1]
    others = machine_s() - before[2] - front - theirs
    return count / took, 1e3 * front / count, 1e3 * theirs / count, others / took


def processor_s(pid: int) -> float:
    """Seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def machine_s() -> float:
    """Seconds of processor time that everything on this machine has taken."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def tops(index: ClusterIndex, drawings: list[Sketch], k: int) -> tuple[list[float], float]:
    """Milliseconds until the k best of all shards are known, each of which works on one thread; and what the
    front's processor takes of one, Ray's threads included."""
    engine = index.state.collection.engine
    assert isinstance(engine, ClusterEngine)
    queries = [Query.of(drawing.points, index.state.settings) for drawing in drawings]
    groups, prior = index.state.collection._groups, index.state.collection.prior
    found = []
    before = time.process_time()
    for query in queries:
        with searching(DEADLINE):
            found.append(timed(lambda q=query: engine.top(q, k, groups=groups, prior=prior)))
    return found, 1e3 * (time.process_time() - before) / len(queries)


def recovery(where: Path, drawings: list[Sketch], times: int) -> None:
    """A shard is killed, or stands still: how long answers take, and when whole ones are back."""
    with ClusterIndex.spread(where, ClusterOptions(shards=2, deadline=2.0)) as index:
        for way in (signal.SIGKILL, signal.SIGSTOP):
            longest, whole = [], []
            for number in range(times):
                while index.search(drawings[number]).covered < 1:
                    time.sleep(0.05)
                victim = index.fleet.status()[number % 2]["pid"]
                os.kill(victim, way)
                began = time.perf_counter()
                took: list[float] = []
                was_partial = False
                while True:
                    asked = time.perf_counter()
                    covered = index.search(drawings[number]).covered
                    took.append(time.perf_counter() - asked)
                    if covered < 1:
                        was_partial = True
                    elif was_partial or time.perf_counter() - began > 5:
                        break
                longest.append(max(took))
                whole.append(time.perf_counter() - began)
            print(
                f"\n{way.name} of one of two shards, {times} times, deadline 2 s: the longest answer took "
                f"{max(longest):.2f} s; whole ones were back after {min(whole):.1f} to {max(whole):.1f} s."
            )


def sizes(service: dict[str, float]) -> None:
    """What collections take: memory, cores for half a second, the first answer; from the measured rates."""
    per_row, row_bytes, cost = (service[name] for name in ("row_us", "row_bytes", "answer_ms"))
    print(
        f"\n{per_row:.2f} µs and {row_bytes:.0f} bytes a row; {cost:.2f} ms of the front's processor a shard"
    )
    print(
        "\n| pictures | windows each | shards' memory | a front's memory | cores | shards | first answer |"
        "\n|---|---|---|---|---|---|---|"
    )
    for pictures in (10**6, 10**7, 10**8, 10**9):
        for windows in (1, 12):
            rows = pictures * windows
            names = pictures * FRONT_BYTES_A_PICTURE + rows * FRONT_BYTES_A_WINDOW
            cores = int(np.ceil(rows * per_row / (1e6 * SCAN_S)))
            shards = int(np.ceil(cores / CORES_A_SHARD))
            first = 1e3 * min(SCAN_S, rows * per_row / 1e6) + ROUND_TRIP_MS + cost * shards
            print(
                f"| {pictures:,} | {windows} | {_bytes(rows * row_bytes)} | {_bytes(names)} | {cores:,} | "
                f"{shards:,} | {first / 1e3:.2f} s |"
            )


def _bytes(n: float) -> str:
    for unit in ("MB", "GB", "TB"):
        n /= 1e6 if unit == "MB" else 1e3
        if n < 1000:
            return f"{n:,.3g} {unit}"
    return f"{n / 1e3:,.3g} PB"


if __name__ == "__main__":
    main()
