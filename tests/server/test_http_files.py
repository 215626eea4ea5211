"""Pictures leave as a zip, are shown in their folders, and are searched by folder."""

from __future__ import annotations

import errno
import io
import os
import shutil
import subprocess
import sys
import time
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from sketchseek import Index
from sketchseek.errors import ClusterError, DamagedError
from sketchseek.server.app import create_app
from sketchseek.server.archive import MISSING, archive, unused_name
from sketchseek.system import reveal_commands as commands

pytestmark = pytest.mark.slow

HERE = "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def folder(shape_pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stars in one folder, arrows in another; one name is in both."""
    folder = tmp_path_factory.mktemp("sorted")
    for name in ("star", "arrow"):
        (folder / name).mkdir()
        for path in shape_pictures.glob(f"{name}*"):
            shutil.copy(path, folder / name)
    shutil.copy(folder / "star" / "star.jpg", folder / "arrow" / "star.jpg")
    return folder


@pytest.fixture(scope="module")
def sorted_client(folder: Path, tmp_path_factory: pytest.TempPathFactory):
    where = tmp_path_factory.mktemp("sorted-index") / "index"
    Index.create(where, detector="canny", expansion=False).add([folder])
    with TestClient(create_app(where), base_url=HERE, client=("127.0.0.1", 5000)) as client:
        yield client


def test_a_search_in_a_folder(sorted_client: TestClient, folder: Path, star) -> None:
    listed = sorted_client.get("/api/folders").json()["folders"]
    assert listed == [
        {"folder": str(folder), "pictures": 5},
        {"folder": str(folder / "arrow"), "pictures": 3},
        {"folder": str(folder / "star"), "pictures": 2},
    ]
    asked = {"strokes": star, "folder": str(folder / "arrow")}
    hits = sorted_client.post("/api/search", json=asked).json()["hits"]
    assert len(hits) == 3
    assert all(Path(hit["picture"]).parent == folder / "arrow" for hit in hits)
    nowhere = sorted_client.post("/api/search", json={**asked, "folder": "/elsewhere"})
    assert nowhere.status_code == 422
    assert "elsewhere" in nowhere.json()["detail"]
    assert "folder" in sorted_client.get("/api/index").json()["options"]


def test_pictures_as_a_zip(sorted_client: TestClient, star) -> None:
    hits = sorted_client.post("/api/search", json={"strokes": star}).json()["hits"]
    answer = sorted_client.get("/api/archive", params={"id": [hit["id"] for hit in hits]})
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as file:
        assert file.testzip() is None
        contents = sorted(file.read(name) for name in file.namelist())
        assert sum(name.endswith("star.jpg") for name in file.namelist()) == 2
    assert contents == sorted(Path(hit["picture"]).read_bytes() for hit in hits)
    assert sorted_client.get("/api/archive", params={"id": ["nobody"]}).status_code == 404
    assert sorted_client.get("/api/archive").status_code == 422
    assert sorted_client.get("/api/archive", params={"id": ["x"] * 201}).status_code == 422
    assert sorted_client.get("/api/archive", params={"id": ["../x"]}).status_code == 422


def test_a_zip_tells_of_files_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"here")
    made = b"".join(archive([str(tmp_path / "a"), str(tmp_path / "b")]))
    with zipfile.ZipFile(io.BytesIO(made)) as file:
        assert file.read("a") == b"here"
        assert file.read(MISSING).decode() == f"{tmp_path / 'b'}\n"


def test_names_in_a_zip_differ() -> None:
    taken: set[str] = set()
    paths = ["/x/a.png", "/y/a.png", "/y/a.png", "/x/y/a.png", "/a.png", f"/x/{MISSING}"]
    names = [unused_name(path, taken) for path in paths]
    assert names[:2] == ["a.png", "y/a.png"]
    assert len(set(names)) == len(paths)
    assert not any(name.startswith("/") or ".." in name for name in names)
    assert MISSING not in names


def reveal(client: TestClient, identifier: str, **headers: str) -> httpx.Response:
    return client.post(f"/api/pictures/{identifier}/reveal", headers=headers)


def test_only_the_page_on_this_machine_may_show_files(
    sorted_client: TestClient, star, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hit = sorted_client.post("/api/search", json={"strokes": star}).json()["hits"][0]
    called = tmp_path / "called"
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "dbus-send").write_text("#!/bin/sh\nexit 1\n")  # a desktop without a file manager on its bus
    (programs / "xdg-open").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {called}\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("DISPLAY", ":7")
    assert sorted_client.get("/api/index").json()["reveal"]

    assert reveal(sorted_client, hit["id"]).status_code == 403  # no page asks
    assert reveal(sorted_client, hit["id"], origin="http://evil.example").status_code == 403
    assert reveal(sorted_client, hit["id"], origin="null").status_code == 403
    forwarded = {"origin": HERE, "x-forwarded-for": "127.0.0.1"}
    assert reveal(sorted_client, hit["id"], **forwarded).status_code == 403
    abroad = TestClient(sorted_client.app, base_url=HERE, client=("192.0.2.7", 5000))
    assert reveal(abroad, hit["id"], origin=HERE).status_code == 403
    assert not abroad.get("/api/index").json()["reveal"]
    assert not called.exists()

    assert reveal(sorted_client, hit["id"], origin=HERE).status_code == 200
    deadline = time.monotonic() + 30
    while not called.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert called.read_text() == f"{Path(hit['picture']).parent}\n"
    assert reveal(sorted_client, "nobody", origin=HERE).status_code == 404
    (programs / "xdg-open").write_text("#!/bin/sh\nexit 3\n")
    refused = reveal(sorted_client, hit["id"], origin=HERE)
    assert refused.status_code == 422
    assert "file manager" in refused.json()["detail"]
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert not sorted_client.get("/api/index").json()["reveal"]


def test_a_token_guards_it_too(shape_index: Path) -> None:
    with TestClient(
        create_app(shape_index, token="secret"), base_url=HERE, client=("127.0.0.1", 5000)
    ) as client:
        assert reveal(client, "a", origin=HERE).status_code == 401
        assert client.get("/api/archive", params={"id": ["a"]}).status_code == 401
        assert client.get("/api/folders").status_code == 401


def test_odd_names_are_one_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    bus, folder = commands("/a b/-x, 'y' $(z).png")
    assert bus[-2] == "array:string:file:///a%20b/-x%2C%20%27y%27%20%24%28z%29.png"  # no comma: it separates
    assert folder == ["xdg-open", "/a b"]
    monkeypatch.setattr(sys, "platform", "darwin")
    assert commands("/a/b.png") == [["open", "-R", "/a/b.png"]]


def test_names_in_a_zip_are_names_everywhere() -> None:
    paths = [
        "/a/Photo.png",
        "/a/photo.PNG",
        "/b/caf\u00e9.png",
        "/b/cafe\u0301.png",
        "/c/C:\\Windows\\evil.png",
        "/c/D:/x:y.png",
        "/d/..\\..\\up.png",
        "/d/nul.png",
        "/d/end. .",
        "/e/MISSING.txt",
        "/a/Photo.png",
        "/a/Photo.png",
    ]
    taken: set[str] = set()
    names = [unused_name(path, taken) for path in paths]
    assert names[0] == "Photo.png"
    assert not any(set(name) & set('\\:<>"|?*') for name in names)
    assert not any(part.endswith((".", " ")) for name in names for part in name.split("/"))
    assert "nul.png" not in names
    same = [unicodedata.normalize("NFC", name).casefold() for name in names]
    assert len({*same, MISSING}) == len(paths) + 1


def test_a_machine_that_starts_no_process_is_not_the_files_fault(
    shape_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A 503 says: try again; a 422 would say that the file is wrong."""

    def no_process(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    app = create_app(shape_index)  # what it imports looks at `Popen`, too
    monkeypatch.setattr(subprocess, "Popen", no_process)
    with TestClient(app, base_url="http://127.0.0.1:8000") as client:
        for path in ("/api/search", "/api/sketch"):
            answer = client.post(path, files={"picture": b"<svg xmlns='http://www.w3.org/2000/svg'/>"})
            assert answer.status_code == 503, answer.text
            assert "could not be started" in answer.json()["detail"]
            assert int(answer.headers["retry-after"]) > 0
        answer = client.get("/iiif/search", params={"svg": "<svg xmlns='http://www.w3.org/2000/svg'/>"})
        assert answer.status_code == 503, answer.text


@pytest.mark.parametrize("error", [ClusterError, DamagedError])
def test_what_is_wrong_with_the_index_is_not_the_drawings_fault(
    shape_index: Path, monkeypatch: pytest.MonkeyPatch, star: Any, error: type[Exception]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error("No shard of the index answers.")

    with TestClient(create_app(shape_index), base_url="http://127.0.0.1:8000") as client:
        assert client.post("/api/search", json={"strokes": star}).status_code == 200
        monkeypatch.setattr(Index, "search", fails)
        for path in ("/api/search", "/iiif/search"):
            answer = client.post(path, json={"strokes": star})
            assert answer.status_code == 503, answer.text
            assert answer.json()["detail"] == "No shard of the index answers."
            assert int(answer.headers["retry-after"]) > 0
