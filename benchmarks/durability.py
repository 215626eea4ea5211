"""What an index survives: kill -9 at random moments, many processes at once, a full disk, a read-only folder.

    python benchmarks/durability.py kill --trials 50
    python benchmarks/durability.py together --seconds 60
    python benchmarks/durability.py full
    python benchmarks/durability.py readonly

Prints what was found; exits with 1 when something was lost, doubled or left behind. `full` and `readonly`
mount a small file system of their own, which takes root.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from sketchseek import Index, Sketch
from sketchseek.storage.location import Location
from sketchseek.storage.store import Store

# Small batches: more commits to be killed in.
_INDEXER = """
import sys
from sketchseek.indexing import commits
commits.BATCH_ROWS, commits.TIDY_COMMITS = 8, 8
from sketchseek import indexing
update = indexing.update
def announced(*args):
    print("begins", flush=True)
    return update(*args)
indexing.update = announced
from sketchseek.cli import main
sys.exit(main())
"""

DRAWINGS = (
    [[[0, 0], [100, 0], [100, 80], [0, 80], [0, 0]]],
    [[[0, 0], [60, 100], [120, 0]]],
    [[[0, 50], [100, 50]], [[50, 0], [50, 100]]],
)


def draw(path: Path, number: int) -> None:
    """A small picture, different for each number, that is not new."""
    pick = random.Random(number)
    image = Image.new("RGB", (96, 72), (235, 235, 225))
    pen = ImageDraw.Draw(image)
    for _ in range(3):
        x, y = pick.randrange(70), pick.randrange(50)
        colour = tuple(pick.randrange(200) for _ in range(3))
        pick.choice([pen.ellipse, pen.rectangle])(
            (x, y, x + pick.randrange(8, 30), y + pick.randrange(8, 30)), colour
        )
    image.save(path)
    os.utime(path, (1e9 + number, 1e9 + number))


def indexer(index: Path, *paths: Path, jobs: int = 2) -> subprocess.Popen[str]:
    """`sketchseek index`, saying «begins» when it begins."""
    words = [
        "index",
        *map(str, paths),
        "--index",
        str(index),
        "--json",
        "--detector",
        "canny",
        "--no-expansion",
        "--jobs",
        str(jobs),
    ]
    return subprocess.Popen(
        [sys.executable, "-c", _INDEXER, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Let it end, and read its report."""
    out, err = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"exit status {process.returncode}: {err}")
    report: dict[str, Any] = json.loads(out.splitlines()[-1])
    return report


def paths_of(index: Path) -> list[bytes]:
    """The path of every row of the newest version."""
    paths: list[bytes] = Store.open(index).table(["path"])["path"].to_pylist()
    return paths


def answers(index: Path) -> dict[tuple[int, str], float]:
    """The score of every picture for a few drawings."""
    opened = Index.open(index)
    return {
        (number, hit.picture): hit.score
        for number, strokes in enumerate(DRAWINGS)
        for hit in opened.search(Sketch.from_strokes(strokes), k=max(1, len(opened)))
    }


def differences(index: Path, other: Path) -> list[str]:
    """Answers of two indexes that differ at all: neither codes nor scores depend on the order of the rows."""
    one, two = answers(index), answers(other)
    return [
        f"drawing {key[0]}, {key[1]}: {one.get(key)} and {two.get(key)}"
        for key in sorted(one.keys() | two.keys())
        if one.get(key) != two.get(key)
    ]


def leftovers(index: Path) -> list[str]:
    """Files that belong to no version, after old versions are gone."""
    store = Store.open(index)
    store.tidy(keep=timedelta(0))
    used = {
        f"data/{file.path}" for fragment in store.dataset.get_fragments() for file in fragment.data_files()
    }
    used |= {f.deletion_file() for f in store.dataset.get_fragments() if f.deletion_file()}
    root = Path(store.location.table)
    there = {str(p.relative_to(root)) for part in ("data", "_deletions") for p in root.glob(f"{part}/*")}
    allowed = {"pictures.lance", "lock", "seal", "snapshot.lock"}
    allowed |= {p.name for pattern in ("snapshot-*.bin", "expansion-*.codes") for p in index.glob(pattern)}
    return sorted(there - used) + sorted(p.name for p in index.iterdir() if p.name not in allowed)


def kill(trials: int, pictures: int = 24, seed: int = 0) -> dict[str, Any]:
    """Change a folder, begin to index it, kill the indexer at a random moment; again and again."""
    pick = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder, index = Path(scratch, "pictures"), Path(scratch, "index")
        folder.mkdir()
        numbers = iter(range(10**9))
        found: dict[str, Any] = {
            "trials": trials,
            "lost": 0,
            "doubled": 0,
            "killed while running": 0,
        }
        for _ in range(trials):
            mutate(folder, pick, numbers, pictures)
            process = indexer(index, folder)
            assert process.stdout is not None
            process.stdout.readline()
            start = Location(index).latest_version() or 0
            target, rest = (
                start + pick.randrange(8),
                pick.uniform(0, 0.2),
            )  # so many commits, and a little more
            while (Location(index).latest_version() or 0) < target and process.poll() is None:
                time.sleep(0.002)
            time.sleep(rest)
            acknowledged = committed(index)
            if process.poll() is None:
                found["killed while running"] += 1
            process.send_signal(signal.SIGKILL)
            process.communicate()
            rows = paths_of(index)
            found["doubled"] += len(rows) - len(set(rows))
            present = {os.fsencode(path) for path in folder.iterdir()}
            found["lost"] += len((acknowledged & present) - set(rows))
        found["last run"] = finish(indexer(index, folder))
        fresh = Path(scratch, "fresh")
        finish(indexer(fresh, folder))
        rows = paths_of(index)
        found["pictures"] = len(rows)
        found["doubled"] += len(rows) - len(set(rows))
        found["lost"] += len({os.fsencode(path) for path in folder.iterdir()} ^ set(rows))
        found["differences"] = differences(index, fresh)
        found["versions"] = Store.open(index).version
        found["left behind"] = leftovers(index)
        found["ok"] = (
            not found["lost"]
            and not found["doubled"]
            and not found["differences"]
            and not found["left behind"]
        )
    return found


def mutate(folder: Path, pick: random.Random, numbers: Iterator[int], new: int) -> None:
    """New pictures, and some of the old changed, renamed or deleted."""
    old = sorted(folder.iterdir())
    pick.shuffle(old)
    for path in old[: new // 4]:
        path.unlink()
    for path in old[new // 4 : new // 2]:
        path.rename(folder / f"{next(numbers)}.png")
    for path in old[new // 2 : new]:
        draw(path, next(numbers))
    for _ in range(new):
        number = next(numbers)
        draw(folder / f"{number}.png", number)


def committed(index: Path) -> set[bytes]:
    """The paths of the newest version; what a reader was told is there."""
    try:
        return set(paths_of(index))
    except Exception:  # not made yet
        return set()


_TOGETHER = {
    "indexer": """
reports = []
while time.monotonic() < end:
    report = index.add(folder, jobs=1)
    reports.append([report.added, report.forgotten, report.moved, len(report.failed)])
print(json.dumps(reports))
""",
    "remover": """
removed = 0
pick = random.Random(1)
while time.monotonic() < end:
    names = sorted(os.listdir(folder))
    removed += index.remove([os.path.join(folder, name) for name in pick.sample(names, len(names) // 4)])
    time.sleep(0.3)
print(json.dumps(removed))
""",
    "searcher": """
import lance
from sketchseek import Sketch
sketch = Sketch.from_strokes([[[0, 0], [100, 0], [100, 80], [0, 80], [0, 0]]])
checked, versions = 0, set()
while time.monotonic() < end:
    index.refresh()
    hits = index.search(sketch, k=10**6)
    table = lance.dataset(index.store.location.table, version=index.version)
    expected = table.to_table(columns=["id"], filter="failure IS NULL")["id"].to_pylist()
    assert sorted(hit.id for hit in hits) == sorted(expected), (len(hits), len(expected))
    assert len({hit.picture for hit in hits}) == len(hits)
    checked += 1
    versions.add(index.version)
print(json.dumps([checked, len(versions)]))
""",
}


def together(seconds: float, pictures: int = 120) -> dict[str, Any]:
    """Two processes index one folder, one removes, two search, all at once."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, where = Path(scratch, "pictures"), Path(scratch, "index")
        folder.mkdir()
        for number in range(pictures):
            draw(folder / f"{number}.png", number)
        index = Index.create(where, detector="canny")
        head = (
            "import json, os, random, sys, time\nfrom sketchseek.indexing import commits\n"
            "commits.BATCH_ROWS, commits.TIDY_COMMITS = 8, 8\nfrom sketchseek import Index\n"
            "folder, index = sys.argv[1], Index.open(sys.argv[2])\n"
            "end = time.monotonic() + float(sys.argv[3])\n"
        )
        roles = ["indexer", "indexer", "remover", "searcher", "searcher"]
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", head + _TOGETHER[role], str(folder), str(where), str(seconds)],
                stdout=subprocess.PIPE,
                text=True,
            )
            for role in roles
        ]
        outputs = [process.communicate()[0] for process in processes]
        failed = [role for role, process in zip(roles, processes, strict=True) if process.returncode != 0]
        if failed:
            return {"ok": False, "failed": failed}
        first, second, removed, *searches = (json.loads(output) for output in outputs)
        added = sum(report[0] for report in (*first, *second))
        forgotten = sum(report[1] for report in (*first, *second))
        index.refresh()
        left = len(index)
        last = index.add(folder)
        rows = paths_of(where)
        found = {
            "runs": len(first) + len(second),
            "added": added,
            "removed": removed,
            "left": left,
            "searches": sum(search[0] for search in searches),
            "versions searched": sum(search[1] for search in searches),
            "versions": index.version,
            "pictures": len(rows),
            "left behind": leftovers(where),
        }
        exact = (
            added - removed - forgotten == left
            and left + last.added == len(set(rows)) == len(rows) == pictures
        )
        return {**found, "ok": exact and not found["left behind"]}


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """A small file system in memory; PermissionError where none may be mounted."""
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PermissionError(done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def full(pictures: int = 300) -> dict[str, Any]:
    """The disk fills while indexing; then there is room again."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, place = Path(scratch, "pictures"), Path(scratch, "place")
        folder.mkdir()
        place.mkdir()
        for number in range(pictures):
            draw(folder / f"{number}.png", number)
        with mounted(place, "-t", "tmpfs", "-o", "size=200k", "tmpfs"):
            process = indexer(place / "index", folder)
            message = process.communicate()[1].strip().splitlines()[-1]
            status = process.returncode
            before = committed(place / "index")
            subprocess.run(["mount", "-o", "remount,size=64m", str(place)], check=True)
            survived = set(paths_of(place / "index"))
            finish(indexer(place / "index", folder))
            rows = paths_of(place / "index")
            left = leftovers(place / "index")
        found = {
            "status": status,
            "message": message,
            "on disk when it was full": len(survived),
            "after": len(rows),
        }
        ok = (
            status == 1
            and "full" in message
            and survived == before
            and len(set(rows)) == len(rows) == pictures
        )
        return {**found, "left behind": left, "ok": ok and not left and 0 < len(survived) < pictures}


def readonly() -> dict[str, Any]:
    """An index in a folder that may not be written: searching works, indexing says a sentence."""
    with tempfile.TemporaryDirectory() as scratch:
        folder, place = Path(scratch, "pictures"), Path(scratch, "place")
        folder.mkdir()
        place.mkdir()
        for number in range(12):
            draw(folder / f"{number}.png", number)
        finish(indexer(place / "index", folder))
        before = answers(place / "index")
        for snapshot in (place / "index").glob("snapshot-*"):
            snapshot.unlink()
        draw(folder / "new.png", 99)
        with mounted(place, "--bind", str(place)):
            subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
            process = indexer(place / "index", folder)
            message = process.communicate()[1].strip().splitlines()[-1]
            same = answers(place / "index") == before
            fresh = indexer(place / "other", folder)
            other = fresh.communicate()[1].strip().splitlines()[-1]
        rows = paths_of(place / "index")
        ok = process.returncode == fresh.returncode == 1 and "read-only" in message and "read-only" in other
        return {
            "message": message,
            "same answers": same,
            "pictures": len(rows),
            "ok": ok and same and len(rows) == 12,
        }


def main() -> int:
    """Run one of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("kill", "together", "full", "readonly"))
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    run: dict[str, Callable[[], dict[str, Any]]] = {
        "kill": lambda: kill(args.trials, seed=args.seed),
        "together": lambda: together(args.seconds),
        "full": full,
        "readonly": readonly,
    }
    found = run[args.what]()
    print(json.dumps(found, indent=1))
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
