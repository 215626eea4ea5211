from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from sketchseek import Index, Sketch, demo

FOUND_BY = {"house": "home", "coin": "circle", "cup": "mug", "magnifier": "search"}
OTHERS = "apple battery book camera car clock door eye flag leaf lock mail moon phone plane scissors sun tree"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The demo in small: an icon for each drawing, the photographs' horse, and some other icons."""
    skimage, icons = demo.pictures()
    place = tmp_path_factory.mktemp("demo")
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    (place / "pictures").mkdir()
    for name in [*OTHERS.split(), *(FOUND_BY.get(name, name) for name in demo.drawings())]:
        if name != "horse":
            shutil.copy(icons / "outline" / f"{name}.svg", place / "pictures")
    shutil.copy(skimage / "horse.png", place / "pictures")
    for path in (place / "pictures").iterdir():
        os.utime(path, (1e9, 1e9))  # as old as an installed package's: young files are compared once more
    patch.setattr(demo, "pictures", lambda: [place / "pictures"])
    made = demo.demo_index()
    again = demo.demo_index()
    assert again.version == made.version, "the second time there is nothing to do"
    visitors = demo.demo_index(published=True)
    assert (visitors.recipe.preset, visitors.recipe.expansion) == ("compact", None)
    assert len(visitors) == len(made)
    patch.undo()
    return made


@pytest.mark.parametrize("name", demo.drawings())
def test_each_drawing_finds_its_picture(index: Index, name: str) -> None:
    hits = index.search(Sketch.load(demo.drawings()[name]), k=3)
    assert FOUND_BY.get(name, name) in [Path(hit.picture).stem for hit in hits]


def test_the_demo_ends_with_one_example_search(
    index: Index, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "demo_index", lambda: index)
    demo.demo(serve=False, host="127.0.0.1", port=0, token=None)
    out = capsys.readouterr().out
    assert "a drawn umbrella finds:" in out
    assert "umbrella.svg" in out.splitlines()[2]


def test_pictures_are_out_of_installed_packages() -> None:
    photographs, icons = demo.pictures()
    assert (photographs / "coffee.png").exists()
    assert len(list((icons / "outline").glob("*.svg"))) > 4000
