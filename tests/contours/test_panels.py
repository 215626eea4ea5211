"""What `sketchseek contours` writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from made_pictures import scene
from sketchseek.contours.detectors import get_detector
from sketchseek.contours.panels import hues, save_contours
from sketchseek.errors import SketchseekError


def test_png_and_npz_of_a_picture(tmp_path: Path) -> None:
    scene().save(tmp_path / "scene.png")
    canny = get_detector("canny")
    contours = save_contours(tmp_path / "scene.png", tmp_path / "out.png", canny)
    with Image.open(tmp_path / "out.png") as drawn:
        assert drawn.height == 600
        assert drawn.width > 3 * 800
        points_panel = np.asarray(drawn)[:, -800:]
    # Colour where the points are, white elsewhere.
    rows, columns = ((contours.points.y + 150) * 2).astype(int), ((contours.points.x + 200) * 2).astype(int)
    near = [points_panel[rows + dy, columns + dx].min(axis=1) for dy in (-1, 0) for dx in (-1, 0)]
    assert (np.min(near, axis=0) < 250).mean() > 0.95
    assert (points_panel.min(axis=2) < 250).mean() < 0.1

    save_contours(tmp_path / "scene.png", tmp_path / "out.npz", canny)
    with np.load(tmp_path / "out.npz") as saved:
        assert set(saved) == {"x", "y", "angle", "weight", "strength"}
        assert saved["strength"].shape == (300, 400)
        np.testing.assert_array_equal(saved["angle"], contours.points.angle)


def test_a_drawing_is_drawn_as_a_drawing(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(json.dumps({"strokes": [[[0, 0], [200, 100], [200, 0], [0, 0]]]}))
    contours = save_contours(tmp_path / "d.json", tmp_path / "out.png", get_detector("canny"))
    assert contours.strength.shape == (200, 400)
    assert (contours.points.weight == 1).all()
    assert (tmp_path / "out.png").stat().st_size > 1000


def test_wrong_ending_or_place(tmp_path: Path) -> None:
    scene().save(tmp_path / "scene.png")
    for out in ("x.gif", "x", "missing/x.png", "missing/x.npz"):
        with pytest.raises(SketchseekError):
            save_contours(tmp_path / "scene.png", tmp_path / out, get_detector("canny"))


def test_colours_go_once_round_in_half_a_turn() -> None:
    np.testing.assert_array_equal(hues(np.array(0.3)), hues(np.array(0.3 - np.pi)))
    assert np.abs(hues(np.array(0.0)) - hues(np.array(np.pi / 2))).max() > 100
