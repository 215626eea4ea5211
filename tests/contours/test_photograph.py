"""A photograph given as a drawing is recognised and traced, wherever it comes in."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sketchseek.contours import Sketch
from sketchseek.contours.photograph import is_photograph, photograph_strokes
from sketchseek.errors import SketchseekError
from sketchseek.sources.picture import on_white, scaled

NAMES = ("coffee", "chelsea", "astronaut", "rocket")


def photograph(name: str) -> Image.Image:
    data = pytest.importorskip("skimage.data")
    return Image.fromarray(getattr(data, name)())


def drawing() -> Image.Image:
    image = Image.new("RGB", (500, 400), (250, 248, 240))
    ImageDraw.Draw(image).line([(60, 60), (420, 80), (380, 330), (90, 300), (60, 60)], (20, 30, 60), 4)
    return image


@pytest.mark.parametrize("name", NAMES)
def test_photographs_are_told_from_drawings(name: str) -> None:
    assert is_photograph(on_white(scaled(photograph(name), 128)))
    assert not is_photograph(on_white(scaled(drawing(), 128)))
    assert photograph_strokes(drawing()) is None


def test_a_file_an_image_and_bytes_give_the_same(tmp_path: Path) -> None:
    image = photograph("coffee")
    image.save(tmp_path / "cup.png")
    from_file = Sketch.load(tmp_path / "cup.png")
    assert 5 < len(from_file.strokes) < 200
    assert max(map(len, from_file.strokes)) > 50  # the rim of the cup is one long line
    out = io.BytesIO()
    image.save(out, "PNG")
    for other in (Sketch.of(image), Sketch.of(out.getvalue()), Sketch.of(str(tmp_path / "cup.png"))):
        assert np.array_equal(other.points.x, from_file.points.x)
    assert Sketch.of(from_file) is from_file


def test_a_photograph_keeps_what_it_shows_and_a_part_of_it_can_be_meant(tmp_path: Path) -> None:
    image = photograph("coffee")
    image.save(tmp_path / "cup.png")
    whole = Sketch.load(tmp_path / "cup.png").picture
    assert whole is not None
    assert whole.shape == (267, 400, 3)
    box = (150.0, 50.0, 450.0, 350.0)
    part = Sketch.load(tmp_path / "cup.png", box=box).picture
    assert part is not None
    assert part.shape == (400, 400, 3)
    alone = Sketch.from_image(image.crop((150, 50, 450, 350))).picture
    assert alone is not None
    assert np.abs(part.astype(int) - alone).mean() < 2
    assert Sketch.from_image(drawing()).picture is None


def test_a_box_follows_a_picture_that_was_made_smaller(tmp_path: Path) -> None:
    image = photograph("coffee")
    image.resize((2400, 1600)).save(tmp_path / "large.png")
    large = Sketch.load(tmp_path / "large.png", box=(600, 200, 1800, 1400)).picture
    image.save(tmp_path / "small.png")
    small = Sketch.load(tmp_path / "small.png", box=(150, 50, 450, 350)).picture
    assert large is not None
    assert small is not None
    assert np.abs(large.astype(int) - small).mean() < 4


def test_a_box_over_the_edge_is_what_lies_inside(tmp_path: Path) -> None:
    photograph("coffee").save(tmp_path / "cup.png")  # 600 x 400
    over = Sketch.load(tmp_path / "cup.png", box=(-50, -0.5, 300, 500)).picture
    inside = Sketch.load(tmp_path / "cup.png", box=(0, 0, 300, 400)).picture
    assert over is not None
    assert inside is not None
    assert (over == inside).all()


@pytest.mark.parametrize(
    ("box", "reason"),
    [
        ((-9, 0, 0, 9), "outside"),
        ((700, 0, 800, 9), "outside"),
        ((0, 400, 9, 500), "outside"),
        ((9, 9, 9, 99), "less than"),
        ((5, 5, 1, 9), "less than"),
        ((float("nan"), 0, 9, 9), "less than"),
        ((0, 0, 2, 2), "too small"),
    ],
)
def test_a_box_elsewhere_is_one_sentence(tmp_path: Path, box: tuple[float, ...], reason: str) -> None:
    photograph("coffee").save(tmp_path / "cup.png")
    with pytest.raises(SketchseekError, match=rf"^The box [^\n]*{reason}[^\n]*\.$"):
        Sketch.load(tmp_path / "cup.png", box=box)
    with pytest.raises(SketchseekError, match="drawing is searched as a whole"):
        Sketch.load(b"[[[0, 0], [1, 1]]]", box=(0, 0, 9, 9))


@pytest.mark.parametrize("mode", ["L", "1", "P", "RGBA", "LA", "I", "I;16", "F"])
def test_images_of_any_mode(mode: str) -> None:
    truth = Sketch.from_image(drawing()).points
    grey = drawing().convert("L").point(lambda level: 255 * (level > 128))
    sixteen = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    seen = Sketch.from_image(sixteen if mode == "I;16" else grey.convert(mode)).points
    assert len(seen) == pytest.approx(len(truth), rel=0.02)
    assert seen.height == pytest.approx(truth.height, abs=4)


def test_large_images_are_made_smaller() -> None:
    large = drawing().resize((5000, 4000))
    assert len(Sketch.from_image(large).points) == pytest.approx(
        len(Sketch.from_image(drawing()).points), rel=0.02
    )
