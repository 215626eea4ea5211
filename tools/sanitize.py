"""The engine's tests under sanitizers: address and undefined behaviour, then threads.

    python tools/sanitize.py [address,undefined | thread] [--planted]

The engine is compiled with them, for every instruction set, into build/sanitize, and a copy of the package
with it is tested; the tests ask every entry point of every build that this processor runs, from several
threads. With `--planted`, faults are put in on purpose, and each must be found.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from engine_copy import LIBRARY, ROOT, copy_package, run_tests

BUILD = ROOT / "build" / "sanitize"
# Not: limits of memory, of which sanitizers take a lot; sizes of maps that CMakeLists.txt leaves out.
TESTS = "not cannot_be_started and not large_ones and not full and not one_byte_scores and not faiss"
RUNTIMES = {"address,undefined": "libasan.so", "thread": "libtsan.so"}
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",  # the interpreter's own leaks are no matter
    "UBSAN_OPTIONS": "print_stacktrace=1",
    # Races are looked for in the engine alone; its locks and the interpreter's are seen either way.
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=1:exitcode=66",
}
# What it is, who must find it, the right line, the wrong one.
PLANTED = [
    (
        "projections laid out by whoever comes",
        "thread",
        "std::call_once(laid_out_once_, [this] { lay_out(); });",
        "lay_out();",
    ),
    ("no room behind the last rows", "address,undefined", "rows * size + kOverrun", "rows * size"),
    (
        "a reach shifted too far",
        "address,undefined",
        "pose.reach = given_.reach[p];",
        "pose.reach = given_.reach[p] << 31 >> 31;",
    ),
]


def compiled(sanitizers: str, right: str = "", wrong: str = "") -> Path:
    """The engine with the sanitizers, and where it lies; with one line changed, if asked to.

    The sources are copied, and only those that changed, so that a fault costs one file's compilation.
    """
    build = BUILD / sanitizers.replace(",", "-")
    sources = build / "sources"
    files = (ROOT / "CMakeLists.txt", *sorted((ROOT / "src" / "cpp").rglob("*.*pp")))
    if not any(right in file.read_text() for file in files):
        raise SystemExit(f"the line that is to be changed is gone: {right}")
    for file in files:
        text, copy = file.read_text(), sources / file.relative_to(ROOT)
        text = text.replace(right, wrong, 1) if right else text
        if not copy.exists() or copy.read_text() != text:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
    configure = ["cmake", "-S", str(sources), "-B", str(build), f"-DSKETCHSEEK_SANITIZE={sanitizers}"]
    options = ["-DCMAKE_BUILD_TYPE=Debug", f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run([*configure, *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(build), "-j", str(os.cpu_count() or 1)], check=True)
    return next(build.glob("_engine*.so"))


def runtime(sanitizers: str) -> str:
    """The library that the interpreter must load before all others."""
    asked = ["c++", f"-print-file-name={RUNTIMES[sanitizers]}"]
    found = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    if not Path(found).is_absolute():
        raise SystemExit(f"The compiler has no {RUNTIMES[sanitizers]}.")
    return found


def tested(engine: Path, sanitizers: str) -> subprocess.CompletedProcess[str]:
    """The tests on a copy of the package with that engine."""
    package = copy_package(engine.parent / "package")
    shutil.copy(engine, package / LIBRARY)
    # The thread sanitizer wants its part of the address space where it expects it.
    launcher = ["setarch", platform.machine(), "-R"] if sanitizers == "thread" else []
    environment = OPTIONS | {"LD_PRELOAD": runtime(sanitizers), "PYTHONMALLOC": "malloc"}
    return run_tests(package, TESTS, launcher=launcher, environment=environment)


def main() -> int:
    """Each kind of sanitizer; the exit status is 1 where one found something, or missed what was planted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sanitizers", nargs="*", default=list(RUNTIMES), metavar="SANITIZERS")
    parser.add_argument(
        "--planted", action="store_true", help="put faults in, and see whether they are found"
    )
    args = parser.parse_args()
    wrong = 0
    for sanitizers in args.sanitizers:
        done = tested(compiled(sanitizers), sanitizers)
        print(
            done.stdout[-4000:],
            done.stderr[-8000:],
            f"{sanitizers}: exit status {done.returncode}",
            flush=True,
        )
        wrong += done.returncode != 0
    for name, finder, right, bad in PLANTED if args.planted else ():
        if finder in args.sanitizers:
            done = tested(compiled(finder, right, bad), finder)
            lines = (done.stdout + done.stderr).splitlines()
            said = [line for line in lines if "SUMMARY" in line or "runtime error" in line]
            print(f"planted: {name}: {said[0] if said else 'nothing found'}", flush=True)
            wrong += not said
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
