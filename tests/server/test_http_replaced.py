"""What stands at a picture's path may have become anything: a pipe, a device, another file, a bomb."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from sketchseek import Index
from sketchseek.indexing.changes import digest_of_file
from sketchseek.server.app import OpenFileResponse, create_app
from sketchseek.server.limits import Limits

pytestmark = pytest.mark.slow

KINDS = ("", "/contours")
SHAPE = '<rect x="60" y="80" width="200" height="150" fill="#123"/>'


@pytest.fixture
def collection(tmp_path: Path, shape_pictures: Path) -> tuple[Path, Path]:
    """An index of its own, of pictures of its own."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in ("star.jpg", "bolt.tiff", "house.svg"):
        shutil.copy(shape_pictures / name, folder)
    Index.create(tmp_path / "index", detector="canny", expansion=False).add([folder])
    return tmp_path / "index", folder


def ids(client: TestClient | httpx.Client, star: object) -> dict[str, str]:
    hits = client.post("/api/search", json={"strokes": star, "k": 50}).json()["hits"]
    return {Path(hit["picture"]).name: hit["id"] for hit in hits}


def replace(path: Path, by: str, secret: Path) -> None:
    path.unlink()
    if by == "pipe":
        os.mkfifo(path)
    elif by == "device":
        path.symlink_to("/dev/zero")
    elif by == "folder":
        path.mkdir()
    elif by == "secret":
        path.symlink_to(secret)
    elif by == "endless":
        with path.open("wb") as file:
            file.truncate(300 << 20)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("by", ["pipe", "device", "folder", "secret", "endless"])
def test_something_else_at_a_pictures_path(
    start_server: Callable, collection: tuple[Path, Path], star, tmp_path: Path, by: str
) -> None:
    """Each request is answered, others as well, and the server still ends when it is told to."""
    where, folder = collection
    (tmp_path / "secret").write_text("root: the password\n" * 100)
    server = start_server(where)
    with httpx.Client(base_url=server.url, timeout=60) as client:
        known = ids(client, star)
        for name in known:
            replace(folder / name, by, tmp_path / "secret")
        for identifier in known.values():
            for kind in KINDS:
                answer = client.get(f"/api/pictures/{identifier}{kind}")
                assert answer.status_code == 404, answer.text
                assert b"password" not in answer.content
            assert client.get(f"/api/pictures/{identifier}/thumbnail").status_code == 200
        if by != "secret":
            zipped = client.get("/api/archive", params={"id": list(known.values())})
            assert len(zipped.content) < 10_000
        assert client.get("/api/health").status_code == 200
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(60)
    assert "Traceback" not in server.stop()


def test_a_digest_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    assert digest_of_file(bytes(tmp_path / "pipe.png")) is None
    assert digest_of_file(b"/dev/zero") is None


def sent(path: Path, change: Callable[[], None] = lambda: None) -> list[dict]:
    """What is sent of an open file at `path`, which changes after the first piece."""
    messages: list[dict] = []

    async def send(message: dict) -> None:
        messages.append(message)
        if len(messages) == 2:
            change()

    response = OpenFileResponse(path.open("rb"), "image/jpeg", {})
    with ThreadPoolExecutor() as thread:  # this one may have a loop of the browser's already
        thread.submit(asyncio.run, response({"type": "http"}, None, send)).result()  # type: ignore[arg-type]
    return messages


def test_what_was_opened_is_what_is_sent(tmp_path: Path) -> None:
    picture, other = tmp_path / "picture.jpg", tmp_path / "other"
    content = os.urandom(3 << 20)
    picture.write_bytes(content)
    other.write_bytes(b"x" * (3 << 20))
    messages = sent(picture, lambda: other.replace(picture))
    assert b"".join(message.get("body", b"") for message in messages) == content
    assert dict(messages[0]["headers"])[b"content-length"] == b"%d" % len(content)
    assert messages[-1]["more_body"] is False
    # One that grows is sent as long as it was; one that shrinks is not ended as if it were whole.
    picture.write_bytes(content)
    grown = sent(picture, lambda: picture.open("ab").write(b"more"))
    assert sum(len(message.get("body", b"")) for message in grown) == len(content)
    cut = sent(picture, lambda: os.truncate(picture, 1 << 20))
    assert cut[-1]["more_body"] is True


@pytest.fixture
def patient(collection: tuple[Path, Path]) -> Iterator[TestClient]:
    """A server that does not mind how busy the machine is."""
    app = create_app(collection[0], limits=Limits(decoding_patience=600.0))
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def test_an_indexed_picture_that_became_a_bomb(
    patient: TestClient, collection: tuple[Path, Path], star
) -> None:
    client, folder = patient, collection[1]
    known = ids(client, star)
    bomb = f'<g opacity=".9">{SHAPE}' * 150 + "</g>" * 150
    (folder / "house.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 400"><g id="a">{bomb}</g>'
        + '<use href="#a"/>' * 900
        + "</svg>"
    )
    for kind in KINDS:
        answer = client.get(f"/api/pictures/{known['house.svg']}{kind}")
        assert answer.status_code == 404
        assert "too much" in answer.json()["detail"]
        assert client.get(f"/api/pictures/{known['bolt.tiff']}{kind}").status_code == 200


def test_a_crowd_of_files_is_told_to_wait(collection: tuple[Path, Path], star) -> None:
    app = create_app(collection[0], limits=Limits(decoding_waiting=0))
    with TestClient(app, base_url="http://localhost") as client:
        known = ids(client, star)
        for answer in (
            client.get(f"/api/pictures/{known['bolt.tiff']}"),
            client.post("/api/sketch", files={"picture": b"[[[0, 0], [1, 1]]]"}),
        ):
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "1"
        assert client.get(f"/api/pictures/{known['star.jpg']}").status_code == 200


def test_pictures_are_never_decoded_in_the_server(
    start_server: Callable, collection: tuple[Path, Path], star
) -> None:
    server = start_server(collection[0])
    with httpx.Client(base_url=server.url, timeout=60) as client:
        known = ids(client, star)
        for identifier in known.values():
            for kind in KINDS:
                assert client.get(f"/api/pictures/{identifier}{kind}").status_code == 200
        assert (
            client.post("/api/sketch", files={"a": (collection[1] / "star.jpg").read_bytes()}).status_code
            == 200
        )
        time.sleep(0.1)
        mapped = Path(f"/proc/{server.process.pid}/maps").read_text()
    for library in ("libjpeg", "libtiff", "resvg", "pillow_heif"):
        assert library not in mapped
