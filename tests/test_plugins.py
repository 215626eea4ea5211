"""A package of its own adds a detector, a network and a source, and `sketchseek` uses them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sketchseek.contours.detectors import get_detector
from sketchseek.embeddings.encoders import get_encoder
from sketchseek.errors import SketchseekError
from sketchseek.plugins import find

EXAMPLE = Path(__file__).parents[1] / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> dict[str, str]:
    """An environment in which the example is installed, as a wheel, without the network."""
    source, place = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    shutil.copytree(EXAMPLE, source, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    offline = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *offline, "--target", place, source], check=True, timeout=120
    )
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])}


def run(environment: dict[str, str], *words: str | Path) -> str:
    command = [sys.executable, "-m", "sketchseek", *map(str, words)]
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True, timeout=200
    ).stdout


def test_a_plug_in_of_each_kind_is_used(installed, tmp_path):
    where, drawing = tmp_path / "index", tmp_path / "roof.json"
    drawing.write_text(json.dumps([[[60, 240], [200, 50], [340, 240], [60, 240]]]))
    report = json.loads(
        run(
            installed, "index", "shelf://mugs", "--index", where, "--detector", "gradient",
            "--expansion", "colours", "--jobs", "1", "--json",
        )
    )  # fmt: skip
    assert (report["added"], report["failed"]) == (2, [])
    info = json.loads(run(installed, "info", "--index", where, "--json"))
    assert (info["detector"], info["expansion"], info["settings"]["detector_version"]) == (
        "gradient", "colours", "1",
    )  # fmt: skip
    found = json.loads(run(installed, "search", drawing, "--index", where, "--json"))
    assert found["hits"][0]["picture"] == "shelf://mugs#roof"


def test_without_the_package_what_is_missing_is_said():
    with pytest.raises(SketchseekError, match=r"'gradient'.*neural, structured:FILE, canny"):
        get_detector("gradient")
    with pytest.raises(SketchseekError, match=r"'colours'.*efficientnet, dinov2, vgg16:FILE, onnx:FILE"):
        get_encoder("colours")


def test_a_name_of_ours_is_not_taken_over(monkeypatch):
    monkeypatch.setattr("sketchseek.plugins.plugins", lambda _: {"canny": "json:dumps", "mine": "json:loads"})
    assert get_detector("canny").name == "canny"
    assert find("sketchseek.detectors", "mine", {}) is json.loads
