"""Pages of volumes over HTTP: a picture each, and the volume that they are of."""

from __future__ import annotations

import io
import zipfile

import pytest
from PIL import Image
from starlette.testclient import TestClient

from made_volumes import lines, pdf
from sketchseek import Index
from sketchseek.server.app import create_app
from sketchseek.sources import volumes
from sketchseek.web.published_names import Label, labelled

pytestmark = pytest.mark.skipif(not volumes.can_read_pdf(), reason="the extra pdf is not installed")
SHAPES = [
    [[(200, 200), (400, 200), (400, 500), (200, 500), (200, 200)]],
    [[(150, 500), (300, 150), (450, 500), (150, 500)]],
]


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    path = tmp_path_factory.mktemp("volumes") / "patent.pdf"
    path.write_bytes(pdf([lines(strokes) for strokes in SHAPES]))
    return path


@pytest.fixture(scope="module")
def pages(volume, tmp_path_factory):
    where = tmp_path_factory.mktemp("pages") / "index"
    Index.create(where, "compact", detector="canny").add(volume, jobs=1)
    with TestClient(create_app(where), base_url="http://127.0.0.1:8000") as client:
        yield client


def test_a_hit_is_a_page_with_a_picture_and_a_volume(pages, volume):
    hits = pages.post("/api/search", json={"strokes": SHAPES[1]}).json()["hits"]
    assert hits[0]["picture"] == f"{volume}#page=2"
    address = f"/api/pictures/{hits[0]['id']}"
    shown = pages.get(address)
    assert shown.headers["content-type"] == "image/webp"
    picture = Image.open(io.BytesIO(shown.content))
    assert abs(picture.width / picture.height - hits[0]["width"] / hits[0]["height"]) < 0.01
    assert pages.get(f"{address}/thumbnail").status_code == 200
    assert pages.get(f"{address}/contours").status_code == 200
    whole = pages.get(f"{address}/volume")
    assert whole.headers["content-type"] == "application/pdf"
    assert "sandbox" not in whole.headers["content-security-policy"]
    assert whole.content == volume.read_bytes()
    zipped = zipfile.ZipFile(io.BytesIO(pages.get(f"/api/archive?id={hits[0]['id']}").content))
    assert zipped.namelist() == ["patent.pdf#page=2.svg"]


def test_a_picture_that_is_no_page_has_no_volume(client, star):
    hit = client.post("/api/search", json={"strokes": star}).json()["hits"][0]
    assert client.get(f"/api/pictures/{hit['id']}/volume").status_code == 404


def test_a_published_page_links_into_its_volume():
    labels = {"v.pdf": Label("Patents", "https://example.org/v.pdf")}
    shown, unused = labelled(["/a/v.pdf#page=3", "/a/x.png"], ["v.pdf#page=3", "x.png"], labels)
    assert shown == [Label("Patents, page 3", "https://example.org/v.pdf#page=3"), Label()]
    assert unused == []
