"""An sdist, and the wheels for Linux that are built from it: `make wheel` puts them into dist/.

Python 3.11 gets a wheel of its own; the other, of the stable ABI, serves 3.12 and every later one. The
compiler is Clang out of the package `ziglang`: it links against the symbols of an old C library, so that what
is built on a new system runs on old ones, and puts its own C++ library inside. `auditwheel` then checks that,
and names the wheel after it.

    python packaging/wheels.py [--pythons PYTHON ...] [--out dist] [--glibc 2.17]
"""

from __future__ import annotations

import argparse
import glob
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import wasm

ROOT = Path(__file__).parents[1]
OWN, STABLE = (3, 11), (3, 12)
"""The Python with a wheel of its own, and the first of those that share one."""


def main() -> int:
    """Build, repair, and name what was made."""
    parser = argparse.ArgumentParser(description="Build the sdist and the wheels.")
    parser.add_argument("--pythons", nargs="+", metavar="PYTHON", help="interpreters to build with")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--glibc", default="2.17", help="the oldest C library to run with (default: 2.17)")
    args = parser.parse_args()
    if platform.system() != "Linux":
        raise SystemExit("Wheels of other systems are built there, by the release workflow.")
    pythons = interpreters(args.pythons or candidates())
    args.out.mkdir(parents=True, exist_ok=True)
    wasm.build(wasm.ENGINE)
    sdist = build(sys.executable, "--sdist", ROOT, args.out)
    print(sdist)
    for python in pythons:
        with tempfile.TemporaryDirectory() as folder:
            wheel = build(python, "--wheel", sdist, Path(folder), compiler(args.glibc))
            print(repair(wheel, args.glibc, args.out))
    return 0


def candidates() -> list[str]:
    """Interpreters by their usual names and places."""
    found = [shutil.which(f"python3.{minor}") for minor in range(11, 20)]
    return [
        *(path for path in found if path),
        *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python"))),
        sys.executable,
    ]


def interpreters(paths: Iterable[str]) -> list[str]:
    """The first that is Python 3.11, and the first that is 3.12 or later."""
    chosen: dict[bool, str] = {}
    for path in paths:
        code = "import sys; print(*sys.version_info[:2])"
        said = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False).stdout.split()
        version = tuple(map(int, said)) if len(said) == 2 else (0, 0)
        if version >= OWN:
            chosen.setdefault(version >= STABLE, path)
    if len(chosen) < 2:
        raise SystemExit("Both wheels take Python 3.11 and a later one: name them with --pythons.")
    return [chosen[False], chosen[True]]


def compiler(glibc: str) -> dict[str, str]:
    """The environment in which CMake finds Clang for this processor and that C library."""
    (package,) = find_spec("ziglang").submodule_search_locations  # a build in isolation sees no package
    return {"CXX": f"{package}/zig c++ -target {platform.machine()}-linux-gnu.{glibc}"}


def build(python: str, what: str, source: Path, out: Path, environment: dict[str, str] | None = None) -> Path:
    """Run the build in an environment of its own, with that interpreter; the file that it made."""
    with tempfile.TemporaryDirectory() as folder:
        if what == "--sdist":
            command = [python, "-m", "build", "--sdist", str(source), "--outdir", folder]
        else:
            command = [python, "-m", "pip", "wheel", "--no-deps", str(source), "--wheel-dir", folder]
        done = subprocess.run(
            command, env=os.environ | (environment or {}), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
        (made,) = Path(folder).iterdir()
        return Path(shutil.move(made, out / made.name))


def repair(wheel: Path, glibc: str, out: Path) -> Path:
    """Check what a wheel asks of a system, and name it so; the file in `out`."""
    tag = f"manylinux_{glibc.replace('.', '_')}_{platform.machine()}"
    with tempfile.TemporaryDirectory() as folder:
        auditwheel = [sys.executable, "-m", "auditwheel", "repair", "--plat", tag, "-w", folder]
        subprocess.run([*auditwheel, str(wheel)], check=True, stdout=subprocess.DEVNULL)
        (made,) = Path(folder).iterdir()
        return Path(shutil.move(made, out / made.name))


if __name__ == "__main__":
    sys.exit(main())
