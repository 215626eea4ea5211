"""What a docstring or a comment names in backticks is there: modules, classes and their members, files."""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "sketchseek"
MODULES = {
    p.relative_to(SOURCE).with_suffix("").as_posix().removesuffix("/__init__"): p
    for p in SOURCE.rglob("*.py")
}
PLACES = [ROOT / top for top in ("", "src", "src/cpp", "src/sketchseek", "src/sketchseek/web", "training")]
FILES = ("py", "hpp", "cpp", "js", "css", "md", "json", "toml")
NAME = re.compile(r"(?<!`)`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?`(?!`)")
PATH = re.compile(r"(?<![\w/.~])((?:[\w-]+/)+[\w.-]+\.(?:" + "|".join(FILES) + r"))\b")


def members(tree: ast.Module) -> dict[str, set[str]]:
    """The classes of a module, with what their objects have and the names of their bases."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            has = found.setdefault(node.name, set())
            has.update(base.id for base in node.bases if isinstance(base, ast.Name))
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    has.add(inner.name)
                elif isinstance(inner, ast.AnnAssign | ast.Assign):
                    targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
                    has.update(t.id for t in targets if isinstance(t, ast.Name))
                    has.update(t.attr for t in targets if isinstance(t, ast.Attribute))
    return found


def top_level(tree: ast.Module) -> set[str]:
    """What a module has."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}
NAMES = {name: top_level(tree) for name, tree in TREES.items()}
CLASSES: dict[str, set[str]] = {}
for _tree in TREES.values():
    for _name, _has in members(_tree).items():
        CLASSES.setdefault(_name, set()).update(_has)


def has_member(name: str, member: str) -> bool:
    """Whether objects of a class, or of its bases, have something."""
    return member in CLASSES[name] or any(
        has_member(b, member) for b in CLASSES[name] & CLASSES.keys() - {name}
    )


def is_there(name: str) -> bool:
    """Whether a name in backticks stands for something; names of others are believed."""
    first, *rest = name.split(".")
    if not rest:
        is_class = bool(re.fullmatch(r"[A-Z][a-z]+(?:[A-Z][a-z]+)+", first))
        return not is_class or hasattr(builtins, first) or any(first in has for has in NAMES.values())
    if rest[-1] in FILES:
        return True  # a file: see PATH
    if first in CLASSES:
        return has_member(first, rest[0])
    parts = name.removeprefix("sketchseek.").split(".")
    of_ours = [m for m in MODULES if m.split("/")[0] == parts[0] or m.split("/")[-1] == parts[0]]
    if not of_ours:
        return True
    for n in range(len(parts), 0, -1):
        path = "/".join(parts[:n])
        for module in MODULES:
            if module == path or module.endswith("/" + path):
                left = parts[n:]
                if not left or left[0] in NAMES[module]:
                    return len(left) < 2 or left[0] not in CLASSES or has_member(left[0], left[1])
    return False


def prose(path: Path) -> Iterator[str]:
    """The docstrings and comments of a file."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


@pytest.mark.parametrize("module", sorted(MODULES))
def test_what_is_named_is_there(module: str) -> None:
    said = list(prose(MODULES[module]))
    assert [name for text in said for name in NAME.findall(text) if not is_there(name)] == []
    paths = {path for text in said for path in PATH.findall(text) if "http" not in text}
    near = [*PLACES, MODULES[module].parent]
    assert [path for path in sorted(paths) if not any((place / path).exists() for place in near)] == []


@pytest.mark.parametrize(
    "wrong", ["embeddings.expand.Words", "Index.find_all", "shape.views", "TaughtDescriber"]
)
def test_what_is_gone_is_noticed(wrong: str) -> None:
    assert not is_there(wrong)


@pytest.mark.parametrize(
    "right", ["Index.search", "embeddings.rerank", "search.search", "os.replace", "ValueError"]
)
def test_what_is_there_is_not(right: str) -> None:
    assert is_there(right)
