"""Scripts in `benchmarks` follow what they measure: each one can be imported."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
NEEDED = {"listing": ("ray", "moto"), "agents": ("mcp",)}


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the benchmarks are not here")
@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_a_benchmark_imports(name, monkeypatch):
    for needed in NEEDED.get(name, ()):
        if find_spec(needed) is None:
            pytest.skip(f"needs {needed}")
    monkeypatch.syspath_prepend(str(FOLDER))
    for other in [path.stem for path in FOLDER.glob("*.py")]:
        monkeypatch.delitem(sys.modules, other, raising=False)
    assert import_module(name).__doc__
