"""The package for npm in a real browser: packed, installed, checked for types, built by Vite, drawn on."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import tarfile
import threading
import tomllib
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from visitor import STAR

from sketchseek import Index
from sketchseek.web.publish import ENGINES, publish

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "src" / "sketchseek" / "web" / "engine"
PACKAGE = ROOT / "packaging" / "npm"
NPM = shutil.which("npm")
pytestmark = [
    pytest.mark.timeout(600),  # it fetches Vite and TypeScript
    pytest.mark.skipif(NPM is None, reason="there is no npm here"),
    pytest.mark.skipif(
        not all((ENGINE / name).exists() for name in ENGINES), reason="the engine for browsers: `make wasm`"
    ),
]


def npm(folder: Path, *arguments: str) -> str:
    """What npm says; an AssertionError where it could not do it."""
    quiet = {**os.environ, "npm_config_audit": "false", "npm_config_fund": "false", "NO_COLOR": "1"}
    command = [NPM, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=quiet, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Quiet(SimpleHTTPRequestHandler):
    """Any static file server."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    npm(PACKAGE, "pack", "--pack-destination", str(folder))
    return next(folder.glob("sketch-seek-*.tgz"))


@pytest.fixture(scope="module")
def example(packed: Path, shape_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with its packages, and a collection to search."""
    folder = tmp_path_factory.mktemp("example") / "vite"
    shutil.copytree(
        ROOT / "examples" / "vite", folder, ignore=shutil.ignore_patterns("node_modules", "public")
    )
    try:
        npm(folder, "install", str(packed))
    except AssertionError as error:
        if re.search("ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENOTCACHED|E404|EAI_FAIL", str(error)):
            pytest.skip("npm can't fetch Vite here")
        raise
    (folder / "public").mkdir()
    publish(Index.open(shape_index), folder / "public" / "icons")
    return folder


@pytest.fixture(scope="module")
def built(example: Path) -> Iterator[str]:
    """The address at which a static file server serves the built site, in a folder of its own."""
    assert npm(example, "run", "check") is not None
    npm(example, "run", "build")
    shutil.copytree(example / "dist", example / "served" / "deep" / "site")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=example / "served"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/deep/site/"
    server.shutdown()
    server.server_close()


def draw(page: Page) -> None:
    page.locator("sketch-seek canvas").scroll_into_view_if_needed()
    box = page.locator("sketch-seek canvas").bounding_box()
    size = 0.7 * min(box["width"], box["height"]) / 100
    places = [(box["x"] + 20 + size * x, box["y"] + 20 + size * y) for x, y in [*STAR, STAR[0]]]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()


def test_the_package_is_of_our_version_and_complete(packed):
    about = json.loads((PACKAGE / "package.json").read_text())
    assert about["version"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    with tarfile.open(packed) as archive:
        files = {m.name.removeprefix("package/"): archive.extractfile(m).read() for m in archive.getmembers()}
    named = [target.removeprefix("./") for way in about["exports"].values() for target in way.values()]
    assert {*named, "LICENSE", "README.md", *(f"dist/engine/{engine}" for engine in ENGINES)} <= set(files)
    for name, source in files.items():
        if name.endswith(".js"):  # whatever a module imports came along
            for path in re.findall(r'^(?:import|export) [^"]*"(\.[^"]+)";$', source.decode(), re.MULTILINE):
                assert os.path.normpath(f"{os.path.dirname(name)}/{path}") in files


def test_types_are_wrong_where_the_page_is(example):
    wrong = example / "src" / "wrong.ts"
    wrong.write_text('import { open } from "sketch-seek/collection";\n(await open("/x/")).search("star");\n')
    try:
        with pytest.raises(AssertionError, match=r"wrong\.ts"):
            npm(example, "run", "check")
    finally:
        wrong.unlink()


def test_a_site_built_by_vite_is_searched_by_drawing(built: str, browser: Browser):
    page = browser.new_page(viewport={"width": 1100, "height": 800})
    faults: list[str] = []
    page.on("console", lambda said: said.type in ("error", "warning") and faults.append(said.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "response", lambda answer: answer.status >= 400 and faults.append(f"{answer.status} {answer.url}")
    )
    page.goto(built)
    expect(page.get_by_text("Draw an icon.")).to_be_visible()
    draw(page)
    hits = page.locator("sketch-seek .hit")
    expect(hits).to_have_count(6)
    assert "star" in hits.first.text_content()
    page.wait_for_function(
        "() => document.querySelector('sketch-seek').shadowRoot.querySelector('img').naturalWidth > 0"
    )
    hits.first.click()
    expect(page.get_by_role("log")).to_contain_text("star")
    expect(page.get_by_role("log")).to_contain_text("% sure")
    assert not faults
    page.close()


def test_it_works_while_it_is_developed(example: Path, browser: Browser):
    server = subprocess.Popen(
        ["node", "node_modules/vite/bin/vite.js", "--port", "0", "--host", "127.0.0.1"],
        cwd=example,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    try:
        address = next(found[0] for line in server.stdout if (found := re.search(r"http://[\d.:]+/", line)))
        page = browser.new_page(viewport={"width": 1100, "height": 800})
        page.goto(address)
        draw(page)
        expect(page.locator("sketch-seek .hit")).to_have_count(6)
        page.close()
    finally:
        server.terminate()
        server.wait(30)
