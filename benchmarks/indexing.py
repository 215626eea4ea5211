"""How fast a folder is indexed, beside what its cores could do at best.

    python benchmarks/indexing.py --pictures 20000

Repeats the photographs of the development data with changes, reads a sample of them one after another for
the single-picture rate, indexes all in parallel, and again with nothing changed. Processor seconds are
measured beside wall seconds: they tell the cost of the parallel path where other work shares the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import cv2
from PIL import Image, ImageEnhance, ImageOps

from sketchseek import Index
from sketchseek.index import make_config
from sketchseek.indexing.worker import Described, Reader, Task
from sketchseek.shape.settings import DEFAULT_PRESET
from sketchseek.system import processors


def data() -> Path:
    """The development data."""
    return Path(os.environ.get("SKETCHSEEK_DATA") or Path(__file__).parents[2] / "shared" / "data")


def repeat(folder: Path, count: int) -> list[Path]:
    """So many different pictures: real photographs mirrored, cropped, brightened."""
    sources = [
        p for name in ("sysu", "s2c", "sketchy") for p in sorted((data() / name / "photos").rglob("*.jpg"))
    ]
    made = []
    for number in range(count):
        with Image.open(sources[number % len(sources)]) as source:
            image = source.convert("RGB")
        turn = number // len(sources)
        if turn % 2:
            image = ImageOps.mirror(image)
        if turn > 1:
            margin = 2 * turn
            image = image.crop((margin, margin, image.width - margin, image.height - margin))
            image = ImageEnhance.Brightness(image).enhance(1 + 0.02 * turn)
        path = folder / f"{number // 1000:03d}" / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        image.save(path, quality=90)
        os.utime(path, (1e9, 1e9))
        made.append(path)
    return made


class Memory(threading.Thread):
    """The most memory that this process and its children held together, shared pages counted once."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.5):
            listed = subprocess.run(
                ["pgrep", "-P", str(os.getpid())], capture_output=True, text=True, check=False
            ).stdout.split()
            self.peak = max(self.peak, sum(map(_proportional, [str(os.getpid()), *listed])))


def _proportional(process: str) -> int:
    try:
        with open(f"/proc/{process}/smaps_rollup") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024
    except (OSError, StopIteration):
        return 0


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def measure(pictures: int, detector: str, sample: int) -> dict[str, Any]:
    """One table row."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "pictures")
        folder.mkdir()
        made = repeat(folder, pictures)
        cv2.setNumThreads(1)  # as a worker has it
        reader = Reader(make_config(DEFAULT_PRESET, detector))
        chosen = made[:: max(1, len(made) // sample)]
        reader(Task(os.fsencode(chosen[0])))
        wall, cpu = time.perf_counter(), _cpu()
        for path in chosen:
            assert isinstance(reader(Task(os.fsencode(path))), Described)
        single_wall = (time.perf_counter() - wall) / len(chosen)
        single_cpu = (_cpu() - cpu) / len(chosen)
        del reader
        index = Index.create(Path(scratch, "index"), detector=detector, expansion=False)
        memory = Memory()
        memory.start()
        cpu = _cpu()
        first = index.add(folder)
        cpu = _cpu() - cpu
        memory.done.set()
        second = index.add(folder)
        assert (first.added, second.unchanged) == (pictures, pictures)
        rate = pictures / first.seconds
        return {
            "pictures": pictures,
            "detector": detector,
            "cores": processors(),
            "single picture ms": round(1000 * single_wall, 1),
            "single picture cpu ms": round(1000 * single_cpu, 1),
            "pictures per second": round(rate, 1),
            "share of cores x single rate": round(rate * single_wall / processors(), 3),
            "share in processor time": round(pictures * single_cpu / cpu, 3),
            "second run, share of the first": round(second.seconds / first.seconds, 5),
            "peak memory MB": round(memory.peak / 1e6),
        }


def main() -> int:
    """Print one row as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=20_000)
    parser.add_argument("--detector", default="neural")
    parser.add_argument("--sample", type=int, default=200)
    args = parser.parse_args()
    print(json.dumps(measure(args.pictures, args.detector, args.sample), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
