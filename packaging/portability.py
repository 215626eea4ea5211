"""What can be said here of systems that are not this one: `make portability`.

    python packaging/portability.py [types | engine | NAME of a target ...]

1. The types of the package, as mypy sees them on Linux, macOS and Windows.
2. The engine and its exactness test (exactness.cpp, a program without Python), compiled for every system on
   both processors by Clang out of the package `ziglang`. Those that can be run here are: Linux as it is, and
   Windows by `wine64` and arm64 by `qemu-aarch64` where they are installed. The same instructions must give
   the same bits everywhere.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "cpp"
EXACTNESS = ROOT / "packaging" / "exactness.cpp"
PLACE = ROOT / "build" / "portability"
FLAGS = [
    "-std=c++17",
    "-O2",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-signed-zeros",
]
AVX512 = [
    "-mavx512f",
    "-mavx512bw",
    "-mavx512dq",
    "-mavx512vl",
    "-mfma",
    "-mpopcnt",
    "-mprefer-vector-width=512",
]
BUILDS = {
    "x86_64": {"portable": [], "avx2": ["-mavx2", "-mfma", "-mpopcnt"], "avx512": AVX512},
    "aarch64": {"portable": [], "neon": ["-DSKETCHSEEK_NEON"]},
}
PLATFORMS = ("linux", "darwin", "win32")


@dataclass(frozen=True)
class Target:
    """A system and a processor. zig : what the compiler calls it. begins : how a program for it does.

    runs : the program that runs one here, if it takes any.
    """

    zig: str
    begins: bytes
    runs: str | None = None

    @property
    def processor(self) -> str:
        """As `platform.machine` says it."""
        return self.zig.partition("-")[0]


TARGETS = {
    "linux-x86_64": Target("x86_64-linux-musl", b"\x7fELF\x02\x01"),
    "linux-arm64": Target("aarch64-linux-musl", b"\x7fELF\x02\x01", "qemu-aarch64"),
    "windows-x86_64": Target("x86_64-windows-gnu", b"MZ", "wine64"),
    "windows-arm64": Target("aarch64-windows-gnu", b"MZ"),
    "macos-x86_64": Target("x86_64-macos", b"\xcf\xfa\xed\xfe\x07\x00\x00\x01"),
    "macos-arm64": Target("aarch64-macos", b"\xcf\xfa\xed\xfe\x0c\x00\x00\x01"),
}


def main() -> int:
    """All checks, or those named."""
    asked = sys.argv[1:] or ["types", "engine"]
    if "types" in asked:
        check_types()
    names = list(TARGETS) if "engine" in asked else [name for name in asked if name in TARGETS]
    for unknown in [name for name in asked if name not in (*TARGETS, "types", "engine")]:
        raise SystemExit(f"There is no target {unknown}; there are {', '.join(TARGETS)}.")
    digests: dict[tuple[str, str], dict[str, str]] = {}
    for name in names:
        program = compiled(name)
        said = ran(name, program)
        print(f"{name}: compiled{'; ' + said if said else ', not run here'}", flush=True)
        for build, digest in re.findall(r"^(\w+) ([0-9a-f]{16})$", said or "", re.MULTILINE):
            digests.setdefault((TARGETS[name].processor, build), {})[name] = digest
    for (processor, build), found in digests.items():
        if len(set(found.values())) > 1:
            raise SystemExit(f"{build} on {processor} does not give the same everywhere: {found}")
        if len(found) > 1:
            print(f"{build} on {processor}: the same bits on {' and '.join(found)}")
    return 0


def check_types() -> None:
    """What mypy says on each system."""
    for name in PLATFORMS:
        command = [sys.executable, "-m", "mypy", "--platform", name, "--cache-dir", f"{PLACE}/mypy-{name}"]
        run(command)
        print(f"types on {name}: no error", flush=True)


def compiled(name: str) -> Path:
    """The exactness test for a target; an error where it does not compile, link, or is for something else."""
    target, folder = TARGETS[name], PLACE / name
    folder.mkdir(parents=True, exist_ok=True)
    compiler = [sys.executable, "-m", "ziglang", "c++", "-target", target.zig, *FLAGS, f"-I{SOURCES}"]
    builds = BUILDS[target.processor]
    parts = {
        f"{part}-{build}": [*options, f"-DSKETCHSEEK_BUILD={build}", "-c", str(SOURCES / f"{part}.cpp")]
        for build, options in builds.items()
        for part in ("kernels", "tokens")
    }
    parts["exactness"] = ["-c", str(EXACTNESS)]
    newest = max(path.stat().st_mtime for path in [Path(__file__), *SOURCES.rglob("*.*pp"), EXACTNESS])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in [
            pool.submit(run, [*compiler, *options, "-o", f"{folder}/{part}.o"])
            for part, options in parts.items()
            if not is_newer(folder / f"{part}.o", newest)
        ]:
            done.result()
    program = folder / f"exactness{'.exe' if 'windows' in name else ''}"
    run([*compiler, *(f"{folder}/{part}.o" for part in parts), "-o", str(program)])
    with program.open("rb") as file:
        if file.read(len(target.begins)) != target.begins:
            raise SystemExit(f"{program} is no program for {name}.")
    return program


def is_newer(path: Path, time: float) -> bool:
    """Whether a file is there, and was written after that time."""
    return path.is_file() and path.stat().st_mtime > time


def ran(name: str, program: Path) -> str | None:
    """What the test says; None where nothing here runs it. An error where it finds a failure."""
    target = TARGETS[name]
    own = name == f"linux-{platform.machine()}" and platform.system() == "Linux"
    found = target.runs and shutil.which(target.runs, path=f"{os.environ['PATH']}:/usr/lib/wine")
    with_help = [found] if found else None
    if not own and with_help is None:
        return None
    quiet = {"WINEDEBUG": "-all", "WINEPREFIX": str(PLACE / "wine")}
    return run([*([] if own else with_help or []), str(program)], quiet).replace("\r", "").strip()


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Run it; what it printed, or the end with what it said."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | (environment or {}),
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
