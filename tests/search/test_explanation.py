"""Why a picture matches a drawing, or does not."""

from __future__ import annotations

import numpy as np
import pytest

from sketchseek.cli import main
from sketchseek.contours import strength_to_points
from sketchseek.contours.detectors.canny import Canny
from sketchseek.contours.drawing import Sketch
from sketchseek.evaluation.planted import plant, random_background
from sketchseek.search.explanation import explain
from sketchseek.search.view import PictureContours, view_of
from sketchseek.shape.settings import Settings


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(8)
    return plant(random_background(rng), rng, blur=3.0)


@pytest.fixture(scope="module")
def view(planted):
    contours = PictureContours.whole(strength_to_points(Canny()(planted.pixels)), planted.pixels)
    return view_of([contours], Settings.preset("precise"))


def test_the_whole_of_a_shape_that_is_there_meets_contours(view, planted):
    found = explain(view, planted.sketch)
    assert (found.support > 0.25).mean() > 0.9
    assert found.evenness > 0.9
    assert found.surface.max() == pytest.approx(found.hit.score, abs=1e-3)
    x0, y0, x1, y1 = planted.box
    assert (np.abs(found.met.min(axis=0) - [x0, y0]) < 25).all()
    assert (np.abs(found.met.max(axis=0) - [x1, y1]) < 25).all()


def test_a_part_that_is_not_there_does_not(view, planted):
    outline = planted.sketch.strokes[0]
    tail = outline[-1] + np.linspace(0, 1, 40)[:, None] * np.array([250.0, -300.0])
    more = explain(view, Sketch.from_strokes([outline, tail.astype(np.float32)]))
    assert more.evenness < explain(view, planted.sketch).evenness
    assert (more.support < 0.25).mean() > 0.1


def test_the_command_draws_it(tmp_path, planted, capsys):
    from PIL import Image

    Image.fromarray(planted.pixels).save(tmp_path / "picture.png")
    outline = planted.sketch.strokes[0].tolist()
    (tmp_path / "drawing.json").write_text(f'{{"strokes": [{outline}]}}')
    words = [
        "explain",
        str(tmp_path / "drawing.json"),
        str(tmp_path / "picture.png"),
        "--index",
        str(tmp_path),
    ]
    assert main([*words, "--out", str(tmp_path / "why.png")]) == 0
    assert "of the drawing met contours" in capsys.readouterr().out
    with Image.open(tmp_path / "why.png") as drawn:
        assert drawn.width > 1000
        colours = np.asarray(drawn.convert("RGB")).reshape(-1, 3)
    assert ((colours == [0, 200, 83]).all(axis=1)).sum() > 50
    assert main([*words, "--out", str(tmp_path / "no" / "why.png")]) == 1
    assert "Cannot write" in capsys.readouterr().err
