"""The documentation as a site: it builds, asks no other host for anything, and is searched from a folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("material")
pytest.importorskip("mkdocstrings")

ROOT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
QUIET = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make docs` builds."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **QUIET}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_asks_nobody(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|link|img|iframe)[^>]* (?:src|href)="?(https?:[^"\s>]+)', page.read_text()
        )
        assert loaded == [], page


def test_the_reference_is_made_from_the_code(site: Path) -> None:
    command_line = (site / "reference" / "command-line.html").read_text()
    assert all(f'id="{name}"' in command_line for name in ("index", "search", "cluster-status"))
    assert "POST /api/search" in (site / "reference" / "http.html").read_text()
    python = (site / "reference" / "python.html").read_text()
    assert all(f'id="sketchseek.{name}"' in python for name in ("index.Index.search", "kernels.RBF"))
    assert "<math" in (site / "explanation" / "mathematics.html").read_text()


def test_every_command_has_its_place_in_the_reference(site: Path) -> None:
    assert ">More<" not in (site / "reference" / "command-line.html").read_text()


def test_a_page_that_moved_leads_on(site: Path) -> None:
    assert "how-to/search.html" in (site / "howto-search.html").read_text()


def test_the_site_is_searched_from_a_folder(site: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("There is no Chrome or Chromium here.")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        page = running.chromium.launch(
            executable_path=browser, args=["--headless", "--no-sandbox"]
        ).new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.set_default_timeout(60_000)
        page.locator(".md-search__input").click()
        page.keyboard.type("turned")
        page.locator(".md-search-result__link").first.wait_for(state="attached")
        assert all(url.startswith(("file:", "data:", "blob:", "about:")) for url in asked)


def test_a_typed_figure_stops_the_build(figures: ModuleType) -> None:
    from mkdocs.exceptions import PluginError

    page = SimpleNamespace(file=SimpleNamespace(src_uri="how-to/search.md"))
    with pytest.raises(PluginError, match=r"98\.6%"):
        figures.on_page_markdown("Of all, 98.6% come first.", page)
    with pytest.raises(PluginError, match="no section"):
        figures.on_page_markdown("{{ nothing / a / b }}", page)
    page.file.src_uri = "research/edges.md"
    assert figures.on_page_markdown("98.6%", page) == "98.6%"
