"""The engine for browsers: the sources of the native one, compiled to WebAssembly.

By Clang out of the package `ziglang`. Two builds, of which a browser takes the second where it has the
instructions: with vectors of 128 bits, and with relaxed ones, which multiply and add in one step.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENGINE = ROOT / "src" / "sketchseek" / "web" / "engine"
SOURCES = ("browser.cpp", "kernels.cpp")
BUILDS = {"sketchseek": [], "sketchseek-relaxed": ["-mrelaxed-simd"]}
FLAGS = (
    "-target wasm32-wasi -msimd128 -O3 -std=c++17 -ffp-contract=fast -fno-math-errno -fno-trapping-math "
    "-fno-signed-zeros -fno-exceptions -fno-rtti -mexec-model=reactor -DSKETCHSEEK_BROWSER "
    "-DSKETCHSEEK_BUILD=portable -Wl,--strip-all -Wl,-z,stack-size=1048576"
)


def build(folder: Path) -> None:
    """Both builds, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, more in BUILDS.items():
        made = folder / f".{name}.{os.getpid()}.wasm"
        sources = [str(ROOT / "src" / "cpp" / source) for source in SOURCES]
        command = [sys.executable, "-m", "ziglang", "c++", *FLAGS.split(), *more, *sources, "-o", str(made)]
        subprocess.run(command, check=True, cwd=ROOT)
        made.replace(folder / f"{name}.wasm")
        data = (folder / f"{name}.wasm").read_bytes()
        print(f"{name}.wasm: {len(data):,} bytes, {len(gzip.compress(data, 9)):,} compressed")


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else ENGINE)
