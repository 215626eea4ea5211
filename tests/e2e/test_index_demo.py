from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from sketchseek import Index, Sketch, demo
from sketchseek.web.examples import EXAMPLES, examples, traced

FOUND_BY = {"house": "home", "coin": "circle", "cup": "mug", "magnifier": "search", "pagoda": "china"}
HASTY = sorted(Path(__file__).with_name("hasty").glob("*.json"))
MEANT = {
    "bicycle": {"bike"},
    "cup": {"mug", "cup", "coffee"},
    "espresso": {"coffee", "mug", "cup"},
    "house": {"home"},
    "pagoda": {"china"},
}
"""What a hasty drawing of this name is looking for, where the picture is called something else."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The demo's own pictures."""
    place = tmp_path_factory.mktemp("demo")
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    copies = []
    for number, path in enumerate(demo.chosen()):
        copies.append(place / str(number % 2) / path.name)  # a flower is a photograph and an icon
        copies[-1].parent.mkdir(exist_ok=True)
        shutil.copy(path, copies[-1])
        os.utime(
            copies[-1], (1e9, 1e9)
        )  # as old as an installed package's: young files are compared once more
    patch.setattr(demo, "chosen", lambda: copies)
    made = demo.demo_index()
    again = demo.demo_index()
    assert again.version == made.version, "the second time there is nothing to do"
    patch.undo()
    return made


def first(index: Index, drawing: Path) -> str:
    return Path(index.search(Sketch.load(drawing), k=1)[0].picture).stem


@pytest.mark.timeout(900)  # two hundred pictures are indexed first
def test_hasty_drawings_find_what_they_mean(index: Index) -> None:
    """Drawn in a few seconds, by hand, not after the pictures."""
    drawings = [*HASTY, demo.drawings()["pagoda"]]
    assert len(drawings) == 12
    missed = {
        path.stem: found
        for path in drawings
        if (found := first(index, path)) not in MEANT.get(path.stem, {path.stem})
    }
    assert len(missed) <= 2, missed


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", sorted(set(demo.drawings()) - {"coin"}))  # any circle is one
def test_each_drawing_finds_its_picture(index: Index, name: str) -> None:
    hits = index.search(Sketch.load(demo.drawings()[name]), k=3)
    assert FOUND_BY.get(name, name) in [Path(hit.picture).stem for hit in hits]


@pytest.mark.timeout(900)
def test_what_the_first_page_offers_succeeds(index: Index) -> None:
    offered = examples(index, traced)
    assert len(offered) == EXAMPLES
    for example in offered:
        assert index.search(Sketch.from_strokes(example["strokes"]), k=1)[0].id == example["id"]


@pytest.mark.timeout(900)
def test_the_demo_ends_with_one_example_search(
    index: Index, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "demo_index", lambda: index)
    demo.demo(serve=False, host="127.0.0.1", port=0, token=None)
    out = capsys.readouterr().out
    assert "a drawn pagoda finds:" in out
    assert "china.jpg" in out.splitlines()[2]  # a photograph


def test_pictures_are_out_of_installed_packages() -> None:
    photographs, more, icons = demo.pictures()
    assert (photographs / "coffee.png").exists()
    assert (more / "china.jpg").exists()
    assert len(list((icons / "outline").glob("*.svg"))) > 4000
    assert len(demo.chosen()) > 200
