"""A hook of the build of the documentation: every figure on a page comes from docs/results.json.

A page, or the README's source beside this file, asks for a figure by its section, row, column and measure:

    {{ main / everything / sysu / P@20 }}        88.2
    {{ main / everything / sysu / P@20 | of 20 }} 17.6
    {{ table main 2 }}                            the section's second table
    {{ tables main }}                             all of the section's tables, and what is said below them

A title of a table may stand before the row where a section has several tables with the same rows. Research
notes are dated, so their figures may be typed; on every other page a typed figure stops the build (`typed`).
Numbers that are settings and not measurements are listed in settings.txt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
RESULTS = DOCS / "results.json"
README = DOCS.parent / "README.md"
README_SOURCE = Path(__file__).with_name("README.md")
SETTINGS = Path(__file__).with_name("settings.txt")

ASKED = re.compile(r"\{\{\s*(.+?)\s*\}\}")
CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^(`{3,}).*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
NOT_PROSE = re.compile(
    r"`[^`\n]*`|\$\$.+?\$\$|(?<![\\$\w])\$(?!\s)[^$\n]+\$|\]\([^)]*\)|<[^>]*>|\{[^}]*\}", re.DOTALL
)
UNITS = r"%|per ?cent\b|µs\b|ms\b|s\b|seconds?\b|minutes?\b|kB\b|MB\b|GB\b|bytes?\b|times\b|points\b"
FIGURE = re.compile(
    rf"(?<![\w.,@-])(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:\s?(?:{UNITS})|(?= of (?:the first )?20\b))"
    r"|(?<![\w.,])\d*\.\d{2,}(?![\w.]*\w)|(?<![\w.,])\d{2,}\.\d(?![\w.]*\w)"
    r"|(?:mAP|AUROC|IoU|P@\d+|R@\d+|ODS)(?: of| is)? (?:\d|\.\d)[\d.]*"
)
MEASURES = {
    "value": r"([-+]?[\d,]*\.?\d+)",
    "mAP": r"^([-+]?\d+\.\d+)",
    "P@20": r"\(([\d.]+)\)",
    "IoU": r"IoU ([\d.]+)",
    "R@10": r"R@10 ([\d.]+)",
    "low": r"\[([-+\d.]+), [-+\d.]+\]",
    "high": r"\[[-+\d.]+, ([-+\d.]+)\]",
    "cell": r"(.*)",
}


class FigureError(Exception):
    """A page asks for what the results do not have, or has a figure of its own."""


def results(path: Path = RESULTS) -> dict[str, Any]:
    """The results file: section -> command, date, tables."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def plain(name: str) -> str:
    """A name as it is asked for: without emphasis and code marks."""
    return re.sub(r"[*`#]|:$", "", name).strip()


def figure(asked: str, known: dict[str, Any]) -> str:
    """One figure, as text."""
    path, _, how = (part.strip() for part in asked.partition(" | "))
    section, *names = [plain(part) for part in path.split(" / ")]
    if section not in known:
        raise FigureError(f"the results have no section {section!r}, in {{{{ {asked} }}}}")
    tables = known[section]["tables"]
    if names and any(plain(t["title"]) == names[0] for t in tables):
        title = names.pop(0)
        tables = [t for t in tables if plain(t["title"]) == title]
    measure = names.pop() if len(names) == 3 else "value"
    if len(names) != 2 or measure not in MEASURES:
        raise FigureError(f"{{{{ {asked} }}}} does not name a row, a column and a measure")
    row, column = names
    for t in tables:
        columns = [plain(c) for c in t["columns"]]
        cells = {plain(r): cells for r, cells in t["rows"].items()}.get(row)
        if cells is not None and column in columns:
            match = re.search(MEASURES[measure], plain(cells[columns.index(column)]))
            if match is None:
                raise FigureError(f"there is no {measure} in the cell of {{{{ {asked} }}}}")
            return shown(match[1], how)
    raise FigureError(f"the results have no row and column for {{{{ {asked} }}}}")


def shown(value: str, how: str) -> str:
    """A figure in another form: `of 20` of a percentage, `whole` without decimals, `percent` of a share."""
    if not how:
        return value
    number = float(value.replace(",", ""))
    forms = {"of 20": f"{number / 5:.1f}", "whole": f"{number:,.0f}", "percent": f"{100 * number:.0f}"}
    if how not in forms:
        raise FigureError(f"{how!r} is no form of a figure: {', '.join(forms)}")
    return forms[how]


def table(t: dict[str, Any]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join([t['corner'], *t['columns']])} |", "|---" * (len(t["columns"]) + 1) + "|"]
    lines += [f"| {' | '.join([row, *cells])} |" for row, cells in t["rows"].items()]
    return "\n".join(lines)


def tables(section: dict[str, Any]) -> str:
    """All tables of a section, with their titles and what is said below them."""
    parts = []
    for t in section["tables"]:
        parts += [t["title"]] if t["title"] else []
        parts += [table(t)] if t["rows"] else []
        parts += ["\n".join(t["said"])] if t["said"] else []
    return "\n\n".join(parts)


def answer(asked: str, known: dict[str, Any]) -> str:
    """What stands in the place of one `{{ }}`."""
    kind, _, rest = asked.partition(" ")
    if kind == "tables" and rest in known:
        return tables(known[rest])
    if kind == "table":
        name, _, number = rest.partition(" ")
        if name in known and 1 <= int(number or 1) <= len(known[name]["tables"]):
            return table(known[name]["tables"][int(number or 1) - 1])
    return figure(asked, known)


def filled(markdown: str, known: dict[str, Any]) -> str:
    """A page with its figures; code stays as it is."""
    pieces = CODE.split(markdown)
    for i in range(0, len(pieces), 2):
        pieces[i] = ASKED.sub(lambda m: answer(m[1], known), pieces[i])
    return "".join(pieces)


def settings() -> dict[str, str]:
    """Numbers that are settings, as they are written -> where they are set."""
    lines = (line.partition("#") for line in SETTINGS.read_text(encoding="utf-8").splitlines())
    return {text.strip(): where.strip() for text, _, where in lines if text.strip()}


def typed(markdown: str, allowed: dict[str, str]) -> Iterator[str]:
    """Figures that a page types itself."""
    prose = FENCED.sub(" ", markdown)
    prose = NOT_PROSE.sub(" ", ASKED.sub(" ", prose))
    for text in sorted(allowed, key=len, reverse=True):
        prose = re.sub(rf"(?<![\w.]){re.escape(text)}(?!\w)", " ", prose)
    yield from (m[0] for m in FIGURE.finditer(prose))


def may_type(path: str) -> bool:
    """Research notes are dated; reference pages that are made from the code have nothing to ask for."""
    return path.startswith("research/") or path in GENERATED


GENERATED = {"reference/command-line.md", "reference/http.md", "reference/python.md"}


def on_pre_build(config: Any) -> None:
    """Stop where the README is not what its source and the results say."""
    if readme() != README.read_text(encoding="utf-8"):
        stop("README.md is not what docs/site/README.md and docs/results.json say: run `make readme`")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in a page's figures; stop where it types one."""
    path = page.file.src_uri
    try:
        full = filled(markdown, results())
    except FigureError as error:
        stop(f"{path}: {error}")
    if not may_type(path) and (found := list(typed(markdown, settings()))):
        stop(f"{path} types figures that belong in docs/results.json: {', '.join(found)}")
    return full


def stop(sentence: str) -> None:
    """End the build with a sentence."""
    from mkdocs.exceptions import PluginError

    raise PluginError(sentence)


def readme() -> str:
    """The README with its figures."""
    source = README_SOURCE.read_text(encoding="utf-8")
    if found := list(typed(source, settings())):
        raise FigureError(f"docs/site/README.md types figures: {', '.join(found)}")
    return filled(source, results())


if __name__ == "__main__":
    README.write_text(readme(), encoding="utf-8")
