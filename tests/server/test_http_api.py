"""The contract's endpoints, as a script would use them."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw
from starlette.testclient import TestClient

from sketchseek import Index, Sketch
from sketchseek.server.app import create_app

Strokes = list[list[list[float]]]


def search(client: TestClient, strokes: Strokes, **options: object) -> dict:
    response = client.post("/api/search", json={"strokes": strokes, **options})
    assert response.status_code == 200, response.text
    return response.json()


def ids(client: TestClient, star: Strokes) -> dict[str, str]:
    """The id of each picture, by its file's name."""
    return {Path(hit["picture"]).name: hit["id"] for hit in search(client, star, k=50)["hits"]}


def test_search_finds_the_shape_where_it_is(client: TestClient, star: Strokes) -> None:
    answer = search(client, star, k=3)
    assert answer["pictures"] == 8
    best = answer["hits"][0]
    assert Path(best["picture"]).name in ("star.jpg", "star-small.png")
    where = {"star.jpg": (126, 20, 434, 321), "star-small.png": (25, 120, 275, 364)}
    truth = where[Path(best["picture"]).name]
    assert all(abs(a - b) < 25 for a, b in zip(best["box"], truth, strict=True)), best["box"]


def test_search_answers_as_the_library_does(client: TestClient, star: Strokes, shape_index: Path) -> None:
    answer = search(client, star, k=8)
    hits = Index.open(shape_index).search(Sketch.from_strokes(star), k=8)
    assert [hit["id"] for hit in answer["hits"]] == [hit.id for hit in hits]
    for body, hit in zip(answer["hits"], hits, strict=True):
        assert body["box"] == pytest.approx(hit.box, abs=0.01)
        assert (body["width"], body["height"]) == (hit.width, hit.height)
        flat = [point for stroke in body["outline"] for point in stroke]
        xs, ys = zip(*flat, strict=True)
        assert [min(xs), min(ys), max(xs), max(ys)] == pytest.approx(body["box"], abs=0.2)


def test_pages_of_hits_follow_each_other(client: TestClient, star: Strokes) -> None:
    everything = search(client, star, k=8)["hits"]
    pages = [search(client, star, k=3, offset=offset)["hits"] for offset in (0, 3, 6)]
    assert [hit["rank"] for page in pages for hit in page] == list(range(1, 9))
    assert [hit["id"] for page in pages for hit in page] == [hit["id"] for hit in everything]
    assert search(client, star, k=3, offset=100)["hits"] == []


def test_mirror_can_be_turned_off(client: TestClient) -> None:
    pointing = [[[0.0, 50.0], [40, 10], [40, 35], [100, 35], [100, 65], [40, 65], [40, 90], [0, 50]]]
    both = {Path(h["picture"]).name: h for h in search(client, pointing, k=8)["hits"]}
    assert not both["arrow.gif"]["mirrored"]
    assert both["arrow-right.png"]["mirrored"]
    one = search(client, pointing, k=8, mirror=False)["hits"]
    assert not any(hit["mirrored"] for hit in one)


def test_a_picture_file_is_a_drawing_too(client: TestClient, star: Strokes) -> None:
    image = Image.new("L", (300, 300), 255)
    ImageDraw.Draw(image).line([(40 + 2 * x, 40 + 2 * y) for x, y in star[0]], fill=0, width=3)
    file = io.BytesIO()
    image.save(file, "PNG")
    response = client.post("/api/search", files={"any": file.getvalue()}, data={"k": "2", "mirror": "false"})
    assert response.status_code == 200, response.text
    drawn = {hit["id"] for hit in response.json()["hits"]}
    assert drawn == {hit["id"] for hit in search(client, star, k=2)["hits"]}


def test_strokes_of_a_file(client: TestClient) -> None:
    line = '<path d="M1 1H9V9" stroke="#000" fill="none"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 10">{line}</svg>'
    response = client.post("/api/sketch", files={"picture": ("a.svg", svg, "image/svg+xml")})
    assert response.status_code == 200, response.text
    (stroke,) = response.json()["strokes"]
    xs, ys = zip(*stroke, strict=True)
    assert max(xs) - min(xs) == pytest.approx(400, abs=1)
    assert max(ys) - min(ys) == pytest.approx(400, abs=1)


def test_a_photograph_becomes_its_contours(client: TestClient) -> None:
    from skimage import data

    file = io.BytesIO()
    Image.fromarray(data.coffee()).save(file, "JPEG")
    response = client.post("/api/sketch", files={"picture": file.getvalue()})
    assert response.status_code == 200, response.text
    strokes = response.json()["strokes"]
    assert 5 < len(strokes) < 200
    assert max(len(stroke) for stroke in strokes) > 50  # the rim of the cup is one long line
    assert response.json()["photograph"] is True
    assert "box" in client.get("/api/index").json()["options"]
    for box, status in (("150,50,450,350", 200), ("5000,0,6000,9", 422), ("1,2,3", 422), ("a,b,c,d", 422)):
        response = client.post("/api/search", files={"picture": file.getvalue()}, data={"box": box})
        assert response.status_code == status, response.text


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("star.jpg", "image/jpeg"),
        ("star-small.png", "image/png"),
        ("arrow.gif", "image/gif"),
        ("house.webp", "image/webp"),
        ("bolt.tiff", "image/webp"),  # what browsers cannot show is sent as what they can
        ("cross.bmp", "image/webp"),
        ("house.svg", "image/webp"),  # and what they would run, as pixels
    ],
)
def test_pictures_have_their_right_type(
    client: TestClient, star: Strokes, shape_pictures: Path, name: str, media_type: str
) -> None:
    response = client.get(f"/api/pictures/{ids(client, star)[name]}")
    assert response.headers["content-type"] == media_type
    assert "sandbox" in response.headers["content-security-policy"]
    assert b"<script" not in response.content
    shown = Image.open(io.BytesIO(response.content))
    original = (400, 300) if name.endswith("svg") else Image.open(shape_pictures / name).size
    assert shown.width / shown.height == pytest.approx(original[0] / original[1], rel=0.01)


def test_thumbnails_are_small_webp(client: TestClient, star: Strokes) -> None:
    for identifier in ids(client, star).values():
        response = client.get(f"/api/pictures/{identifier}/thumbnail")
        assert response.headers["content-type"] == "image/webp"
        assert max(Image.open(io.BytesIO(response.content)).size) <= 400
        assert len(response.content) < 20_000


def test_contours_lie_along_the_shape(client: TestClient, star: Strokes) -> None:
    response = client.get(f"/api/pictures/{ids(client, star)['house.webp']}/contours")
    assert response.headers["content-type"] == "image/png"
    seen = Image.open(io.BytesIO(response.content))
    assert seen.mode == "RGBA"
    assert seen.width == seen.height
    opaque = seen.getchannel("A").point(lambda a: 255 * (a > 60)).getbbox()
    assert opaque is not None
    expected = [v * seen.width / 400 for v in (60, 100, 320, 347)]
    assert list(opaque) == pytest.approx(expected, abs=0.02 * seen.width)


def test_why_a_picture_matched(client: TestClient, star: Strokes) -> None:
    assert client.get("/api/index").json()["explain"] is True
    known = ids(client, star)
    met = {}
    for name in ("star.jpg", "house.webp"):
        response = client.post("/api/explain", json={"strokes": star, "mirror": True, "id": known[name]})
        assert response.status_code == 200, response.text
        assert response.headers["content-type"] == "image/png"
        drawn = np.asarray(Image.open(io.BytesIO(response.content)).convert("RGB")).astype(int)
        met[name] = ((drawn[..., 1] - drawn[..., 0]) > 150).sum()  # as green as a line that met contours
    assert met["star.jpg"] > 2 * met["house.webp"]


def test_what_cannot_be_explained_is_said(client: TestClient, star: Strokes) -> None:
    here = ids(client, star)["star.jpg"]
    for body, status in (
        ({"strokes": star, "id": "nobody"}, 404),
        ({"strokes": star}, 422),
        ({"strokes": [], "id": here}, 422),
        ({"strokes": star, "id": here, "k": 3}, 422),
    ):
        response = client.post("/api/explain", json=body)
        assert response.status_code == status, body
        assert response.json()["detail"]
    assert client.post("/api/explain", data={"id": here}).status_code == 415


@pytest.mark.parametrize("kind", ["", "/thumbnail", "/contours"])
def test_a_browser_keeps_pictures(client: TestClient, star: Strokes, kind: str) -> None:
    address = f"/api/pictures/{ids(client, star)['star.jpg']}{kind}"
    first = client.get(address)
    assert first.headers["cache-control"].startswith("private")
    again = client.get(address, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(address, headers={"if-none-match": '"other"'}).status_code == 200


def test_index_health_and_metrics(client: TestClient, star: Strokes) -> None:
    assert client.get("/api/health").json() == {"status": "ok"}
    about = client.get("/api/index").json()
    assert about["pictures"] == 8
    assert about["expansion"] is None
    search(client, star)
    metrics = client.get("/metrics").text
    assert "sketchseek_pictures 8" in metrics
    assert 'sketchseek_requests_total{method="POST",route="/api/search",status="200"}' in metrics
    assert 'sketchseek_search_stage_seconds_bucket{stage="search",le="+Inf"}' in metrics
    for line in metrics.splitlines():
        assert line.startswith("# TYPE ") or float(line.rpartition(" ")[2]) >= 0


def test_where_the_time_went_is_said(client: TestClient, star: Strokes) -> None:
    timing = client.post("/api/search", json={"strokes": star}).headers["server-timing"]
    assert {part.partition(";")[0] for part in timing.split(", ")} == {"queue", "sketch", "search", "encode"}


def test_index_changes_show_up(
    tmp_path: Path, draw_picture: object, star: Strokes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sketchseek.server.library.REFRESH_SECONDS", 0.0)
    where, folder = tmp_path / "index", tmp_path / "pictures"
    folder.mkdir()
    with TestClient(create_app(where), base_url="http://localhost") as client:
        about = client.get("/api/index").json()
        assert about["pictures"] == 0
        assert f"--index {where}" in about["command"]
        missing = client.post("/api/search", json={"strokes": star})
        assert missing.status_code == 404
        assert "sketchseek index" in missing.json()["detail"]

        draw_picture(folder / "a.png", 1)
        index = Index.create(where, detector="canny", expansion=False)
        index.add([folder])
        assert client.get("/api/index").json()["pictures"] == 1
        draw_picture(folder / "b.png", 2)
        index.add([folder])
        assert search(client, star)["pictures"] == 2

        (gone,) = [h["id"] for h in search(client, star)["hits"] if h["picture"].endswith("b.png")]
        (folder / "b.png").unlink()
        assert client.get(f"/api/pictures/{gone}").status_code == 404
        assert client.get(f"/api/pictures/{gone}/thumbnail").status_code == 200
        index.remove([folder / "b.png"])
        assert search(client, star)["pictures"] == 1
        assert client.get(f"/api/pictures/{gone}/thumbnail").status_code == 404


def test_a_file_name_that_is_no_text(tmp_path: Path, draw_picture: object, star: Strokes) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    draw_picture(bytes(folder) + b"/caf\xe9.png", 3)
    Index.create(tmp_path / "index", detector="canny", expansion=False).add([folder])
    with TestClient(create_app(tmp_path / "index"), base_url="http://localhost") as client:
        (hit,) = search(client, star)["hits"]
        assert hit["picture"].endswith("caf\ufffd.png")
        assert client.get(f"/api/pictures/{hit['id']}").status_code == 200


def test_every_error_is_one_sentence(client: TestClient) -> None:
    for response in (
        client.post("/api/search", json={"strokes": []}),
        client.post("/api/search", json={"strokes": [[[1, 1]]]}),
        client.post("/api/search", content=b"{", headers={"content-type": "application/json"}),
        client.post("/api/search", content=b"", headers={"content-type": "text/plain"}),
        client.get("/api/pictures/0000000000000000"),
        client.get("/api/pictures/--"),
        client.get("/nowhere"),
        client.get("/api/search"),
    ):
        assert 400 <= response.status_code < 500
        assert list(response.json()) == ["detail"]
        assert isinstance(response.json()["detail"], str)
        assert json.dumps(response.json()).count("Traceback") == 0


def test_an_answer_says_when_the_network_of_the_index_is_not_there(
    shape_pictures: Path, tmp_path: Path, vector_model: Any, star: Any
) -> None:
    network = tmp_path / "network.onnx"
    network.write_bytes(vector_model())
    index = Index.create(tmp_path / "index", detector="canny", expansion=f"onnx:{network}")
    index.add(shape_pictures, jobs=1)
    network.unlink()
    with TestClient(create_app(tmp_path / "index"), base_url="http://127.0.0.1:8000") as client:
        note = client.post("/api/search", json={"strokes": star}).json()["note"]
        assert "network.onnx can't be read" in note
        plain = client.post("/api/search", json={"strokes": star, "blend": 0, "expand": 0}).json()
        assert plain["note"] is None


def test_why_in_a_sentence_with_numbers_for_whom_asks(client: TestClient, star: Strokes) -> None:
    known = ids(client, star)
    body = {"strokes": star, "mirror": True, "id": known["star.jpg"]}
    said = client.post("/api/explain", json=body, headers={"accept": "application/json"}).json()
    assert said["sentence"] == "Nearly all of your outline meets edges here."
    assert "coverage" in said["details"]
    x, y, support = np.array(said["points"]).T
    assert 0 <= support.min() <= support.max() <= 1
    with Image.open(io.BytesIO(client.get(f"/api/pictures/{known['star.jpg']}").content)) as picture:
        assert 0 < x.min() < x.max() < picture.width
        assert 0 < y.min() < y.max() < picture.height


def test_what_the_first_page_begins_with(client: TestClient, star: Strokes) -> None:
    pictures = client.get("/api/pictures").json()
    assert {one["id"] for one in pictures} == set(ids(client, star).values())
    offered = client.get("/api/examples").json()
    assert len(offered) >= 3
    for example in offered:
        found = search(client, example["strokes"])["hits"][0]
        assert (found["id"], found["picture"]) == (example["id"], example["picture"])
        assert example["width"] / example["height"] == pytest.approx(found["width"] / found["height"])


def test_nothing_to_begin_with(tmp_path: Path) -> None:
    with TestClient(create_app(tmp_path / "none"), base_url="http://127.0.0.1") as client:
        assert client.get("/api/pictures").json() == []
        assert client.get("/api/examples").json() == []


def test_an_index_that_is_out_of_reach_is_not_called_empty(
    shape_index: Path, tmp_path: Path, star: Strokes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sketchseek.server.library.REFRESH_SECONDS", 0.0)
    where = tmp_path / "index"
    with TestClient(create_app(where), base_url="http://127.0.0.1:8000") as client:
        assert client.get("/api/index").json()["pictures"] == 0  # not made yet
        shutil.copytree(shape_index, where)
        assert client.get("/api/index").json()["pictures"] == 8
        where.rename(tmp_path / "away")
        for answer in (client.get("/api/index"), client.post("/api/search", json={"strokes": star})):
            assert answer.status_code == 503
            assert "out of reach" in answer.json()["detail"]
        (tmp_path / "away").rename(where)
        assert client.get("/api/index").json()["pictures"] == 8
        assert search(client, star, k=2)["hits"]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_too_many_open_files_are_said_in_a_sentence(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def failing(self: Index) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Index, "info", failing)
    answer = client.get("/api/index")
    assert answer.status_code == 503
    assert answer.json()["detail"].endswith("try again.")


def test_words_are_searched_for(client, star):
    alone = client.post("/api/search", json={"words": "house", "k": 5})
    assert alone.status_code == 200
    answer = alone.json()
    assert (answer["sketch"], answer["words"], answer["drawing"]) == (None, "house", [])
    assert {hit["picture"].rpartition("/")[2] for hit in answer["hits"]} == {"house.svg", "house.webp"}
    assert {hit["matched"] for hit in answer["hits"]} == {"house"}
    both = client.post("/api/search", json={"strokes": star, "words": "bolt", "k": 8}).json()
    assert [h["matched"] for h in both["hits"] if "matched" in h] == ["bolt"]
    assert both["hits"][0]["outline"]
    nothing = client.post("/api/search", json={"words": "qzxwvk"}).json()
    assert nothing["hits"] == []
    assert "qzxwvk" in nothing["note"]


@pytest.mark.parametrize("body", [{}, {"words": " "}, {"words": 3}, {"words": "x" * 401}, {"strokes": None}])
def test_neither_a_drawing_nor_words(client, body):
    refused = client.post("/api/search", json=body)
    assert refused.status_code == 422
    assert refused.json()["detail"]


def test_why_where_the_network_sees_patches(shape_pictures: Path, tmp_path: Path, star: Strokes) -> None:
    Index.create(tmp_path / "index", detector="canny", expansion=True).add(shape_pictures, jobs=1)
    with TestClient(create_app(tmp_path / "index"), base_url="http://127.0.0.1:8000") as client:
        body = {"strokes": star, "mirror": True, "id": ids(client, star)["star.jpg"]}
        said = client.post("/api/explain", json=body, headers={"accept": "application/json"}).json()
    assert "edges here" in said["sentence"]
    assert "% of its patches alike" in said["details"]
