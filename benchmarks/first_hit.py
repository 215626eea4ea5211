"""From a cold browser cache to the first hit: seconds, how far the page shifted, and what was loaded.

sketchseek serve --index INDEX &
python benchmarks/first_hit.py http://127.0.0.1:8000/

Each round is a fresh profile that opens a link to a drawing. The first hit is there when its picture is.
"""

from __future__ import annotations

import argparse
import shutil
import statistics

from playwright.sync_api import sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DRAWING = "#1BaAG6AfADAAA6Ae_DAAA5wcE4BKwCZADKADMA48DPASgBugH8AGLAeAIAPABjAE"
WATCH = """
  window.shift = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
  }).observe({ type: "layout-shift", buffered: true });
  new MutationObserver(() => {
    if (!window.first && document.querySelector(".hit.loaded")) window.first = performance.now();
  }).observe(document, { subtree: true, childList: true, attributes: true });
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("address", help="where the page is")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--link", default=DRAWING, help="the drawing, as in the page's address")
    args = parser.parse_args()
    executable = next(filter(None, map(shutil.which, BROWSERS)))
    seconds, shifts = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--headless", "--no-sandbox"])
        for _ in range(args.rounds):
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.add_init_script(WATCH)
            page.goto(args.address + args.link)
            page.wait_for_function("() => window.first")
            page.wait_for_timeout(500)
            seconds.append(page.evaluate("window.first") / 1e3)
            shifts.append(page.evaluate("window.shift"))
            loaded = page.evaluate(
                "performance.getEntriesByType('resource').map((e) => [e.name.split('/').slice(3).join('/'),"
                " Math.round(e.startTime), Math.round(e.responseEnd)])"
            )
            page.context.close()
        browser.close()
    for name, begin, end in loaded:
        print(f"{begin:6} to {end:6} ms  {name[:60]}")
    print(f"first hit after {statistics.median(seconds):.2f} s, the median of {args.rounds}")
    print(f"layout shift {max(shifts):.3f}")


if __name__ == "__main__":
    main()
