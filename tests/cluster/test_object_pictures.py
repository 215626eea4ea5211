"""Pictures that are in an object store themselves."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from s3server import KEYS, troubled

from sketchseek import Index, Sketch, SketchseekError
from sketchseek.cli import main
from sketchseek.sources.objects import fetch, object_stat

boto3 = pytest.importorskip("boto3", reason="moto is not installed: make test-cluster installs it")
SQUARE = Sketch.from_strokes([[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]])
Put = Callable[[str, bytes | Path], str]


@pytest.fixture(autouse=True)
def _keys(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": endpoint, "XDG_CACHE_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def client(endpoint: str) -> Any:
    return boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1")


@pytest.fixture
def photos() -> str:
    return f"s3://pictures/{uuid.uuid4().hex}"


@pytest.fixture
def put(client: Any, photos: str) -> Put:
    def put(name: str, content: bytes | Path) -> str:
        uri = f"{photos}/{name}"
        body = content if isinstance(content, bytes) else content.read_bytes()
        client.put_object(Bucket="pictures", Key=uri.removeprefix("s3://pictures/"), Body=body)
        return uri

    return put


@pytest.fixture
def six(put: Put, pictures: Path) -> list[str]:
    """Six pictures, two of them in a folder of their own, with names that need no decoding."""
    names = ["0.png", "a b+c.png", "50%25.png", "é.PNG", "inner/4.png", "inner/5.png"]
    files = sorted(pictures.rglob("*.png"))
    return [put(name, file) for name, file in zip(names, files, strict=True)]


def paths(index: Index) -> list[str]:
    return sorted(index.state.path(number) for number in range(len(index)))


def test_a_bucket_through_its_life(
    photos: str, six: list[str], put: Put, client: Any, pictures: Path, tmp_path: Path
) -> None:
    put("notes.txt", b"no picture")
    put(".hidden/6.png", pictures / "0.png")
    put("node_modules/7.png", pictures / "0.png")
    put("drafts/8.png", pictures / "0.png")
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    report = index.add(f"{photos}/", exclude=["drafts"], jobs=1)
    assert (report.added, report.failed) == (6, [])
    assert paths(index) == sorted(six)
    alone = Index.create(tmp_path / "alone", detector="canny", expansion=False)
    alone.add(pictures, jobs=1)
    assert [hit.score for hit in index.search(SQUARE)] == [hit.score for hit in alone.search(SQUARE)]
    again = index.add(photos, exclude=["drafts"], jobs=1)
    assert (again.added, again.refreshed, again.unchanged) == (0, 0, 6)
    put("0.png", pictures / "1.png")
    put("broken.png", b"\x89PNG but no more")
    client.delete_object(Bucket="pictures", Key=six[5].removeprefix("s3://pictures/"))
    changed = index.add(photos, exclude=["drafts"], jobs=1)
    assert (changed.added, changed.refreshed, changed.forgotten) == (0, 1, 1)
    assert [name for name, _ in changed.failed] == [f"{photos}/broken.png"]
    assert index.remove(f"{photos}/inner") == 1
    assert paths(index) == sorted(six[:4])
    assert index.add(six[4], jobs=1).added == 1, "one object, by its name"


def test_a_file_that_is_too_large_is_not_read(put: Put) -> None:
    uri = put("large.png", bytes(2**20 + 1))
    assert object_stat(uri).size == 2**20 + 1
    with pytest.raises(SketchseekError, match="larger than 1 MB"):
        fetch(uri, 2**20)
    assert len(fetch(uri)[1]) == 2**20 + 1
    with pytest.raises(FileNotFoundError):
        fetch(f"{uri}x")


def test_what_goes_wrong_is_a_sentence(
    photos: str, six: list[str], endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    where = tmp_path / "index"

    def said(place: str) -> str:
        assert main(["index", place, "--index", str(where), "--no-expansion", "--detector", "canny"]) == 1
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1, lines
        assert not where.exists(), "nothing is made for pictures that are not there"
        return str(lines[0])

    assert "There is no bucket 'nowhere'" in said("s3://nowhere/photos")
    assert f"There is no file or folder {photos}/none" in said(f"{photos}/none")
    assert "is none of these" in said("gopher://x/y")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "does not answer" in said(photos)
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    index = Index.create(where, detector="canny", expansion=False)
    assert index.add(photos, jobs=1).added == 6
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    report = index.add(photos, jobs=1)
    assert len(index) == 6, "a store that is away for the moment forgets nothing"
    assert "does not answer" in report.kept[0][1]


def test_a_store_that_is_slow_and_fails_now_and_then(
    photos: str, six: list[str], endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    with troubled(endpoint, fails=0.15, delay=0.05) as (address, met):
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        for _ in range(20):
            report = index.add(photos, jobs=1)
            if len(index) == 6 and not report.failed and not report.kept:
                break
    assert paths(index) == sorted(six)
    assert met, "there was trouble"


def test_the_page_shows_them(photos: str, six: list[str], tmp_path: Path, client: Any) -> None:
    from starlette.testclient import TestClient

    from sketchseek.server.app import create_app

    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    index.add(photos, jobs=1)
    with TestClient(create_app(tmp_path / "index"), base_url="http://127.0.0.1:8000") as page:
        identifier = index.identify(six[0])
        answer = page.get(f"/api/pictures/{identifier}")
        assert answer.status_code == 200
        assert answer.content == fetch(six[0])[1]
        assert Image.open(io.BytesIO(answer.content)).size == (96, 72)
        client.delete_object(Bucket="pictures", Key=six[0].removeprefix("s3://pictures/"))
        assert page.get(f"/api/pictures/{identifier}").status_code == 404


def test_pictures_and_index_in_a_bucket_on_a_cluster(photos: str, six: list[str], tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")
    where = f"{photos}-index"
    words = ["index", photos, "--index", where, "--detector", "canny", "--no-expansion", "--cluster", "local"]
    done = subprocess.run(
        [sys.executable, "-m", "sketchseek", *words],
        capture_output=True,
        text=True,
        timeout=200,
        env=dict(os.environ),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert paths(Index.open(where)) == sorted(six)
