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
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

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


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """A function that runs `sketchseek serve` for an index, and gives its address."""
    started: list[subprocess.Popen[str]] = []

    def start(index: Path, *arguments: str) -> str:
        command = [sys.executable, "-m", "sketchseek.cli", "serve", "--index", str(index), "--port", "0"]
        process = subprocess.Popen(
            [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        started.append(process)
        assert process.stdout is not None
        return re.search(r"http://\S+", process.stdout.readline())[0]

    yield start
    for process in started:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
def address(serve: Callable[..., str], shape_index: Path) -> str:
    return serve(shape_index)


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
