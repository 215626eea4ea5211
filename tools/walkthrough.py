"""Takes the pictures of docs/how-to/page.md, as a visitor sees them: the demo's page in a browser.

sketchseek demo &
python tools/walkthrough.py http://127.0.0.1:8000/

States of the page at four sizes, in the light and in the dark, become a sheet for each size; the walk's
own pictures are some of them. `--single FOLDER` keeps each as a PNG as well, to be looked at closely.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, sync_playwright

from sketchseek.demo import drawings

OUT = Path(__file__).resolve().parents[1] / "docs" / "walkthrough"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SETTLED_MS = 600
SIZES = {(1440, 900): {}, (1024, 768): {}, (390, 844): {"phone": True}, (844, 390): {"phone": True}}
SHEET, COLUMNS = 1600, {True: 5, False: 2}  # pixels across a sheet; pictures in a row, upright or not
WALK = {
    ("first-visit", 1440): "1-invitation",
    ("example", 1440): "2-example",
    ("hits", 1440): "3-drawn",
    ("why", 1440): "4-closer-look",
    ("hits", 390): "5-phone",
}
SCRIBBLE = [[[x * 37 % 100, x * 71 % 83] for x in range(30)]]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("address", help="where the demo's page is")
    parser.add_argument("--single", type=Path, help="a folder for each picture by itself")
    parser.add_argument("--only", help="one size, as 390x844")
    args = parser.parse_args()
    executable = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--headless", "--no-sandbox"])
        for (width, height), kind in SIZES.items():
            if args.only not in (None, f"{width}x{height}"):
                continue
            for scheme in ("light", "dark"):
                page = visit(browser, (width, height), scheme, **kind)
                shots = {name: shot(page) for name in story(page, args.address)}
                page.context.close()
                if args.single:
                    args.single.mkdir(parents=True, exist_ok=True)
                    for name, image in shots.items():
                        image.save(args.single / f"{width}-{scheme}-{name}.png")
                for (name, wide), told in WALK.items():
                    if wide == width and scheme == ("dark" if wide == 390 else "light"):
                        shots[name].thumbnail((1120, 1120))
                        shots[name].save(OUT / f"{told}.webp", quality=72, method=6)
                sheet(shots).save(OUT / f"states-{width}x{height}-{scheme}.webp", quality=55, method=6)
        browser.close()


def visit(browser: Browser, size: tuple[int, int], scheme: str, *, phone: bool = False) -> Page:
    """A fresh profile."""
    touch: dict[str, Any] = {"has_touch": True, "is_mobile": True} if phone else {}
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, reduced_motion="reduce", **touch
    )
    context.set_default_timeout(120_000)  # of a busy machine
    return context.new_page()


def story(page: Page, address: str) -> Iterator[str]:
    """The page's states, one after the other: the name of what is on the screen."""
    nothing = {"pictures": 0, "command": "sketchseek index ~/Pictures"}
    empty = {**page.request.get(f"{address}api/index").json(), **nothing}
    page.route("**/api/index", lambda route: route.fulfill(json=empty))
    page.goto(address)
    page.wait_for_selector("#first-visit:not([hidden])")
    yield "empty"
    page.unroute_all(behavior="ignoreErrors")
    page.reload()
    page.wait_for_selector("#examples button")
    yield "first-visit"
    page.locator("#examples button").first.click()
    answered(page)
    yield "example"
    page.locator("#clear").click()
    page.evaluate("document.querySelector('#toast').hidden = true")
    draw(page, strokes_of("pagoda"), lift_last=False)
    yield "drawing"
    page.mouse.up()
    page.mouse.move(5, 5)
    answered(page)
    yield "hits"
    page.locator(".hit .open").first.click()
    page.evaluate(  # a path that is nobody's
        "() => { const p = document.querySelector('#viewer .path');"
        "p.textContent = '/home/ada/Pictures/' + p.textContent.split('/').at(-1); }"
    )
    yield "viewer"
    page.locator("#viewer .explain").click()
    page.wait_for_selector("#viewer .why:not([hidden])")
    yield "why"
    page.keyboard.press("Escape")
    page.evaluate(
        """() => {
          const tiles = [...document.querySelectorAll(".hit")];
          for (const tile of tiles.slice(0, 7)) tile.querySelector(".pick input").click();
          tiles[8]?.querySelector(".reject").click();
        }"""
    )
    yield "selected"
    page.evaluate("document.querySelector('#unpick').click()")
    page.evaluate("scrollTo(0, 0)")
    page.route("**/api/search", lambda _: None)  # its answer never comes
    draw(page, [[[0, 0], [100, 0]]], share=0.2)
    page.wait_for_timeout(400)
    yield "searching"
    page.unroute_all(behavior="ignoreErrors")
    page.route("**/api/**", lambda route: route.abort())
    draw(page, [[[0, 0], [100, 0]]], share=0.3)
    page.wait_for_selector("#trouble:not([hidden])")
    yield "error"
    page.unroute_all(behavior="ignoreErrors")
    page.locator("#clear").click()
    page.wait_for_selector("#invitation:not([hidden])")
    page.evaluate("document.querySelector('#toast').hidden = true")
    draw(page, SCRIBBLE)
    answered(page)
    yield "closest"


def answered(page: Page) -> None:
    """The hits of what is drawn are on the screen."""
    page.wait_for_selector(".hit")
    page.wait_for_function("() => !document.body.matches('.waiting')")


def strokes_of(name: str) -> list[Any]:
    """One of the demo's drawings."""
    strokes: list[Any] = json.loads(drawings()[name].read_text())["strokes"]
    return strokes


def draw(page: Page, strokes: list[Any], share: float = 0.75, lift_last: bool = True) -> None:
    """Draw on the sheet, with the mouse, so large a share of it."""
    xs, ys = zip(*(point[:2] for stroke in strokes for point in stroke), strict=True)
    sheet = page.locator("#paper").bounding_box()
    assert sheet is not None
    zoom = share * min(
        sheet["width"] / max(max(xs) - min(xs), 1), sheet["height"] / max(max(ys) - min(ys), 1)
    )
    left = sheet["x"] + sheet["width"] / 2 - zoom * (max(xs) + min(xs)) / 2
    top = sheet["y"] + sheet["height"] / 2 - zoom * (max(ys) + min(ys)) / 2
    for stroke in strokes:
        path = [(left + zoom * x, top + zoom * y) for x, y, *_ in stroke]
        page.mouse.move(*path[0])
        page.mouse.down()
        for point in path[1:]:
            page.mouse.move(*point, steps=3)
        if lift_last or stroke is not strokes[-1]:
            page.mouse.up()
    if lift_last:
        page.mouse.move(5, 5)


def shot(page: Page) -> Image.Image:
    """What is on the screen, once it has settled."""
    page.wait_for_timeout(SETTLED_MS)
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def sheet(shots: dict[str, Image.Image]) -> Image.Image:
    """All states of a size on one sheet, each with its name."""
    size = next(iter(shots.values())).size
    across = COLUMNS[size[1] > size[0]]
    width = SHEET // across - 20 if size[1] < size[0] else 300
    height = width * size[1] // size[0]
    rows = -(-len(shots) // across)
    paper = Image.new("RGB", (across * (width + 20), rows * (height + 44)), (128, 128, 128))
    pen = ImageDraw.Draw(paper)
    for n, (name, image) in enumerate(shots.items()):
        x, y = 10 + n % across * (width + 20), 34 + n // across * (height + 44)
        pen.text((x, y - 26), name, fill=(255, 255, 255), font_size=20)
        paper.paste(image.resize((width, height)), (x, y))
    return paper


if __name__ == "__main__":
    main()
