"""Mistakes in the engine's arithmetic, each made on purpose: do the tests notice?

    python tools/mutants.py

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

from engine_copy import LIBRARY, SOURCES, copy_package, run_tests

TESTS = "compact or any_number or pruned or shortlist or largest or scan"

# What it is, the file, the right line, the wrong one.
MUTANTS = [
    ("no mutation: the tests pass", "kernels.cpp", "", ""),
    ("a sine's sign in gamma", "kernels/coefficients.hpp", "c[0][1] -= qcs * vcc;", "c[0][1] += qcs * vcc;"),
    (
        "an even product taken for an odd one",
        "kernels/coefficients.hpp",
        "add_square(o, e, qij + k",
        "add_square(e, o, qij + k",
    ),
    (
        "mirroring along y too",
        "kernels/coefficients.hpp",
        "add_pair(b.odd, b.odd, q + o + 1",
        "add_pair(b.even, b.odd, q + o + 1",
    ),
    ("the mirror's sign", "kernels/coefficients.hpp", "b[1][at] = even - odd;", "b[1][at] = even + odd;"),
    ("-d forgotten", "kernels/translations.hpp", "return even + abs(odd);", "return even + odd;"),
    (
        "x and y of the coefficients exchanged",
        "kernels/translations.hpp",
        "table[1] * b[2 * kDx + j];",
        "table[1] * b[kDx + j];",
    ),
    (
        "the norm of another kernel",
        "kernels/lanes.hpp",
        "(norm * db.kernels + kernel)",
        "(norm * db.kernels)",
    ),
    (
        "a byte of the neighbour",
        "kernels/lanes.hpp",
        "out[1] = upper_byte(square[i] << 16);",
        "out[1] = upper_byte(square[i] << 8);",
    ),
    ("the winner's side", "kernels/translations.hpp", "choose(odd < 0.0f,", "choose(odd > 0.0f,"),
    ("a bound that is too low", "kernels/bound.hpp", "slack -= profile[k]", "slack -= 0 * profile[k]"),
    ("ties to the higher number", "selection.hpp", "id < other.id", "id > other.id"),
    (
        "signs that agree taken for signs that differ",
        "kernels/near.hpp",
        "!= (variables_[t % side_",
        "== (variables_[t % side_",
    ),
    (
        "energy on one side only",
        "kernels/energy.hpp",
        "(even - odd) * (even - odd)",
        "(even + odd) * (even + odd)",
    ),
    ("a neighbour's table", "kernels/product_codes.hpp", "repeated(table + 16)", "repeated(table)"),
    (
        "uphill taken for downhill",
        "refine_pose.hpp",
        "(at.xy * at.y - at.yy * at.x)",
        "(at.yy * at.x - at.xy * at.y)",
    ),
    ("a sine's sign off the grid", "refine_pose.hpp", "negative ? -product : product", "product"),
    ("one norm for all scales", "refine_pose.hpp", "ladder.weights(pose)", "ladder.weights(0)"),
    (
        "a drawing moved the other way",
        "kernels/drawing.hpp",
        "cosine * c - sine * s",
        "cosine * c + sine * s",
    ),
    ("a quarter turn too much", "kernels/drawing.hpp", "(quarter + 1) << 30", "quarter << 30"),
]


def compiled(sources: Path, package: Path, kept: Path) -> None:
    """The engine with the portable kernels of few sizes: some seconds, not a minute.

    kept : objects of sources that no mutation touched, compiled once.
    """
    kernels = sources / "kernels.cpp"
    module = sources / "module.cpp"
    listed = (
        '#if defined(__x86_64__)\n      {"avx512vnni"'  # the builds to choose from: the portable one alone
    )
    module.write_text(module.read_text().replace(listed, listed.replace("defined(__x86_64__)", "0")))
    import nanobind

    root = Path(nanobind.include_dir()).parent
    headers = [root / "include", root / "ext/robin_map/include", sysconfig.get_path("include")]
    flags = ["-std=c++17", "-O1", "-fPIC", "-w", "-fno-strict-aliasing", "-DSKETCHSEEK_BUILD=portable"]
    flags.append("-DSKETCHSEEK_FEW_SIZES")
    parts = {
        kernels: [
            kernels,
            *sorted((sources / "kernels").iterdir()),
            sources / "simd.hpp",
            sources / "engine.hpp",
        ],
        module: [module, *sorted(sources.glob("*.hpp")), *sorted((sources / "search").iterdir())],
        root / "src" / "nb_combined.cpp": [],
    }
    objects = []
    for source, files in parts.items():
        content = "".join(file.read_text() for file in files)
        target = kept / f"{source.stem}-{hashlib.sha256(content.encode()).hexdigest()[:16]}.o"
        if not target.exists():
            command = ["c++", *flags, *(f"-I{h}" for h in headers), "-c", str(source), "-o", str(target)]
            subprocess.run(command, check=True)
        objects.append(str(target))
    subprocess.run(["c++", "-shared", *objects, "-o", str(package / LIBRARY), "-pthread"], check=True)


def caught(package: Path) -> bool:
    """Whether the tests fail with this engine."""
    done = run_tests(package, TESTS)
    failed = re.findall(r"^FAILED \S+::(\S+)", done.stdout, re.MULTILINE)
    print(f"    {failed[0] if failed else done.stdout.strip().splitlines()[-1]}", flush=True)
    return done.returncode != 0


def main() -> int:
    """All of them; the first is none, and must pass."""
    survivors = []
    with tempfile.TemporaryDirectory() as kept:
        for name, file, right, wrong in MUTANTS:
            with tempfile.TemporaryDirectory() as folder:
                package, sources = copy_package(Path(folder)), Path(folder) / "cpp"
                shutil.copytree(SOURCES, sources)
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
