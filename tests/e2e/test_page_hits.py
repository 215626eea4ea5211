"""The hits: where their list begins and ends, what is selected, the viewer, a server that comes and goes."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect
from visitor import (
    ARROW,
    ON_ITS_SIDE,
    STAR,
    UPRIGHT,
    Keep,
    Visit,
    draw_with_finger,
    draw_with_mouse,
    options,
    press_long,
    search_after,
    swipe,
)

from sketchseek import Index


def top_of_first_hit(page: Page) -> float:
    return page.locator(".hit").first.evaluate("(tile) => tile.getBoundingClientRect().top")


def scroll_down(page: Page) -> None:
    page.mouse.move(700, 300)
    page.mouse.wheel(0, 5000)
    page.wait_for_function("() => document.querySelector('.hit').getBoundingClientRect().bottom < 0")


def test_new_hits_are_shown_from_their_top(visit: Visit, expanding: str) -> None:
    page = visit(expanding, viewport={"width": 1040, "height": 500})
    search_after(page, lambda: draw_with_mouse(page, STAR))
    scroll_down(page)
    sheet = page.locator("#paper").bounding_box()
    search_after(page, lambda: draw_with_mouse(page, [(20, 20), (20, 30)]))
    assert 0 <= top_of_first_hit(page) < 200
    assert page.locator("#paper").bounding_box()["y"] == pytest.approx(sheet["y"], abs=2)  # under the pencil
    page.locator(".hit .pick").nth(1).click()
    scroll_down(page)
    search_after(page, page.locator("#more-like").click)
    assert 0 <= top_of_first_hit(page) < 200


def test_more_like_these_on_a_phone_are_shown_from_their_top(visit: Visit, expanding: str) -> None:
    page = visit(expanding, **{**UPRIGHT, "viewport": {"width": 360, "height": 480}})
    search_after(page, lambda: draw_with_finger(page, STAR))
    press_long(page, page.locator(".hit .open").first)
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_function("() => document.querySelector('.hit').getBoundingClientRect().bottom < 0")
    search_after(page, page.locator("#more-like").tap)
    assert page.locator("#reopen").bounding_box()["height"] <= top_of_first_hit(page) < 300  # below the strip


def selected(page: Page) -> set[str]:
    return set(
        page.locator(".hit:has(.pick :checked)").evaluate_all("(tiles) => tiles.map((t) => t.dataset.id)")
    )


def test_what_is_selected_stays_so(visit: Visit, keep: Keep, expanding: str) -> None:
    page = visit(expanding)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    for tile in page.locator(".hit").all()[2:4]:
        tile.locator(".pick").click()
    chosen = selected(page)
    assert len(chosen) == 2
    search_after(page, lambda: draw_with_mouse(page, [(20, 20), (20, 30)]))
    assert selected(page) == chosen
    options(page)
    search_after(page, page.locator("#mirror").uncheck)
    assert selected(page) == chosen
    # What more like these was asked with goes on counting while one draws.
    search_after(page, page.locator("#more-like").click)
    with page.expect_request("**/api/search") as request:
        search_after(page, lambda: draw_with_mouse(page, [(80, 80), (90, 80)]))
    assert set(json.loads(request.value.post_data)["picked"]) == chosen

    # One that is not among the hits any more is still there to be seen and to be let go.
    gone = sorted(chosen)[0]

    def without(route: Route) -> None:
        answer = route.fetch().json()
        answer["hits"] = [hit for hit in answer["hits"] if hit["id"] != gone]
        route.fulfill(json=answer)

    page.route("**/api/search", without)
    options(page)
    search_after(page, page.locator("#mirror").check)
    assert selected(page) == chosen - {gone}
    expect(page.locator("#picks output")).to_have_text("2 selected, 1 of them not among these hits")
    expect(page.locator("#picks li")).to_have_count(2)
    keep(page, "selected")
    page.locator(f"#picks li[data-id='{gone}'] button").click()
    expect(page.locator("#picks output")).to_have_text("1 selected")


def test_boxes_on_a_phone_are_labelled_and_large(visit: Visit, address: str) -> None:
    page = visit(address, **UPRIGHT)
    answer = search_after(page, lambda: draw_with_finger(page, STAR))
    expect(page.locator(".hit .pick").first).to_have_css("opacity", "0")  # hits are pictures
    press_long(page, page.locator(".hit .open").nth(1))
    expect(page.locator("#viewer")).to_be_hidden()
    expect(page.locator("#picks output")).to_have_text("1 selected")
    for tile, hit in zip(page.locator(".hit").all(), answer["hits"], strict=True):
        label = tile.locator(".pick")
        expect(label).to_have_css("opacity", "1")
        box = label.bounding_box()
        assert min(box["width"], box["height"]) >= 44
        name = Path(hit["picture"]).name
        expect(label.locator("input")).to_have_accessible_name(f"Select {name}")
    page.locator(".hit .pick").first.tap()
    expect(page.locator("#picks output")).to_have_text("2 selected")
    for button in page.locator("#picks button:visible").all():
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 44
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_phone_on_its_side_shows_results(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address, **ON_ITS_SIDE)
    search_after(page, lambda: draw_with_finger(page, STAR))
    keep(page, "phone-on-its-side")
    for n in (0, 1):
        frame = page.locator(".hit .frame").nth(n).bounding_box()
        assert frame["y"] >= 0
        assert frame["y"] + frame["height"] <= 360
    sheet = page.locator("#paper").bounding_box()
    assert sheet["y"] + sheet["height"] <= 360
    assert sheet["width"] >= 240
    page.locator("#more summary").tap()
    for name in ("pencil", "rubber", "undo", "clear", "hand", "share"):
        box = page.locator(f"#{name}").bounding_box()
        assert box["y"] + box["height"] <= 360
        assert min(box["width"], box["height"]) >= 44
    page.locator("#status").tap()  # a menu closes when something else is meant
    expect(page.locator("#share")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".hit .open").first.tap()
    stage = page.locator("#viewer .stage").bounding_box()
    assert stage["y"] >= 0
    assert stage["y"] + stage["height"] <= 361


def test_on_a_phone_the_drawing_stays_in_sight(visit: Visit, keep: Keep, address: str) -> None:
    page = visit(address, **UPRIGHT)
    search_after(page, lambda: draw_with_finger(page, STAR))
    sheet = page.locator("#paper").bounding_box()
    assert page.locator(".hit .frame").first.bounding_box()["y"] < 740 - 100  # hits directly below the tools
    height = page.evaluate("document.documentElement.scrollHeight")
    page.evaluate("scrollTo(0, 10000)")
    strip = page.locator("#reopen")
    expect(strip).to_be_visible()
    keep(page, "phone-strip")
    small = page.locator("#paper").bounding_box()
    assert 0 <= small["y"] < small["y"] + small["height"] <= strip.bounding_box()["height"] < 100
    assert page.evaluate("document.documentElement.scrollHeight") == height  # nothing jumps
    strip.tap()
    expect(strip).to_be_hidden()
    assert page.locator("#paper").bounding_box() == sheet
    search_after(page, lambda: draw_with_finger(page, [(20, 20), (20, 30)]))


def many(page: Page, real: dict, pictures: int, most: int) -> list[int]:
    """Let the page believe in a larger collection, of the same hits again and again; what offsets it asks."""
    asked: list[int] = []

    def answer(route: Route) -> None:
        wanted = json.loads(route.request.post_data)
        offset = wanted.get("offset", 0)
        asked.append(offset)
        if offset + wanted["k"] > most:
            route.fulfill(status=422, json={"detail": f"Only the best {most} hits can be had."})
            return
        hits = [
            {
                **real["hits"][i % 8],
                "rank": i + 1,
                "id": f"{i:016x}",
                "confidence": 0.5,
                "score": 0.9 - i / 1e3,
            }
            | {"picture": f"/{i}-{Path(real['hits'][i % 8]['picture']).name}"}  # no two are the same
            for i in range(offset, min(offset + wanted["k"], pictures))
        ]
        route.fulfill(json={**real, "pictures": pictures, "hits": hits})

    page.route("**/api/search", answer)
    page.route("**/thumbnail", lambda route: route.fulfill(status=200, content_type="image/webp", body=b""))
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+Shift+z")
    expect(page.locator(".hit")).to_have_count(24)
    return asked


def to_the_end(page: Page) -> None:
    page.mouse.move(1100, 300)
    for _ in range(12):
        page.mouse.wheel(0, 3000)
        page.wait_for_timeout(150)


def test_more_hits_while_scrolling(visit: Visit, address: str) -> None:
    page = visit(address)
    real = search_after(page, lambda: draw_with_mouse(page, STAR))
    asked = many(page, real, pictures=60, most=500)
    expect(page.locator("#end")).to_be_hidden()
    to_the_end(page)
    expect(page.locator(".hit")).to_have_count(60)
    assert asked == [0, 24, 48]
    expect(page.locator("#end")).to_have_text("These are all 60 pictures, best first.")


def test_a_list_that_is_cut_off_does_not_say_that_it_is_all(visit: Visit, address: str) -> None:
    page = visit(address, may_fail=True)
    real = search_after(page, lambda: draw_with_mouse(page, STAR))
    many(page, real, pictures=400, most=60)
    to_the_end(page)
    expect(page.locator(".hit")).to_have_count(48)
    expect(page.locator("#end")).to_contain_text("These are the best 48")
    expect(page.locator("#end")).to_contain_text("no further")
    expect(page.locator("#end")).not_to_contain_text("all")


def test_swiping_goes_on_in_the_viewer(visit: Visit, address: str) -> None:
    page = visit(address, may_fail=True, **UPRIGHT)  # pictures that there are not
    real = search_after(page, lambda: draw_with_finger(page, STAR))
    many(page, real, pictures=30, most=500)
    names = [f"{i}-{Path(hit['picture']).name}" for i, hit in enumerate(real["hits"])]
    page.locator(".hit .open").nth(6).tap()
    viewer = page.locator("#viewer")
    expect(viewer.locator("h2")).to_have_text(names[6])

    def flick(by: int) -> None:
        stage = viewer.locator(".stage").bounding_box()
        y = stage["y"] + stage["height"] / 2
        swipe(page, [(180 - by / 2, y), (180 + by / 2, y)])

    flick(-160)
    expect(viewer.locator("h2")).to_have_text(names[7])
    flick(160)
    expect(viewer.locator("h2")).to_have_text(names[6])
    flick(20)  # too short for a swipe
    expect(viewer.locator("h2")).to_have_text(names[6])
    for _ in range(18):  # beyond the 24 that were loaded
        flick(-160)
    expect(viewer.locator(".facts")).to_contain_text("number 25 ")


def test_the_page_finds_the_server_again(
    visit: Visit, keep: Keep, server: Callable, shape_index: Path
) -> None:
    running = server(shape_index)
    page = visit(running.address, may_fail=True)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    running.stop()
    draw_with_mouse(page, [(0, 99), (100, 99)])
    expect(page.locator("#trouble")).to_contain_text("does not answer")
    expect(page.locator("#collection")).to_contain_text("looking for it")
    keep(page, "trouble")
    running.start()
    expect(page.locator("#trouble")).to_be_hidden(timeout=30_000)  # nobody clicked
    expect(page.locator("#collection")).to_have_text("8 pictures")
    expect(page.locator("#status")).to_contain_text("Best of 8 pictures")
    expect(page.locator(".hit.loaded")).to_have_count(8)


def test_a_page_opened_before_the_server_answers_finds_it(
    visit: Visit, server: Callable, shape_index: Path
) -> None:
    running = server(shape_index)
    page = visit(running.address, may_fail=True)
    page.route("**/api/index", lambda route: route.abort(), times=1)
    page.reload()
    expect(page.locator("#trouble")).to_be_visible()
    expect(page.locator("#invitation")).to_be_visible(timeout=30_000)
    expect(page.locator("#trouble")).to_be_hidden()


def test_the_viewer_does_not_blame_the_picture(
    visit: Visit, keep: Keep, server: Callable, shape_index: Path
) -> None:
    running = server(shape_index)
    page = visit(running.address, may_fail=True)
    answer = search_after(page, lambda: draw_with_mouse(page, STAR))
    expect(page.locator(".hit.loaded")).to_have_count(8)
    running.stop()
    page.locator(".hit .open").first.click()
    viewer = page.locator("#viewer")
    expect(viewer.locator(".excuse")).to_contain_text("The server does not answer")
    expect(viewer).not_to_contain_text("deleted")
    keep(page, "viewer-without-server")
    running.start()
    page.wait_for_function(
        "(width) => document.querySelector('#viewer .picture')?.naturalWidth === width",
        arg=answer["hits"][0]["width"],
        timeout=30_000,
    )
    expect(viewer.locator(".excuse")).to_be_empty()


def test_a_picture_of_another_shape_is_not_taken_for_the_one_that_was_indexed(
    visit: Visit, keep: Keep, serve: Callable[..., str], shape_pictures: Path, tmp_path: Path
) -> None:
    """The outline lies where it was found in the picture of before: on another it would be a lie."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("star.jpg", "arrow.gif"):
        shutil.copy(shape_pictures / name, folder)
    Index.create(tmp_path / "index", detector="canny").add([folder])
    page = visit(serve(tmp_path / "index"))
    search_after(page, lambda: draw_with_mouse(page, STAR))
    with Image.open(folder / "star.jpg") as star:
        star.crop((0, 0, star.width // 2, star.height)).save(folder / "star.jpg")
    page.locator(".hit .open").nth(1).click()
    viewer = page.locator("#viewer")
    viewer.get_by_label("What the program saw").check()
    expect(viewer.locator(".stage .contours")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(viewer.locator(".excuse")).to_contain_text("changed since it was indexed")
    expect(viewer.locator(".stage .contours:not([hidden])")).to_have_count(0)  # they are the new one's
    expect(viewer.locator(".stage .picture")).to_have_count(0)
    expect(viewer.locator(".stage .thumbnail")).to_have_accessible_name("star.jpg")
    expect(viewer.locator(".original")).to_be_visible()  # it can be looked at, without the outline
    page.keyboard.press("ArrowRight")
    expect(viewer.locator(".excuse")).to_be_empty()
    expect(viewer.locator(".stage .picture")).to_have_count(1)
    expect(viewer.locator(".stage .contours")).to_be_visible()


def test_a_deleted_picture_shows_what_the_index_keeps(
    visit: Visit, keep: Keep, serve: Callable[..., str], shape_pictures: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("star.jpg", "arrow.gif", "house.webp"):
        shutil.copy(shape_pictures / name, folder)
    Index.create(tmp_path / "index", detector="canny").add([folder])
    page = visit(serve(tmp_path / "index"), may_fail=True)
    search_after(page, lambda: draw_with_mouse(page, STAR))
    (folder / "star.jpg").unlink()
    page.locator(".hit .open").first.click()
    viewer = page.locator("#viewer")
    expect(viewer.locator(".excuse")).to_contain_text("gone")
    expect(viewer.locator(".excuse")).to_contain_text("small picture")
    expect(viewer.locator(".stage .picture")).to_have_count(0)
    kept = viewer.locator(".stage .thumbnail")
    expect(kept).to_have_accessible_name("star.jpg")
    assert kept.evaluate("(image) => image.complete && image.naturalWidth > 0")
    expect(viewer.locator(".original")).to_be_hidden()
    keep(page, "deleted-picture")
    page.keyboard.press("ArrowRight")
    expect(viewer.locator(".excuse")).to_be_empty()
    expect(viewer.locator(".original")).to_be_visible()


def test_selected_paths_as_a_list(visit: Visit, address: str) -> None:
    page = visit(address)
    answer = search_after(page, lambda: draw_with_mouse(page, ARROW))
    for n in (0, 2):
        page.locator(".hit .pick").nth(n).click()
    with page.expect_download() as download:
        page.locator("#list").click()
    assert download.value.suggested_filename == "pictures.txt"
    listed = Path(download.value.path()).read_text()
    assert listed == "".join(answer["hits"][n]["picture"] + "\n" for n in (0, 2))


def test_selected_pictures_as_a_zip(visit: Visit, address: str) -> None:
    page = visit(address)
    answer = search_after(page, lambda: draw_with_mouse(page, ARROW))
    for n in (1, 3):
        page.locator(".hit .pick").nth(n).click()
    with page.expect_download() as download:
        page.locator("#zip").click()
    assert download.value.suggested_filename == "pictures.zip"
    chosen = [Path(answer["hits"][n]["picture"]) for n in (1, 3)]
    with zipfile.ZipFile(download.value.path()) as file:
        assert {name: file.read(name) for name in file.namelist()} == {
            path.name: path.read_bytes() for path in chosen
        }


def test_looking_in_one_folder(
    visit: Visit, keep: Keep, serve: Callable[..., str], shape_pictures: Path, tmp_path: Path
) -> None:
    for name in ("star", "arrow", "house"):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for path in shape_pictures.glob(f"{name}*"):
            shutil.copy(path, tmp_path / "pictures" / name)
    Index.create(tmp_path / "index", detector="canny").add([tmp_path / "pictures"])
    page = visit(serve(tmp_path / "index"))
    search_after(page, lambda: draw_with_mouse(page, STAR))
    options(page)
    offered = page.locator("#folder option").all_inner_texts()
    assert page.locator("#folder").bounding_box()["width"] > 200  # folders have long names
    assert offered == ["in all folders", "arrow (2)", "house (2)", "star (2)"]
    answer = search_after(page, lambda: page.get_by_label("Look in").select_option("arrow (2)"))
    assert {Path(hit["picture"]).parent.name for hit in answer["hits"]} == {"arrow"}
    expect(page.locator(".hit")).to_have_count(2)
    expect(page.locator("#status")).to_contain_text("Best of 2 pictures")
    keep(page, "one-folder")
    search_after(page, lambda: page.get_by_label("Look in").select_option("in all folders"))
    expect(page.locator(".hit")).to_have_count(6)
    page.locator(".hit .open").first.click()
    answer = search_after(page, page.locator("#viewer .within").click)
    assert {Path(hit["picture"]).parent.name for hit in answer["hits"]} == {"star"}
    expect(page.locator("#viewer")).to_be_hidden()


def test_showing_a_picture_in_its_folder(
    visit: Visit, server: Callable, shape_index: Path, tmp_path: Path
) -> None:
    if sys.platform != "linux":
        pytest.skip("the desktop of this test is one of Linux")
    called, programs = tmp_path / "called", tmp_path / "bin"
    programs.mkdir()
    for name, ending in (("dbus-send", 1), ("xdg-open", 0)):
        (programs / name).write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {called}\nexit {ending}\n')
        (programs / name).chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    page = visit(server(shape_index, PATH=path, DISPLAY=":7").address)
    answer = search_after(page, lambda: draw_with_mouse(page, STAR))
    page.locator(".hit .open").first.click()
    page.locator("#viewer .reveal").click()
    expect(page.locator("#toast")).to_contain_text("Shown")
    first = Path(answer["hits"][0]["picture"])
    said = called.read_text().splitlines()
    assert f"array:string:{first.as_uri()}" in said  # selected, where the desktop can
    assert said[-1] == str(first.parent)

    nowhere = visit(server(shape_index, DISPLAY="", WAYLAND_DISPLAY="").address)
    search_after(nowhere, lambda: draw_with_mouse(nowhere, STAR))
    nowhere.locator(".hit .open").first.click()
    expect(nowhere.locator("#viewer .copy")).to_be_visible()
    expect(nowhere.locator("#viewer .reveal")).to_be_hidden()  # absent, not broken


def test_selecting_in_the_viewer(visit: Visit, address: str) -> None:
    page = visit(address)
    search_after(page, lambda: draw_with_mouse(page, ARROW))
    page.locator(".hit .open").nth(1).click()
    page.locator("#viewer .pick input").check()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#viewer .pick input")).not_to_be_checked()
    page.keyboard.press("Escape")
    expect(page.locator(".hit .pick input").nth(1)).to_be_checked()
    expect(page.locator(".hit .pick input").first).not_to_be_checked()
    assert len(selected(page)) == 1


def test_parts_of_the_page_know_no_server() -> None:
    """The published site is made of the same parts: api.js and main.js alone know where answers come from."""
    folder = Path(__file__).parents[2] / "src" / "sketchseek" / "web" / "page"
    names = "sketchpad tools hand ink geometry results viewer picks link photo judgement folders examples"
    for name in names.split():
        text = (folder / f"{name}.js").read_text()
        assert "api/" not in text, name
        assert "api.js" not in text, name
        assert "fetch(" not in text, name


@pytest.mark.parametrize("name", ["index.html", "api.js", "style.css"])
def test_addresses_are_relative(name: str) -> None:
    """The page may lie under any path."""
    text = (Path(__file__).parents[2] / "src" / "sketchseek" / "web" / "page" / name).read_text()
    assert '="/' not in text
    assert '("/' not in text
    assert "url(/" not in text
    assert "`/" not in text
