"""The NEON build of the engine, compiled for arm64 and checked against the portable one, on any machine.

    python tools/arm64.py

Needs a compiler for arm64 (Debian: g++-aarch64-linux-gnu) and, on another processor, qemu-user.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLAGS = ["-std=c++17", "-O2", "-static", "-ffp-contract=fast", "-fno-math-errno", "-fno-signed-zeros"]


def main() -> int:
    """Compile and run tools/arm64.cpp."""
    native = platform.machine() in ("aarch64", "arm64")
    compiler, emulator = ("c++", []) if native else ("aarch64-linux-gnu-g++", ["qemu-aarch64"])
    for program in (compiler, *emulator):
        if shutil.which(program) is None:
            raise SystemExit(f"{program} is not installed.")
    sources = ROOT / "src" / "cpp"
    with tempfile.TemporaryDirectory() as folder:
        parts = [
            (name, sources / "kernels.cpp", [f"-DSKETCHSEEK_BUILD={name}"]) for name in ("portable", "neon")
        ]
        parts[1][2].append("-DSKETCHSEEK_NEON")
        parts.append(("main", ROOT / "benchmarks" / "arm64.cpp", ["-O1"]))
        objects = [f"{folder}/{name}.o" for name, _, _ in parts]
        for target, (_, source, defined) in zip(objects, parts, strict=True):
            subprocess.run(
                [compiler, *FLAGS, f"-I{sources}", *defined, "-c", str(source), "-o", target], check=True
            )
        subprocess.run([compiler, *FLAGS, *objects, "-o", f"{folder}/check"], check=True)
        return subprocess.run([*emulator, f"{folder}/check"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
