"""A copy of the package with another engine in it, and the engine's tests run on that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "cpp"
OF_SEARCH = (
    "search/test_core.py",
    "search/test_places.py",
    "search/test_local_normalization.py",
    "search/test_confidence.py",
)
OF_CODES = ("embeddings/test_quantisation.py", "embeddings/test_tokens.py")
TESTS = tuple(str(ROOT / "tests" / name) for name in ("shape/engine", *OF_CODES, *OF_SEARCH))
LIBRARY = Path("shape") / "engine" / f"_engine{sysconfig.get_config_var('EXT_SUFFIX')}"


def copy_package(folder: Path) -> Path:
    """The package without its engine, in a folder of its own; the engine belongs at `LIBRARY`."""
    package = folder / "sketchseek"
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "page", "*.onnx")
    shutil.copytree(ROOT / "src" / "sketchseek", package, ignore=ignored, dirs_exist_ok=True)
    return package


def run_tests(
    package: Path, chosen: str, *, launcher: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The engine's tests that `chosen` (pytest's -k) selects, with the package at that place.

    What the engine writes goes past pytest: a sanitizer's report is followed by the end of the process.
    """
    program = (
        "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'Editable' not in type(f).__name__ "
        f"and 'Redirect' not in type(f).__name__]; sys.path.insert(0, {str(package.parent)!r}); "
        f"import pytest; sys.exit(pytest.main(['-x', '-q', '--capture=sys', *{TESTS!r}, '-k', {chosen!r}]))"
    )
    return subprocess.run(
        [*launcher, sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
