"""Pages are pictures: rows of their own, which follow their volume."""

from __future__ import annotations

import errno
import os
import zipfile

import pytest
from PIL import Image, ImageDraw

from made_volumes import lines, pdf
from sketchseek import Index
from sketchseek.errors import SketchseekError
from sketchseek.indexing.volumes import read_counts
from sketchseek.sources import volumes


def page(number: int) -> Image.Image:
    image = Image.new("RGB", (120, 160), "white")
    ImageDraw.Draw(image).rectangle((10 + 5 * number, 20, 60 + 5 * number, 90), outline="black", width=3)
    return image


def comic(path, numbers, age_s: float = 3600) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for at, number in enumerate(numbers):
            with file.open(zipfile.ZipInfo(f"{at:03}.png"), "w") as entry:
                page(number).save(entry, "PNG")
    os.utime(path, (os.stat(path).st_atime - age_s, os.stat(path).st_mtime - age_s))


def names(index: Index) -> list[str]:
    return sorted(os.path.basename(index.state.path(i)) for i in range(len(index)))


@pytest.fixture
def index(tmp_path) -> Index:
    return Index.create(tmp_path / "index", "compact", detector="canny", expansion=False)


def ids(index: Index) -> dict[str, str]:
    return {os.path.basename(index.state.path(i)): index.state.id(i) for i in range(len(index))}


def test_each_page_is_a_row_and_only_pages_that_differ_are_read_again(tmp_path, index):
    folder = tmp_path / "pictures"
    folder.mkdir()
    comic(folder / "c.cbz", [0, 1, 2])
    page(5).save(folder / "alone.tif")
    page(5).save(folder / "two.tif", save_all=True, append_images=[page(6)])
    assert index.add(folder, jobs=1).added == 6
    pages = ["c.cbz#page=1", "c.cbz#page=2", "c.cbz#page=3"]
    assert names(index) == ["alone.tif", *pages, "two.tif#page=1", "two.tif#page=2"]
    before = ids(index)
    assert len(set(before.values())) == 6
    assert index.add(folder, jobs=1).unchanged == 6

    comic(folder / "c.cbz", [0, 7, 2, 3], age_s=1800)
    report = index.add(folder, jobs=1)
    assert (report.refreshed, report.added, report.unchanged) == (1, 1, 5)
    assert ids(index).items() >= before.items()  # an id stays with its page

    comic(folder / "c.cbz", [0], age_s=900)
    assert index.add(folder, jobs=1).forgotten == 3


def test_a_volume_that_moves_keeps_its_rows(tmp_path, index):
    folder = tmp_path / "pictures"
    folder.mkdir()
    comic(folder / "c.cbz", [0, 1])
    index.add(folder, jobs=1)
    before = set(ids(index).values())
    (folder / "c.cbz").rename(folder / "d.cbz")
    report = index.add(folder, jobs=1)
    assert report.moved == 2
    assert names(index) == ["d.cbz#page=1", "d.cbz#page=2"]
    assert set(ids(index).values()) == before


def test_pages_can_be_named_removed_and_identified(tmp_path, index):
    comic(tmp_path / "c.cbz", [0, 1, 2])
    path = str(tmp_path / "c.cbz")
    index.add(f"{path}#page=2", jobs=1)
    assert names(index) == ["c.cbz#page=2"]
    index.add(path, jobs=1)
    assert len(index) == 3
    assert index.identify(f"{path}#page=3")
    assert index.remove(f"{path}#page=3") == 1
    assert index.remove(path) == 2


def test_a_volume_that_cannot_be_read_costs_a_sentence_and_is_opened_once(tmp_path, index, monkeypatch):
    folder = tmp_path / "pictures"
    folder.mkdir()
    comic(folder / "good.cbz", [0])
    (folder / "bad.cbz").write_bytes(b"PK" + bytes(50))
    os.utime(folder / "bad.cbz", (1, 1))
    report = index.add(folder, jobs=1)
    assert report.added == 1
    ((path, reason),) = report.failed
    assert path == str(folder / "bad.cbz")
    assert reason.startswith("bad.cbz is damaged")

    def never(_):
        raise AssertionError("opened again")

    monkeypatch.setattr("sketchseek.indexing.volumes.count_pages", never)
    again = index.add(folder, jobs=1)
    assert (again.unchanged, len(again.failed)) == (1, 1)


@pytest.mark.skipif(not volumes.can_read_pdf(), reason="the extra pdf is not installed")
def test_a_drawing_finds_its_page(tmp_path, index):
    shapes = [
        [[(200, 200), (400, 200), (400, 500), (200, 500), (200, 200)]],
        [[(150, 500), (300, 150), (450, 500), (150, 500)]],
        [
            [(100, 300), (500, 300)],
            [(300, 100), (300, 700)],
            [(300, 100), (200, 200)],
            [(300, 100), (400, 200)],
        ],
    ]
    path = tmp_path / "patent.pdf"
    path.write_bytes(pdf([lines(strokes) for strokes in shapes]))
    index.add(path, jobs=1)
    for number, strokes in enumerate(shapes, 1):
        first = index.search([[[x / 2 + 40, y / 2] for x, y in stroke] for stroke in strokes], 1)[0]
        assert first.picture == f"{path}#page={number}"
        assert not first.missing
        x0, y0, x1, y1 = first.box
        assert 0 <= x0 < x1 <= 1131
        assert 0 <= y0 < y1 <= 1600


def test_without_the_extra_a_pdf_in_a_folder_is_no_picture(tmp_path, index, monkeypatch):
    monkeypatch.setattr("sketchseek.indexing.walk.can_read_pdf", lambda: False)
    comic(tmp_path / "c.cbz", [0])
    (tmp_path / "v.pdf").write_bytes(pdf([b""]))
    report = index.add(tmp_path, jobs=1, exclude=["index"])
    assert (report.added, report.failed) == (1, [])


def flipped(data: bytes) -> list[bytes]:
    """The bytes with each bit turned around, one at a time."""
    places = ((at, bit) for at in range(len(data)) for bit in range(8))
    return [data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :] for at, bit in places]


def test_whatever_bit_of_the_numbers_of_pages_changes_no_page_is_forgotten(tmp_path, index):
    path = tmp_path / "c.cbz"
    comic(path, range(3))
    index.add(path, jobs=1)
    noted = tmp_path / "index" / "volumes"
    counted = read_counts(index.store.location)
    (kept,) = counted.values()
    for content in flipped(noted.read_bytes()):
        noted.write_bytes(content)
        assert read_counts(index.store.location) in ({}, counted)
    assert kept[1] == 3
    report = index.add(path, jobs=1)
    assert (report.unchanged, report.forgotten) == (3, 0)
    assert read_counts(index.store.location) == counted


def test_pages_that_the_machine_cannot_count_just_now_are_kept(tmp_path, index, monkeypatch):
    path = tmp_path / "c.cbz"
    comic(path, range(3))
    index.add(tmp_path, jobs=1)
    before = ids(index)
    comic(path, range(3), age_s=60)

    def too_busy(_):
        raise SketchseekError("c.cbz takes too much time to read.") from TimeoutError(errno.ETIMEDOUT, "busy")

    with monkeypatch.context() as patch:
        patch.setattr("sketchseek.indexing.volumes.count_pages", too_busy)
        report = index.add(tmp_path, jobs=1)
    assert (report.forgotten, ids(index)) == (0, before)
    assert report.kept == [(str(path), "c.cbz takes too much time to read")]
    assert index.add(tmp_path, jobs=1).unchanged == 3


@pytest.mark.skipif(not volumes.can_read_pdf(), reason="the extra pdf is not installed")
def test_pages_of_a_pdf_stay_when_the_extra_goes(tmp_path, index, monkeypatch):
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(pdf([lines([[(100, 100), (300, 100), (300, 400), (100, 100)]])] * 2))
    page(1).save(folder / "b.png")
    assert index.add(folder, jobs=1).added == 3
    with monkeypatch.context() as patch:
        for module in ("indexing.walk", "indexing.volumes", "sources.volumes"):
            patch.setattr(f"sketchseek.{module}.can_read_pdf", lambda: False)
        report = index.add(folder, jobs=1)
        assert (report.forgotten, len(index)) == (0, 3)
        assert [name for name, _ in report.kept] == [str(folder / "a.pdf")]
        (folder / "a.pdf").unlink()
        assert index.add(folder, jobs=1).forgotten == 2
