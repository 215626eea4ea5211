"""Detectors: one protocol, one contour along the middle of a stroke, and a fallback that says so."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from sketchseek import Index
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
    assert DETECTORS == ("neural", "structured:FILE", "canny")
    with pytest.raises(SketchseekError, match="neural, structured:FILE, canny"):
        get_detector("sobel")
    with pytest.raises(SketchseekError, match="no edge detector"):
        get_detector("canny:model.yml")


def test_structured_forests_need_their_model(tmp_path: Path) -> None:
    for name in ("structured", "structured:"):
        with pytest.raises(SketchseekError, match="needs a model file"):
            get_detector(name)
    with pytest.raises(SketchseekError, match="No such file"):
        get_detector(f"structured:{tmp_path}/none.yml")
    os.mkfifo(tmp_path / "pipe.yml")
    with pytest.raises(SketchseekError, match="not a regular file"):
        get_detector(f"structured:{tmp_path}/pipe.yml")
    (tmp_path / "wrong.yml").write_text("%YAML:1.0\n---\nanswer: 42\n")
    with pytest.raises(SketchseekError, match="not a structured-forest model"):
        get_detector(f"structured:{tmp_path}/wrong.yml")


def forest(path: Path) -> str:
    """A forest of one tree, whose every patch has the same edge, in OpenCV's format; its detector's name."""
    file = cv2.FileStorage(str(path), cv2.FILE_STORAGE_WRITE)
    file.startWriteStruct("options", cv2.FILE_NODE_MAP)
    for name, value in {
        "stride": 2, "shrinkNumber": 2, "patchSize": 32, "patchInnerSize": 16, "numberOfTrees": 1,
        "numberOfTreesToEvaluate": 1, "numberOfOutputChannels": 13, "numberOfGradientOrientations": 4,
        "gradientSmoothingRadius": 0, "regFeatureSmoothingRadius": 2, "ssFeatureSmoothingRadius": 8,
        "gradientNormalizationRadius": 4, "selfsimilarityGridSize": 5,
    }.items():  # fmt: skip
        file.write(name, value)
    file.endWriteStruct()
    arrays = {
        "childs": [2, 0, 0],
        "featureIds": [0, 0, 0],
        "thresholds": [-9.0, 0.0, 0.0],
        "edgeBoundaries": [0, 0, 0, 3],
        "edgeBins": [0, 17, 34],
    }
    for name, values in arrays.items():
        file.startWriteStruct(name, cv2.FILE_NODE_SEQ | cv2.FILE_NODE_FLOW)
        for value in values:
            file.write("", value)
        file.endWriteStruct()
    file.release()
    return f"structured:{path}"


def test_an_index_finds_its_structured_forest_again(
    tmp_path: Path, pictures: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sketchseek.cli import main

    name = forest(tmp_path / "model.yml")
    detector = get_detector(name)
    strength = detector(np.zeros((300, 400, 3), np.uint8))
    assert strength.shape == (300, 400)
    assert strength.max() > 0
    monkeypatch.chdir(tmp_path)
    index = ["--index", str(tmp_path / "index"), "--no-expansion"]
    assert main(["index", str(pictures / "inner"), *index, "--detector", "structured:model.yml"]) == 0
    assert main(["index", str(pictures), *index, "--detector", "structured:./model.yml"]) == 0
    assert "4 added" in capsys.readouterr().err
    assert Index.open(tmp_path / "index").config.detector == name
    out = str(tmp_path / "seen.npz")
    assert main(["contours", str(pictures / "1.png"), "--detector", name, "--out", out]) == 0
    with np.load(out) as seen:
        assert seen["strength"].shape == (300, 400)


def test_choosing_a_detector_loads_no_runtime() -> None:
    import subprocess

    code = "import sys, sketchseek.contours.detectors.canny; sys.exit('onnxruntime' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
