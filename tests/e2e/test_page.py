"""The page, as a person uses it: with mouse, pen, finger and keyboard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect
from visitor import (
    ARROW,
    STAR,
    UPRIGHT,
    Keep,
    Visit,
    best,
    check_outlines,
    draw_with_finger,
    draw_with_mouse,
    draw_with_pen,
    inked,
    options,
    search_after,
    strokes,
    use,
)


@pytest.mark.parametrize("draw", [draw_with_mouse, draw_with_pen, draw_with_finger])
def test_draw_and_see_where(visit: Visit, keep: Keep, address: str, draw: Callable) -> None:
    page = visit(address, has_touch=draw is draw_with_finger)
    expect(page.locator("#collection")).to_have_text("8 pictures")
    answer = search_after(page, lambda: draw(page, STAR))
    assert best(answer) in ("star.jpg", "star-small.png")
    assert page.locator(".hit").count() == 8
    check_outlines(page, answer)
    expect(page.locator("#status")).to_contain_text("8 pictures")
    assert "%" not in page.locator("#answers").inner_text()  # the viewer has the numbers
    (stroke,) = strokes(page)
    pressures = {point[2] for point in stroke}
    assert len(pressures) > 5 if draw is draw_with_pen else pressures == {0.5}
    keep(page, draw.__name__.replace("_", "-"))


def test_undo_redo_clear(visit: Visit, address: str) -> None:
    page = visit(address)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    search_after(page, lambda: draw_with_mouse(page, [(0, 0), (100, 0)]))
    assert len(strokes(page)) == 2
    search_after(page, lambda: page.keyboard.press("Control+z"))
    assert len(strokes(page)) == 1
    search_after(page, lambda: page.keyboard.press("Control+Shift+z"))
    assert len(strokes(page)) == 2
    search_after(page, page.locator("#undo").click)
    assert len(strokes(page)) == 1
    search_after(page, lambda: page.keyboard.press("Control+y"))
    assert len(strokes(page)) == 2
    page.locator("#clear").click()
    assert strokes(page) == []
    assert inked(page) == 0
    expect(page.locator(".hit")).to_have_count(0)
    expect(page.locator("#invitation")).to_be_visible()
    search_after(page, page.locator("#toast button").click)
    assert len(strokes(page)) == 2
    assert page.locator("#redo").is_enabled()
    draw_with_mouse(page, [(0, 100), (100, 100)])
    assert page.locator("#redo").is_disabled()


def test_erase(visit: Visit, address: str) -> None:
    page = visit(address)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    before = inked(page)
    search_after(page, lambda: draw_with_mouse(page, [(0, 99), (100, 99)]))
    page.keyboard.press("e")
    expect(page.locator("#rubber")).to_have_attribute("aria-pressed", "true")
    search_after(page, lambda: draw_with_mouse(page, [(-5, 99), (105, 99)]))
    assert len(strokes(page)) == 1
    page.mouse.move(5, 5)
    page.wait_for_timeout(100)
    assert inked(page) == pytest.approx(before, rel=0.02)
    search_after(page, lambda: page.keyboard.press("Control+z"))
    assert len(strokes(page)) == 2
    page.keyboard.press("p")
    expect(page.locator("#pencil")).to_have_attribute("aria-pressed", "true")


def test_reload_keeps_the_drawing(visit: Visit, address: str) -> None:
    page = visit(address)
    answer = search_after(page, lambda: draw_with_pen(page, STAR))
    before, ink = strokes(page), inked(page)
    again = search_after(page, page.reload)
    assert strokes(page) == before
    assert inked(page) == pytest.approx(ink, rel=0.01)
    assert [hit["id"] for hit in again["hits"]] == [hit["id"] for hit in answer["hits"]]


def test_a_link_brings_the_drawing(visit: Visit, address: str, shape_index: Path) -> None:
    page = visit(address)
    answer = search_after(page, lambda: draw_with_mouse(page, STAR))
    link = page.url
    assert re.search(r"#1[\w-]+$", link)
    assert len(link) < 300
    friend = visit(address)
    search_after(friend, lambda: draw_with_mouse(friend, ARROW))
    there = search_after(friend, lambda: friend.evaluate("(link) => { location.href = link; }", link))
    assert best(there) == best(answer)
    for a, b in zip(there["hits"], answer["hits"], strict=True):
        assert a["score"] == pytest.approx(b["score"], abs=0.02)
    search_after(friend, lambda: friend.keyboard.press("Control+z"))  # one's own drawing is not lost
    assert len(strokes(friend)[0]) > 10
    stranger = visit(link)
    expect(stranger.locator(".hit")).to_have_count(8)
    assert inked(stranger) == pytest.approx(inked(page), rel=0.15)


@pytest.mark.parametrize("link", ["#1", "#1____", "#2AAAA", "#1" + "_" * 4000, "#<script>", "#1AAAAAAAA%00"])
def test_a_broken_link_is_harmless(visit: Visit, address: str, link: str) -> None:
    page = visit(address + link)
    expect(page.locator("#invitation")).to_be_visible()
    search_after(page, lambda: draw_with_mouse(page, STAR))


def test_mirrored_hits(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address)
    answer = search_after(page, lambda: draw_with_mouse(page, ARROW))
    found = {Path(hit["picture"]).name: hit for hit in answer["hits"]}
    assert not found["arrow.gif"]["mirrored"]
    assert found["arrow-right.png"]["mirrored"]
    check_outlines(page, answer)
    keep(page, "mirrored")
    options(page)
    once = search_after(page, page.locator("#mirror").uncheck)
    assert not any(hit["mirrored"] for hit in once["hits"])
    assert best(once) == "arrow.gif"
    flipped = search_after(page, lambda: use(page, "flip"))
    assert best(flipped) == "arrow-right.png"


def test_a_closer_look(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address)
    answer = search_after(page, lambda: draw_with_mouse(page, STAR))
    first, second = answer["hits"][:2]
    page.locator(".hit .open").first.click()
    viewer = page.locator("#viewer")
    expect(viewer.locator("h2")).to_have_text(Path(first["picture"]).name)
    expect(viewer.locator(".path")).to_have_text(first["picture"])
    picture = viewer.locator(".stage .picture")
    page.wait_for_function("() => document.querySelector('#viewer .picture').naturalWidth > 0")
    assert picture.evaluate("(img) => [img.naturalWidth, img.naturalHeight]") == [
        first["width"],
        first["height"],
    ]
    viewer.locator("#show-contours").check()
    page.wait_for_function("() => document.querySelector('#viewer .contours').naturalWidth > 0")
    keep(page, "closer-look")
    viewer.locator("#show-outline").uncheck()
    expect(viewer.locator(".outline")).to_have_css("opacity", "0")
    page.keyboard.press("ArrowRight")
    expect(viewer.locator("h2")).to_have_text(Path(second["picture"]).name)
    with page.context.expect_page() as opened:
        viewer.locator(".original").click()
    assert opened.value.url.endswith(f"/api/pictures/{second['id']}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    viewer.locator(".copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == second["picture"]
    page.keyboard.press("Escape")
    expect(viewer).to_be_hidden()


def test_pictures_as_a_beginning(visit: Visit, address: str, tmp_path: Path) -> None:
    points = " ".join(f"{x},{y}" for x, y in STAR)
    file = tmp_path / "star.svg"
    shape = f'<polyline points="{points}" fill="none" stroke="#000"/>'
    file.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">{shape}</svg>')
    page = visit(address, may_fail=True)  # the last file is no picture
    answer = search_after(page, lambda: page.locator("#file").set_input_files(file))
    assert best(answer) in ("star.jpg", "star-small.png")
    for kind in ("drop", "paste"):
        page.locator("#clear").click()
        expect(page.locator(".hit")).to_have_count(0)
        answer = search_after(
            page,
            lambda kind=kind: page.evaluate(
                """([kind, text]) => {
                  const data = new DataTransfer();
                  data.items.add(new File([text], "star.svg", { type: "image/svg+xml" }));
                  const event = kind === "drop" ? new DragEvent(kind, { dataTransfer: data, bubbles: true })
                    : new ClipboardEvent(kind, { clipboardData: data, bubbles: true });
                  document.body.dispatchEvent(event);
                }""",
                [kind, file.read_text()],
            ),
        )
        assert best(answer) in ("star.jpg", "star-small.png")
    with page.expect_download() as download:
        use(page, "download")
    page.locator("#clear").click()
    again = search_after(page, lambda: page.locator("#file").set_input_files(download.value.path()))
    assert best(again) == best(answer)
    page.locator("#file").set_input_files(
        {"name": "x.png", "mimeType": "image/png", "buffer": b"not a picture"}
    )
    expect(page.locator("#toast")).to_contain_text("picture")


def test_a_hand_on_the_screen(visit: Visit, address: str) -> None:
    page = visit(address, has_touch=True)
    draw_with_finger(page, STAR, width=80)
    assert page.locator("#undo").is_disabled()  # too wide for a finger
    search_after(page, lambda: draw_with_pen(page, STAR))
    draw_with_finger(page, [(0, 100), (100, 100)])
    assert len(strokes(page)) == 1  # the hand that holds the pen
    page.wait_for_timeout(1600)
    search_after(page, lambda: draw_with_finger(page, [(0, 100), (100, 100)]))
    assert len(strokes(page)) == 2


def test_a_phone(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address, **UPRIGHT)
    keep(page, "phone-invitation")
    answer = search_after(page, lambda: draw_with_finger(page, STAR))
    keep(page, "phone-results")
    check_outlines(page, answer)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tiles = page.locator(".hit")
    assert tiles.first.bounding_box()["width"] > 100
    tiles.first.locator(".open").tap()
    expect(page.locator("#viewer")).to_be_visible()
    page.wait_for_timeout(200)
    keep(page, "phone-closer-look")
    assert page.evaluate("document.querySelector('#viewer').scrollWidth <= innerWidth")
    page.locator("#viewer .close").tap()
    page.locator("#more summary").tap()
    for name in ("pencil", "rubber", "undo", "clear", "line", "ellipse", "hand", "share"):
        box = page.locator(f"#{name}").bounding_box()
        assert min(box["width"], box["height"]) >= 44
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360


def test_zoomed_to_twice_the_size(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address, viewport={"width": 640, "height": 400}, device_scale_factor=2)
    answer = search_after(page, lambda: draw_with_mouse(page, STAR))
    check_outlines(page, answer)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    keep(page, "zoomed")


def test_by_keyboard_alone(visit: Visit, address: str) -> None:
    page = visit(address)
    expect(page.locator("#examples button").first).to_be_visible()

    def tabbed(times: int) -> list[str]:
        found = []
        for _ in range(times):
            page.keyboard.press("Tab")
            found.append(
                page.evaluate(
                    "document.activeElement.id || document.activeElement.getAttribute('aria-label') || ''"
                )
            )
        return found

    reached = tabbed(12)
    assert reached[:2] == ["keys", "paper"]
    for control in ("pencil", "rubber", "More tools", "Options"):
        assert control in reached
    assert any(name.startswith("Example, traced in") for name in reached)
    page.locator("#more summary").focus()
    page.keyboard.press("Enter")
    assert {"line", "ellipse", "hand", "import"} <= set(tabbed(6))
    page.keyboard.press("Escape")
    expect(page.locator("#line")).to_be_hidden()
    page.locator("#options summary").focus()
    page.keyboard.press("Enter")
    assert "mirror" in tabbed(2)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("undo")
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.locator("#paper").focus()
    for key in ["Space", *["Shift+ArrowRight"] * 5, *["Shift+ArrowDown"] * 5, *["Shift+ArrowLeft"] * 5]:
        page.keyboard.press(key)
    answer = search_after(page, lambda: page.keyboard.press("Space"))
    assert len(answer["hits"]) == 8
    (stroke,) = strokes(page)
    xs, ys = [p[0] for p in stroke], [p[1] for p in stroke]
    assert (max(xs) - min(xs), max(ys) - min(ys)) == (400, 400)
    page.locator(".hit .open").first.focus()
    page.keyboard.press("Tab")  # what can be done with a hit shows when it is in focus
    expect(page.locator(".hit .pick").first).to_have_css("opacity", "1")
    page.keyboard.press("Space")
    expect(page.locator("#picks output")).to_have_text("1 selected")
    page.locator(".hit .open").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#viewer")).to_be_visible()


def test_nothing_moves_while_one_draws(visit: Visit, address: str) -> None:
    page = visit(address)
    page.evaluate(
        """() => {
          window.shift = 0;
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) {
              // Tiles that change places because the hits did are what was asked for.
              const fixed = entry.sources.some((source) => source.node?.closest?.("#book, header"));
              if (fixed && !entry.hadRecentInput) window.shift += entry.value;
            }
          }).observe({ type: "layout-shift", buffered: true });
        }"""
    )
    kept = page.evaluate_handle(
        "document.querySelector('#paper').getBoundingClientRect().toJSON()"
    ).json_value()
    search_after(page, lambda: draw_with_mouse(page, STAR))
    first = page.locator(".hit img").first.element_handle()
    search_after(page, lambda: draw_with_mouse(page, [(20, 20), (20, 30)]))
    search_after(page, lambda: page.keyboard.press("Control+z"))
    assert page.evaluate("(image) => image.isConnected && image.complete && image.naturalWidth > 0", first)
    assert page.evaluate("document.querySelector('#paper').getBoundingClientRect().toJSON()") == kept
    assert page.evaluate("window.shift") == 0


def test_the_first_click_leads_back_to_a_picture(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address)
    examples = page.locator("#examples button")
    expect(examples.first).to_be_visible()
    keep(page, "begin")
    for n in range(examples.count()):
        name = examples.nth(n).get_attribute("title").removeprefix("Traced in ")
        answer = search_after(page, examples.nth(n).click)
        assert best(answer) == name
        page.locator("#clear").click()
    images = page.locator("#wall img")
    expect(images).to_have_count(8)
    assert page.evaluate(
        "[...document.querySelectorAll('#wall img')].every((image) => image.src.includes('thumbnail'))"
    )


def test_little_moves_when_hits_come(visit: Visit, address: str) -> None:
    page = visit(address)
    expect(page.locator("#examples button").first).to_be_visible()
    page.evaluate(
        """() => {
          window.shift = 0;
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
          }).observe({ type: "layout-shift", buffered: true });
        }"""
    )
    search_after(page, lambda: draw_with_mouse(page, STAR))
    page.wait_for_timeout(300)
    assert page.evaluate("window.shift") < 0.05


def test_a_newer_search_wins(visit: Visit, address: str) -> None:
    page = visit(address)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)
        if len(held) > 1:
            route.continue_()

    page.route("**/api/search", hold)
    draw_with_mouse(page, STAR)
    page.wait_for_timeout(100)
    draw_with_mouse(page, [(20, 20), (20, 30)])
    expect(page.locator(".hit")).to_have_count(8)
    assert held[0].request.failure  # the page itself gave the older one up
    first, second = (json.loads(route.request.post_data) for route in held)
    assert (len(first["strokes"]), len(second["strokes"])) == (1, 2)
    assert first["page"] == second["page"]


def test_states_that_say_what_to_do(
    visit: Visit, keep: Keep, serve: Callable[..., str], tmp_path: Path, draw_picture
) -> None:
    from sketchseek import Index

    where = tmp_path / "index"
    page = visit(serve(where))
    expect(page.locator("#command")).to_have_text(f"sketchseek index ~/Pictures --index {where}")
    keep(page, "first-visit")
    (tmp_path / "pictures").mkdir()
    for number in range(3):
        draw_picture(tmp_path / "pictures" / f"{number}.png", number)
    Index.create(where, detector="canny", expansion=False).add([tmp_path / "pictures"])
    expect(page.locator("#invitation")).to_be_visible(timeout=10_000)  # without a reload
    expect(page.locator("#collection")).to_have_text("3 pictures")
    expect(page.locator("#wall img")).to_have_count(3)
    draw_with_mouse(page, STAR)
    expect(page.locator(".hit")).to_have_count(3)


def test_more_like_these(visit: Visit, keep: Keep, address: str, expanding: str) -> None:
    plain = visit(address)
    search_after(plain, lambda: draw_with_mouse(plain, STAR))
    plain.locator(".hit .pick").first.click()
    expect(plain.locator("#more-like")).to_be_hidden()  # absent, not broken, where there are no embeddings
    expect(plain.locator("#list")).to_be_visible()

    page = visit(expanding)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    expect(page.locator("#picks")).to_be_hidden()
    arrows = page.locator(".hit").filter(has=page.locator("[title^=arrow]"))
    for tile in arrows.all():
        tile.locator(".pick input").check()
    expect(page.locator("#picks output")).to_have_text("2 selected")
    keep(page, "ticked")
    picked = set(
        page.locator(".hit:has(input:checked)").evaluate_all("(tiles) => tiles.map((t) => t.dataset.id)")
    )
    with page.expect_request("**/api/search") as request:
        answer = search_after(page, page.locator("#more-like").click)
    assert set(json.loads(request.value.post_data)["picked"]) == picked
    assert picked == {hit["id"] for hit in answer["hits"][:2]}
    expect(page.locator("#answers h2").first).to_have_text("More like these")
    keep(page, "more-like-these")
    search_after(page, page.locator("#unpick").click)
    expect(page.locator("#picks")).to_be_hidden()


def test_a_busy_server_is_asked_again(visit: Visit, address: str) -> None:
    page = visit(address, may_fail=True)
    busy = {"status": 503, "json": {"detail": "Too many searches."}, "headers": {"retry-after": "1"}}
    page.route("**/api/search", lambda route: route.fulfill(**busy), times=1)
    draw_with_mouse(page, STAR)
    expect(page.locator(".hit")).to_have_count(8)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility(visit: Visit, keep: Keep, address: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = visit(address, color_scheme=scheme, bypass_csp=True)

    def check(name: str) -> None:
        keep(page, f"{scheme}-{name}")
        found = Axe().run(page).response["violations"]
        serious = [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]
        assert not serious, serious

    check("invitation")
    search_after(page, lambda: draw_with_mouse(page, STAR))
    page.wait_for_timeout(300)
    check("results")
    page.locator(".hit .open").first.click()
    page.locator("#show-contours").check()
    page.wait_for_timeout(800)
    check("closer-look")
