"""Why a picture matches a drawing, or does not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sketchseek.cli import main
from sketchseek.contours import strength_to_points
from sketchseek.contours.detectors.canny import Canny
from sketchseek.contours.drawing import Sketch
from sketchseek.evaluation.planted import plant, random_background
from sketchseek.search.explanation import explain
from sketchseek.search.explanation_image import explained_json, explained_png, sentence
from sketchseek.search.state import PictureContours, state_of
from sketchseek.shape.settings import Settings


@pytest.fixture(scope="module")
def planted():
    rng = np.random.default_rng(8)
    return plant(random_background(rng), rng, blur=3.0)


@pytest.fixture(scope="module")
def state(planted):
    contours = PictureContours.whole(strength_to_points(Canny()(planted.pixels)), planted.pixels)
    return state_of([contours], Settings.preset("precise"))


def test_the_whole_of_a_shape_that_is_there_meets_contours(state, planted):
    found = explain(state, planted.sketch)
    assert (found.support > 0.25).mean() > 0.9
    assert found.coverage > 0.9
    assert found.surface.max() == pytest.approx(found.hit.score, abs=1e-3)
    x0, y0, x1, y1 = planted.box
    assert (np.abs(found.met.min(axis=0) - [x0, y0]) < 25).all()
    assert (np.abs(found.met.max(axis=0) - [x1, y1]) < 25).all()


def test_a_part_that_is_not_there_does_not(state, planted):
    outline = planted.sketch.strokes[0]
    tail = outline[-1] + np.linspace(0, 1, 40)[:, None] * np.array([250.0, -300.0])
    more = explain(state, Sketch.from_strokes([outline, tail.astype(np.float32)]))
    assert more.coverage < explain(state, planted.sketch).coverage
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
    said = capsys.readouterr().out
    assert "of your outline meets edges here" in said
    assert "of the drawing met contours" in said
    with Image.open(tmp_path / "why.png") as drawn:
        assert drawn.width > 1000
        colours = np.asarray(drawn.convert("RGB")).reshape(-1, 3)
    assert ((colours == [0, 200, 83]).all(axis=1)).sum() > 50
    assert main([*words, "--out", str(tmp_path / "no" / "why.png")]) == 1
    assert "Cannot write" in capsys.readouterr().err


def test_patches_lie_in_the_picture_in_its_pixels(state, planted):
    met = np.array([[0, 0, 0.5, 0.25, 0.6], [0.5, 0.25, 1, 1, 0.1]], np.float32)
    found = explain(state, planted.sketch, patches=met)
    height, width = planted.pixels.shape[:2]
    assert found.patches[1].tolist() == pytest.approx([width / 2, height / 4, width, height, 0.1])
    assert json.loads(explained_json(found))["patches"][0][:4] == [0, 0, width / 2, height / 4]
    assert sentence(found).endswith("50% of its patches alike")
    plain = explain(state, planted.sketch)
    assert "patches" not in json.loads(explained_json(plain))
    points = strength_to_points(Canny()(planted.pixels))
    assert explained_png(found, planted.pixels, points) != explained_png(plain, planted.pixels, points)
