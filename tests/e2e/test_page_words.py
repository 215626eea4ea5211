"""A word beside the paper: alone, with a drawing, in a link."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from visitor import STAR, UPRIGHT, Keep, Visit, draw_with_mouse, search_after


def say(page: Page, words: str) -> dict:
    return search_after(page, lambda: page.get_by_label("Word").fill(words))


@pytest.fixture
def page(visit: Visit, address: str) -> Page:
    return visit(address)


def test_a_word_alone_finds_what_is_called_so(page: Page, keep: Keep) -> None:
    answer = say(page, "house")
    assert {hit["picture"].split("/")[-1] for hit in answer["hits"]} == {"house.webp", "house.svg"}
    tile = page.locator(".hit").first
    expect(tile.locator(".open")).to_have_accessible_name(
        f"1. {name_of(answer)}, called “house”: look closer"
    )
    assert tile.locator(".outline .line").get_attribute("d") == ""
    expect(page.locator("#legend")).to_be_hidden()
    tile.locator(".open").click()
    expect(page.locator("#viewer .facts")).to_contain_text("number 1, called “house”")
    expect(page.locator("#viewer .explain")).to_be_hidden()
    keep(page, "word-alone")


def name_of(answer: dict) -> str:
    return answer["hits"][0]["picture"].split("/")[-1]


def test_a_word_beside_the_drawing_moves_what_is_called_so_up(page: Page, keep: Keep) -> None:
    drawn = search_after(page, lambda: draw_with_mouse(page, STAR))
    assert "star" in name_of(drawn)
    both = say(page, "bolt")
    places = [[hit["picture"].split("/")[-1] for hit in a["hits"]].index("bolt.tiff") for a in (drawn, both)]
    assert places[1] < places[0]
    assert page.locator(".hit .outline .line").first.get_attribute("d")
    keep(page, "word-and-drawing")


def test_a_word_that_is_taken_away_leaves_the_drawing(page: Page) -> None:
    drawn = search_after(page, lambda: draw_with_mouse(page, STAR))
    say(page, "bolt")
    again = say(page, "")
    assert [hit["id"] for hit in again["hits"]] == [hit["id"] for hit in drawn["hits"]]
    page.locator("#clear").click()
    expect(page.locator("#invitation")).to_be_visible()


def test_what_is_typed_is_no_key_of_the_sketchbook(page: Page) -> None:
    page.get_by_label("Word").press_sequentially("house")
    page.wait_for_function("() => location.hash === '#words=house'")
    expect(page.locator(".hit")).to_have_count(2)
    expect(page.locator("#pencil")).to_have_attribute("aria-pressed", "true")  # "e" is the eraser elsewhere


def test_a_link_brings_the_word(page: Page, visit: Visit) -> None:
    search_after(page, lambda: draw_with_mouse(page, STAR))
    say(page, "red house & bolt")
    page.wait_for_function("() => location.hash.includes('words=')")
    link = page.url
    theirs = visit(link)
    expect(theirs.get_by_label("Word")).to_have_value("red house & bolt")
    expect(theirs.locator(".hit").first).to_be_visible()
    expect(theirs.locator("#undo")).to_be_enabled()
    words = visit(f"{link.split('#')[0]}#words=house")
    expect(words.locator(".hit").first).to_be_visible()
    expect(words.locator("#more")).to_be_visible()
    words.reload()
    expect(words.get_by_label("Word")).to_have_value("house")
    expect(words.locator(".hit").first).to_be_visible()


def test_a_word_that_says_nothing_is_said_so(page: Page) -> None:
    page.get_by_label("Word").fill("qwzxv")
    expect(page.locator("#status")).to_contain_text("nothing is known of how that looks")
    expect(page.locator("#nothing")).to_be_visible()


def test_a_word_on_a_phone(visit: Visit, address: str, keep: Keep) -> None:
    page = visit(address, **UPRIGHT)
    box = page.get_by_label("Word").bounding_box()
    assert box is not None
    assert box["height"] >= 44
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    say(page, "house")
    keep(page, "word-phone")


def test_a_server_that_takes_no_words_shows_no_field(visit: Visit, address: str) -> None:
    page = visit(address)
    known = page.evaluate("async () => (await fetch('api/index')).json()")
    told = {**known, "options": [option for option in known["options"] if option != "words"]}
    page.route("**/api/index", lambda route: route.fulfill(json=told))
    page.goto(f"{address}#words=house")
    page.reload()
    expect(page.locator("#invitation")).to_be_visible()
    expect(page.locator(".words")).to_be_hidden()
