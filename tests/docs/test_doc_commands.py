"""Every command and snippet of the README, tutorials and how-tos is run, in a house with a few pictures.

What needs another machine (a cluster, a card, a bucket, a museum), a download or hours is parsed by the real
parser instead, and nothing else is let off: `ELSEWHERE` says what.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sketchseek import Index
from sketchseek.cli import build_parser, main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted((DOCS / "tutorials").glob("*.md")),
    *(p for p in sorted((DOCS / "how-to").glob("*.md")) if p.name != "feature-maps.md"),  # run by its doctest
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
ELSEWHERE = re.compile(
    r"--cluster|\bcluster\b|cuda|s3://|https://|dinov2|/shared/|\bdemo\b|--npm\b|\bbench\b|\bmcp\b|notebook"
)
"""Of sketchseek's own commands, those that are parsed only."""
STAYS = re.compile(r"^(serve|index .*--watch)")
UMBRELLA = {"strokes": [[[30, 0], [90, 0], [120, 60], [0, 60], [30, 0]], [[60, 60], [60, 140], [75, 150]]]}
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="black" '
    'stroke-width="2">{}</svg>'
)
SHAPES = {
    "heart": '<path d="M12 21C3 14 3 5 8 5c2 0 4 2 4 4c0-2 2-4 4-4c5 0 5 9-4 16z"/>',
    "house": '<path d="M4 11l8-8 8 8v10H4z"/><path d="M10 21v-6h4v6"/>',
    "umbrella": '<path d="M4 12a8 8 0 0 1 16 0z"/><path d="M12 12v7a2 2 0 0 0 4 0"/>',
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(text: str) -> Iterator[str]:
    """What a person types in a console block."""
    joined = text.replace("\\\n", " ")
    for line in joined.splitlines():
        if line.startswith("$ "):
            yield from re.split(r"\s+&&\s+", re.sub(r"\s+#.*", "", line[2:]).strip())


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with pictures, drawings and an index, as the pages suppose them."""
    home = tmp_path_factory.mktemp("docs") / "home"
    pictures = home / "Pictures"
    (pictures / "private").mkdir(parents=True)
    (home / "icons").mkdir()
    (home / "Documents").mkdir()
    for name, shape in SHAPES.items():
        (home / "icons" / f"{name}.svg").write_text(SVG.format(shape))
        (pictures / f"{name}.svg").write_text(SVG.format(shape))
    shutil.copy(sample_photograph(), pictures / "photo.jpg")
    photograph(pictures / "private" / "secret.jpg", "maroon")
    shutil.copy(pictures / "photo.jpg", home / "photo.jpg")
    shutil.copy(pictures / "photo.jpg", home / "Documents" / "scan.jpg")
    (home / "umbrella.json").write_text(json.dumps(UMBRELLA))
    (home / "links.csv").write_text("picture,title,link\nheart,A heart,https://example.org/heart\n")
    drawings = home / "src" / "sketchseek" / "demo" / "drawings"  # as in a checkout
    shutil.copytree(ROOT / drawings.relative_to(home), drawings)
    mug = Image.new("L", (200, 160), 255)
    ImageDraw.Draw(mug).rectangle((40, 30, 140, 130), outline=0, width=5)
    mug.save(home / "mug.png")
    annotated = home / "annotated"
    (annotated / "drawings").mkdir(parents=True)
    (annotated / "photos").mkdir()
    (annotated / "drawings" / "cup.json").write_text(json.dumps(UMBRELLA))
    photograph(annotated / "photos" / "coffee.png", "navy")
    (example,) = (text for kind, text in blocks(DOCS / "how-to" / "measure.md") if kind == "json")
    (annotated / "groundtruth.json").write_text(example)
    pytest.importorskip("faiss")  # the extra `expansion`, which the pages install
    index = Index.create(home / ".sketchseek", expansion=True)
    index.add([pictures], jobs=1)
    shutil.copytree(home / ".sketchseek", home / "pictures.index")
    shutil.copytree(home, home.with_name("as furnished"))
    return home


def sample_photograph() -> Path:
    """A photograph out of a package."""
    sklearn = pytest.importorskip("sklearn")
    return Path(sklearn.__file__).parent / "datasets" / "images" / "china.jpg"


def photograph(path: Path, colour: str) -> None:
    """A thing on a ground that is no line art."""
    picture = Image.effect_noise((240, 180), 40).convert("RGB")
    ImageDraw.Draw(picture).ellipse((60, 40, 180, 140), fill=colour)
    picture.save(path)


@pytest.fixture
def home(furnished: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, as it was when it was furnished; the commands are typed there."""
    shutil.rmtree(furnished)
    shutil.copytree(furnished.with_name("as furnished"), furnished)
    monkeypatch.chdir(furnished)
    monkeypatch.setenv("HOME", str(furnished))
    monkeypatch.delenv("SKETCHSEEK_INDEX", raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return furnished


class Typist:
    """Types a page's commands, one after the other."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.served: subprocess.Popen[str] | None = None
        self.port = 0

    def type(self, command: str) -> None:
        """Run a command, or check what cannot run here."""
        words = shlex.split(command, comments=False)
        program = words[0].removeprefix(".venv/bin/")
        simple = not re.search(r"[|<>*]|\$\(", re.sub(r"'[^']*'|\"[^\"]*\"", "", command))
        if program == "sketchseek":
            arguments = [os.path.expanduser(word) for word in words[1:]]
            if ELSEWHERE.search(command):
                build_parser(arguments).parse_args(arguments)
            elif STAYS.search(" ".join(words[1:])):
                self.stay(arguments)
            elif simple:
                self.sketchseek(arguments)
            else:
                self.shell(command)
        elif program == "docker":
            assert all((ROOT / word).exists() for word in words if word.startswith("deploy/")), command
        elif program in ("git", "cd", "source"):
            pass  # what `make demo` and the tests themselves have done
        elif program == "pip":
            assert set(extras(command)) <= set(declared()), command
            assert all((ROOT / word).is_dir() for word in words if word.startswith("./")), command
        elif program == "make":
            makefile = (ROOT / "Makefile").read_text()
            assert re.search(rf"^{re.escape(words[1])}:", makefile, re.MULTILINE), command
        elif "http.server" in command:
            assert (self.home / words[-1] / "index.html").exists()
        elif program == "curl":
            assert self.served is not None, f"nothing is served when {command} is typed"
            if shutil.which("curl"):
                self.shell(command.replace("localhost:8000", f"127.0.0.1:{self.port}"))
        elif "benchmarks/" in command:
            assert (ROOT / re.findall(r"benchmarks/\w+\.py", command)[0]).exists()
        elif "pytest" in command:
            assert all((ROOT / word).exists() for word in words if word.startswith("tests/"))
        elif "venv" in command:
            pass
        elif "pytablericons" in command:
            pytest.importorskip("pytablericons")
            self.shell(command.replace("cp -r", "true"))  # thousands of icons: three are in the house
        else:
            self.shell(command)

    def sketchseek(self, arguments: list[str]) -> None:
        """A command of ours, in this process."""
        said, answered = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(answered):
            status = main(arguments)
        assert status == 0, f"{shlex.join(arguments)}: {said.getvalue()}"
        if "--json" in arguments:
            json.loads(answered.getvalue())
        if "--out" in arguments or "--html" in arguments:
            flag = "--out" if "--out" in arguments else "--html"
            assert Path(arguments[arguments.index(flag) + 1]).stat().st_size > 0

    def shell(self, command: str) -> None:
        """Anything else."""
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"

    def stay(self, arguments: list[str]) -> None:
        """A command that stays: wait until it is there, then end what stayed before."""
        self.end()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        port = ["--port", str(self.port)] if arguments[0] == "serve" else []
        if arguments[0] == "index":
            photograph(Path(arguments[1]) / "new.jpg", "teal")
        running = subprocess.Popen(
            [sys.executable, "-m", "sketchseek", *arguments, *port],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if arguments[0] == "serve":
            self.served = running
            self.wait(arguments)
        else:
            assert running.stdout is not None
            try:
                assert any("1 added" in line for line in running.stdout)
            finally:
                running.send_signal(signal.SIGINT)
                running.wait(60)
            assert running.returncode == 0

    def wait(self, arguments: list[str]) -> None:
        """Until the server answers."""
        assert self.served is not None
        until = time.monotonic() + 120
        while time.monotonic() < until:
            assert self.served.poll() is None, shlex.join(arguments)
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/health", timeout=5).read()
                return
            time.sleep(0.2)
        raise AssertionError(f"{shlex.join(arguments)} does not answer")

    def end(self) -> None:
        """End what is served."""
        if self.served is not None:
            self.served.terminate()
            self.served.wait(60)
            self.served = None


def extras(command: str) -> list[str]:
    """The extras that a `pip install` names."""
    return [name for group in re.findall(r"\[([\w,]+)\]", command) for name in group.split(",")]


def declared() -> list[str]:
    """The extras that there are."""
    return list(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_commands_run(page: Path, home: Path) -> None:
    typed = [command for kind, text in blocks(page) if kind == "console" for command in commands(text)]
    if not typed:
        pytest.skip("there are none")
    if "pip install pytablericons" in typed:
        shutil.rmtree("icons.index", ignore_errors=True)
    typist = Typist(home)
    try:
        for command in typed:
            typist.type(command)
    finally:
        typist.end()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_snippets_run(page: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKETCHSEEK_INDEX", str(home / ".sketchseek"))
    said: dict[str, object] = {}
    found = 0
    for kind, text in blocks(page):
        found += kind in ("python", "json", "toml")
        if kind == "python":
            code = compile(text.replace("~/Pictures", str(home / "Pictures")), page.name, "exec")
            if not re.search(r"vgg16|onnx:|cuda|\.draw\(", text):
                exec(code, said)
        elif kind == "json":
            json.loads(text)
        elif kind == "toml":
            tomllib.loads(text)
    if not found:
        pytest.skip("there are none")


def test_the_plug_in_of_the_page_gives_pictures() -> None:
    said: dict[str, type] = {}
    for kind, text in blocks(DOCS / "how-to" / "plug-ins.md"):
        if kind == "python":
            exec(text, said)
    source = said["Shelf"]()
    (item,) = source.items("shelf://kitchen", None)
    assert item.reference == "shelf://kitchen/mug.svg"
    assert source.fetch(item).startswith(b"<svg")
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:, 4:] = 255
    strength = said["Gradient"]("", "cpu")(pixels)
    assert strength[:, 3:5].min() > 0.5
    assert strength[:, 0].max() == 0


def test_a_wrong_command_is_noticed(home: Path) -> None:
    typist = Typist(home)
    for wrong in ("sketchseek search nothing.json", "pip install '.[nothing]'", "make nothing", "false"):
        with pytest.raises(AssertionError):
            typist.type(wrong)
    for wrong in ("sketchseek serve --cluster auto --nothing", "sketchseek nothing"):
        with pytest.raises(SystemExit):
            typist.type(wrong)
