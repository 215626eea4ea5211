"""The documentation's pages, and the module that fills in their figures."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def module(path: Path) -> ModuleType:
    """A script of the documentation, which is no package."""
    spec = importlib.util.spec_from_file_location(f"sketchseek_docs_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="session")
def figures() -> ModuleType:
    """docs/site/figures.py."""
    return module(ROOT / "docs" / "site" / "figures.py")


@pytest.fixture(scope="session")
def record() -> ModuleType:
    """benchmarks/record.py."""
    return module(ROOT / "benchmarks" / "record.py")
