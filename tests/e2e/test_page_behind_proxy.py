"""The page under a path, as a browser sees it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page


def test_drawing_under_a_path(
    visit: Callable[..., Page],
    serve: Callable[..., str],
    reverse_proxy: Callable[..., str],
    shape_index: Path,
) -> None:
    port = int(re.search(r":(\d+)/", serve(shape_index, "--prefix", "/tools/draw"))[1])
    page = visit(reverse_proxy(port, "/tools/draw"))
    paper = page.locator("#paper").bounding_box()
    assert paper is not None
    corners = [(0.3, 0.3), (0.7, 0.3), (0.7, 0.7), (0.3, 0.7), (0.3, 0.3)]
    for step, (x, y) in enumerate(corners):
        page.mouse.move(paper["x"] + x * paper["width"], paper["y"] + y * paper["height"], steps=8)
        if step == 0:
            page.mouse.down()
    page.mouse.up()
    page.locator("#answers img").first.wait_for()
    page.wait_for_function("() => document.querySelector('#answers img').naturalWidth > 0")
