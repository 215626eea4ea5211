"""The figures that need no data set are drawn, the same each time."""

import pytest
from PIL import Image

from sketchseek.cli import main

pytestmark = pytest.mark.slow

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("name", ["alignment", "hits"])
def test_figure_is_drawn_and_repeats_itself(name, tmp_path):
    first, again = tmp_path / "a.png", tmp_path / "b.png"
    for out in (first, again):
        assert main(["figure", name, "--out", str(out)]) == 0
    assert first.read_bytes() == again.read_bytes()
    with Image.open(first) as picture:
        assert len(picture.convert("RGB").resize((64, 64)).getcolors(5000)) > 50  # not blank
