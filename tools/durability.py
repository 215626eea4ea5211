"""What an index survives: kills, threads and processes at once, damage, a full disk, a read-only folder.

    python tools/durability.py kill --trials 300
    python tools/durability.py together --seconds 60
    python tools/durability.py threads --seconds 60
    python tools/durability.py damage --trials 500
    python tools/durability.py troubles --trials 1000
    python tools/durability.py full
    python tools/durability.py readonly

Prints what was found; exits with 1 when something was lost, doubled, left behind or wrong without a word.
`full` and `readonly` mount a small file system of their own, which takes root; `troubles` makes calls of the
system fail with a library of a few lines that it has the C compiler make, and leaves that out where there is
none. TMPDIR says where all this happens: in memory (/dev/shm) it waits for no disk.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from faults import HAS_FAULTS, KINDS, faults, run_again_with_faults
from sketchseek import Index, Sketch
from sketchseek.errors import SketchseekError
from sketchseek.indexing import run
from sketchseek.indexing.repair import check
from sketchseek.indexing.worker import Reader, Result, Task
from sketchseek.storage.location import Location
from sketchseek.storage.schema import IndexConfig
from sketchseek.storage.store import Store

# Small batches: more commits to be killed in.
_INDEXER = """
import sys
from sketchseek.indexing import commits
commits.BATCH_ROWS, commits.TIDY_COMMITS = 4, 8
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
    allowed = {"pictures.lance", "lock", "seal", "snapshot.lock", "roots"}
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
pick = random.Random(os.getpid())
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
    """Three processes index one folder, two remove, three search, all at once."""
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
        roles = ["indexer", "indexer", "indexer", "remover", "remover", "searcher", "searcher", "searcher"]
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
        said = [(role, json.loads(output)) for role, output in zip(roles, outputs, strict=True)]
        runs = [report for role, reports in said if role == "indexer" for report in reports]
        removed = sum(count for role, count in said if role == "remover")
        searches = [search for role, search in said if role == "searcher"]
        added, forgotten = sum(report[0] for report in runs), sum(report[1] for report in runs)
        index.refresh()
        left = len(index)
        last = index.add(folder)
        rows = paths_of(where)
        found = {
            "runs": len(runs),
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


class _Here:
    """Reads pictures in this process as the worker processes do: most trials would wait for one to start."""

    def __init__(self, config: IndexConfig, *_: Any) -> None:
        self._reader = Reader(config)

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def results(self, tasks: Iterable[Task]) -> Iterator[Result]:
        return map(self._reader, tasks)


@contextmanager
def reading_here() -> Iterator[None]:
    """Without worker processes."""
    before = run.Workers
    run.Workers = _Here  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        run.Workers = before  # type: ignore[misc]


def threads(seconds: float, pictures: int = 64) -> dict[str, Any]:
    """Sixteen threads share one Index: four each add, remove, search and read thumbnails."""
    with reading_here(), tempfile.TemporaryDirectory() as scratch:
        folder, where = Path(scratch, "pictures"), Path(scratch, "index")
        folder.mkdir()
        for number in range(pictures):
            draw(folder / f"{number}.png", number)
        index = Index.create(where, detector="canny")
        index.add(folder)
        end = time.monotonic() + seconds
        counts: Counter[str] = Counter()
        errors: list[str] = []

        def add(pick: random.Random) -> None:
            index.add(folder)

        def remove(pick: random.Random) -> None:
            index.remove([folder / f"{n}.png" for n in pick.sample(range(pictures), pictures // 8)])

        def search(pick: random.Random) -> None:
            hits = index.search(Sketch.from_strokes(pick.choice(DRAWINGS)), k=pictures)
            assert len({hit.picture for hit in hits}) == len(hits), "a picture is there twice"

        def thumbnail(pick: random.Random) -> None:
            hits = index.search(Sketch.from_strokes(DRAWINGS[0]), k=4)
            try:
                index.thumbnails([hit.id for hit in hits])
            except SketchseekError as error:
                if "any more" not in str(error) and "There is no picture" not in str(error):
                    raise

        def work(number: int, act: Callable[[random.Random], None]) -> None:
            pick = random.Random(number)
            try:
                while time.monotonic() < end:
                    act(pick)
                    counts[act.__name__] += 1
            except BaseException as error:  # a panic of Lance is no Exception
                errors.append(f"{act.__name__}: {type(error).__name__}: {error}")

        acts = [add, remove, search, thumbnail] * 4
        running = [threading.Thread(target=work, args=pair) for pair in enumerate(acts)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        index.add(folder)
        rows = paths_of(where)
        fresh = Path(scratch, "fresh")
        Index.create(fresh, detector="canny").add(folder)
        found: dict[str, Any] = {
            "done": dict(counts),
            "errors": errors,
            "versions": index.version,
            "pictures": len(rows),
            "doubled": len(rows) - len(set(rows)),
            "lost": pictures - len(set(rows)),
            "differences": differences(where, fresh),
        }
        wrong = found["errors"] or found["doubled"] or found["lost"] or found["differences"]
        return {**found, "ok": not wrong}


def damage(trials: int, seed: int = 0, pictures: int = 30) -> dict[str, Any]:
    """Spoil one file of an index, ask it, repair it; again and again, each time from a whole copy."""
    pick = random.Random(seed)
    ways = ["flip", "words", "cut", "gone"]
    found: dict[str, Any] = {"trials": trials, "by kind": Counter(), "said": 0, "silent": [], "not back": []}
    with reading_here(), tempfile.TemporaryDirectory() as scratch:
        folder, whole = Path(scratch, "pictures"), Path(scratch, "whole")
        index = Index.create(whole, detector="canny")
        for number in range(pictures):
            part = folder / str(number // 6)
            part.mkdir(parents=True, exist_ok=True)
            draw(part / f"{number}.png", number)
        for part in sorted(folder.iterdir()):
            index.add(part)
        for number in range(0, pictures, 12):
            removed = folder / str(number // 6) / f"{number}.png"
            removed.unlink()
            index.remove(removed)
        expected = everything(whole)
        for trial in range(trials):
            where = Path(scratch, f"copy{trial}")
            shutil.copytree(whole, where)
            files = sorted(path for path in where.rglob("*") if path.is_file())
            path, way = pick.choice(files), pick.choice(ways)
            name = f"{trial}: {way} {path.relative_to(where)}"
            found["by kind"][f"{path.suffix or path.name} {way}"] += 1
            spoil(path, way, pick)
            try:
                if everything(where) != expected:
                    found["silent"].append(name)
            except SketchseekError:
                found["said"] += 1
            try:
                bring_back(where, folder, checked=trial % 2 == 1)
                if everything(where) != expected:
                    found["not back"].append(name)
            except BaseException as error:  # a panic of Lance is no Exception
                found["not back"].append(f"{name}: {type(error).__name__}: {error}")
                if isinstance(error, KeyboardInterrupt):
                    raise
            shutil.rmtree(where)
    found["by kind"] = dict(sorted(found["by kind"].items()))
    return {**found, "ok": not found["silent"] and not found["not back"]}


def bring_back(where: Path, folder: Path, checked: bool) -> None:
    """As a user would: `index`, and `check --repair` before it if asked."""
    if checked:
        check(where, repair=True)
    Index.open(where, repair=True).add(folder)


ERRORS = (errno.EIO, errno.ETIMEDOUT, errno.EMFILE, errno.ENOSPC)
PARTS = (".lance/data", ".lance/_versions", ".lance/_deletions", "/seal", "/snapshot", "/index")


def troubles(trials: int, seed: int = 0, pictures: int = 16) -> dict[str, Any]:
    """One trouble, or two, for a copy of one index: something is asked of it, then all is well again.

    Calls of the system fail, words move within pages, both at once, files are replaced between walk and
    commit; a drive is not plugged in or not mounted, a folder is away. Nothing that the index knew may be
    missing afterwards, and after a last run it is as one made afresh. Where there is no snapshot and a file
    can't be read at all, nothing names its pictures that are away: this must be said, and they come back by
    the last run.
    """
    pick = random.Random(seed)
    found: dict[str, Any] = {"trials": trials, "by kind": Counter(), "said": 0, "named by nothing": 0}
    found |= {"lost": [], "silent": []}
    with reading_here(), tempfile.TemporaryDirectory() as scratch:
        folder, drive, whole = (Path(scratch, name) for name in ("pictures", "drive", "whole"))
        for number in range(pictures):
            part = (folder / "0", folder / "1", drive)[number % 3]
            part.mkdir(parents=True, exist_ok=True)
            draw(part / f"{number}.png", number)
        (folder / "usb").symlink_to(drive)
        index = Index.create(whole, detector="canny")
        for part in sorted(folder.iterdir()):
            index.add(part)
        for number in (0, 1):  # so that there are files that say what is deleted
            removed = folder / str(number) / f"{number}.png"
            removed.unlink()
            index.remove(removed)
        expected = answers(whole)
        for trial in range(trials):
            where = Path(scratch, "index")
            shutil.copytree(whole, where)
            kind = pick.choice(
                ["call", "call", "call", "words", "both", "replaced"] if HAS_FAULTS else ["words", "replaced"]
            )
            name = one_trouble(where, folder, drive, kind=kind, pick=pick, found=found)
            found["by kind"][kind] += 1
            right = expected
            if kind == "replaced":
                Index.create(Path(scratch, "fresh"), detector="canny").add(folder)
                right = answers(Path(scratch, "fresh"))
                shutil.rmtree(Path(scratch, "fresh"))
            try:
                Index.open(where, repair=True).add(folder)
                if answers(where) != right:
                    found["silent"].append(f"{trial}: {name}: other answers afterwards")
            except BaseException as error:  # a panic of Lance is no Exception
                found["silent"].append(f"{trial}: {name}: afterwards {type(error).__name__}: {error}")
                if isinstance(error, KeyboardInterrupt):
                    raise
            for number in range(pictures):  # those that were replaced
                part = (folder / "0", folder / "1", drive)[number % 3]
                if number not in (0, 1):
                    draw(part / f"{number}.png", number)
            shutil.rmtree(where)
    found["by kind"] = dict(found["by kind"])
    return {**found, "ok": not found["lost"] and not found["silent"]}


def one_trouble(
    where: Path, folder: Path, drive: Path, *, kind: str, pick: random.Random, found: dict[str, Any]
) -> str:
    """Have something go wrong while something is asked; what it was. `found` gets what is lost by it."""
    before = set(paths_of(where))
    act = pick.choice(["index", "index", "index", "check", "check --repair", "search"])
    away = pick.choice([None, "unplugged", "unmounted", "folder"])
    number, calls, part = pick.choice(ERRORS), pick.choice([1, 2, 4, 8, 100]), pick.choice(PARTS)
    call = pick.choice(KINDS)
    calls_fail = kind in ("call", "both")
    what = f"{kind}: {call} {errno.errorcode[number]} x {calls} {part}" if calls_fail else kind
    name = f"{what}, {away or 'all'} there, {act}"
    if pick.random() < 0.5:
        for snapshot in where.glob("snapshot-*.bin"):
            snapshot.unlink()
    trouble: Any = nullcontext()
    if kind in ("words", "both"):
        spoil(
            pick.choice(sorted([*where.glob("*.lance/data/*"), *where.glob("snapshot-*.bin")])), "words", pick
        )
    if kind == "replaced":
        trouble = replacing(pick.sample(sorted(folder.glob("[01]/*.png")), 4), pick)
    elif calls_fail:
        trouble = faults(call, number, calls, part)
    told: list[str] = []
    try:
        with gone(folder, drive, away), trouble:
            if act == "index":
                told = Index.open(where, repair=True).add([folder, folder / "1"]).repaired
            elif act == "search":
                answers(where)
            else:
                told = check(where, repair=act != "check").sentences()
    except SketchseekError as error:
        found["said"] += 1
        told = [str(error)]
    except BaseException as error:
        found["silent"].append(f"{name}: {type(error).__name__}: {error}")
        if isinstance(error, KeyboardInterrupt):
            raise
    try:
        lost = before - set(paths_of(where))
        if lost and any("come back when the folders are indexed" in sentence for sentence in told):
            found["named by nothing"] += len(lost)  # no snapshot, and a file that can't be read at all
        elif lost:
            found["lost"].append(f"{name}: {len(lost)}")
    except SketchseekError:  # damaged, and not mended yet
        found["said"] += 1
    return name


@contextmanager
def gone(folder: Path, drive: Path, away: str | None) -> Iterator[None]:
    """A drive behind a link is not plugged in, or its place is there without it; or a folder is away."""
    hidden = {None: None, "folder": folder / "1"}.get(away, drive)
    if hidden is None:
        yield
        return
    aside = drive.with_name("aside")
    hidden.rename(aside)
    if away == "unmounted":
        hidden.mkdir()
    try:
        yield
    finally:
        if away == "unmounted":
            hidden.rmdir()
        aside.rename(hidden)


@contextmanager
def replacing(paths: list[Path], pick: random.Random) -> Iterator[None]:
    """Between the walk and what is done about it, pictures become others."""
    before = run.walk

    def walk(*words: Any, **options: Any) -> Any:
        seen = before(*words, **options)
        for path in paths:
            if path.exists():
                draw(path, pick.randrange(1000, 2000))
        return seen

    run.walk = walk
    try:
        yield
    finally:
        run.walk = before


def everything(where: Path) -> dict[Any, Any]:
    """Every answer of an index: scores for a few drawings, and thumbnails."""
    index = Index.open(where)
    hits = index.search(Sketch.from_strokes(DRAWINGS[0]), k=max(1, len(index)))
    small = index.thumbnails([hit.id for hit in hits])
    return {**answers(where), **{hit.picture: webp for hit, webp in zip(hits, small, strict=True)}}


def spoil(path: Path, way: str, pick: random.Random) -> None:
    """Flip a bit, cut short, take away, or have words change places within a page."""
    content = bytearray(path.read_bytes())
    if way == "gone" or not content:
        path.unlink()
    elif way == "words":
        page = 4096 * pick.randrange(-(-len(content) // 4096))
        there = content[page : page + 4096]
        by = 8 * pick.randrange(1, 1 + len(there) // 8)
        content[page : page + 4096] = there[by:] + there[:by]
        path.write_bytes(content)
    elif way == "cut":
        path.write_bytes(content[: pick.randrange(len(content))])
    else:
        content[pick.randrange(len(content))] ^= 1 << pick.randrange(8)
        path.write_bytes(content)


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
    attacked = ("kill", "together", "threads", "damage", "troubles", "full", "readonly")
    parser.add_argument("what", choices=attacked)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.what == "troubles" and not HAS_FAULTS:
        with tempfile.TemporaryDirectory() as scratch:
            status = run_again_with_faults([__file__, *sys.argv[1:]], Path(scratch))
        if status is not None:
            return status
    attacks: dict[str, Callable[[], dict[str, Any]]] = {
        "kill": lambda: kill(args.trials, seed=args.seed),
        "together": lambda: together(args.seconds),
        "threads": lambda: threads(args.seconds),
        "damage": lambda: damage(args.trials, args.seed),
        "troubles": lambda: troubles(args.trials, args.seed),
        "full": full,
        "readonly": readonly,
    }
    found = attacks[args.what]()
    print(json.dumps(found, indent=1))
    return 0 if found["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
