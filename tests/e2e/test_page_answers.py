"""What the page makes of an answer: is it here at all, where else, how sure; and what it can tell a search.

Where the server under test does not say or take something by itself, its answers are told to.
"""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, Request, Route, expect
from visitor import ARROW, STAR, Keep, Visit, draw_with_mouse, options, search_after

HOUSE = [(0, 45), (50, 0), (100, 45), (85, 45), (85, 100), (15, 100), (15, 45), (0, 45)]


def with_options(page: Page, *options: str, **more: Any) -> None:
    """Let the server offer what it may not have, and reload."""

    known = page.evaluate("async () => (await fetch('api/index')).json()")
    told = {**known, "options": [*known["options"], *options], **more}
    page.route("**/api/index", lambda route: route.fulfill(json=told))
    page.reload()
    expect(page.locator("#collection")).not_to_be_empty()


def answering(page: Page, change: Any, *unknown: str) -> list[dict]:
    """Change the server's answers. What the page asks, also what is kept from the server: unknown to it."""
    asked: list[dict] = []

    def answer(route: Route) -> None:
        body = json.loads(route.request.post_data)
        asked.append(body)
        known = {name: value for name, value in body.items() if name not in unknown}
        found = route.fetch(post_data=json.dumps(known)).json()
        route.fulfill(json=change(found))

    page.route("**/api/search", answer)
    return asked


def judged(verdict: str, *sure: float) -> Any:
    def change(answer: dict) -> dict:
        hits = [
            {**hit, "confidence": c} for hit, c in zip(answer["hits"], [*sure, *[sure[-1]] * 8], strict=False)
        ]
        return {**answer, "verdict": verdict, "hits": hits}

    return change


@pytest.mark.parametrize(
    ("verdict", "sure", "below"),
    [
        ("Probably not here", [0.2], None),
        ("Closest matches", [0.4, 0.3], None),
        ("Likely here", [0.4, 0.3], None),
        ("Likely here", [0.9, 0.05], 1),
        ("Likely here", [0.9, 0.8, 0.7, 0.2], 3),
        ("Likely here", [1.0], None),
    ],
)
def test_what_looks_right_and_what_is_the_closest_there_is(
    visit: Visit, keep: Keep, address: str, verdict: str, sure: list[float], below: int | None
) -> None:
    """below : how many hits stand above the line."""
    page = visit(address)
    answering(page, judged(verdict, *sure))
    search_after(page, lambda: draw_with_mouse(page, STAR))
    expect(page.locator("#answers h2:visible").first).to_have_text(verdict)
    keep(page, f"{verdict.lower().replace(' ', '-')}-{len(sure)}")
    classes = page.locator("#grid > li").evaluate_all("(all) => all.map((li) => li.classList[0])")
    line = [] if below is None else ["divider"]
    assert classes == [*["hit"] * (below or 0), *line, *["hit"] * (8 - (below or 0))]
    assert "%" not in page.locator("#answers").inner_text()
    page.locator(".hit .open").first.click()
    expect(page.locator("#viewer .facts")).to_contain_text(f"{round(100 * sure[0])}% sure")


def test_what_is_the_same_is_stacked(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address, may_fail=True)  # pictures that there are not

    def change(answer: dict) -> dict:
        first, second, *others = answer["hits"]
        moved = {**second, "box": [side + 0.2 * second["width"] for side in second["box"]]}
        copies = [{**first, "id": "copy", "picture": "/elsewhere/other.jpg"}, {**moved, "id": "another"}]
        return {**answer, "hits": [first, second, *others, *copies]}

    answering(page, change)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    keep(page, "stacked")
    expect(page.locator(".hit")).to_have_count(
        9
    )  # the copy lies on its own; the same name elsewhere does not
    expect(page.locator(".hit").first.locator(".places")).to_have_text("2 alike")
    expect(page.locator(".hit.stack")).to_have_count(1)
    page.locator(".hit .open").first.click()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#viewer h2")).to_have_text("other.jpg")


@pytest.mark.parametrize(("sure", "tiles"), [(0.2, 7), (0.9, 8)])
def test_one_mistake_is_shown_once_where_nothing_looks_right(
    visit: Visit, address: str, sure: float, tiles: int
) -> None:
    page = visit(address)

    def change(answer: dict) -> dict:
        first, second, *others = judged("Closest matches", sure)(answer)["hits"]
        return {**answer, "hits": [first, {**second, "like": first["id"]}, *others]}

    answering(page, change)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    expect(page.locator(".hit")).to_have_count(tiles)
    expect(page.locator(".hit.stack")).to_have_count(8 - tiles)


def test_the_outline_is_explained_once(visit: Visit, address: str) -> None:
    page = visit(address)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    expect(page.locator("#legend")).to_contain_text("stronger where it fits")
    page.get_by_role("button", name="Got it").click()
    expect(page.locator("#legend")).to_be_hidden()
    search_after(page, page.reload)
    expect(page.locator("#legend")).to_be_hidden()


def sixteen(*sure: float) -> Any:
    """The hits twice: as sure as said, the last as often as it takes."""

    def change(answer: dict) -> dict:
        twice = [*answer["hits"], *({**hit, "id": f"again{n}"} for n, hit in enumerate(answer["hits"]))]
        all_sure = [*sure, *[sure[-1]] * 16][:16]
        hits = [
            {**hit, "confidence": c, "score": hit["score"] - i / 100}  # no two are the same
            for i, (hit, c) in enumerate(zip(twice, all_sure, strict=True))
        ]
        hits = [{**hit, "picture": f"{i}{Path(hit['picture']).suffix}"} for i, hit in enumerate(hits)]
        return {**answer, "pictures": 16, "hits": hits}

    return change


def test_the_list_ends_where_chance_begins(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address, may_fail=True)  # pictures that there are not
    answering(page, sixteen(0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.13, 0.12, 0.02))
    search_after(page, lambda: draw_with_mouse(page, STAR))
    expect(page.locator(".hit")).to_have_count(13)
    expect(page.locator("#end")).to_have_text("These are all the matches worth showing.")
    keep(page, "worth-showing")
    page.locator("#show-more").click()
    expect(page.locator(".hit")).to_have_count(16)
    expect(page.locator("#end")).to_have_text("These are all 16 pictures, best first.")
    expect(page.locator("#show-more")).to_be_hidden()
    page.unroute("**/api/search")
    answering(page, sixteen(0.9, 0.02))
    search_after(page, lambda: draw_with_mouse(page, [(20, 20), (20, 30)]))
    expect(page.locator(".hit")).to_have_count(12)
    expect(page.locator("#end")).to_have_text("The rest looks no more like it than any picture would.")


def test_outlines_fade_where_the_shape_says_little(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address)

    def change(answer: dict) -> dict:
        scored = zip(answer["hits"], (0.7, 0.36, 0.1, 0.7), (0.9, 0.9, 0.9, 0.01), strict=False)
        hits = [{**hit, "score": score, "confidence": sure} for hit, score, sure in scored]
        return {**answer, "hits": hits}

    answering(page, change)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    keep(page, "faded")
    shown = page.locator(".hit .line").evaluate_all("(all) => all.map((p) => +getComputedStyle(p).opacity)")
    assert shown[0] == 1
    assert 0.4 < shown[1] < 0.8
    assert shown[2] == 0  # it does not fit, and nothing pretends that it does
    assert 0.3 < shown[3] < 0.5  # it fits, and yet nobody believes it
    page.locator(".hit .open").nth(2).click()
    assert float(page.locator("#viewer .line").evaluate("(p) => getComputedStyle(p).opacity")) < 0.35


def outline_box(page: Page, selector: str) -> list[float]:
    return page.locator(selector).first.evaluate(
        "(p) => { const b = p.getBBox(); return [b.x, b.y, b.x + b.width, b.y + b.height]; }"
    )


def test_every_place_in_a_picture_is_shown(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address)
    also = {"score": 0.5, "scale": 0.4, "mirrored": True, "rotation": 90}

    def change(answer: dict) -> dict:
        # An arrow of 100 by 80 that points left: turned by 90 degrees it is 80 by 100 and points up.
        answer["hits"][0]["also"] = [{**also, "box": [10, 20, 90, 120]}]
        return answer

    answering(page, change)
    search_after(page, lambda: draw_with_mouse(page, ARROW))
    first = page.locator(".hit").first
    expect(first.locator(".places")).to_have_text("2 places")
    expect(page.locator(".hit .places").nth(1)).to_be_hidden()
    assert outline_box(page, ".hit .also") == pytest.approx([10, 20, 90, 120], abs=1)
    tip = first.locator(".also").evaluate("(p) => { const t = p.getPointAtLength(0); return [t.x, t.y]; }")
    assert tip == pytest.approx([50, 20], abs=2)
    first.locator(".open").click()
    expect(page.locator("#viewer .facts")).to_contain_text("and in 1 more place")
    assert outline_box(page, "#viewer .also") == pytest.approx([10, 20, 90, 120], abs=1)
    keep(page, "several-places")


def test_outlines_are_placed_as_the_server_places_them(visit: Visit, address: str) -> None:
    """geometry.js and hit.py turn, mirror and move a drawing alike."""
    from sketchseek import Sketch
    from sketchseek.search.hit import Pose

    page = visit(address)
    strokes = [[[0, 0], [60, 10], [90, 70]], [[20, 80], [5, 40]]]
    sketch = Sketch.from_strokes(strokes)
    size = (640, 480)
    for mirrored in (False, True):
        for degrees in (0, 30, 90, 200):
            pose = Pose(0.6, mirrored, math.radians(degrees), 12.0, -30.0)
            expected = [pose.to_pixels(np.asarray(stroke, np.float32), size) for stroke in sketch.strokes]
            place = {"box": list(pose.box(sketch.points, size)), "mirrored": mirrored, "rotation": degrees}
            here = page.evaluate(
                "async ([strokes, place]) => (await import(new URL('page/geometry.js', document.baseURI)))"
                ".placed(strokes, place)",
                [strokes, place],
            )
            # The server samples strokes anew: their ends stay.
            for a, b in zip(here, expected, strict=True):
                assert a[0] == pytest.approx(b[0].tolist(), abs=1.5)
                assert a[-1] == pytest.approx(b[-1].tolist(), abs=1.5)


def test_a_drawing_on_its_side_is_turned_by_itself(visit: Visit, address: str) -> None:
    page = visit(address)
    lying = [(100 - y, x) for x, y in HOUSE]
    straight = search_after(page, lambda: draw_with_mouse(page, lying))
    assert straight["present"] < 0.5
    assert all(hit["rotation"] == 0 for hit in straight["hits"])
    expect(page.locator(".hit .open").first).to_have_attribute("title", re.compile("house"))
    page.locator(".hit .open").first.click()
    expect(page.locator("#viewer .facts")).to_contain_text("to the left")


def test_a_switch_for_any_angle(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address)
    down = [(100 - y, x) for x, y in ARROW]  # the arrow that points left, turned by 90 degrees: up
    straight = search_after(page, lambda: draw_with_mouse(page, down))
    assert all(hit["rotation"] == 0 for hit in straight["hits"])
    page.wait_for_timeout(600)  # by then it has turned the drawing by itself, if at all
    with page.expect_request("**/api/search") as request:
        options(page)
        turned = search_after(page, page.get_by_label("At any angle").check)
    assert json.loads(request.value.post_data)["turn"] == "any"
    first = turned["hits"][0]
    assert Path(first["picture"]).name in ("arrow.gif", "arrow-right.png")
    assert first["score"] > straight["hits"][0]["score"]
    assert 75 < abs(first["rotation"]) < 105
    keep(page, "any-angle")
    page.locator(".hit .open").first.click()
    expect(page.locator("#viewer .facts")).to_contain_text(f"turned by {abs(round(first['rotation']))}°")


def test_from_shape_to_meaning(visit: Visit, keep: Keep, expanding: str) -> None:
    page = visit(expanding)
    with_options(page, "blend")
    asked = answering(page, lambda answer: answer, "blend")
    search_after(page, lambda: draw_with_mouse(page, STAR))
    assert "blend" not in asked[-1]  # the middle leaves it to the server
    options(page)
    slider = page.get_by_label("Shape or meaning")
    slider.focus()
    search_after(page, lambda: page.keyboard.press("Home"))
    assert (asked[-1]["blend"], asked[-1]["expand"]) == (0, 0)
    expect(slider).to_have_attribute("aria-valuetext", "shape alone")
    search_after(page, lambda: page.keyboard.press("End"))
    assert asked[-1]["blend"] > 2
    keep(page, "meaning")


def test_this_not_that(visit: Visit, keep: Keep, expanding: str) -> None:
    page = visit(expanding)
    with_options(page, "rejected")
    asked = answering(page, lambda answer: answer, "rejected")
    answer = search_after(page, lambda: draw_with_mouse(page, STAR))
    ids = [hit["id"] for hit in answer["hits"]]
    page.locator(".hit .pick").nth(0).click()
    page.locator(".hit .reject").nth(3).click()
    expect(page.locator("#picks output")).to_have_text("1 selected, 1 ruled out")
    keep(page, "this-not-that")
    search_after(page, page.get_by_role("button", name="More like these").click)
    assert (asked[-1]["picked"], asked[-1]["rejected"]) == ([ids[0]], [ids[3]])
    search_after(page, lambda: draw_with_mouse(page, [(20, 20), (20, 30)]))
    assert asked[-1]["rejected"] == [ids[3]]  # it goes on counting while one draws
    tile = page.locator(f".hit[data-id='{ids[3]}']")
    expect(tile.locator(".reject")).to_have_attribute("aria-pressed", "true")
    tile.locator(".pick").click()  # one cannot be both
    expect(page.locator("#picks output")).to_have_text("2 selected")
    search_after(page, page.locator("#unpick").click)
    assert not {"picked", "rejected"} & set(asked[-1])


def photograph() -> bytes:
    """Noise of many colours, with a dark star."""
    rng = np.random.default_rng(3)
    pixels = rng.integers(0, 256, (300, 400, 3)).astype(np.uint8)
    image = Image.fromarray(pixels)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def fields(request: Request) -> str:
    return request.post_data_buffer.decode("latin-1")


def test_a_photograph_and_a_part_of_it(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address)
    with_options(page, "box")
    real = search_after(page, lambda: draw_with_mouse(page, STAR))
    page.locator("#clear").click()
    traced = {"strokes": [[[0, 0], [50, 80], [100, 0]]], "photograph": True}
    page.route("**/api/sketch", lambda route: route.fulfill(json=traced))
    asked: list[Request] = []

    def answer(route: Route) -> None:
        asked.append(route.request)
        route.fulfill(json=real)

    page.route("**/api/search", answer)
    file = {"name": "photo.png", "mimeType": "image/png", "buffer": photograph()}
    search_after(page, lambda: page.locator("#file").set_input_files(file))
    assert 'name="picture"' in fields(asked[-1])
    assert 'name="box"' not in fields(asked[-1])
    expect(page.locator("#paper")).to_be_hidden()
    area = page.locator("#photo .area").bounding_box()

    def at(x: float, y: float) -> tuple[float, float]:
        return area["x"] + x * area["width"], area["y"] + y * area["height"]

    def drag_frame() -> None:
        page.mouse.move(*at(0.25, 0.5))
        page.mouse.down()
        page.mouse.move(*at(0.5, 0.9), steps=4)
        page.mouse.up()

    search_after(page, drag_frame)
    keep(page, "photograph")
    sent = fields(asked[-1])
    box = [int(word) for word in sent.split('name="box"')[1].split("\r\n")[2].split(",")]
    assert box == pytest.approx([100, 150, 200, 270], abs=3)
    page.locator("#photo .area").focus()
    search_after(page, lambda: page.keyboard.press("ArrowRight"))
    moved = fields(asked[-1]).split('name="box"')[1].split("\r\n")[2]
    assert [int(word) for word in moved.split(",")] == pytest.approx([120, 150, 220, 270], abs=4)
    search_after(page, lambda: page.mouse.click(*at(0.1, 0.1)))  # a click takes the frame away
    assert 'name="box"' not in fields(asked[-1])
    page.unroute("**/api/search")
    answered = search_after(page, page.get_by_role("button", name="Draw its lines instead").click)
    assert len(answered["hits"]) == 8
    expect(page.locator("#paper")).to_be_visible()
    expect(page.locator("#photo")).to_be_hidden()


def test_why_a_hit_matched(visit: Visit, address: str, keep: Keep) -> None:
    page = visit(address)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    asked: list[dict] = []
    page.on(
        "request", lambda r: asked.append(json.loads(r.post_data)) if r.url.endswith("/api/explain") else None
    )
    page.locator(".hit .open").nth(1).click()
    page.locator("#viewer .explain").click()
    why = page.locator("#viewer .why")
    expect(why).to_contain_text("of your outline meets edges here")
    expect(why.get_by_text("coverage")).to_be_hidden()  # numbers are there for whom asks
    why.get_by_text("Details").click()
    expect(why.get_by_text("coverage")).to_be_visible()
    expect(page.locator("#viewer .stage .met .line")).to_have_count(3)
    expect(page.locator("#viewer .stage")).to_be_in_viewport(ratio=0.9)  # it stays beside the sentence
    expect(page.locator("#viewer .close")).to_be_in_viewport(ratio=1)
    keep(page, "why")
    assert asked[0]["id"] == page.locator(".hit").nth(1).get_attribute("data-id")
    assert asked[0]["strokes"]
    page.keyboard.press("ArrowRight")
    expect(page.locator("#viewer .why")).to_be_hidden()
    page.keyboard.press("Escape")
    with_options(page, explain=False)
    page.locator(".hit .open").first.click()
    expect(page.locator("#viewer .explain")).to_be_hidden()  # absent, not broken


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_appears_is_accessible(visit: Visit, expanding: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = visit(expanding, may_fail=True, color_scheme=scheme, bypass_csp=True)
    with_options(page, "blend", "turn", "rejected", "box")
    answering(page, sixteen(0.5, 0.02), "turn", "rejected")
    search_after(page, lambda: draw_with_mouse(page, STAR))
    page.locator(".hit .pick").nth(0).click()
    page.locator(".hit .reject").nth(2).click()
    expect(page.locator("#show-more")).to_be_visible()
    page.wait_for_timeout(300)
    found = Axe().run(page).response["violations"]
    serious = [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]
    assert not serious, serious


def scribble() -> list[tuple[float, float]]:
    """A pen that goes to and fro without meaning anything."""
    rng = np.random.default_rng(3)
    return [(float(x), float(y)) for x, y in rng.uniform(0, 100, (40, 2))]


def test_a_dot_is_asked_to_become_a_drawing(visit: Visit, address: str) -> None:
    page = visit(address, may_fail=True)
    box = page.locator("#paper").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#status")).to_contain_text("draw at least one line")
    expect(page.locator(".hit")).to_have_count(0)


def test_a_scribble_is_probably_not_here(visit: Visit, address: str, keep: Keep) -> None:
    page = visit(address)
    answer = search_after(page, lambda: draw_with_mouse(page, scribble()))
    keep(page, "scribble")
    assert answer["present"] < 0.5
    assert answer["verdict"] in ("Closest matches", "Probably not here")
    expect(page.locator("#answers h2:visible")).to_have_text(answer["verdict"])


def test_a_star_among_shapes_is_here(visit: Visit, address: str) -> None:
    page = visit(address)
    answer = search_after(page, lambda: draw_with_mouse(page, STAR))
    assert "star" in answer["hits"][0]["picture"]
    assert answer["present"] > 0.5
    expect(page.locator("#answers h2:visible")).to_have_text("Likely here")


def test_one_picture_of_something_else(
    visit: Visit, serve: Any, shape_pictures: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from sketchseek import Index

    where = tmp_path_factory.mktemp("one") / "index"
    Index.create(where, detector="canny", expansion=False).add([shape_pictures / "house.webp"])
    page = visit(serve(where))
    answer = search_after(page, lambda: draw_with_mouse(page, STAR))
    assert len(answer["hits"]) == 1
    assert answer["present"] < 0.5
    assert answer["verdict"] in ("Closest matches", "Probably not here")
    expect(page.locator("#answers h2:visible")).to_have_text(answer["verdict"])


def test_an_empty_collection_says_what_fills_it(
    visit: Visit, serve: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from sketchseek import Index

    where = tmp_path_factory.mktemp("none") / "index"
    Index.create(where, detector="canny", expansion=False)
    page = visit(serve(where))
    draw_with_mouse(page, STAR)
    expect(page.get_by_text("sketchseek index")).to_be_visible()
    expect(page.locator(".hit")).to_have_count(0)


def test_a_note_is_told(visit: Visit, address: str) -> None:
    """As that a search went by shape alone."""
    page = visit(address)
    note = "By shape alone, though the index knows what its pictures depict: there is no network."
    answering(page, lambda answer: {**answer, "note": note})
    search_after(page, lambda: draw_with_mouse(page, STAR))
    expect(page.locator("#status")).to_contain_text(note)
