"""The direction of imports, drawn in docs/explanation/architecture.md: nothing imports what is below it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sketchseek"
TABLE = "## Who may import whom"
ROW = re.compile(r"^\| (\d+) \| (.+?) \|", re.MULTILINE)


def layers() -> dict[str, int]:
    """Top-level parts of the package -> their place in the architecture page's table."""
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text().split(TABLE)[1].split("\n## ")[0]
    return {
        name.removesuffix("/").removesuffix(".py"): int(number)
        for number, names in ROW.findall(page)
        for name in re.findall(r"`([^`]+)`", names)
    }


def parts() -> set[str]:
    """Everything directly under the package that holds code."""
    modules = {p.stem for p in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    return modules | {p.parent.name for p in PACKAGE.glob("*/__init__.py")}


def imports(source: str, module: tuple[str, ...]) -> Iterator[str]:
    """The parts of the package that a module imports when it runs, early or late.

    module : its package's path below the root, as ("search",) for search/ranking.py.
    """
    tree = ast.parse(source)
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ("sketchseek", *module)[: len(module) + 2 - node.level] if node.level else ()
            path = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{path}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("sketchseek."))


def upward(source: str, module: tuple[str, ...], order: dict[str, int], part: str) -> list[str]:
    """What a module of a part imports although it stands below it in the table."""
    return [name for name in imports(source, module) if name in order and order[name] > order[part]]


def test_the_page_names_every_part_of_the_package():
    assert set(layers()) == parts()


def test_only_these_modules_lie_at_the_root():
    named = {
        "__init__",
        "__main__",
        "errors",
        "index",
        "kernels",
        "plugins",
        "progress",
        "system",
    }
    assert {p.stem for p in PACKAGE.glob("*.py")} <= named


@pytest.mark.parametrize("part", sorted(parts()))
def test_nothing_imports_what_stands_below_it(part):
    order = layers()
    files = [PACKAGE / f"{part}.py"] if (PACKAGE / f"{part}.py").exists() else (PACKAGE / part).rglob("*.py")
    for file in files:
        module = file.relative_to(PACKAGE).parent.parts
        found = upward(file.read_text(), module, order, part)
        assert not found, f"{file.relative_to(ROOT)} imports {', '.join(found)}"


def test_an_upward_import_is_noticed():
    order = {"shape": 1, "search": 2}
    for wrong in ("from ..search.ranking import rank", "import sketchseek.search", "from .. import search"):
        assert upward(f"def late():\n    {wrong}\n", ("shape",), order, "shape") == ["search"]
    assert upward("from ..shape.query import Query", ("search",), order, "search") == []
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..search.hit import Hit\n"
    assert upward(typed, ("shape",), order, "shape") == []


@pytest.mark.parametrize(
    "name", ["sketchseek", "sketchseek.contours", "sketchseek.embeddings", "sketchseek.maps"]
)
def test_a_package_that_loads_late_names_what_it_has(name):
    package = import_module(name)
    assert set(package.__all__) <= set(dir(package))
    assert all(getattr(package, each) is not None for each in package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


def test_nothing_of_an_extra_is_loaded_by_indexing_and_searching(shape_pictures, tmp_path):
    extras = [
        "anywidget",
        "traitlets",
        "mcp",
        "pypdfium2",
        "fastapi",
        "uvicorn",
        "matplotlib",
        "ray",
        "torch",
    ]
    code = (
        "import sys; from pathlib import Path; from sketchseek import Index\n"
        "index = Index.create(sys.argv[1], detector='canny', expansion=False)\n"
        "index.add(sys.argv[2], jobs=1); index.search([[[0, 0], [9, 0], [5, 8], [0, 0]]])\n"
        f"print(*set({extras!r}) & set(sys.modules))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "index"), str(shape_pictures)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []
