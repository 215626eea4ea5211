"""Takes the pictures of docs/walkthrough.md, as a visitor sees them: the demo's page in a browser.

sketchseek demo &
python benchmarks/walkthrough.py http://127.0.0.1:8000/
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from sketchseek.demo import drawings

OUT = Path(__file__).resolve().parents[1] / "docs" / "walkthrough"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SETTLED_MS = 2500


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("address", help="where the demo's page is")
    address = parser.parse_args().address
    executable = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--headless", "--no-sandbox"])
        page = browser.new_page(viewport={"width": 1120, "height": 700})
        page.goto(address)
        keep(page, "1-invitation")
        page.get_by_role("button", name="mug").click()
        page.wait_for_selector(".hit")
        keep(page, "2-example")
        page.locator("#clear").click()
        draw(page, "horse")
        page.evaluate("document.querySelector('#toast').hidden = true")
        keep(page, "3-drawn")
        page.locator(".hit .open").first.click()
        page.locator("#show-contours").check()
        page.wait_for_timeout(SETTLED_MS)
        page.evaluate(  # a path that is nobody's
            "() => { const p = document.querySelector('#viewer .path');"
            "p.textContent = '/home/ada/' + p.textContent.split('/').slice(-4).join('/'); }"
        )
        keep(page, "4-closer-look")
        pocket = browser.new_context(
            viewport={"width": 390, "height": 760}, has_touch=True, is_mobile=True, color_scheme="dark"
        )
        phone = pocket.new_page()
        phone.goto(address)
        draw(phone, "fish")
        keep(phone, "5-phone")
        browser.close()


def draw(page: Page, name: str) -> None:
    """Draw one of the demo's drawings on the sheet, with the mouse."""
    strokes = json.loads(drawings()[name].read_text())["strokes"]
    xs, ys = zip(*(point[:2] for stroke in strokes for point in stroke), strict=True)
    sheet = page.locator("#paper").bounding_box()
    assert sheet is not None
    zoom = 0.75 * min(sheet["width"] / (max(xs) - min(xs)), sheet["height"] / (max(ys) - min(ys)))
    left = sheet["x"] + sheet["width"] / 2 - zoom * (max(xs) + min(xs)) / 2
    top = sheet["y"] + sheet["height"] / 2 - zoom * (max(ys) + min(ys)) / 2
    for stroke in strokes:
        path = [(left + zoom * x, top + zoom * y) for x, y, *_ in stroke]
        page.mouse.move(*path[0])
        page.mouse.down()
        for point in path[1:]:
            page.mouse.move(*point)
        page.mouse.up()
    page.mouse.move(5, 5)
    page.wait_for_selector(".hit")


def keep(page: Page, name: str) -> None:
    """A small WebP of what is on the screen, once it has settled."""
    page.wait_for_function("() => !document.body.matches('.waiting')")
    page.wait_for_timeout(SETTLED_MS)
    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shot.save(OUT / f"{name}.webp", quality=72, method=6)


if __name__ == "__main__":
    main()
