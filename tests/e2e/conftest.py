"""A browser, and a server for it to visit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

pytest.register_assert_rewrite("visitor")
expect.set_options(timeout=30_000)  # milliseconds: a busy machine takes its time

ARGUMENTS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
APPLICATION = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
ARTEFACTS = Path(__file__).parents[2] / "artifacts" / "page"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, (*NAMES, APPLICATION))), None)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("There is no Chrome or Chromium here, and with CI=true the page must be tested.")
        pytest.skip("there is no Chrome or Chromium here: install one to test the page")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS.split())
        yield browser
        browser.close()


class Server:
    """`sketchseek serve` for an index; it comes back to the same address after `stop`."""

    def __init__(self, index: Path, *arguments: str, **environment: str) -> None:
        self.index, self.arguments, self.environment = index, arguments, environment
        self.port = "0"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "sketchseek", "serve", "--index", str(self.index)]
        self.process = subprocess.Popen(
            [*command, "--port", self.port, *self.arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **self.environment},
        )
        assert self.process.stdout is not None
        self.address = re.search(r"http://\S+", self.process.stdout.readline())[0]
        self.port = re.search(r":(\d+)/", self.address)[1]

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture(scope="session")
def server() -> Iterator[Callable[..., Server]]:
    """A function that starts a server for an index."""
    started: list[Server] = []

    def start(index: Path, *arguments: str, **environment: str) -> Server:
        started.append(Server(index, *arguments, **environment))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(scope="session")
def serve(server: Callable[..., Server]) -> Callable[..., str]:
    """A function that starts a server for an index, and gives its address."""
    return lambda index, *arguments: server(index, *arguments).address


@pytest.fixture(scope="session")
def address(serve: Callable[..., str], shape_index: Path) -> str:
    return serve(shape_index)


@pytest.fixture(scope="session")
def expanding(
    serve: Callable[..., str], shape_pictures: Path, tmp_path_factory: pytest.TempPathFactory
) -> str:
    """The address of a server whose index knows what its pictures depict."""
    from sketchseek import Index

    where = tmp_path_factory.mktemp("expanding") / "index"
    Index.create(where, detector="canny", expansion=True).add([shape_pictures])
    return serve(where)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """A function that opens the page in a fresh profile; any error in its console fails the test."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def open_page(address: str, may_fail: bool = False, **profile: object) -> Page:
        options = {"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce", **profile}
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        if not may_fail:
            page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        page.wait_for_function("() => document.querySelector('#collection').textContent !== ''")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not errors


@pytest.fixture
def keep(request: pytest.FixtureRequest) -> Callable[[Page, str], None]:
    """A function that keeps a screenshot for people to look at."""

    def screenshot(page: Page, name: str) -> None:
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=ARTEFACTS / f"{name}.png")

    return screenshot
