"""What a person at the page does and sees."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Response

STAR = [
    (50, 0),
    (61, 36),
    (98, 36),
    (68, 58),
    (79, 94),
    (50, 72),
    (21, 94),
    (32, 58),
    (2, 36),
    (39, 36),
    (50, 0),
]
ARROW = [(0, 50), (40, 10), (40, 35), (100, 35), (100, 65), (40, 65), (40, 90), (0, 50)]
Visit = Callable[..., Page]
Keep = Callable[[Page, str], None]
Point = tuple[float, float]


def on_paper(page: Page, shape: list[Point], size: float = 0.7) -> list[Point]:
    """A shape in a square of 100, in the middle of the paper, in pixels of the window."""
    box = page.locator("#paper").bounding_box()
    assert box is not None
    side = size * min(box["width"], box["height"])
    x0, y0 = box["x"] + (box["width"] - side) / 2, box["y"] + (box["height"] - side) / 2
    return [(x0 + x * side / 100, y0 + y * side / 100) for x, y in shape]


def between(shape: list[Point], steps: int = 6) -> list[Point]:
    """The same path in smaller steps."""
    return [
        (a[0] + (b[0] - a[0]) * i / steps, a[1] + (b[1] - a[1]) * i / steps)
        for a, b in pairwise(shape)
        for i in range(1, steps + 1)
    ]


def draw_with_mouse(page: Page, shape: list[Point]) -> None:
    drag(page, on_paper(page, shape))


def drag(page: Page, path: list[Point]) -> None:
    """Press, move and let go of the mouse, in pixels of the window."""
    page.mouse.move(*path[0])
    page.mouse.down()
    for point in between(path):
        page.mouse.move(*point)
    page.mouse.up()


def draw_with_pen(page: Page, shape: list[Point]) -> None:
    path = on_paper(page, shape)
    devtools = page.context.new_cdp_session(page)

    def send(kind: str, point: Point, force: float, buttons: int = 1) -> None:
        event = {"type": kind, "x": point[0], "y": point[1], "pointerType": "pen", "force": force}
        devtools.send(
            "Input.dispatchMouseEvent", {**event, "button": "left", "buttons": buttons, "clickCount": 1}
        )

    send("mousePressed", path[0], 0.2)
    steps = between(path)
    for i, point in enumerate(steps):
        send("mouseMoved", point, 0.2 + 0.7 * i / len(steps))
    send("mouseReleased", path[-1], 0, 0)


def draw_with_finger(page: Page, shape: list[Point], width: float = 10) -> None:
    swipe(page, on_paper(page, shape), width)


def swipe(page: Page, path: list[Point], width: float = 10) -> None:
    """Move a finger, in pixels of the window."""
    devtools = page.context.new_cdp_session(page)

    def send(kind: str, points: list[Point]) -> None:
        touches = [{"x": x, "y": y, "radiusX": width, "radiusY": width} for x, y in points]
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    send("touchStart", path[:1])
    for point in between(path):
        send("touchMove", [point])
    send("touchEnd", [])
    page.wait_for_timeout(400)  # sooner, the browser takes the next touch for the second half of a double tap


PHONE = {"device_scale_factor": 2, "has_touch": True, "is_mobile": True}
UPRIGHT = {"viewport": {"width": 360, "height": 740}, **PHONE}
ON_ITS_SIDE = {"viewport": {"width": 740, "height": 360}, **PHONE}


def use(page: Page, name: str) -> None:
    """Choose a tool or a deed out of the menu."""
    page.locator("#more summary").click()
    page.locator(f"#{name}").click()


def options(page: Page) -> None:
    """Open the panel of options, unless it is open."""
    if not page.locator("#options[open]").count():
        page.locator("#options summary").click()


def press_long(page: Page, target: Locator) -> None:
    """Rest a finger on something."""
    target.scroll_into_view_if_needed()
    box = target.bounding_box()
    assert box is not None
    devtools = page.context.new_cdp_session(page)
    at = [{"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}]
    devtools.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": at})
    page.wait_for_timeout(700)
    devtools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(400)


def is_search(response: Response) -> bool:
    return response.url.endswith("/api/search") and response.ok


def search_after(page: Page, action: Callable[[], object]) -> dict:
    """Do something that begins a search; the answer, when it is on screen."""
    with page.expect_response(is_search) as found:
        action()
    answer = found.value.json()
    page.wait_for_function(
        "(id) => document.querySelector('.hit')?.dataset.id === id && !document.body.matches('.waiting')",
        arg=answer["hits"][0]["id"],
    )
    return answer


def strokes(page: Page) -> list:
    return page.evaluate("JSON.parse(localStorage.getItem('sketchseek.drawing')).strokes")


def inked(page: Page) -> int:
    """How many pixels of the paper are drawn on, once it has been painted."""
    return page.evaluate(
        """async () => {
          await new Promise((painted) => requestAnimationFrame(() => requestAnimationFrame(painted)));
          const paper = document.querySelector("#paper");
          const { data } = paper.getContext("2d").getImageData(0, 0, paper.width, paper.height);
          return data.reduce((count, value, i) => count + (i % 4 === 3 && value > 128), 0);
        }"""
    )


def box_of(page: Page) -> list[float]:
    """The box [x0, y0, x1, y1] of what is drawn, in units of the sheet."""
    points = [point for stroke in strokes(page) for point in stroke]
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    return [min(xs), min(ys), max(xs), max(ys)]


def best(answer: dict) -> str:
    return Path(answer["hits"][0]["picture"]).name


def check_outlines(page: Page, answer: dict) -> None:
    """On the screen, each outline covers the box that the API gave, in the picture as it is shown."""
    for hit in answer["hits"]:
        tile = page.locator(f".hit[data-id='{hit['id']}']")
        tile.scroll_into_view_if_needed()
        shown, placed = tile.evaluate(
            """(tile) => {
              const path = tile.querySelector(".outline .line");
              const box = path.getBBox(), toScreen = path.getScreenCTM();
              const a = new DOMPoint(box.x, box.y).matrixTransform(toScreen);
              const b = new DOMPoint(box.x + box.width, box.y + box.height).matrixTransform(toScreen);
              const { x, y, width, height } = tile.querySelector("img").getBoundingClientRect();
              return [[x, y, width, height], [a.x, a.y, b.x, b.y]];
            }"""
        )
        x, y, width, height = shown
        scale = min(width / hit["width"], height / hit["height"])  # the picture is shown whole
        x0, y0 = x + (width - scale * hit["width"]) / 2, y + (height - scale * hit["height"]) / 2
        expected = [c * scale + o for c, o in zip(hit["box"], (x0, y0, x0, y0), strict=True)]
        assert placed == pytest.approx(expected, abs=1), hit["picture"]
