"""`Index.draw`: strokes in, hits out; the browser's half is tested in tests/e2e/test_in_notebook.py."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from sketchseek import Index
from sketchseek.errors import SketchseekError
from sketchseek.notebook import script

STAR = [[50, 0], [61, 36], [98, 36], [68, 58], [79, 94], [50, 72], [21, 94], [32, 58], [2, 36], [39, 36]]
needs_extra = pytest.mark.skipif(find_spec("anywidget") is None, reason="the extra notebook is not installed")


def test_the_module_is_one_and_leaves_no_import_behind():
    made = script()
    assert "class Sketchpad" in made
    assert not [line for line in made.splitlines() if line.startswith("import ")]
    assert [line for line in made.splitlines() if line.startswith("export ")] == [
        "export default { render };"
    ]


def test_nothing_of_it_is_loaded_before_it_is_asked_for():
    code = (
        "import sys, sketchseek.index, sketchseek.notebook; print([m for m in sys.modules if 'widget' in m])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_without_the_extra_a_sentence_says_what_to_install(shape_index, monkeypatch):
    monkeypatch.setattr("sketchseek.notebook.find_spec", lambda _: None)
    with pytest.raises(SketchseekError, match=r"sketchseek\[notebook\]"):
        Index.open(shape_index).draw()


@needs_extra
def test_strokes_give_hits_and_what_cannot_be_searched_a_sentence(shape_index):
    widget = Index.open(shape_index).draw(k=3)
    assert (list(widget.hits), widget.sketch) == ([], None)
    widget.strokes = [[*STAR, STAR[0]]]
    assert "star" in widget.hits[0].picture
    assert [hit["picture"] for hit in widget.answer["hits"]] == [hit.picture for hit in widget.hits]
    widget.k = 1
    assert len(widget.hits) == 1
    widget.strokes = [[[5, 5]]]
    assert widget.answer["problem"]
    assert not widget.hits
    widget.strokes = []
    assert not widget.answer["problem"]
