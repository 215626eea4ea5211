"""Indexes as earlier programs wrote them: searched as they are, and upgraded in place."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from sketchseek import Index, Sketch
from sketchseek.storage.schema import OLDEST_SCHEMA, SCHEMA_VERSION
from sketchseek.storage.store import Store

KEPT = Path(__file__).parent / "indexes"
SCHEMAS = range(OLDEST_SCHEMA, SCHEMA_VERSION + 1)
SQUARE = [[(0, 0), (90, 0), (90, 80), (0, 80), (0, 0)]]
DISC = [[(50, 0), (85, 15), (100, 50), (85, 85), (50, 100), (15, 85), (0, 50), (15, 15), (50, 0)]]


@pytest.fixture
def place(schema: int, tmp_path: Path) -> Path:
    with zipfile.ZipFile(KEPT / f"schema-{schema}.zip") as archive:
        archive.extractall(tmp_path / "index")
    return tmp_path / "index"


def found(index: Index, strokes: list[list[tuple[int, int]]]) -> list[tuple[str, float, tuple[float, ...]]]:
    hits = index.search(Sketch.from_strokes(strokes), expand=0, blend=0)
    return [(hit.picture, hit.score, hit.box) for hit in hits]


def test_there_is_one_of_every_schema() -> None:
    assert {path.name for path in KEPT.glob("*.zip")} == {f"schema-{schema}.zip" for schema in SCHEMAS}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_it_is_searched_as_it_is_and_finds_the_same_once_upgraded(place: Path, schema: int) -> None:
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    index = Index.open(place)
    assert index.store.current.schema == schema
    square, disc = found(index, SQUARE), found(index, DISC)
    assert [picture for picture, *_ in square] == ["/pictures/square.png", "/pictures/round.png"]
    assert [picture for picture, *_ in disc] == ["/pictures/round.png", "/pictures/square.png"]
    assert square[0][1:] == (pytest.approx(0.998, abs=0.002), pytest.approx((30, 25, 111, 96), abs=1.5))
    thumbnails = [index.thumbnail(hit.id) for hit in index.search(Sketch.from_strokes(SQUARE), blend=0)]
    assert all(thumbnail.startswith(b"RIFF") for thumbnail in thumbnails)
    assert {path: path.read_bytes() for path in before} == before, "searching changes nothing"

    Store.open(place).upgrade()
    upgraded = Index.open(place)
    assert upgraded.store.current.schema == SCHEMA_VERSION
    assert (found(upgraded, SQUARE), found(upgraded, DISC)) == (square, disc)
    assert upgraded.config.without_tokens() == index.config.without_tokens()
    assert [upgraded.thumbnail(hit.id) for hit in upgraded.search(Sketch.from_strokes(SQUARE), blend=0)] == (
        thumbnails
    )
    assert upgraded.remove("/pictures/round.png") == 1
    assert [picture for picture, *_ in found(Index.open(place), DISC)] == ["/pictures/square.png"]
