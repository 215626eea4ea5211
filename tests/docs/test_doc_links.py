"""Links between pages, to their headings, and to files of this repository lead somewhere."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = sorted(p for p in DOCS.rglob("*.md") if p.parent.name != "site")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE]
MADE = {"reference/command-line.md", "reference/http.md"}  # by docs/site/reference.py
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
MENTIONED = re.compile(
    r"`((?:src|tests|benchmarks|tools|docs|training|examples|deploy|packaging)/[\w./-]+?\.\w+)`"
)


def prose(page: Path) -> str:
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """The ids of a page's headings, as the site makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        text = unicodedata.normalize("NFKD", re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading))
        text = re.sub(r"[^\w\s-]", "", text.encode("ascii", "ignore").decode()).strip().lower()
        found.add(re.sub(r"[-\s]+", "-", text))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if link.startswith(("http:", "https:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        name = target.relative_to(DOCS).as_posix() if target.is_relative_to(DOCS) else ""
        if name in MADE:
            continue
        assert target.exists(), f"{page.name} links to {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.name} links to {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_that_a_page_mentions_exist(page: Path) -> None:
    if page.is_relative_to(DOCS / "research"):
        pytest.skip("a research note speaks of its day")
    for path in MENTIONED.findall(prose(page)):
        assert (ROOT / path).exists(), f"{page.name} mentions {path}"


def test_every_page_is_in_the_navigation() -> None:
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nplugins:")[0]
    for page in SITE:
        assert page.relative_to(DOCS).as_posix() in listed


def test_pages_that_moved_lead_on() -> None:
    settings = (ROOT / "mkdocs.yml").read_text()
    moved = re.findall(r"^        ([\w./-]+\.md): ([\w./-]+\.md)", settings, re.MULTILINE)
    assert len(moved) > 15
    for old, new in moved:
        assert not (DOCS / old).exists()
        assert (DOCS / new).exists()
