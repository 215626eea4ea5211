"""IIIF with others' programs: iiif-processor serves pictures, @iiif/parser reads hits, Mirador shows them."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Browser

from sketchseek import Index
from sketchseek.contours.synthetic import random_shape

HERE = Path(__file__).parent
NPM = shutil.which("npm")
PACKAGES = ("iiif-processor@7", "@iiif/parser@2", "mirador@4")
CANVASES = 50
SIZE = (1500, 1100)
INK, GREEN = (20, 30, 200), (0, 200, 83)
pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(NPM is None, reason="there is no npm here"),
]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages, and our programs that use them."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "package.json").write_text('{"private": true}')
    command = [NPM, "install", "--legacy-peer-deps", "--no-audit", "--no-fund", *PACKAGES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("npm can't fetch a IIIF server and a viewer here")
    for name in ("server.mjs", "parse.mjs"):
        shutil.copy(HERE / "iiif" / name, folder)
    return folder


class Museum:
    """Fifty pictures, each of a shape of its own, behind a real image server."""

    def __init__(self, packages: Path, folder: Path) -> None:
        self.packages = packages
        folder.mkdir()
        rng = np.random.default_rng(38)
        self.shapes = []
        for number in range(CANVASES):
            corners = random_shape(rng)
            low, high = corners.min(axis=0), corners.max(axis=0)
            shape = (corners - low) / (high - low).max() * rng.uniform(500, 800)
            self.shapes.append(shape + rng.uniform((60, 60), np.array(SIZE) - shape.max(axis=0) - 60))
            image = Image.new("RGB", SIZE, (244, 240, 230))
            ImageDraw.Draw(image).polygon(list(map(tuple, self.shapes[-1])), fill=INK)
            image.save(folder / f"p{number}.jpg", quality=92)
        shutil.copy(packages / "node_modules" / "mirador" / "dist" / "mirador.min.js", folder)
        shutil.copy(HERE / "iiif" / "viewer.html", folder)
        command = ["node", str(packages / "server.mjs"), str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"
        self.manifest = f"{self.url}/manifest.json"
        (folder / "manifest.json").write_text(json.dumps(self._manifest()))

    def _manifest(self) -> dict[str, Any]:
        size = dict(zip(("width", "height"), SIZE, strict=True))
        items = []
        for number in range(CANVASES):
            canvas, service = f"{self.url}/canvas/{number}", f"{self.url}/iiif/3/p{number}"
            body = {
                "id": f"{service}/full/max/0/default.jpg",
                "type": "Image",
                "format": "image/jpeg",
                **size,
            }
            body["service"] = [{"id": service, "type": "ImageService3", "profile": "level2"}]
            painting = {"id": f"{canvas}/a", "type": "Annotation", "motivation": "painting"}
            page = {"id": f"{canvas}/p", "type": "AnnotationPage"}
            page["items"] = [{**painting, "body": body, "target": canvas}]
            label = {"none": [f"plate {number}"]}
            items.append({"id": canvas, "type": "Canvas", "label": label, **size, "items": [page]})
        about = {"@context": "http://iiif.io/api/presentation/3/context.json", "id": self.manifest}
        return {**about, "type": "Manifest", "label": {"en": ["Plates"]}, "items": items}

    def set(self, **values: int) -> None:
        urllib.request.urlopen(f"{self.url}/set?{urlencode(values)}").close()

    def asked(self) -> dict[str, int]:
        with urllib.request.urlopen(f"{self.url}/asked") as answer:
            return json.load(answer)

    def drawing(self, number: int) -> list[list[list[int]]]:
        """The shape of a picture, at a third of its size and elsewhere."""
        corners = np.concatenate([self.shapes[number], self.shapes[number][:1]])
        return [(corners / 3 + 17).round().astype(int).tolist()]

    def read(self, document: bytes) -> dict[str, Any]:
        """What @iiif/parser makes of a document."""
        done = subprocess.run(
            ["node", str(self.packages / "parse.mjs")], input=document, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def museum(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Museum]:
    opened = Museum(packages, tmp_path_factory.mktemp("museum") / "pictures")
    yield opened
    opened.process.terminate()
    opened.process.wait(30)


def rows(where: Path) -> int:
    try:
        return len(Index.open(where))
    except Exception:
        return 0


@pytest.fixture(scope="module")
def index(museum: Museum, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the manifest, whose first run was killed once some canvases were in it."""
    where = tmp_path_factory.mktemp("index") / "index"
    Index.create(where, "compact", detector="canny")
    command = [sys.executable, "-m", "sketchseek", "index", museum.manifest, "--index", str(where), "--json"]
    first = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    museum.set(pause=200)
    while first.poll() is None and sum(museum.asked().values()) < CANVASES * 3 // 4:
        time.sleep(0.05)
    assert first.poll() is None, "it was to be killed in the middle"
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    museum.set(pause=0)
    there = rows(where)
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert (report["added"], report["unchanged"], report["failed"]) == (CANVASES - there, there, [])
    assert rows(where) == CANVASES
    return where


@pytest.fixture(scope="module")
def seek(museum: Museum, index: Path, server: Callable[..., Any]) -> str:
    """The address of a server for the index, behind the museum's own."""
    started = server(index, "--prefix", "/seek")
    museum.set(seek=int(started.port))
    return f"{museum.url}/seek"


def got(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        return answer.read()


def test_fifty_canvases_are_indexed_though_the_first_run_was_killed(museum, index):
    asked = museum.asked()
    assert set(asked) == {f"p{number}" for number in range(CANVASES)}
    assert max(asked.values()) <= 2  # of what was committed, nothing is asked for again


def test_the_parser_reads_hits_as_annotations_of_canvases(museum, seek):
    for number in (3, 17, 41):
        strokes = quote(json.dumps(museum.drawing(number)))
        read = museum.read(got(f"{seek}/iiif/search?strokes={strokes}&k=5"))
        assert read["resource"]["type"] == "AnnotationPage"
        assert len(read["annotations"]) == 5
        page = next(page for page in read["pages"] if page["id"] == read["resource"]["id"])
        first = next(one for one in read["annotations"] if one["id"] == page["items"][0]["id"])
        target = first["target"]
        assert target["source"]["id"] == f"{museum.url}/canvas/{number}"
        kinds = [selector["type"] for selector in target["selector"]]
        assert kinds == ["FragmentSelector", "SvgSelector"]
        place = list(map(int, target["selector"][0]["value"].removeprefix("xywh=").split(",")))
        low, high = museum.shapes[number].min(axis=0), museum.shapes[number].max(axis=0)
        assert place == pytest.approx([*low, *(high - low)], abs=40)


def test_the_parser_has_nothing_to_mend_in_the_manifests(museum, seek):
    strokes = quote(json.dumps(museum.drawing(8)))
    hits = museum.read(got(f"{seek}/iiif/search/manifest.json?strokes={strokes}&k=4"))
    assert hits["warnings"] == []
    assert f"{museum.url}/canvas/8" in hits["canvases"]
    assert len(hits["canvases"]) == 4


def box_of(image: np.ndarray, colour: tuple[int, int, int]) -> tuple[int, ...]:
    """The box around what has a colour in a screenshot."""
    near = np.abs(image.astype(int) - colour).max(axis=2) < 40
    ys, xs = np.nonzero(near)
    return (xs.min(), ys.min(), xs.max(), ys.max()) if len(xs) else ()


def test_mirador_shows_the_outline_where_the_thing_is(museum, seek, browser: Browser, keep):
    number = 17
    asked = {"strokes": json.dumps(museum.drawing(number)), "k": 3}
    manifest = f"{seek}/iiif/search/manifest.json?{urlencode(asked)}"
    shown = {"manifest": manifest, "canvas": f"{museum.url}/canvas/{number}"}
    page = browser.new_page(viewport={"width": 1100, "height": 850})
    page.goto(f"{museum.url}/viewer.html?{urlencode(shown)}")
    picture = page.locator(".mirador-osd-container, .openseadragon-container").first
    ink, green = (), ()
    end = time.monotonic() + 120
    while time.monotonic() < end and not (ink and green):
        page.wait_for_timeout(500)
        if picture.count():
            seen = np.asarray(Image.open(io.BytesIO(picture.screenshot())).convert("RGB"))
            ink, green = box_of(seen, INK), box_of(seen, GREEN)
    page.wait_for_timeout(2000)  # until the zoom has come to rest
    seen = np.asarray(Image.open(io.BytesIO(picture.screenshot())).convert("RGB"))
    ink, green = box_of(seen, INK), box_of(seen, GREEN)
    keep(page, "mirador")
    assert ink, "Mirador shows no picture"
    assert green, "Mirador shows no outline"
    side = max(ink[2] - ink[0], ink[3] - ink[1])
    assert green == pytest.approx(ink, abs=0.06 * side)
    page.close()


def test_a_server_that_is_gone_costs_a_sentence_and_no_row(museum, index, tmp_path):
    copy = tmp_path / "index"
    shutil.copytree(index, copy)
    gone = museum.manifest.replace(museum.url, "http://127.0.0.1:9")
    command = [sys.executable, "-m", "sketchseek", "index", "--index", str(copy)]
    done = subprocess.run([*command, gone], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr
    assert rows(copy) == CANVASES
