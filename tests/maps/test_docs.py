"""The how-to is run as it stands."""

import doctest
from pathlib import Path

HOWTO = Path(__file__).parents[2] / "docs" / "howto-feature-maps.md"


def test_the_how_to_runs():
    results = doctest.testfile(str(HOWTO), module_relative=False)
    assert results.attempted > 25
    assert results.failed == 0
