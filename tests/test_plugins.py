"""A package of its own adds a detector, a network and a source, and `sketchseek` uses them."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sketchseek import Index
from sketchseek.contours.detectors import get_detector
from sketchseek.embeddings.encoders import PictureOnlyEncoder, get_encoder
from sketchseek.errors import SketchseekError
from sketchseek.index import make_config
from sketchseek.indexing.worker import Described, Failed, Reader, Task
from sketchseek.plugins import find, plugins
from sketchseek.sources import Item
from sketchseek.storage.schema import IndexConfig

pytestmark = pytest.mark.slow

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


# --- plug-ins that go wrong ------------------------------------------------------------------------------


def png() -> bytes:
    image = Image.new("RGB", (200, 200), "white")
    ImageDraw.Draw(image).rectangle((40, 40, 150, 120), outline="black", width=4)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


class Shelf:
    """A source of two pictures, with something wrong of which a test says what."""

    wrong: Any = None
    fetched: Any = None

    def items(self, root: str, kept: object) -> Iterator[Any]:
        yield from (Item(name, name, "1", 200, 200) for name in ("one", "two"))
        if isinstance(self.wrong, Exception):
            raise self.wrong
        if self.wrong is not None:
            yield self.wrong

    def fetch(self, item: Item) -> Any:
        if item.name == "one" or self.fetched is None:
            return png()
        if isinstance(self.fetched, Exception):
            raise self.fetched
        return self.fetched


class Detector:
    """Sees whatever a test says."""

    name, version = "broken", "1"
    seen: Any = None

    def __call__(self, pixels: np.ndarray) -> Any:
        return self.seen(pixels)


def detector(file: str, device: str) -> Detector:
    if file:
        raise KeyError(file)
    return Detector()


def network(file: str, device: str) -> PictureOnlyEncoder:
    def see(pixels: np.ndarray) -> Any:
        return SEES["network"](pixels)

    return PictureOnlyEncoder("broken", "1", see)


def fails(pixels: np.ndarray) -> None:
    raise IndexError("there is nothing")


SEES = {"network": lambda pixels: np.full(4, 0.5, np.float32)}
NO_VECTORS = (fails, lambda _: np.full(4, np.nan), lambda _: np.zeros(7), lambda _: "four")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plug-ins of this file, in this process."""
    places = {
        "sketchseek.sources": {"shelf": "Shelf", "gone": "nowhere:Shelf"},
        "sketchseek.detectors": {"broken": "detector", "gone": "nowhere:f", "lacks": "nothing"},
        "sketchseek.networks": {"broken": "network", "gone": "nowhere:f", "number": "SEES"},
    }

    def entry_points(group: str) -> list[EntryPoint]:
        named = places[group].items()
        return [EntryPoint(n, p if ":" in p else f"{__name__}:{p}", group) for n, p in named]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    plugins.cache_clear()
    yield
    plugins.cache_clear()


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index.create(tmp_path / "index", "compact", detector="canny", expansion=False)


WRONG = {
    "an error": KeyError("albums"),
    "an error of the machine": OSError(5, "Input/output error"),
    "no item": "three",
    "no name": Item("", "x", "1"),
    "a number for a name": Item(3, "x", "1"),  # type: ignore[arg-type]
    "no text": Item("a\ud800", "x", "1"),
    "an endless name": Item("a" * 100_000, "x", "1"),
    "an endless label": Item("a", "x", "1", label="a" * 100_000),
    "a size that is none": Item("a", "x", "1", "wide", -1),  # type: ignore[arg-type]
    "a size beyond all numbers": Item("a", "x", "1", 10**12, 10**12),
}


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("wrong", WRONG)
def test_a_source_that_goes_wrong_costs_a_sentence_and_no_picture(
    index: Index, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    assert index.add("shelf://a", jobs=1).added == 2
    monkeypatch.setattr(Shelf, "wrong", WRONG[wrong])
    report = index.add("shelf://a", jobs=1)
    assert [path for path, _ in report.kept] == ["shelf://a"]
    assert "shelf" in report.kept[0][1]
    assert (report.forgotten, len(index)) == (0, 2)


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("fetched", [IndexError("x"), OSError(5, "I/O error"), b"", "text", b"?"])
def test_a_picture_that_a_source_does_not_give_costs_only_itself(
    index: Index, monkeypatch: pytest.MonkeyPatch, fetched: object
) -> None:
    monkeypatch.setattr(Shelf, "fetched", fetched)
    report = index.add("shelf://a", jobs=1)
    assert report.added == 1
    assert [path for path, _ in report.failed] == ["shelf://a#two"]


@pytest.mark.usefixtures("broken")
def test_what_cannot_be_loaded_is_named(index: Index) -> None:
    for ask in (
        lambda: get_detector("gone"),
        lambda: get_detector("lacks"),
        lambda: get_detector("broken:file"),
        lambda: get_encoder("gone"),
        lambda: get_encoder("number"),
        lambda: index.add("gone://a", jobs=1),
    ):
        with pytest.raises(SketchseekError, match=r"The plug-in \S+ .*failed: \w+Error: .+\.$"):
            ask()


SEEN = {
    "an error": fails,
    "no number": lambda pixels: np.full(pixels.shape[:2], np.nan, np.float32),
    "another size": lambda pixels: np.zeros((3, 3), np.float32),
    "colours": np.zeros_like,
    "nothing": lambda pixels: None,
}


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("seen", SEEN)
def test_what_a_detector_sees_is_strengths_of_each_pixel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: str
) -> None:
    monkeypatch.setattr(Detector, "seen", staticmethod(SEEN[seen]))
    picture = tmp_path / "a.png"
    Image.effect_noise((60, 40), 90).save(picture)
    result = Reader(make_config("compact", "broken"))(Task(os.fsencode(picture)))
    assert isinstance(result, Failed)
    assert "broken" in result.reason


@pytest.mark.usefixtures("broken")
def test_what_a_network_sees_is_a_vector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(png())
    index = Index.create(tmp_path / "index", "compact", detector="canny", expansion="broken")
    reader = Reader(index.config)
    assert isinstance(reader(Task(os.fsencode(picture))), Described)
    with monkeypatch.context() as patch:
        for wrong in NO_VECTORS:
            patch.setitem(SEES, "network", wrong)
            result = reader(Task(os.fsencode(picture)))
            assert isinstance(result, Failed), wrong
            assert "broken" in result.reason
    index = Index.create(tmp_path / "other", "compact", detector="canny", expansion="broken")
    with monkeypatch.context() as patch:
        patch.setattr("sketchseek.indexing.run.Workers", InThisProcess)
        assert index.add(picture).added == 1
    colours = np.random.default_rng(0).integers(0, 255, (6, 8, 3), np.uint8)
    photograph = Image.fromarray(colours).resize((400, 300), Image.Resampling.NEAREST)
    assert index.search(photograph)
    for wrong in NO_VECTORS:
        with monkeypatch.context() as patch:
            patch.setitem(SEES, "network", wrong)
            with pytest.raises(SketchseekError, match="broken"):
                index.search(photograph)


class InThisProcess:
    """Reads pictures here: another process has other plug-ins."""

    def __init__(self, config: IndexConfig, *_: object) -> None:
        self._read = Reader(config)

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def results(self, tasks: Iterable[Task]) -> Iterator[Any]:
        return map(self._read, tasks)
