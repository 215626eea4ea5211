"""The wheels in dist/, each in an environment that is as bare as a user's: `make test-wheel`."""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

sys.path.insert(0, os.path.dirname(__file__))
from wheels import ROOT, candidates, interpreters

DIST = ROOT / "dist"
WHEELS = sorted(glob.glob(f"{DIST}/*.whl"))
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cmake", "make", "ninja")
OF_GLIBC = {
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
DRAW = """
from PIL import Image, ImageDraw
for number in range(6):
    image = Image.new("RGB", (200, 150), "white")
    pen = ImageDraw.Draw(image)
    shape = pen.ellipse if number % 2 else pen.rectangle
    shape((20 + 9 * number, 20, 110 + 9 * number, 100), fill="navy")
    image.save(f"pictures/{number}.png")
"""
SQUARE = {"strokes": [[[0, 0], [90, 0], [90, 80], [0, 80], [0, 0]]]}


def test_there_is_a_wheel_for_every_python() -> None:
    assert sum("-cp311-cp311-manylinux" in name for name in WHEELS) == 1, WHEELS
    assert sum("-cp312-abi3-manylinux" in name for name in WHEELS) == 1, WHEELS


def test_the_sdist_has_what_a_build_takes() -> None:
    (sdist,) = DIST.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "CMakeLists.txt", "README.md", "LICENSE", "src/cpp/module.cpp"} <= names
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


@pytest.mark.parametrize("wheel", WHEELS, ids=os.path.basename)
def test_it_asks_for_no_library_but_the_c_library(wheel: str, tmp_path: Path) -> None:
    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile

    with zipfile.ZipFile(wheel) as archive:
        (module,) = [name for name in archive.namelist() if name.endswith(".so")]
        path = archive.extract(module, tmp_path)
    with open(path, "rb") as file:
        (dynamic,) = [s for s in ELFFile(file).iter_sections() if isinstance(s, DynamicSection)]
        needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
    assert needed <= OF_GLIBC


@pytest.fixture(scope="module", params=WHEELS, ids=os.path.basename)
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with six pictures, a drawing, and the wheel in an environment of its own."""
    own, later = interpreters(candidates())
    folder = tmp_path_factory.mktemp("home")
    subprocess.run([own if "cp311" in request.param else later, "-m", "venv", folder / "venv"], check=True)
    extras = f"{request.param}[server,expansion]"
    run(folder, "pip", "install", "--quiet", "--only-binary", ":all:", extras)
    (folder / "pictures").mkdir()
    (folder / "square.json").write_text(json.dumps(SQUARE))
    run(folder, "python", "-c", DRAW)
    return folder


def environment(home: Path) -> dict[str, str]:
    """What a program of that home sees: no compiler, no build tool, of this machine only pip's settings."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "LANG"))}
    return {**kept, "PATH": str(home / "venv" / "bin"), "HOME": str(home)}


def run(home: Path, program: str, *words: str) -> str:
    """Run a program of the environment; what it printed."""
    command = [str(home / "venv" / "bin" / program), *words]
    done = subprocess.run(
        command, cwd=home, env=environment(home), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_indexes_searches_and_serves(home: Path) -> None:
    path = environment(home)["PATH"]
    assert not [name for name in COMPILERS if os.path.exists(f"{path}/{name}")]
    assert json.loads(run(home, "sketchseek", "index", "pictures", "--jobs", "1", "--json"))["added"] == 6
    assert json.loads(run(home, "sketchseek", "info", "--json"))["expansion"] == "efficientnet"
    found = json.loads(run(home, "sketchseek", "search", "square.json", "-k", "3", "--json"))
    assert {Path(hit["picture"]).stem for hit in found["hits"]} == {"0", "2", "4"}, "the rectangles"
    code = "from sketchseek.shape.engine import native; print(native.__name__)"
    assert run(home, "python", "-c", code).strip() == "sketchseek.shape.engine.native"
    for url in served(home):
        with urlopen(url) as page:
            assert b"<canvas" in page.read()
        request = Request(
            f"{url}api/search", json.dumps(SQUARE).encode(), {"Content-Type": "application/json"}
        )
        with urlopen(request) as answer:
            assert len(json.load(answer)["hits"]) == 6


def served(home: Path) -> Iterator[str]:
    """The address of a server that runs meanwhile."""
    words = [str(home / "venv" / "bin" / "sketchseek"), "serve", "--port", "0"]
    with subprocess.Popen(
        words, cwd=home, env=environment(home), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found
        try:
            yield found[0]
        finally:
            process.terminate()
