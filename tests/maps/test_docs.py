"""The how-to and the examples in docstrings are run as they stand."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOWTO = ROOT / "docs" / "how-to" / "feature-maps.md"


def test_the_how_to_runs():
    results = doctest.testfile(str(HOWTO), module_relative=False)
    assert results.attempted > 25
    assert results.failed == 0


@pytest.mark.parametrize(
    "name", ["kernels", "maps", "maps.harmonic", "maps.low_dimensional", "maps.joint", "maps.match_kernel"]
)
def test_examples_in_docstrings_run(name):
    results = doctest.testmod(import_module(f"sketchseek.{name}"))
    assert results.attempted > 0
    assert results.failed == 0
