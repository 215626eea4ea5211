"""Mistakes in the engine's arithmetic, each made on purpose: do the tests notice?

    python benchmarks/mutants.py

Each mutant is compiled alone (portable build, compact preset) into a copy of the package, and the engine's
tests are run on it. A mutant that survives is printed last and makes the exit status 1.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILES = ("shape/engine", "depiction/test_quantisation.py")
TESTS = "compact or any_number or pruned or shortlist or largest or scan"

# What it is, the file, the right line, the wrong one.
MUTANTS = [
    ("no mutation: the tests pass", "kernels.cpp", "", ""),
    ("a sine's sign in gamma", "kernels.cpp", "c[0][1] -= qcs * vcc;", "c[0][1] += qcs * vcc;"),
    (
        "an even product taken for an odd one",
        "kernels.cpp",
        "add_square(o, e, qij + k",
        "add_square(e, o, qij + k",
    ),
    (
        "mirroring along y too",
        "kernels.cpp",
        "add_pair(b.odd, b.odd, q + o + 1",
        "add_pair(b.even, b.odd, q + o + 1",
    ),
    ("the mirror's sign", "kernels.cpp", "b[1][at] = even - odd;", "b[1][at] = even + odd;"),
    ("-d forgotten", "kernels.cpp", "return even + abs(odd);", "return even + odd;"),
    (
        "x and y of the coefficients exchanged",
        "kernels.cpp",
        "table[1] * b[2 * kDx + j];",
        "table[1] * b[kDx + j];",
    ),
    ("the norm of another kernel", "kernels.cpp", "(norm * db.kernels + kernel)", "(norm * db.kernels)"),
    (
        "a byte of the neighbour",
        "kernels.cpp",
        "out[1] = upper_byte(square[i] << 16);",
        "out[1] = upper_byte(square[i] << 8);",
    ),
    ("the winner's side", "kernels.cpp", "choose(odd < 0.0f,", "choose(odd > 0.0f,"),
    ("a bound that is too low", "kernels.cpp", "slack -= profile[k]", "slack -= 0 * profile[k]"),
    ("ties to the higher number", "selection.hpp", "id < other.id", "id > other.id"),
    (
        "signs that agree taken for signs that differ",
        "kernels.cpp",
        "!= (variables_[t % side_",
        "== (variables_[t % side_",
    ),
    ("energy on one side only", "kernels.cpp", "(even - odd) * (even - odd)", "(even + odd) * (even + odd)"),
    ("a neighbour's table", "kernels.cpp", "repeated(table + 16)", "repeated(table)"),
    (
        "uphill taken for downhill",
        "settle.hpp",
        "(at.xy * at.y - at.yy * at.x)",
        "(at.yy * at.x - at.xy * at.y)",
    ),
    ("a sine's sign off the grid", "settle.hpp", "negative ? -product : product", "product"),
    ("one norm for all scales", "settle.hpp", "ladder.weights[pose * size + c]", "ladder.weights[c]"),
]


def compiled(sources: Path, package: Path, kept: Path) -> None:
    """The engine with the portable kernels of the compact preset alone: a few seconds, not a minute.

    kept : objects of sources that no mutation touched, compiled once.
    """
    kernels = sources / "kernels.cpp"
    text = kernels.read_text()
    text = re.sub(r"#define CHOOSE\(f, nx, no\).*", "#define CHOOSE(f, nx, no) f<5, 3>", text)
    text = re.sub(
        r"#define ANY_OF\(f, nx\).*?f<10, 0>\)", "#define ANY_OF(f, nx) f<5, 3>", text, flags=re.DOTALL
    )
    kernels.write_text(text)
    module = sources / "module.cpp"
    module.write_text(module.read_text().replace("&kernels_avx512, &kernels_avx2,", ""))
    import nanobind

    root = Path(nanobind.include_dir()).parent
    headers = [root / "include", root / "ext/robin_map/include", sysconfig.get_path("include")]
    flags = ["-std=c++17", "-O1", "-fPIC", "-w", "-fno-strict-aliasing", "-DSKETCHSEEK_BUILD=portable"]
    parts = {
        kernels: ("kernels.cpp", "simd.hpp", "engine.hpp"),
        module: ("module.cpp", "settle.hpp", "selection.hpp", "threads.hpp", "engine.hpp"),
        root / "src" / "nb_combined.cpp": (),
    }
    objects = []
    for source, files in parts.items():
        content = "".join((sources / name).read_text() for name in files)
        target = kept / f"{source.stem}-{hashlib.sha256(content.encode()).hexdigest()[:16]}.o"
        if not target.exists():
            command = ["c++", *flags, *(f"-I{h}" for h in headers), "-c", str(source), "-o", str(target)]
            subprocess.run(command, check=True)
        objects.append(str(target))
    library = package / "engine" / f"_engine{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run(["c++", "-shared", *objects, "-o", str(library), "-pthread"], check=True)


def caught(package: Path) -> bool:
    """Whether the tests fail with this engine."""
    tests = [str(ROOT / "tests" / name) for name in FILES]
    program = (
        "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'Editable' not in type(f).__name__ "
        f"and 'Redirect' not in type(f).__name__]; sys.path.insert(0, {str(package.parent)!r}); "
        f"import pytest; sys.exit(pytest.main(['-x', '-q', *{tests!r}, '-k', {TESTS!r}]))"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    failed = re.findall(r"^FAILED \S+::(\S+)", done.stdout, re.MULTILINE)
    print(f"    {failed[0] if failed else done.stdout.strip().splitlines()[-1]}", flush=True)
    return done.returncode != 0


def main() -> int:
    """All of them; the first is none, and must pass."""
    survivors = []
    with tempfile.TemporaryDirectory() as kept:
        for name, file, right, wrong in MUTANTS:
            with tempfile.TemporaryDirectory() as folder:
                package, sources = Path(folder) / "sketchseek", Path(folder) / "cpp"
                ignored = shutil.ignore_patterns("*.so", "__pycache__", "page", "*.onnx")
                shutil.copytree(ROOT / "src" / "sketchseek", package, ignore=ignored)
                shutil.copytree(ROOT / "src" / "cpp", sources)
                text = (sources / file).read_text()
                if right not in text:
                    raise SystemExit(f"the line that '{name}' changes is gone: {right}")
                (sources / file).write_text(text.replace(right, wrong, 1) if right else text)
                print(name, flush=True)
                compiled(sources, package, Path(kept))
                if caught(package) != bool(right):
                    survivors.append(name)
    print(f"{len(MUTANTS) - 1} mutants, survivors: {', '.join(survivors) or 'none'}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
