"""`Index.draw` in a real browser: what is drawn there comes to Python, and what is found goes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from visitor import STAR

from sketchseek import Index

pytest.importorskip("anywidget", reason="the extra notebook is not installed")
HERE = Path(__file__).parent
SQUARE = [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]


class Notebook:
    """A kernel's side of the protocol, with a page for the other: messages of both go through JSON."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import comm
        from comm.base_comm import BaseComm

        notebook = self
        self.sent: list[dict[str, Any]] = []

        class Wire(BaseComm):
            def publish_msg(self, msg_type: str, data: Any = None, **_: Any) -> None:
                if msg_type in ("comm_open", "comm_msg") and data and "state" in data:
                    notebook.comm = self
                    notebook.sent.append(json.loads(json.dumps(data["state"])))

        monkeypatch.setattr(comm, "create_comm", Wire)

    def show(self, page: Any) -> None:
        page.expose_function("toKernel", self._received)
        page.goto((HERE / "notebook.html").as_uri())
        page.wait_for_function("() => window.fromKernel")
        self._page = page
        self.deliver()

    def deliver(self) -> None:
        while self.sent:
            self._page.evaluate("(state) => fromKernel(state)", self.sent.pop(0))

    def _received(self, message: str) -> None:
        self.comm.handle_msg({"content": {"data": json.loads(message)}, "buffers": []})


def test_a_person_draws_in_a_notebook_and_python_has_the_hits(shape_index, browser, monkeypatch):
    notebook = Notebook(monkeypatch)
    widget = Index.open(shape_index).draw(k=4)
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: said.type == "error" and errors.append(said.text))
    notebook.show(page)
    sheet = page.get_by_label("Drawing area").bounding_box()
    status, hits = page.get_by_role("status"), page.get_by_role("listitem")
    pictures = len(Index.open(shape_index))
    assert status.text_content() == f"{pictures} pictures"

    places = [(sheet["x"] + 60 + 2 * x, sheet["y"] + 40 + 2 * y) for x, y in [*STAR, STAR[0]]]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    assert "star" in widget.hits[0].picture  # it came to Python
    assert len(widget.strokes) == 1
    notebook.deliver()
    assert hits.count() == 4
    assert "star" in hits.first.text_content()
    assert status.text_content().startswith(f"4 of {pictures} pictures")
    first = hits.first.locator("img")
    assert first.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0
    assert hits.first.locator("path").last.get_attribute("d").startswith("M")

    page.get_by_role("button", name="Clear").click()
    notebook.deliver()
    assert (widget.strokes, hits.count()) == ([], 0)
    page.get_by_role("button", name="Undo").click()
    notebook.deliver()
    assert (len(widget.strokes), hits.count()) == (1, 4)

    widget.strokes = SQUARE  # Python draws: the sheet shows it, and sends nothing back
    notebook.deliver()
    assert widget.strokes == SQUARE
    ink = "(c) => new Set(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).size"
    page.wait_for_function(f"() => ({ink})(document.querySelector('canvas')) > 2")
    page.evaluate("() => closeView()")
    assert not errors
    page.close()
