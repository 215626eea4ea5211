"""Every figure of the documentation comes from docs/results.json; none is typed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md") if p.parent.name != "site")
KNOWN = {
    "main": {
        "tables": [
            {"title": "", "corner": "", "columns": ["`a`", "b"], "said": ["So it is."],
             "rows": {"**all**": ["51.5 (68.4) IoU 0.69 [47.5, 55.5]", "1,982"]}},
            {"title": "By hand:", "corner": "", "columns": ["a"], "said": [], "rows": {"all": ["0.5"]}},
        ]
    }
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_a_page_types_no_figure_and_asks_for_what_is_there(figures: ModuleType, page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert "{{" not in re.sub(r"`[^`\n]*`", "", figures.filled(text, figures.results()))
    if not figures.may_type(page):
        assert list(figures.typed(text, figures.settings())) == []


def test_the_readme_is_what_its_source_says(figures: ModuleType) -> None:
    assert (ROOT / "README.md").read_text(encoding="utf-8") == figures.readme()


def test_the_readme_is_short(figures: ModuleType) -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 600


def prose(markdown: str) -> list[str]:
    """The words that a person reads: a figure that is filled in is one, code and formulas are none."""
    for what, by in (
        (r"^(`{3,}).*?^\1[ \t]*$", " "), (r"\{\{[^}]*\}\}", "0"),
        (r"\$\$.*?\$\$|\$[^$\n]+\$", " "), (r"\]\([^)]*\)", "] "), (r"<[^>]+>", " "),
    ):  # fmt: skip
        markdown = re.sub(what, by, markdown, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"[^\W_][\w'’.,/-]*", markdown)


def test_user_pages_are_short() -> None:
    user = {
        p for p in PAGES if p.split("/")[0] in ("tutorials", "how-to", "explanation", "reference", "index.md")
    }
    user -= {"how-to/contribute.md", "how-to/release.md", "explanation/architecture.md"}  # for contributors
    pages = [(DOCS / p).read_text(encoding="utf-8") for p in user]
    assert (
        sum(len(prose(page)) for page in [*pages, (ROOT / "README.md").read_text(encoding="utf-8")]) <= 15_000
    )


def test_settings_that_no_page_has_are_noticed(figures: ModuleType) -> None:
    text = "\n".join((DOCS / p).read_text(encoding="utf-8") for p in PAGES if not figures.may_type(p))
    assert [s for s in figures.settings() if s not in text] == []


def test_a_figure_is_found_by_row_column_and_measure(figures: ModuleType) -> None:
    def asked(text: str) -> str:
        return str(figures.filled(f"{{{{ {text} }}}}", KNOWN))

    assert asked("main / all / a / mAP") == "51.5"
    assert asked("main / all / a / P@20") == "68.4"
    assert asked("main / all / a / P@20 | of 20") == "13.7"
    assert asked("main / all / a / high") == "55.5"
    assert asked("main / all / b") == "1,982"
    assert asked("main / By hand / all / a") == "0.5"
    assert asked("main / By hand / all / a | percent") == "50"
    assert asked("table main 2") == "| | a |\n|---|---|\n| all | 0.5 |".replace("| | a |", "|  | a |")
    assert "So it is." in asked("tables main")
    assert figures.filled("`{{ code }}`", KNOWN) == "`{{ code }}`"


@pytest.mark.parametrize(
    "wrong",
    ["other / all / a", "main / none / a", "main / all / c", "main / all / b / IoU", "main", "table main 3"],
)
def test_what_the_results_do_not_have_is_an_error(figures: ModuleType, wrong: str) -> None:
    with pytest.raises(figures.FigureError):
        figures.filled(f"{{{{ {wrong} }}}}", KNOWN)


@pytest.mark.parametrize(
    "sentence",
    ["It takes 29 ms.", "Of all, 98.6% come first.", "1.77 MB", "mAP 51.5", "AUROC of .94", "16 of 20 are"],
)
def test_a_typed_figure_is_noticed(figures: ModuleType, sentence: str) -> None:
    assert list(figures.typed(sentence, {}))
    assert not list(figures.typed(f"```\n{sentence}\n```", {}))
    assert not list(figures.typed(f"`{sentence}`", {}))


def test_what_is_no_figure_may_be_typed(figures: ModuleType) -> None:
    assert not list(figures.typed("Python 3.9, 400 pixels, step 2, {{ main / all / a }} ms, 4 of them", {}))
    assert not list(figures.typed("below 35% it says so", {"35%": "constants.hpp"}))


def test_a_benchmarks_tables_are_recorded(record: ModuleType, figures: ModuleType, tmp_path: Path) -> None:
    printed = (
        "Icons:\n\n| | first |\n|---|---|\n| `a` | 98.6% |\n| b | 2 |\n\nNothing was chosen.\n\n"
        "## Two\n\n| x | y |\n|---|---|\n| 1 | 2 |\n"
    )
    path = tmp_path / "results.json"
    record.record("lines", printed, "python x.py", measured="2026-01-02", path=path)
    record.record("more", "| | a |\n|---|---|\n| b | 3 |\n", "python y.py", path=path)
    known = json.loads(path.read_text())
    assert known["lines"]["measured"] == "2026-01-02"
    assert figures.figure("lines / Icons / a / first", known) == "98.6"
    assert known["lines"]["tables"][0]["said"] == ["Nothing was chosen."]
    assert figures.figure("lines / Two / 1 / y", known) == "2"
    assert figures.figure("more / b / a", known) == "3"
    record.record("lines", printed.replace("98.6", "99.9"), "python x.py", path=path)
    assert figures.figure("lines / a / first", json.loads(path.read_text())) == "99.9"


def test_the_results_say_where_they_come_from(figures: ModuleType) -> None:
    for name, section in figures.results().items():
        assert section["command"], name
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", section["measured"]), name
        assert section["tables"], name
        for script in re.findall(r"python (\S+\.py)", section["command"]):
            assert (ROOT / script).exists(), script
