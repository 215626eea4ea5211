"""Figures are drawn as files that picture programs open, the same each time."""

import sys

import pytest
from PIL import Image

from sketchseek.errors import SketchseekError
from sketchseek.evaluation.figures import draw, joint_approximation, names


def test_joint_approximation_as_png_and_svg(tmp_path):
    assert "joint-approximation" in names()
    draw("joint-approximation", tmp_path / "f.png")
    with Image.open(tmp_path / "f.png") as picture:
        assert picture.size == (1760, 512)
        assert len(picture.convert("RGB").getcolors(1 << 20)) > 50
    draw("joint-approximation", tmp_path / "f.svg")
    draw("joint-approximation", str(tmp_path / "g.svg"))
    text = (tmp_path / "f.svg").read_text()
    assert "<svg" in text
    assert text == (tmp_path / "g.svg").read_text()


def test_it_shows_what_the_paper_shows():
    maps = joint_approximation.approximations()
    total = {name: feature_map.errors().sum() for name, feature_map in maps.items()}
    assert total["joint"] < 0.7 * total["naive"] < 0.7 * total["Fourier"]


@pytest.mark.parametrize(
    ("name", "out", "words"),
    [
        ("joint", "f.png", "There is no figure 'joint'"),
        ("joint-approximation", "f.gif", "must end in one of"),
        ("joint-approximation", "missing/f.png", "Cannot write"),
    ],
)
def test_mistakes_get_a_sentence(tmp_path, name, out, words):
    with pytest.raises(SketchseekError, match=words):
        draw(name, tmp_path / out)


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(SketchseekError, match=r"sketchseek\[figures\]"):
        draw("joint-approximation", tmp_path / "f.png")
