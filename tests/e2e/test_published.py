"""A published site in a real browser, from a plain static file server under a path of its own."""

from __future__ import annotations

import functools
import gzip
import importlib.util
import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from threadpoolctl import threadpool_limits
from visitor import ARROW, STAR, UPRIGHT, Keep, draw_with_finger, draw_with_mouse

from sketchseek import Index, Sketch
from sketchseek.contours.synthetic import random_shape
from sketchseek.demo import drawings, pictures
from sketchseek.web.publish import ENGINES, MANIFEST, publish
from sketchseek.web.published_names import published_names
from sketchseek.words import NameIndex

ENGINE = Path(__file__).parents[2] / "src" / "sketchseek" / "web" / "engine"
DEMO = Path(__file__).parents[2] / "build" / "site" / "demo"
pytestmark = pytest.mark.skipif(
    not all((ENGINE / name).exists() for name in ENGINES), reason="the engine for browsers: `make wasm`"
)
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COMPONENT = re.search(
    r"```html\n(.*?)```",
    (Path(__file__).parents[2] / "docs" / "tutorials" / "icon-site.md").read_text(),
    re.DOTALL,
)[1].replace("find/", "icons/")


def load_benchmark(name: str) -> Any:
    """A module of benchmarks/."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Quiet(SimpleHTTPRequestHandler):
    """Any static file server. This one sends parts of files."""

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        """A file, or the part of it that is asked for."""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        if not wanted or "whole" in self.path:
            super().do_GET()
            return
        first, last = int(wanted[1]), int(wanted[2])
        data = Path(self.translate_path(self.path)).read_bytes()[first : last + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/*")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder, and the address at which a static file server serves it."""
    folder = tmp_path_factory.mktemp("static")
    (folder / "favicon.ico").write_bytes(b"")  # browsers ask for it
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Icons and photographs."""
    photographs, _, icons = pictures()
    all_icons = sorted(icons.rglob("*.svg"))
    wanted = {"heart", "star", "anchor", "fish", "umbrella", "bell", "home", "cloud", "bulb", "rocket"}
    some = [*all_icons[::75], *(path for path in all_icons if path.stem in wanted)]
    some += [photographs / name for name in ("horse.png", "coins.png", "camera.png", "page.png", "cat.png")]
    made = Index.create(tmp_path_factory.mktemp("icons") / "index", detector="canny", expansion=False)
    made.add([path for path in some if path.exists()])
    return made


@pytest.fixture(scope="module")
def site(served: tuple[Path, str], index: Index, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the published icons."""
    folder, address = served
    links = tmp_path_factory.mktemp("links") / "links.json"
    links.write_text(json.dumps({"heart.svg": {"title": "A heart", "link": "https://example.org/heart"}}))
    publish(index, folder / "deep" / "icons", links=links, title="Icons & photographs")
    return f"{address}deep/icons/"


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """A function that opens a page in a fresh profile: nothing in its console, nothing from elsewhere."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def open_page(address: str, may_fail: bool = False, ready: str = "#collection", **profile: Any) -> Page:
        options = {"viewport": {"width": 1280, "height": 860}, "reduced_motion": "reduce", **profile}
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        own = re.match(r"http://[^/]+/", address)[0]

        def check(asked: Any) -> None:
            if not asked.url.startswith((own, "blob:", "data:")):
                faults.append(f"asked for {asked.url}")

        page.on("request", check)
        if not may_fail:
            page.on("console", lambda said: said.type in ("error", "warning") and faults.append(said.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(address)
        if ready:
            page.wait_for_function(
                "(selector) => /picture/.test(document.querySelector(selector).textContent)", arg=ready
            )
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not faults


def found(page: Page) -> list[str]:
    """The names of the hits that are shown, once the search is over."""
    page.wait_for_function("() => document.querySelector('.hit') && !document.body.matches('.waiting')")
    return page.locator(".hit .open").evaluate_all("(tiles) => tiles.map((tile) => tile.title)")


def hundred_drawings() -> list[list[np.ndarray]]:
    """Those of the demo, drawn by many hands, and shapes of nothing in particular."""
    rng = np.random.default_rng(7)
    made = []
    for path in drawings().values():
        strokes = [np.array(stroke, float) for stroke in json.loads(path.read_text())["strokes"]]
        for hand in range(6):
            angle, squeeze = rng.normal(0, 0.1), np.exp(rng.normal(0, 0.15, 2)) * (1, 1)
            squeeze[0] *= -1 if hand == 5 else 1
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            made.append([(s @ turn * squeeze + rng.normal(0, 2.0, s.shape)).round(1) for s in strokes])
    while len(made) < 100:
        corners = random_shape(rng).round(1)
        made.append([np.concatenate([corners, corners[:1]])])
    return made


@pytest.mark.timeout(900)  # a hundred searches by either, on a machine that may be busy
def test_the_same_hits_as_the_index(visit: Callable[..., Page], site: str, index: Index) -> None:
    page = visit(site)
    shapes = hundred_drawings()
    answers = page.evaluate(
        """async ([site, drawings]) => {
          const { open } = await import(`${site}sketchseek.js`);
          const collection = await open(site);
          const answers = [];
          for (const strokes of drawings) answers.push(await collection.search(strokes, { k: 20 }));
          collection.close();
          return answers;
        }""",
        [site, [[stroke.tolist() for stroke in strokes] for strokes in shapes]],
    )
    assert index.state.icons is not None, "the icon network has a say"
    names = {index.state.id(i): Path(index.state.path(i)).name for i in range(len(index))}
    swapped = 0
    for strokes, answer in zip(shapes, answers, strict=True):
        with threadpool_limits(1):  # small products: threads would mostly wait for each other
            options = {"turn": 0, "method": "exhaustive", "threads": 1}
            hits = index.search(Sketch.from_strokes(strokes), k=20, **options)
        assert answer["present"] == pytest.approx(hits.present, abs=1e-4)
        assert len(answer["hits"]) == len(hits) == 20
        for hit, other in zip(hits, answer["hits"], strict=True):
            assert other["score"] == pytest.approx(hit.score, abs=1e-4)
            near = 1e-4 * max(hit.width, hit.height) + 0.011
            again = [place.box for place in hit.also if abs(place.score - hit.score) < 1e-5]
            if other["picture"].split("/")[-1] != names[hit.id] or any(
                other["box"] == pytest.approx(box, abs=near) for box in again
            ):  # two that score the same have changed places
                swapped += 1
                continue
            assert other["confidence"] == pytest.approx(hit.confidence, abs=1e-4)
            assert [other["scale"], other["dx"] / 400, other["dy"] / 400] == pytest.approx(
                [hit.scale, hit.dx / 400, hit.dy / 400], abs=1.01e-4
            )
            assert (other["mirrored"], other["rotation"]) == (hit.mirrored, 0)
            assert other["box"] == pytest.approx(hit.box, abs=near)
            assert [place["score"] for place in other["also"]] == pytest.approx(
                [place.score for place in hit.also], abs=1e-4
            )
            outline = np.concatenate(other["outline"])
            low, high = outline.min(axis=0), outline.max(axis=0)
            assert [*low, *high] == pytest.approx(hit.box, abs=0.2)
    assert swapped < 10


def test_the_first_answer_is_by_shape_and_the_next_by_the_icon_network_too(
    visit: Callable[..., Page], site: str, index: Index
) -> None:
    page = visit(site)
    strokes = json.loads(drawings()["heart"].read_text())["strokes"]
    first, whole, seen = page.evaluate(
        """async ([site, strokes]) => {
          const collection = await (await import(`${site}sketchseek.js`)).open(site);
          const before = collection.isWhole;
          const first = await collection.search(strokes, { hasty: true });
          await collection.see();
          return [first, await collection.search(strokes, { hasty: true }), [before, collection.isWhole]];
        }""",
        [site, strokes],
    )
    assert seen == [False, True]
    for answer, options in ((first, {"blend": 0, "expand": 0}), (whole, {})):
        hits = index.search(Sketch.from_strokes(strokes), turn=0, **options)
        assert [hit["score"] for hit in answer["hits"]] == pytest.approx(
            [hit.score for hit in hits], abs=1e-4
        )
        assert answer["present"] == pytest.approx(hits.present, abs=1e-4)
    assert [hit["id"] for hit in first["hits"]] != [hit["id"] for hit in whole["hits"]]


def test_hits_are_annotations_as_the_server_gives_them(
    visit: Callable[..., Page], served: tuple[Path, str], shape_index: Path
) -> None:
    from sketchseek.server.iiif import Canvas, annotation

    folder, address = served
    own, index = f"{address}canvases/", Index.open(shape_index)
    publish(index, folder / "canvases", iiif=own)
    page = visit(own)
    strokes = [[list(point) for point in [*STAR, STAR[0]]]]
    found = page.evaluate(
        """async ([site, strokes]) => {
          const collection = await (await import(`${site}collection.js`)).open(site);
          const answer = await collection.search(strokes, { k: 4 });
          return collection.annotations(answer, "https://example.org/answer");
        }""",
        [own, strokes],
    )
    sketch = Sketch.from_strokes(strokes)
    hits = index.search(sketch, 4, turn=0, method="exhaustive")
    numbers = {index.state.id(i): i for i in range(len(index))}
    root = f"{own}iiif/manifest.json"
    for one, hit in zip(found["items"], hits, strict=True):
        there = f"{root}/canvas/{numbers[hit.id]}"
        canvas = Canvas(there, root, Path(hit.picture).name, hit.width, hit.height, {})
        wanted = annotation(hit, sketch, f"https://example.org/answer#{hit.rank}", canvas)
        svg, other = (x["target"]["selector"][1].pop("value") for x in (one, wanted))
        assert one == wanted
        points, others = (
            np.array(re.findall(r"-?[\d.]+(?=[ ,LM\"])", x.split(" d=")[1]), float) for x in (svg, other)
        )
        assert len(points) == len(others)
        assert points == pytest.approx(others, abs=0.6)


WORDS = (
    ("heart", None),
    ("hearts", None),
    ("haert", None),  # misspelled
    ("umbrel", None),  # a part
    ("off", "star"),
    ("a picture of the bell", "heart"),
    ("anchor", "heart"),
    ("xyzzyxx", "heart"),  # no name
)


def test_words_find_as_the_index_does(visit: Callable[..., Page], site: str, index: Index) -> None:
    page = visit(site)
    drawn = {name: json.loads(drawings()[name].read_text())["strokes"] for _, name in WORDS if name}
    answers = page.evaluate(
        """async ([site, asked]) => {
          const collection = await (await import(`${site}sketchseek.js`)).open(site);
          const answers = [];
          for (const [words, strokes] of asked) {
            answers.push(await collection.search(strokes, { words, k: 12 }));
          }
          return answers;
        }""",
        [site, [[words, drawn.get(name)] for words, name in WORDS]],
    )
    names = {index.state.id(i): Path(index.state.path(i)).name for i in range(len(index))}
    # The folders above pictures are not published: here, too, they have no names.
    vars(index.state)["names"] = NameIndex(
        [f"/x/{Path(index.state.path(i)).name}" for i in range(len(index))]
    )
    for (words, name), answer in zip(WORDS, answers, strict=True):
        sketch = Sketch.from_strokes(drawn[name]) if name else None
        hits = index.search(sketch, k=12, words=words, turn=0)
        assert [hit["confidence"] for hit in answer["hits"]] == pytest.approx(
            [hit.confidence for hit in hits], abs=1e-3
        )
        assert answer["present"] == pytest.approx(hits.present, abs=1e-3)
        assert answer["verdict"] == hits.verdict
        assert [hit["score"] for hit in answer["hits"]] == pytest.approx(
            [hit.score for hit in hits], abs=1e-3
        )
        assert {hit["picture"].split("/")[-1] for hit in answer["hits"]} == {names[hit.id] for hit in hits}
        assert [hit.get("matched") for hit in answer["hits"]] == [hit.matched for hit in hits]
        assert ("note" in answer) == bool(hits.note)
        if name is None:
            assert [hit["box"] for hit in answer["hits"]] == [[0, 0, hit.width, hit.height] for hit in hits]
            assert all(hit["outline"] == [] for hit in answer["hits"])


@pytest.fixture(scope="module")
def large_sites(
    served: tuple[Path, str], index: Index, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """The same icons as a collection that is too large to be loaded at once; the second host sends files."""
    folder, address = served
    links = tmp_path_factory.mktemp("labels") / "labels.csv"
    names = [Path(index.state.path(i)).name for i in range(len(index))]
    sets = [f"{name},{'first' if at % 2 else 'second'},MIT" for at, name in enumerate(names)]
    links.write_text("\n".join(["picture,set,licence", *sets]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sketchseek.web.large.LOADED_AT_ONCE", 0)
        for name in ("large", "whole"):
            publish(index, folder / name, links=links, originals=True)
    return [f"{address}large/", f"{address}whole/"]


SEARCHES = """async ([site, asked]) => {
  const collection = await (await import(`${site}sketchseek.js`)).open(site);
  const answers = [];
  for (const [strokes, options] of asked) {
    answers.push(await collection.search(strokes, { k: 20, ...options }));
  }
  collection.close();
  return answers;
}"""


def test_a_large_collection_answers_as_the_index_does(
    visit: Callable[..., Page], large_sites: list[str], index: Index
) -> None:
    shapes = [[stroke.tolist() for stroke in strokes] for strokes in hundred_drawings()[::9]]
    asked = [[strokes, {}] for strokes in shapes] + [
        [shapes[0], {"words": "anchor"}],
        [None, {"words": "anchor"}],
    ]
    answers, again = (visit(site).evaluate(SEARCHES, [site, asked]) for site in large_sites)
    assert [answer["hits"] for answer in answers] == [answer["hits"] for answer in again]
    numbers = range(len(index))
    called = published_names([index.state.path(i) for i in numbers])
    names = {index.state.id(i): called[i] for i in numbers}
    agreed = []
    for strokes, answer in zip(shapes, answers, strict=False):
        hits = index.search(Sketch.from_strokes(strokes), k=20, turn=0)
        found = {hit["picture"]: hit for hit in answer["hits"]}
        agreed.append(len(found.keys() & {names[hit.id] for hit in hits[:10]}))
        both = [(found[names[hit.id]]["score"], hit.score) for hit in hits if names[hit.id] in found]
        assert all(abs(a - b) < 1e-3 for a, b in both)
        # Presence hears what the icon network sees, which such a site has in half a byte a number.
        assert answer["present"] == pytest.approx(hits.present, abs=1e-2)
    assert sum(agreed) >= 0.95 * 10 * len(shapes)
    for strokes, answer in zip((shapes[0], None), answers[-2:], strict=True):
        assert "anchor.svg" in [hit["picture"].split("/")[-1] for hit in answer["hits"][:3]], strokes


def test_a_large_collection_by_set_and_its_svg(visit: Callable[..., Page], large_sites: list[str]) -> None:
    page = visit(large_sites[0])
    page.locator("#options summary").click()
    page.get_by_label("Look in").select_option("Sets/first")
    page.get_by_label("Word").fill("star")
    found(page)
    page.wait_for_function("() => /first|Best of/.test(document.querySelector('#status').textContent)")
    sets, svg = page.evaluate(
        """async (site) => {
          const collection = await (await import(`${site}sketchseek.js`)).open(site);
          const strokes = [[[0, 0], [100, 0], [50, 80], [0, 0]]];
          const { hits } = await collection.search(strokes, { only: { set: "first" } });
          const all = await collection.search(strokes, { k: 100 });
          const sets = [hits, all.hits].map((some) => [...new Set(some.map((hit) => hit.set))]);
          return [sets, await collection.original(hits[0])];
        }""",
        large_sites[0],
    )
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator(".hit .open").first.click()
    page.get_by_role("button", name="Copy SVG").click()
    expect(page.locator("#toast")).to_contain_text("SVG copied")
    assert "<svg" in page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("button", name="Copy name").click()
    expect(page.locator("#toast")).to_contain_text("Name copied")
    assert "star" in page.evaluate("navigator.clipboard.readText()")
    assert sets[0] == ["first"]
    assert sorted(sets[1]) == ["first", "second"]
    assert "<svg" in svg


def test_a_large_collection_offline(visit: Callable[..., Page], large_sites: list[str]) -> None:
    page = visit(large_sites[0])
    page.evaluate("navigator.serviceWorker.ready")
    page.reload()
    page.wait_for_function("() => /picture/.test(document.querySelector('#collection').textContent)")
    draw_with_mouse(page, STAR)
    names = found(page)
    page.wait_for_load_state("networkidle")
    page.context.set_offline(True)
    page.reload()
    assert found(page) == names
    image = page.locator(".hit img").first
    page.wait_for_function("(image) => image.complete && image.naturalWidth > 0", arg=image.element_handle())


def test_a_word_on_the_page(visit: Callable[..., Page], site: str) -> None:
    page = visit(site)
    page.get_by_label("Word").fill("anchor")
    assert found(page)[0] == "anchor.svg, called \u201canchor\u201d"
    page.get_by_label("Word").fill("heart")
    expect(page.locator(".hit .places").first).to_have_text("2 alike")  # outline/heart.svg, filled/heart.svg
    page.get_by_label("Word").fill("qqqqqq")
    expect(page.locator("#status")).to_contain_text("No picture is called \u201cqqqqqq\u201d")


def test_turned_and_not_mirrored(visit: Callable[..., Page], site: str, index: Index) -> None:
    page = visit(site)
    strokes = json.loads(drawings()["heart"].read_text())["strokes"]
    turned = [[[y, -x] for x, y in stroke] for stroke in strokes]
    answer = page.evaluate(
        """async ([site, strokes]) => {
          const collection = await (await import(`${site}sketchseek.js`)).open(site);
          return collection.search(strokes, { k: 5, mirror: false, turn: "any" });
        }""",
        [site, turned],
    )
    hits = index.search(
        Sketch.from_strokes(turned), k=5, expand=0, blend=0, method="exhaustive", mirror=False, turn=180
    )
    assert [hit["score"] for hit in answer["hits"]] == pytest.approx([hit.score for hit in hits], abs=1e-4)
    assert [hit["rotation"] for hit in answer["hits"]] == pytest.approx(
        [round(np.rad2deg(hit.rotation), 1) for hit in hits], abs=0.1
    )
    assert abs(answer["hits"][0]["rotation"] - 90) < 20


@pytest.mark.parametrize("draw", [draw_with_mouse, draw_with_finger])
def test_draw_and_see_where(visit: Callable[..., Page], keep: Keep, site: str, draw: Callable) -> None:
    page = visit(site, **(UPRIGHT if draw is draw_with_finger else {}))
    expect(page).to_have_title("Icons & photographs")
    draw(page, STAR)
    names = found(page)
    assert "star.svg" in names[:4]
    image = page.locator(".hit img").first
    page.wait_for_function("(image) => image.complete && image.naturalWidth > 0", arg=image.element_handle())
    assert page.locator(".hit .outline .line").first.get_attribute("d").startswith("M")
    expect(page.locator("#status")).to_contain_text("Best of")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    keep(page, f"published-{draw.__name__.replace('_', '-')}")


def test_it_begins_with_its_own_pictures(visit: Callable[..., Page], site: str) -> None:
    page = visit(site)
    expect(page.locator("#wall img")).to_have_count(32)
    examples = page.locator("#examples button")
    expect(examples).to_have_count(5)
    wanted = examples.nth(1).get_attribute("title").removeprefix("Traced in ")
    examples.nth(1).click()
    assert found(page)[0] == wanted


def test_keyboard(visit: Callable[..., Page], site: str) -> None:
    page = visit(site)
    page.locator("#paper").focus()
    for key in ("Space", "Shift+ArrowRight", "Shift+ArrowDown", "Shift+ArrowLeft", "Shift+ArrowUp", "Space"):
        page.keyboard.press(key)
    assert found(page)
    page.locator(".hit .open").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#viewer")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#viewer")).to_be_hidden()


def test_title_and_link(visit: Callable[..., Page], site: str) -> None:
    page = visit(site)
    page.locator("#file").set_input_files(drawings()["heart"])
    names = found(page)
    assert "A heart" in names
    page.locator(".hit .open", has=page.locator("img")).nth(names.index("A heart")).click()
    expect(page.locator("#viewer-name")).to_have_text("A heart")
    expect(page.locator("#viewer .original")).to_have_attribute("href", "https://example.org/heart")
    page.locator("#viewer .next" if names.index("A heart") == 0 else "#viewer .previous").click()
    if page.locator("#viewer-name").text_content() != "A heart":
        expect(page.locator("#viewer .original")).to_be_hidden()


def test_accessibility(visit: Callable[..., Page], site: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = visit(site, bypass_csp=True)

    def check() -> None:
        violations = Axe().run(page).response["violations"]
        serious = [
            (v["id"], v["nodes"][0]["html"]) for v in violations if v["impact"] in ("serious", "critical")
        ]
        assert not serious, serious

    check()
    draw_with_mouse(page, STAR)
    found(page)
    page.wait_for_timeout(300)
    check()
    page.locator(".hit .open").first.click()
    page.wait_for_timeout(300)
    check()


def test_offline(visit: Callable[..., Page], site: str) -> None:
    both = "() => performance.getEntriesByName('pen up to results').length > 1"  # by shape, then by all
    page = visit(site)
    draw_with_mouse(page, STAR)
    page.wait_for_function(both)
    before = found(page)
    page.evaluate("() => navigator.serviceWorker.ready.then(() => true)")
    page.wait_for_function(
        """async () => {
          const parts = (await (await fetch("index.json")).json()).thumbnails;
          const kept = await Promise.all(parts.map(({ file }) => caches.match(file)));
          return navigator.serviceWorker.controller && kept.every(Boolean);
        }"""
    )
    page.context.set_offline(True)
    page.reload()
    page.wait_for_function("() => /picture/.test(document.querySelector('#collection').textContent)")
    page.wait_for_function(both)
    assert found(page) == before  # the drawing was kept, too
    image = page.locator(".hit img").first
    page.wait_for_function("(image) => image.complete && image.naturalWidth > 0", arg=image.element_handle())


def test_no_room_to_keep_the_site(visit: Callable[..., Page], site: str) -> None:
    """A full disk, or a private window: what cannot be kept is shown all the same."""
    page = visit(site)
    page.wait_for_function("() => navigator.serviceWorker.controller")
    devtools = page.context.new_cdp_session(page)
    origin = re.match(r"http://[^/]+", site)[0]
    devtools.send("Storage.overrideQuotaForOrigin", {"origin": origin, "quotaSize": 1})
    shown = page.evaluate(
        """async () => {
          for (const name of await caches.keys()) await caches.delete(name);
          const [{ file, bytes }] = (await (await fetch("index.json")).json()).thumbnails;
          const cache = await caches.open("any");
          const refused = await cache.put("any", new Response("more")).catch((problem) => problem.name);
          const blob = await (await fetch(file)).blob();
          return [refused, blob.size === bytes];
        }"""
    )
    assert shown == ["QuotaExceededError", True]


def test_policy(visit: Callable[..., Page], site: str) -> None:
    page = visit(site, may_fail=True)
    # Later than in the question itself, which the browser's tools may answer freely.
    evaluated = """() => new Promise((done) => setTimeout(() => {
      try { done(eval("1")) } catch { done("refused") }
    }))"""
    assert page.evaluate(evaluated) == "refused"
    outside = "() => fetch('https://example.org/').then(() => 'sent', () => 'refused')"
    assert page.evaluate(outside) == "refused"
    inline = """() => { document.body.append(Object.assign(document.createElement('script'),
      { textContent: 'window.ran = true' })); return window.ran ?? 'refused' }"""
    assert page.evaluate(inline) == "refused"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


def longer(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


def bomb(path: Path) -> None:
    """A file that says what it is, and unpacks to a thousand times what it should."""
    data = gzip.compress(bytes(2**28))
    path.write_bytes(data)
    manifest = json.loads((path.parents[1] / MANIFEST).read_bytes())
    part = next(p for p in manifest["codes"] if p["file"].endswith(path.name))
    part["bytes"] = len(data)
    (path.parents[1] / MANIFEST).write_text(json.dumps(manifest))


def changed(**fields: Any) -> Callable[[Path], None]:
    def change(site: Path) -> None:
        manifest = json.loads((site / MANIFEST).read_bytes())
        for name, value in fields.items():
            manifest[name] = value(manifest[name]) if callable(value) else value
        (site / MANIFEST).write_text(json.dumps(manifest))

    return change


def to_file(kind: str, damage: Callable[[Path], None]) -> Callable[[Path], None]:
    return lambda site: damage(next((site / "data").glob(f"{kind}-*")))


HOSTILE = {
    "codes cut": (to_file("codes", cut), "cut short"),
    "codes changed": (to_file("codes", flip), "damaged"),
    "tables longer": (to_file("tables", longer), "longer"),
    "names changed": (to_file("names", flip), "damaged"),
    "codes gone": (to_file("codes", Path.unlink), "missing"),
    "codes without end": (to_file("codes", bomb), "damaged"),
    "not JSON": (lambda site: (site / MANIFEST).write_text("{"), "description"),
    "NaN": (lambda site: (site / MANIFEST).write_text('{"format": NaN}'), "description"),
    "a list": (lambda site: (site / MANIFEST).write_text("[]"), "description"),
    "another version": (changed(format="sketchseek site 9"), "another version"),
    "other evidence": (changed(evidence=["luck"]), "another version"),
    "more rows": (changed(rows=lambda n: n + 1), "description"),
    "fewer codes": (changed(different=lambda n: n - 1), "description"),
    "huge": (changed(rows=10**8), "too large"),
    "negative": (changed(pictures=-1), "description"),
    "settings of null": (changed(settings=lambda s: [None, *s[1:]]), "description"),
    "other sizes": (changed(settings=lambda s: [7, *s[1:]]), "description"),
    "no steps": (changed(settings=lambda s: [*s[:-1], 0.0]), "codes"),
    "no translations": (changed(settings=lambda s: [*s[:4], 1e-300, *s[5:]]), "scales"),
    "no model": (changed(model=[]), "confidence"),
    "pictures that there are not": (changed(begin={"pictures": [10**6], "examples": []}), "description"),
    "no drawing": (
        changed(begin={"pictures": [], "examples": [{"number": 0, "strokes": [[["x", 1]]]}]}),
        "description",
    ),
    "another place": (
        changed(names=lambda part: {**part, "file": "https://example.org/x.bin"}),
        "description",
    ),
}


@pytest.fixture(scope="module")
def hostile(site: str, served: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Sites of which something is not as it should be, by name: their addresses."""
    folder, address = served
    for name, (damage, _) in HOSTILE.items():
        other = folder / "hostile" / name
        shutil.copytree(folder / "deep" / "icons", other)
        damage(other)
    return {name: f"{address}hostile/{name}/" for name in HOSTILE}


def test_a_hostile_index_is_a_sentence(
    visit: Callable[..., Page], site: str, hostile: dict[str, str]
) -> None:
    page = visit(site, may_fail=True)
    said = page.evaluate(
        """async ([site, addresses]) => {
          const { open } = await import(`${site}sketchseek.js`);
          const said = {};
          for (const [name, address] of Object.entries(addresses)) {
            said[name] = await open(address).then(() => "opened", (problem) => problem.message);
          }
          return said;
        }""",
        [site, hostile],
    )
    for name, (_, sentence) in HOSTILE.items():
        assert sentence in said[name], (name, said[name])


def read_leb(data: bytes, at: int) -> tuple[int, int]:
    """A number as WebAssembly writes it, seven bits a byte, the lowest first; and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def leb(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def with_little_memory(module: bytes, more: int) -> bytes:
    """An engine whose memory grows by so many pages of 64 KiB at most."""
    at = 8
    while module[at] != 5:  # the section of memories: one, without a limit
        size, begin = read_leb(module, at + 1)
        at = begin + size
    size, begin = read_leb(module, at + 1)
    assert module[begin : begin + 2] == b"\x01\x00"
    least, _ = read_leb(module, begin + 2)
    limited = b"\x01\x01" + leb(least) + leb(least + more)
    return module[:at] + b"\x05" + leb(len(limited)) + limited + module[begin + size :]


def test_too_little_memory_is_said(visit: Callable[..., Page], site: str, served: tuple[Path, str]) -> None:
    """Wherever it runs out: for an array, for the engine's own copies, or in a search."""
    folder, address = served
    published = folder / "deep" / "icons"
    sizes = [*range(0, 60, 6), *range(60, 300, 24)]
    for more in sizes:
        little = folder / "little" / str(more)
        (little / "engine").mkdir(parents=True)
        scripts = (
            "collection.js",
            "annotations.js",
            *(f"engine/{name}.js" for name in ("worker", "names", "pieces")),
        )
        for name in (MANIFEST, "data", "page", *scripts):
            (little / name).symlink_to(published / name)
        for name in ENGINES:
            module = (published / "engine" / name).read_bytes()
            (little / "engine" / name).write_bytes(with_little_memory(module, more))
    page = visit(site, may_fail=True)
    causes: list[str] = []
    page.on("console", lambda said: causes.append(said.text))
    said = page.evaluate(
        """async ([addresses, strokes]) => {
          const said = [];
          for (const address of addresses) {
            const { open } = await import(`${address}collection.js`); // with the engine beside it
            try {
              const collection = await open(address);
              said.push("opened");
              await collection.search([strokes]);
              said.push("searched");
            } catch (problem) {
              said.push(problem.message);
            }
          }
          return said;
        }""",
        [[f"{address}little/{more}/" for more in sizes], STAR],
    )
    assert said[0] == "There is not enough memory for the index."
    assert said[-2:] == ["opened", "searched"]
    assert set(said) == {said[0], "opened", "searched"}
    assert any("unreachable" in cause for cause in causes)  # the engine itself had none


class BreaksOff(Quiet):
    """A server that goes away in the middle of a file."""

    what = "codes-"

    def copyfile(self, source: Any, out: Any) -> None:
        """All of a file, or half of it."""
        data = source.read()
        broken = self.what in self.path
        out.write(data[: len(data) // 2] if broken else data)
        self.close_connection = broken


@pytest.mark.parametrize("what", ["codes-", ".wasm"])
def test_a_connection_that_breaks_off_is_no_damage(
    visit: Callable[..., Page], site: str, served: tuple[Path, str], what: str
) -> None:
    handler = type("Handler", (BreaksOff,), {"what": what})
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=served[0]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = visit(f"http://127.0.0.1:{server.server_port}/deep/icons/", may_fail=True, ready="")
    expect(page.locator("#trouble")).to_contain_text("does not answer")
    server.shutdown()
    server.server_close()


def test_the_page_says_it(visit: Callable[..., Page], hostile: dict[str, str]) -> None:
    page = visit(hostile["codes cut"], may_fail=True, ready="")
    expect(page.locator("#trouble")).to_contain_text("cut short")


def test_begin_with_a_file(visit: Callable[..., Page], site: str, index: Index, tmp_path: Path) -> None:
    from PIL import Image

    page = visit(site)
    icon = next(path for i in range(len(index)) if (path := Path(index.state.path(i))).name == "anchor.svg")
    page.locator("#file").set_input_files(icon)
    expect(page.locator("#toast")).to_contain_text("Traced")
    assert "anchor.svg" in found(page)[:3]
    page.locator("#clear").click()
    page.locator("#file").set_input_files(drawings()["heart"])
    page.wait_for_function("() => document.querySelector('.hit .open')?.title === 'A heart'")
    photograph = tmp_path / "photograph.png"
    Image.effect_noise((120, 90), 80).convert("RGB").save(photograph)
    page.locator("#file").set_input_files(photograph)
    expect(page.locator("#toast")).to_contain_text("photograph")


def test_component(visit: Callable[..., Page], site: str, served: tuple[Path, str], keep: Keep) -> None:
    """The ten lines of docs/how-to/publish.md."""
    folder, address = served
    (folder / "deep" / "index.html").write_text(COMPONENT)
    page = visit(f"{address}deep/", ready="")
    expect(page.get_by_text("Draw an icon to find it.")).to_be_visible()
    page.evaluate(
        """() => {
          window.chosen = [];
          document.addEventListener("hit", (event) => {
            chosen.push(event.detail);
            event.preventDefault();
          });
        }"""
    )
    box = page.locator("sketch-seek canvas").bounding_box()
    side = 0.8 * min(box["width"], box["height"])
    path = [(box["x"] + 20 + x * side / 100, box["y"] + 10 + y * side / 100) for x, y in STAR]
    page.mouse.move(*path[0])
    page.mouse.down()
    for point in path[1:]:
        page.mouse.move(*point, steps=5)
    page.mouse.up()
    expect(page.locator("sketch-seek .hit")).to_have_count(6)
    expect(page.get_by_text("Draw an icon to find it.")).to_be_hidden()
    page.locator("sketch-seek .hit").first.click()
    assert page.evaluate("chosen[0].picture").endswith("star.svg")
    assert page.evaluate("chosen[0].rank") == 1
    page.wait_for_function(
        "() => document.querySelector('sketch-seek').shadowRoot.querySelector('img').naturalWidth > 0"
    )
    page.locator("sketch-seek").evaluate("(element) => element.setAttribute('k', '3')")
    expect(page.locator("sketch-seek .hit")).to_have_count(3)
    keep(page, "published-component")
    strokes = json.loads(drawings()["heart"].read_text())["strokes"]
    page.locator("sketch-seek").evaluate("(element, strokes) => { element.strokes = strokes; }", strokes)
    expect(page.locator("sketch-seek a.hit[href='https://example.org/heart']").first).to_be_visible()
    page.locator("sketch-seek").get_by_role("button", name="Clear").click()
    expect(page.locator("sketch-seek .hit")).to_have_count(0)


def test_component_shows_no_answer_of_before(
    visit: Callable[..., Page], site: str, served: tuple[Path, str]
) -> None:
    folder, address = served
    (folder / "deep" / "index.html").write_text(COMPONENT)
    page = visit(f"{address}deep/", ready="", may_fail=True)
    seek = page.locator("sketch-seek")
    seek.evaluate("(element, strokes) => { element.strokes = [strokes]; }", STAR)
    expect(seek.locator(".hit")).to_have_count(6)
    seek.evaluate("(element) => { element.strokes = [[[5, 5]]]; }")
    expect(seek.locator("[role=status]")).to_contain_text("single dot")
    expect(seek.locator(".hit")).to_have_count(0)
    seek.get_by_role("button", name="Clear").click()
    expect(seek.locator("[role=status]")).to_be_empty()
    seek.evaluate("(element, strokes) => { element.strokes = [strokes]; }", STAR)
    expect(seek.locator(".hit")).to_have_count(6)
    seek.evaluate("(element) => element.setAttribute('src', 'nowhere/')")
    expect(seek.locator("[role=status]")).to_contain_text("no published index")
    expect(seek.locator(".hit")).to_have_count(0)


def test_component_fits_the_page_around_it(
    visit: Callable[..., Page], site: str, served: tuple[Path, str]
) -> None:
    """A phone shows it in its own width; in the dark it is as light as a page that knows no dark."""
    folder, address = served
    (folder / "deep" / "index.html").write_text(COMPONENT)
    page = visit(f"{address}deep/", ready="", color_scheme="dark", **UPRIGHT)
    assert page.evaluate("innerWidth") == 360
    paper = page.locator("sketch-seek canvas")
    assert paper.evaluate("(paper) => getComputedStyle(paper).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("document.documentElement.style.colorScheme = 'dark'")
    assert paper.evaluate("(paper) => getComputedStyle(paper).backgroundColor") != "rgb(255, 255, 255)"


def test_the_newest_search_wins(visit: Callable[..., Page], site: str) -> None:
    page = visit(site)
    ended = page.evaluate(
        """async ([site, strokes]) => {
          const collection = await (await import(`${site}sketchseek.js`)).open(site);
          const asked = [1, 2, 3, 4].map(() => collection.search([strokes], { k: 1 }));
          return (await Promise.allSettled(asked)).map(({ status, reason }) => reason?.name ?? status);
        }""",
        [site, ARROW],
    )
    assert ended == ["fulfilled", "AbortError", "AbortError", "fulfilled"]


def test_several_workers_find_the_same(
    visit: Callable[..., Page], served: tuple[Path, str], index: Index
) -> None:
    """In a collection that is larger than what a search looks at closer."""
    folder, address = served
    site = f"{address}many/"
    publish(load_benchmark("published").Enlarged(index, 700), folder / "many")
    shapes = [[stroke.tolist() for stroke in strokes] for strokes in hundred_drawings()[::9]]
    page = visit(site)
    alone, together = (
        page.evaluate(
            """async ([site, drawings, workers]) => {
              const collection = await (await import(`${site}sketchseek.js`)).open(site, { workers });
              const answers = [];
              for (const one of drawings) answers.push((await collection.search(one, { k: 30 })).hits);
              collection.close();
              return answers;
            }""",
            [site, shapes, workers],
        )
        for workers in (1, 3)
    )
    assert together == alone


@pytest.mark.skipif(not (DEMO / MANIFEST).exists(), reason="`make site` publishes the demo's pictures")
def test_demo_site(visit: Callable[..., Page], served: tuple[Path, str]) -> None:
    folder, address = served
    shutil.copytree(DEMO, folder / "demo")
    page = visit(f"{address}demo/")
    draw_with_mouse(page, STAR)
    assert any("star" in name for name in found(page)[:5])
