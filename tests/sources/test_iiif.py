"""IIIF in and out: manifests of both versions, collections, changes; what servers do wrong; annotations."""

from __future__ import annotations

import json
import math
import re
import socket
import threading
from contextlib import suppress
from copy import deepcopy
from urllib.request import Request

import pytest
from museum import FULL, Museum

from sketchseek import Index
from sketchseek.errors import SketchseekError
from sketchseek.sources import Item, fault_of, http
from sketchseek.sources.http import Answer, Polite, check_address
from sketchseek.sources.iiif import IIIF


def polygon(corners: int, turn: float = 0.0, flat: float = 1.0) -> list[tuple[float, float]]:
    angles = [turn + 2 * math.pi * i / corners for i in range(corners)]
    return [(0.5 + 0.35 * math.cos(a), 0.5 + 0.26 * flat * math.sin(a)) for a in angles]


SHAPES = {
    "triangle": polygon(3, -math.pi / 2),
    "square": polygon(4, math.pi / 4),
    "diamond": polygon(4, 0, 0.6),
    "hexagon": polygon(6),
    "cross": [(0.4, 0.2), (0.6, 0.2), (0.6, 0.45), (0.8, 0.45), (0.8, 0.55), (0.6, 0.55), (0.6, 0.8),
              (0.4, 0.8), (0.4, 0.55), (0.2, 0.55), (0.2, 0.45), (0.4, 0.45)],
}  # fmt: skip


@pytest.fixture
def museum(monkeypatch):
    monkeypatch.setattr(http, "LONGEST_WAIT_S", 0.01)
    opened = Museum()
    for name, shape in SHAPES.items():
        opened.picture(name, shape)
    yield opened
    opened.close()


@pytest.fixture
def index(tmp_path) -> Index:
    return Index.create(tmp_path / "index", "compact", detector="canny", expansion=False)


def drawn(name: str) -> list[list[list[float]]]:
    points = [[300 * x, 400 * y] for x, y in SHAPES[name]]
    return [[*points, points[0]]]


def test_canvases_of_a_manifest_are_indexed_and_placed_in_their_own_pixels(museum, index):
    url = museum.manifest3("/m.json", list(SHAPES))
    report = index.add(url, jobs=1)
    assert (report.added, report.failed) == (5, [])
    assert museum.asked["/triangle/full/900,1200/0/default.jpg"] == 1  # the size that is needed, and once
    for name, shape in SHAPES.items():
        hit = index.search(drawn(name), 1)[0]
        assert hit.picture == f"{url}#{url}/canvas/{name}"
        assert (hit.width, hit.height) == FULL
        xs, ys = [1800 * x for x, _ in shape], [2400 * y for _, y in shape]
        assert hit.box[0] == pytest.approx(min(xs), abs=70)
        assert hit.box[3] == pytest.approx(max(ys), abs=70)


def test_what_has_not_changed_is_not_asked_for_again(museum, index):
    url = museum.manifest3("/m.json", ["triangle", "square"])
    index.add(url, jobs=1)
    assert index.add(url, jobs=1).unchanged == 2
    assert museum.unchanged == 1
    museum.manifest3("/m.json", ["triangle", "cross"])
    report = index.add(jobs=1)  # the address is remembered as folders are
    assert (report.added, report.forgotten, report.unchanged) == (1, 1, 1)
    assert [
        museum.asked[f"/{name}/full/900,1200/0/default.jpg"] for name in ("triangle", "square", "cross")
    ] == [1] * 3
    assert index.remove(url) == 2


def test_presentation_2_collections_and_streams_of_changes(museum, index):
    new, old = museum.manifest3("/m3.json", ["triangle"]), museum.manifest2("/m2.json", ["square"])
    gone = museum.manifest3("/gone.json", ["hexagon"])
    parts = [{"id": new, "type": "Manifest"}, {"id": old, "type": "Manifest"}]
    collection = museum.put("/c.json", {"type": "Collection", "id": "x", "items": parts})
    activities = [("Create", gone), ("Update", old), ("Delete", gone)]
    items = [{"type": kind, "object": {"id": url, "type": "Manifest"}} for kind, url in activities]
    last = museum.put("/changes/1", {"type": "OrderedCollectionPage", "orderedItems": items})
    stream = museum.put("/changes", {"type": "OrderedCollection", "last": {"id": last}})
    assert index.add(collection, jobs=1).added == 2
    assert index.add(stream, jobs=1).added == 1
    assert museum.asked["/square/full/900,/0/default.jpg"] == 2  # as version 2 writes it
    assert museum.asked["/gone.json"] == 0


def test_an_interrupted_run_goes_on_where_it_was(museum, index, monkeypatch):
    url = museum.manifest3("/m.json", list(SHAPES))
    fetch, count = IIIF.fetch, 0

    def interrupted(self, item):
        nonlocal count
        count += 1
        if count > 4:
            raise KeyboardInterrupt
        return fetch(self, item)

    monkeypatch.setattr("sketchseek.indexing.elsewhere.BATCH", 2)
    monkeypatch.setattr(IIIF, "fetch", interrupted)
    first = index.add(url, jobs=1)
    assert first.interrupted
    monkeypatch.setattr(IIIF, "fetch", fetch)
    second = index.add(url, jobs=1)
    assert first.added + second.added == 5
    assert first.added == second.unchanged > 0


def test_a_server_that_is_busy_is_asked_again_and_one_that_is_wrong_costs_a_sentence(museum, index):
    url = museum.manifest3("/m.json", ["triangle", "square", "cross"])
    museum.wrong["/m.json"] = [503, 503]
    museum.files["/square/full/900,1200/0/default.jpg"] = b"no picture"
    del museum.files["/cross/full/900,1200/0/default.jpg"]
    report = index.add(url, jobs=1)
    assert report.added == 1
    said = {path.rpartition("/")[2]: reason for path, reason in report.failed}
    assert "is not a picture" in said["square"]
    assert "status 404" in said["cross"]


def test_a_server_that_is_gone_forgets_nothing(museum, index):
    url = museum.manifest3("/m.json", ["triangle"])
    index.add(url, jobs=1)
    museum.close()
    report = index.add(url, jobs=1)
    assert len(index) == 1
    assert report.kept[0][0] == url


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"type": "Manifest", "items": 3},
        {"type": "Manifest", "items": [{"items": "x"}]},
        {"type": "Range"},
    ],
)
def test_what_is_no_manifest_is_refused_in_a_sentence(museum, index, document):
    url = museum.put("/odd.json", document)
    with pytest.raises(SketchseekError) as refusal:
        index.add(url, jobs=1)
    assert url in str(refusal.value)


def test_documents_that_lead_round_in_circles_end(museum, index):
    manifest = museum.manifest3("/m", ["cross"])
    museum.put("/a", {"type": "Collection", "items": [{"id": museum.url + "/b"}]})
    museum.put("/b", {"type": "Collection", "items": [{"id": museum.url + "/a"}, {"id": manifest}]})
    assert index.add(museum.url + "/a", jobs=1).added == 1


@pytest.mark.parametrize(
    "url", ["http://museum.example/m.json", "file:///etc/passwd", "https://", "ftp://a/b"]
)
def test_only_https_is_asked_and_http_on_this_machine(url):
    with pytest.raises(SketchseekError, match="https://"):
        check_address(url)


def test_a_document_of_another_place_does_not_lead_here():
    class Web(Polite):
        def document(self, url, tags=None):
            assert "127.0.0.1" not in url
            return {"type": "Collection", "items": [{"id": "http://127.0.0.1:1/secret"}]}, {}

    class Nothing:
        def get(self, key):
            return None

        def put(self, key, value):
            pass

    assert list(IIIF(Web()).items("https://museum.example/c", Nothing())) == []


class Web(Polite):
    """A web of made-up documents. asked : the addresses that were."""

    def __init__(self, documents):
        self.documents, self.asked = documents, []

    def document(self, url, tags=None):
        self.asked.append(url)
        if url not in self.documents:
            raise SketchseekError(f"{url} answers with status 404.")
        return self.documents[url], {}

    def get(self, url, *_, **__):
        self.asked.append(url)
        return Answer(b"a picture", {})


class Nothing:
    """Nothing is remembered."""

    def get(self, key):
        return None

    def put(self, key, value):
        json.dumps(value)


def read_all(web, root):
    """What an index has of an address: its pictures, each with a size that a table can hold."""
    source, found = IIIF(web), []
    with suppress(SketchseekError):
        for item in source.items(root, Nothing()):
            assert 0 <= item.stat.size < 2**63
            assert fault_of(item) is None
            found.append(item.name)
            with suppress(SketchseekError):
                source.fetch(item)
    return found


IMAGE_2 = {"@id": "https://m.example/s2", "profile": "http://iiif.io/api/image/2/level0.json"}
IMAGE_3 = {"id": "https://m.example/s", "type": "ImageService3", "sizes": [{"width": 500, "height": 250}]}
BODY = {"id": "https://m.example/i.jpg", "type": "Image", "width": 2000, "height": 1000, "service": [IMAGE_3]}
WEB = {
    "https://m.example/3": {
        "type": "Manifest",
        "label": {"en": ["a"]},
        "homepage": [{"id": "https://m.example/h"}],
        "items": [
            {"id": "https://m.example/c", "width": 9, "height": 9, "items": [{"items": [{"body": BODY}]}]}
        ],
    },
    "https://m.example/2": {
        "@type": "sc:Manifest",
        "license": "free",
        "sequences": [
            {"canvases": [{"@id": "https://m.example/c2", "images": [{"resource": {"service": IMAGE_2}}]}]}
        ],
    },
    "https://m.example/both": {
        "type": "Collection",
        "items": [{"id": "https://m.example/3"}, "https://m.example/2"],
    },
    "https://m.example/changes": {"type": "OrderedCollection", "last": {"id": "https://m.example/page"}},
    "https://m.example/page": {
        "orderedItems": [{"type": "Create", "object": {"id": "https://m.example/3", "type": "Manifest"}}],
        "prev": {"id": "https://m.example/page0"},
    },
    "https://m.example/s2/info.json": {"sizes": [{"width": 90, "height": 60}]},
}
NESTED = json.loads("[" * 400 + "]" * 400)
LABELS: dict = {}
for _ in range(400):
    LABELS = {"en": LABELS}


NUMBERS = (None, True, -1, 0, 1e308, math.inf, math.nan, 10**30)
LONG = "https://m.example/" + "9" * 5000
STRANGE = (*NUMBERS, "", "a b", "\ud800", "http://[", LONG, "9" * 5000, [], {}, [None], [[]], NESTED, LABELS)


def places(value, path=()):
    """Where anything stands in a document."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def with_strange(document, path, strange):
    """The document with something else at a place."""
    if not path:
        return strange
    copy = deepcopy(document)
    at = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = strange
    return copy


@pytest.mark.parametrize(
    "strange",
    STRANGE,
    ids=lambda value: repr(value)[:12],
)  # fmt: skip
def test_whatever_stands_in_a_document_costs_a_sentence_at_most(strange):
    for url, document in WEB.items():
        roots = (
            ["https://m.example/changes"] if url.endswith(("page", "changes")) else ["https://m.example/both"]
        )
        for path in places(document):
            for root in [*roots, url]:
                read_all(Web({**WEB, url: with_strange(document, path, strange)}), root)


def test_the_web_leads_to_nothing_on_this_machine():
    for here in (
        "http://127.0.0.1:1/x",
        "http://localhost/x",
        "https://0.0.0.0/x",
        "https://[::ffff:127.0.0.1]/x",
    ):
        for url, document in WEB.items():
            for path in places(document):
                if path and path[-1] in ("id", "@id", 1):
                    for root in ("https://m.example/both", "https://m.example/changes"):
                        web = Web(
                            {**WEB, url: with_strange(document, path, here), here: WEB["https://m.example/3"]}
                        )
                        read_all(web, root)
                        assert not [asked for asked in web.asked if asked.startswith(here)]
        asked = Request("https://m.example/a")
        with pytest.raises(SketchseekError, match="on this machine"):
            http._SamePlace().redirect_request(asked, None, 302, "Found", {}, here)
    assert read_all(Web(WEB), "https://m.example/both") == ["https://m.example/c", "https://m.example/c2"]


def test_a_picture_is_compared_by_what_is_asked_for():
    one = Item("a", "https://x/1 3 0 ", "", 10, 20)
    assert one.stat == Item("b", "https://x/1 3 0 ", "", 10, 20).stat
    assert one.stat != Item("a", "https://x/2 3 0 ", "", 10, 20).stat


def client_of(where):
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from sketchseek.server.app import create_app

    return TestClient(create_app(where), base_url="http://127.0.0.1:8000")


def test_hits_leave_as_annotations_with_a_place_and_an_outline(museum, index, tmp_path):
    url = museum.manifest3("/m.json", list(SHAPES))
    index.add(url, jobs=1)
    with client_of(tmp_path / "index") as client:
        page = client.post("/iiif/search", json={"strokes": drawn("cross"), "k": 2}).json()
        asked = client.get("/iiif/search", params={"strokes": str(drawn("cross")), "k": 2}).json()
        hit = client.post("/api/search", json={"strokes": drawn("cross")}).json()["hits"][0]
        shown = client.get(f"/api/pictures/{hit['id']}")
        assert client.get("/iiif/search").status_code == 422
        assert client.get("/iiif/search", params={"svg": "<svg>"}).status_code == 422
    assert [a["target"] for a in page["items"]] == [a["target"] for a in asked["items"]]
    target = page["items"][0]["target"]
    assert page["type"] == "AnnotationPage"
    assert target["source"]["id"] == f"{url}/canvas/cross"
    assert target["source"]["partOf"][0]["id"] == url
    place = re.fullmatch(r"xywh=(\d+),(\d+),(\d+),(\d+)", target["selector"][0]["value"])
    x, y, _, h = map(int, place.groups())
    assert abs(x - 0.2 * 1800) < 70
    assert abs(y + h - 0.8 * 2400) < 90
    assert target["selector"][1]["value"].startswith("<svg")
    assert (hit["label"], hit["link"]) == ("Figures, plate cross", "https://museum.example/m.json")
    assert "creativecommons" in hit["rights"]
    assert shown.headers["content-type"] == "image/webp"  # the museum is not asked
    assert museum.asked["/cross/full/900,1200/0/default.jpg"] == 1


def test_a_picture_of_ones_own_is_a_manifest(shape_index):
    with client_of(shape_index) as client:
        page = client.post("/iiif/search", json={"strokes": drawn("square"), "k": 1}).json()
        assert client.get("/iiif/pictures/nothing/manifest.json").status_code == 404
        source = page["items"][0]["target"]["source"]
        manifest = client.get(source["partOf"][0]["id"]).json()
    assert manifest["items"][0]["id"] == source["id"]
    assert "/api/pictures/" in manifest["items"][0]["items"][0]["items"][0]["body"]["id"]


class Slow:
    """A server that says `head`, and then a byte now and then, or nothing at all."""

    def __init__(self, head: bytes, drip: bool) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/m.json"
        self.head, self.drip, self.closed = head, drip, threading.Event()
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self.listening.accept()
                threading.Thread(target=self._say, args=(caller,), daemon=True).start()

    def _say(self, caller: socket.socket) -> None:
        with suppress(OSError), caller:
            caller.sendall(self.head)
            while not self.closed.wait(0.05):
                caller.sendall(b" " * self.drip)

    def close(self) -> None:
        self.closed.set()
        self.listening.close()


@pytest.mark.parametrize(
    ("head", "drip", "said"),
    [
        (b"", False, "timed out"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n{", True, "comes too slowly"),
    ],
)
def test_a_server_that_is_slow_costs_a_sentence(index, monkeypatch, head, drip, said):
    monkeypatch.setattr(http, "PATIENCE_S", 0.2)
    monkeypatch.setattr(http, "LONGEST_WAIT_S", 0.01)
    slow = Slow(head, drip)
    try:
        with pytest.raises(SketchseekError, match=said) as refusal:
            index.add(slow.url, jobs=1)
    finally:
        slow.close()
    assert slow.url in str(refusal.value)
    assert len(index) == 0
