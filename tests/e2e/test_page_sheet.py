"""The sheet's tools: erasers, lines and ellipses, and the hand that moves and resizes."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect
from visitor import STAR, Visit, box_of, drag, draw_with_mouse, inked, on_paper, search_after, strokes, use

LEVEL = [(0.0, 50.0), (100.0, 50.0)]
UPRIGHT = [(50.0, 20.0), (50.0, 80.0)]
WIDTH, HEIGHT = 1600, 1440  # of the sheet, in its own units


def length(stroke: list) -> float:
    return sum(math.dist(a[:2], b[:2]) for a, b in pairwise(stroke))


def test_an_eraser_takes_what_it_touches(visit: Visit, address: str) -> None:
    page = visit(address)
    search_after(page, lambda: draw_with_mouse(page, LEVEL))
    search_after(page, lambda: draw_with_mouse(page, [(0, 90), (100, 90)]))
    (whole, other), ink = strokes(page), inked(page)
    page.keyboard.press("r")
    expect(page.locator("#rubber")).to_have_attribute("aria-pressed", "true")
    search_after(page, lambda: draw_with_mouse(page, UPRIGHT))
    left, right, untouched = sorted(strokes(page), key=lambda stroke: (stroke[0][1], stroke[0][0]))
    assert untouched == other
    gap = right[0][0] - left[-1][0]
    assert 50 < gap < 80  # as wide as the eraser, and exactly so: the line is cut between its points, too
    assert length(left) + length(right) == pytest.approx(length(whole) - gap, abs=1)
    page.mouse.move(5, 5)
    page.wait_for_timeout(100)
    assert inked(page) < ink
    search_after(page, lambda: page.keyboard.press("Control+z"))
    assert strokes(page) == [whole, other]
    page.mouse.move(*on_paper(page, [(50, 10)])[0])
    page.mouse.down()
    page.mouse.up()
    assert strokes(page) == [whole, other]  # where nothing is, nothing is taken


def test_a_line_by_shift_or_by_its_tool(visit: Visit, address: str) -> None:
    page = visit(address)
    crooked = [(10.0, 10.0), (60.0, 40.0), (90.0, 12.0)]
    page.keyboard.down("Shift")
    search_after(page, lambda: draw_with_mouse(page, crooked))
    page.keyboard.up("Shift")
    (stroke,) = strokes(page)
    assert length(stroke) == pytest.approx(math.dist(stroke[0][:2], stroke[-1][:2]), rel=1e-3)
    page.keyboard.press("l")
    search_after(page, lambda: draw_with_mouse(page, crooked))
    assert strokes(page)[1] == stroke
    page.keyboard.down("Shift")
    search_after(page, lambda: draw_with_mouse(page, crooked))
    page.keyboard.up("Shift")
    third = strokes(page)[2]
    assert third[0][1] == pytest.approx(third[-1][1], abs=0.5)  # level: its angle is a multiple of 15 degrees
    page.mouse.click(*on_paper(page, [(50, 80)])[0])
    assert len(strokes(page)) == 3  # a click is no line


def test_ellipses_and_circles(visit: Visit, address: str) -> None:
    page = visit(address)
    use(page, "ellipse")
    answer = search_after(page, lambda: draw_with_mouse(page, [(10, 20), (90, 60)]))
    assert len(answer["hits"]) == 8
    (stroke,) = strokes(page)
    x0, y0, x1, y1 = box_of(page)
    cx, cy, rx, ry = (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 2, (y1 - y0) / 2
    assert rx == pytest.approx(2 * ry, rel=0.02)
    assert all(
        ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 == pytest.approx(1, abs=0.01) for x, y, _ in stroke
    )
    assert stroke[0] == stroke[-1]
    page.locator("#clear").click()
    page.keyboard.down("Shift")
    search_after(page, lambda: draw_with_mouse(page, [(10, 20), (90, 60)]))
    page.keyboard.up("Shift")
    x0, y0, x1, y1 = box_of(page)
    assert x1 - x0 == pytest.approx(y1 - y0, rel=0.01)


def to_window(page: Page, x: float, y: float) -> tuple[float, float]:
    """Units of the sheet to pixels of the window."""
    box = page.locator("#paper").bounding_box()
    return box["x"] + x * box["width"] / WIDTH, box["y"] + y * box["height"] / HEIGHT


def test_what_is_drawn_can_be_moved_and_resized(visit: Visit, address: str) -> None:
    page = visit(address)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    before = box_of(page)
    page.keyboard.press("m")
    expect(page.locator("#hand")).to_have_attribute("aria-pressed", "true")
    x0, y0, x1, y1 = before
    middle = ((x0 + x1) / 2, (y0 + y1) / 2)
    search_after(
        page, lambda: drag(page, [to_window(page, *middle), to_window(page, middle[0] + 200, middle[1])])
    )
    assert box_of(page) == pytest.approx([x0 + 200, y0, x1 + 200, y1], abs=5)
    search_after(page, lambda: page.keyboard.press("Control+z"))
    assert box_of(page) == before
    # From its corner it gets smaller and keeps its shape; the opposite corner stays.
    search_after(page, lambda: drag(page, [to_window(page, x1, y1), to_window(page, *middle)]))
    a0, b0, a1, b1 = box_of(page)
    assert (a0, b0) == pytest.approx((x0, y0), abs=1)
    assert (a1 - a0) / (x1 - x0) == pytest.approx(0.5, abs=0.03)
    assert (b1 - b0) / (y1 - y0) == pytest.approx(0.5, abs=0.03)
    page.keyboard.down("Shift")  # freely
    search_after(page, lambda: drag(page, [to_window(page, a1, b1), to_window(page, x1, b1)]))
    page.keyboard.up("Shift")
    assert box_of(page) == pytest.approx([x0, y0, x1, b1], abs=6)
    # It does not leave the sheet, so that a link can hold it.
    here = to_window(page, (x0 + x1) / 2, (y0 + b1) / 2)
    search_after(page, lambda: drag(page, [here, (2, here[1])]))
    assert box_of(page)[0] >= 0
    assert box_of(page)[2] - box_of(page)[0] == pytest.approx(x1 - x0, abs=1)


def test_one_stroke_can_be_moved_alone(visit: Visit, address: str) -> None:
    page = visit(address)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    search_after(page, lambda: draw_with_mouse(page, [(0, 99), (100, 99)]))
    star, line = strokes(page)
    use(page, "hand")
    page.mouse.click(*to_window(page, line[0][0] + 8, line[0][1]))
    here, there = (to_window(page, line[3][0], line[3][1] + by) for by in (0, -300))
    search_after(page, lambda: drag(page, [here, there]))
    kept, moved = strokes(page)
    assert kept == star
    assert moved[0][1] == pytest.approx(line[0][1] - 300, abs=6)
    page.locator("#paper").focus()
    search_after(page, lambda: page.keyboard.press("Shift+ArrowDown"))
    assert strokes(page)[1][0][1] == pytest.approx(moved[0][1] + 80, abs=1)
    assert strokes(page)[0] == star
    search_after(page, lambda: page.keyboard.press("Delete"))
    assert strokes(page) == [star]
    search_after(page, lambda: page.keyboard.press("+"))
    grown = box_of(page)
    assert grown[2] - grown[0] > 1.05 * (max(p[0] for p in star) - min(p[0] for p in star))
