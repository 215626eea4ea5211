"""Detectors: one protocol, one contour along the middle of a stroke, and a fallback that says so."""

from __future__ import annotations

import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from sketchseek.contours import strength_to_points
from sketchseek.contours.detectors import DETECTORS, get_detector, neural
from sketchseek.contours.line_art import is_line_art
from sketchseek.errors import SketchseekError

WEIGHTS = Path(neural.__file__).with_name("edges.onnx")


def photo_like(height: int = 120, width: int = 180) -> np.ndarray:
    """Smooth coloured noise: no drawing by any measure."""
    random = np.random.default_rng(0)
    noise = cv2.GaussianBlur(random.normal(0, 1, (height, width, 3)), (0, 0), 8)
    return (127 + 100 * noise / np.abs(noise).max()).astype(np.uint8)


@pytest.fixture(scope="module")
def network():
    return get_detector("neural")


@pytest.mark.parametrize("name", ["neural", "canny"])
@pytest.mark.parametrize("shape", [(1, 1), (7, 400), (300, 400), (399, 17)])
def test_any_size_gives_a_strength_map(name: str, shape: tuple[int, int]) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
    strength = get_detector(name)(pixels)
    assert strength.shape == shape
    assert strength.dtype == np.float32
    assert strength.min() >= 0
    assert strength.max() <= 1


@pytest.mark.parametrize("name", ["neural", "canny"])
def test_a_step_is_found_where_it_is(name: str) -> None:
    pixels = photo_like(160, 200) // 4
    pixels[:, 90:] += 150
    strength = get_detector(name)(pixels)
    assert np.abs(strength[20:-20].argmax(axis=1) - 89.5).max() <= 2


@pytest.mark.parametrize("name", ["neural", "canny"])
def test_a_plain_picture_has_no_points(name: str) -> None:
    strength = get_detector(name)(np.full((300, 400, 3), 90, np.uint8))
    assert len(strength_to_points(strength)) == 0


def middle_errors(strength: np.ndarray, at: float) -> np.ndarray:
    points = strength_to_points(strength)
    across = np.abs(points.x + strength.shape[1] / 2 - at)
    inner = np.abs(points.y) < 100  # not the ends
    return across[inner & (across < 12)]


@pytest.mark.parametrize("width", [2, 4])
def test_a_stroke_over_a_photo_is_one_contour(network, width: int) -> None:
    from skimage.data import astronaut

    pixels = cv2.resize(astronaut(), (400, 400), interpolation=cv2.INTER_AREA)
    cv2.line(pixels, (200, 50), (200, 350), (230, 30, 30), width, cv2.LINE_AA)
    assert not is_line_art(pixels)
    strength = network(pixels)
    assert np.median(strength[60:340, 198:203].max(axis=1)) > 0.5
    errors = middle_errors(strength, 200.5)
    assert 160 <= len(errors[errors < 3]) <= 240


def test_the_weights_are_small_and_are_the_version(network) -> None:
    import hashlib

    assert WEIGHTS.stat().st_size <= 1_000_000
    assert network.version.startswith(hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()[:12])


def test_names() -> None:
    assert DETECTORS == ("neural", "structured", "canny")
    with pytest.raises(SketchseekError, match="neural, structured, canny"):
        get_detector("sobel")
    with pytest.raises(SketchseekError, match="takes no model file"):
        get_detector("canny", Path("model.yml"))


def test_structured_forests_need_their_model(tmp_path: Path) -> None:
    with pytest.raises(SketchseekError, match="needs a model file"):
        get_detector("structured")
    with pytest.raises(SketchseekError, match="no model file"):
        get_detector("structured", tmp_path / "none.yml")
    (tmp_path / "wrong.yml").write_text("%YAML:1.0\n---\nanswer: 42\n")
    with pytest.raises(SketchseekError, match="not a structured-forest model"):
        get_detector("structured", tmp_path / "wrong.yml")


def test_without_onnxruntime_canny_steps_in_and_says_so_once(monkeypatch, capsys) -> None:
    from sketchseek.contours import detectors

    monkeypatch.setattr(detectors, "find_spec", lambda _: None)
    monkeypatch.setattr(detectors, "_noticed", set())
    assert get_detector().name == "canny"
    assert get_detector().name == "canny"
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "onnxruntime" in said


def test_choosing_a_detector_loads_no_runtime() -> None:
    import subprocess

    code = "import sys, sketchseek.contours.detectors.canny; sys.exit('onnxruntime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
