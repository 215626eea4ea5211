from __future__ import annotations

import errno
import importlib.util
import json
import os
import subprocess
import sys
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sketchseek import Index, Sketch
from sketchseek.cli import main
from sketchseek.errors import DamagedError, SketchseekError
from sketchseek.indexing.repair import REFUSED, check, read_damaged
from sketchseek.storage.store import Store

pytestmark = pytest.mark.slow

SQUARE = Sketch.from_strokes([[[0, 0], [100, 0], [100, 80], [0, 80], [0, 0]]])

Answers = dict[str, tuple[float, tuple[float, ...], bytes]]


def answers(index: Index) -> Answers:
    hits = index.search(SQUARE, k=100)
    thumbnails = index.thumbnails([hit.id for hit in hits])
    return {hit.picture: (hit.score, hit.box, small) for hit, small in zip(hits, thumbnails, strict=True)}


@pytest.fixture
def where(tmp_path: Path, draw_picture: Any) -> Path:
    """An index of three folders, each a fragment of its own; one picture of two was removed."""
    index = Index.create(tmp_path / "index", detector="canny", expansion=False)
    for number in range(15):
        folder = tmp_path / "pictures" / str(number // 5)
        folder.mkdir(parents=True, exist_ok=True)
        draw_picture(folder / f"{number}.png", number)
    for folder in sorted((tmp_path / "pictures").iterdir()):
        assert index.add(folder, jobs=1).added == 5
    for number in (0, 5):
        removed = tmp_path / "pictures" / str(number // 5) / f"{number}.png"
        removed.unlink()
        index.remove(removed)
    return tmp_path / "index"


def files(where: Path, kind: str) -> list[Path]:
    """Those in use."""
    store, table = Store.open(where), where / "pictures.lance"
    fragments = store.dataset.get_fragments()
    return {
        "data": [table / "data" / file.path for f in fragments for file in f.data_files()],
        "deletion": [table / f.deletion_file() for f in fragments if f.deletion_file()],
        "manifest": store.location.manifests(),
        "snapshot": list(where.glob("snapshot-*.bin")),
        "seal": [where / "seal"],
    }[kind]


def damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        at = len(content) // 3
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])


@pytest.mark.parametrize("how", ["gone", "cut", "flip"])
@pytest.mark.parametrize("kind", ["data", "deletion", "manifest", "snapshot", "seal"])
def test_whatever_is_damaged_is_said_or_does_no_harm_and_comes_back(
    where: Path, kind: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = answers(Index.open(where))
    damage(files(where, kind)[0], how)
    if kind in ("data", "deletion"):
        with suppress(DamagedError):
            assert answers(Index.open(where)) == expected
    else:
        assert answers(Index.open(where)) == expected
    status = main(["check", "--index", str(where)])
    assert "Traceback" not in capsys.readouterr().err
    assert status == (1 if kind in ("data", "deletion", "seal") else 0)
    assert main(["check", "--repair", "--jobs", "1", "--index", str(where)]) == 0
    assert answers(Index.open(where)) == expected
    assert main(["check", "--index", str(where)]) == 0
    assert "All is well: 13 pictures." in capsys.readouterr().err


@pytest.mark.parametrize("how", ["gone", "cut", "flip"])
@pytest.mark.parametrize("kind", ["data", "deletion"])
def test_index_says_what_is_lost_and_repairs_it(
    where: Path, tmp_path: Path, kind: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a snapshot, too, which knows the names of pictures outside the folder that is indexed."""
    expected = answers(Index.open(where))
    damage(files(where, kind)[0], how)
    files(where, "snapshot")[0].unlink()
    with pytest.raises(DamagedError, match="is damaged: "):
        Index.open(where)
    assert main(["index", str(tmp_path / "pictures"), "--jobs", "1", "--index", str(where)]) == 0
    said = capsys.readouterr().err
    assert "repaired: " in said
    assert "lost pictures" in said
    assert answers(Index.open(where)) == expected


def test_damage_that_is_met_while_adding_is_mended_in_the_same_run(where: Path, tmp_path: Path) -> None:
    expected = answers(Index.open(where))
    index = Index.open(where)
    damage(files(where, "data")[0], "gone")
    report = index.add(tmp_path / "pictures" / "2", jobs=1)
    assert any("lost pictures" in sentence for sentence in report.repaired)
    assert answers(index) == expected
    assert index.add(tmp_path / "pictures", jobs=1).repaired == []


def test_moving_a_picture_of_a_damaged_file_does_not_copy_the_damage(where: Path, tmp_path: Path) -> None:
    index = Index.open(where)
    before = answers(index)
    for path in files(where, "data"):
        damage(path, "flip")
    folder = tmp_path / "pictures" / "2"
    for path in folder.iterdir():
        path.rename(path.with_name("moved-" + path.name))
    report = index.add(folder, jobs=1)
    assert report.repaired
    after = answers(index)
    assert sorted(value for value in after.values()) == sorted(value for value in before.values())


def test_a_thumbnail_that_changed_is_not_shown(where: Path) -> None:
    """Even where nobody noted the checksums of files."""
    index = Index.open(where)
    thumbnail = index.thumbnail(index.search(SQUARE, k=1)[0].id)
    (where / "seal").unlink()
    for path in files(where, "data"):
        content = path.read_bytes()
        path.write_bytes(content.replace(thumbnail, thumbnail[:-1] + bytes([thumbnail[-1] ^ 1])))
    index = Index.open(where)
    with pytest.raises(DamagedError, match="thumbnail"):
        answers(index)
    found = check(where, repair=True, jobs=1)
    assert found.lost == found.restored > 0
    answers(Index.open(where))


def test_nothing_to_repair_is_left_alone(where: Path) -> None:
    before = {path: os.stat(path).st_mtime_ns for path in where.rglob("*") if path.is_file()}
    found = check(where, repair=True)
    assert (found.problems, found.pictures) == ([], 13)
    assert {path: os.stat(path).st_mtime_ns for path in where.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("kind", ["data", "deletion"])
def test_index_mends_a_flipped_bit_in_what_it_has_no_need_to_read(
    where: Path, tmp_path: Path, kind: str
) -> None:
    before = answers(Index.open(where))
    victim = files(where, kind)[0]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.write_bytes(content)
    report = Index.open(where, repair=True).add(tmp_path / "pictures", jobs=1)
    assert report.repaired
    assert answers(Index.open(where)) == before


def scores(index: Index) -> dict[str, tuple[str, float, tuple[float, ...]]]:
    return {hit.picture: (hit.id, hit.score, hit.box) for hit in index.search(SQUARE, k=100)}


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The library of the benchmark that makes calls of the system fail, and how it is told to."""
    place = Path(__file__).parents[2] / "tools" / "faults.py"
    spec = importlib.util.spec_from_file_location("faults", place)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.library = module.build(tmp_path_factory.mktemp("faults"))
    if module.library is None:
        pytest.skip("there is no C compiler, or not the usual C library, to make calls of the system fail")
    return module


def run_with(
    faults: Any, fault: tuple[str, int, int, str], *words: object
) -> subprocess.CompletedProcess[str]:
    environment = {**faults.environment(faults.library), "SKETCHSEEK_FAULT": faults.setting(*fault)}
    command = [sys.executable, "-m", "sketchseek", *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("kind", "number", "calls"),
    [("read", errno.EIO, 4), ("read", errno.EIO, 100), ("open", errno.ETIMEDOUT, 2)],
)
def test_what_the_disk_did_not_let_one_read_is_not_given_up(
    where: Path, tmp_path: Path, faults: Any, kind: str, number: int, calls: int
) -> None:
    """Nor what is out of reach: a drive is not plugged in."""
    expected = scores(Index.open(where))
    for snapshot in files(where, "snapshot"):
        snapshot.unlink()
    (tmp_path / "pictures" / "1").rename(tmp_path / "elsewhere")
    for command in (["index", tmp_path / "pictures" / "0", "--jobs", 1], ["check", "--repair"], ["check"]):
        done = run_with(faults, (kind, number, calls, ".lance/data"), *command, "--index", where)
        assert "Traceback" not in done.stderr
        assert "repaired:" not in done.stderr
        assert done.returncode == 0 or os.strerror(number) in done.stderr
        assert scores(Index.open(where)) == expected


@pytest.mark.parametrize("how", ["gone", "cut", "flip"])
@pytest.mark.parametrize("by", ["index", "check"])
def test_pictures_out_of_reach_keep_what_the_snapshot_knew(
    where: Path, tmp_path: Path, by: str, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    index = Index.open(where)
    expected, found = answers(index), scores(index)
    for path in files(where, "data"):
        damage(path, how)
    away = tmp_path / "pictures" / "1"
    away.rename(tmp_path / "elsewhere")
    words = ["check", "--repair"] if by == "check" else ["index", str(tmp_path / "pictures" / "2")]
    assert main([*words, "--jobs", "1", "--index", str(where)]) == 0
    assert "4 are out of reach: the index keeps what it knew of them" in capsys.readouterr().err
    assert scores(Index.open(where)) == found
    assert len(answers(Index.open(where))) == 13, "there is a thumbnail of each"
    (tmp_path / "elsewhere").rename(away)
    assert main(["index", str(tmp_path / "pictures"), "--jobs", "1", "--index", str(where)]) == 0
    assert answers(Index.open(where)) == expected
    assert scores(Index.open(where)) == found, "with the ids they had"
    assert check(where).problems == []


@pytest.mark.parametrize("calls", [1, 2, 4, 8, 100])
@pytest.mark.parametrize("by", ["index", "check"])
def test_a_snapshot_that_the_disk_did_not_let_one_read_still_knows_its_pictures(
    where: Path, tmp_path: Path, faults: Any, by: str, calls: int
) -> None:
    """Two troubles at once: the table is damaged, and what knows its pictures can't be read just now."""
    found = scores(Index.open(where))
    for path in files(where, "data"):
        damage(path, "flip")
    (tmp_path / "pictures" / "1").rename(tmp_path / "elsewhere")
    words = ["check", "--repair"] if by == "check" else ["index", tmp_path / "pictures" / "2"]
    done = run_with(faults, ("read", errno.EIO, calls, "/snapshot-"), *words, "--jobs", 1, "--index", where)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or os.strerror(errno.EIO) in done.stderr
    assert "The snapshot, which is made from the table, is damaged" not in done.stderr
    assert main(["check", "--repair", "--jobs", "1", "--index", str(where)]) == 0
    assert scores(Index.open(where)) == found


@pytest.mark.parametrize("refusal", ["by the disk", "no process"])
def test_a_damaged_file_that_cannot_be_read_just_now_keeps_its_rows(
    where: Path, monkeypatch: pytest.MonkeyPatch, refusal: str
) -> None:
    """There is no snapshot either: what the file still says are the names of its pictures."""
    files(where, "snapshot")[0].unlink()
    damage(files(where, "data")[0], "flip")
    version = Store.open(where).version

    def ask(*_: object) -> bytes:
        if refusal == "by the disk":
            return REFUSED + b"Cannot read the index: Input/output error."
        raise SketchseekError("A process could not be started.") from OSError(errno.EMFILE, "too many")

    with monkeypatch.context() as patch:
        patch.setattr("sketchseek.sources.sandbox.Children.ask", ask)
        with pytest.raises(SketchseekError, match=r"Input/output error|could not be started"):
            check(where, repair=True)
    assert Store.open(where).version == version
    assert check(where, repair=True, jobs=1).restored == 4


def test_what_the_system_refuses_to_read_of_a_damaged_file_is_told_apart(
    where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(where)
    words = {"table": store.location.table, "version": store.version, "columns": ["id"], "fragment": 0}

    def fails(number: int) -> Any:
        def read(*_: object, **__: object) -> None:
            raise OSError(f"LanceError(IO): it broke (os error {number})")

        return read

    monkeypatch.setattr("lance.dataset", fails(errno.EIO))
    assert read_damaged(json.dumps({**words, "way": "as they are"}).encode())[:1] == REFUSED
    monkeypatch.setattr("lance.dataset", fails(errno.ENOENT))
    with pytest.raises(DamagedError):
        read_damaged(json.dumps({**words, "way": "as they are"}).encode())


def test_pictures_out_of_reach_that_nothing_knows_wait_for_their_return(where: Path, tmp_path: Path) -> None:
    """There is no snapshot, but the damaged file still says where they are."""
    expected = scores(Index.open(where))
    files(where, "snapshot")[0].unlink()
    thumbnail = Store.open(where).table(["thumbnail"])["thumbnail"][0].as_py()
    path = files(where, "data")[0]
    path.write_bytes(path.read_bytes().replace(thumbnail, bytes(len(thumbnail))))
    away = tmp_path / "pictures" / "0"
    away.rename(tmp_path / "elsewhere")
    found = check(where, repair=True, jobs=1)
    assert (found.lost, found.restored, found.kept, found.waiting) == (4, 0, 0, 4)
    assert any("until they are there again" in sentence for sentence in found.sentences())
    index = Index.open(where)
    assert scores(index) == {path: hit for path, hit in expected.items() if not path.startswith(str(away))}
    report = index.add(tmp_path / "pictures" / "1", jobs=1)
    assert report.forgotten == 0
    (tmp_path / "elsewhere").rename(away)
    assert index.add(away, jobs=1).added == 4
    assert scores(index) == expected, "with the ids they had"


def test_a_repair_that_is_killed_before_pictures_are_read_again_gives_up_nothing(
    where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scores(Index.open(where))
    damage(files(where, "data")[0], "flip")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sketchseek.indexing.repair.update", killed)
    with pytest.raises(KeyboardInterrupt):
        check(where, repair=True, jobs=1)
    assert scores(Index.open(where)) == found
    assert Index.open(where).add(tmp_path / "pictures", jobs=1).refreshed == 4, "they are marked"
    assert scores(Index.open(where)) == found


def test_a_file_that_reads_otherwise_once_is_not_damaged(
    where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sketchseek.storage import seal

    real, wrong = seal.checksum_of_file, {path.name for path in files(where, "data")}

    def once_wrong(path: Path, like: str) -> str:
        if path.name in wrong:
            wrong.remove(path.name)
            return "0-0"
        return real(path, like)

    monkeypatch.setattr(seal, "checksum_of_file", once_wrong)
    assert check(where).problems == []
    assert not wrong


def test_a_seal_that_cannot_be_read_is_not_made_again_from_what_is_there(
    where: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its checksums would then be those of whatever the files have become."""
    from sketchseek.storage.location import Location

    damage(files(where, "data")[0], "flip")
    content = (where / "seal").read_bytes()
    with monkeypatch.context() as patch:
        real = Path.read_bytes

        def fails(path: Path) -> bytes:
            if path.name == "seal":
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(path)

        patch.setattr(Path, "read_bytes", fails)
        for act in (
            lambda: check(where, repair=True),
            lambda: Store.open(where).seal(),
            Location(where).identity,
        ):
            with pytest.raises(SketchseekError, match="Cannot read the index"):
                act()
    assert (where / "seal").read_bytes() == content
    assert check(where).problems


@pytest.mark.parametrize("repair", [False, True])
def test_what_another_writer_has_tidied_away_is_not_damaged(
    tmp_path: Path, draw_picture: Any, monkeypatch: pytest.MonkeyPatch, repair: bool
) -> None:
    """Between the look at a version and the turn in which something is given up, others write."""
    folder, where = tmp_path / "pictures", tmp_path / "index"
    folder.mkdir()
    paths = [draw_picture(folder / f"{number}.png", number) for number in range(15)]
    index = Index.create(where, detector="canny", expansion=False)
    index.add(folder, jobs=1)
    index.remove(paths[0])
    opened = Store.open

    def meanwhile(place: Any) -> Store:
        monkeypatch.setattr(Store, "open", opened)
        store = opened(place)
        index.remove(paths[1])  # the file that says what is deleted is another one now
        opened(place).tidy(keep=timedelta(0))
        return store

    monkeypatch.setattr(Store, "open", meanwhile)
    found = check(where, repair=repair, jobs=1)
    assert (found.problems, found.lost, found.pictures) == ([], 0, 13)
    assert len(Index.open(where)) == 13


def test_only_what_is_damaged_in_the_turn_itself_is_given_up(
    where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is whole again by then keeps its rows."""
    expected = answers(Index.open(where))
    path = files(where, "data")[0]
    content = path.read_bytes()
    damage(path, "flip")
    replace = Store.replace

    def whole_again(store: Store, prepare: Any) -> None:
        path.write_bytes(content)
        replace(store, prepare)

    monkeypatch.setattr(Store, "replace", whole_again)
    version = Store.open(where).version
    found = check(where, repair=True, jobs=1)
    assert len(found.problems) == 1
    assert found.lost == 0
    assert Store.open(where).version == version
    assert answers(Index.open(where)) == expected


def test_what_nothing_names_is_said_also_where_the_commit_ends_in_an_error(
    where: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No later run would say it: the table is whole then."""
    for path in [*files(where, "data"), *files(where, "snapshot")]:
        path.write_bytes(bytes(path.stat().st_size))
    replace = Store.replace

    def replaced(store: Store, prepare: Any) -> None:
        replace(store, prepare)
        raise SketchseekError("Cannot write the index: Too many open files.")

    monkeypatch.setattr(Store, "replace", replaced)
    with pytest.raises(SketchseekError, match=r"open files\. 13 are named by nothing: they come back"):
        check(where, repair=True)


def test_what_was_repaired_is_said_also_where_the_run_ends_in_an_error(
    where: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All is damaged, nothing names what was there, and the folder that is to be indexed is away."""
    for path in [*files(where, "data"), *files(where, "snapshot")]:
        path.write_bytes(bytes(path.stat().st_size))
    (tmp_path / "pictures").rename(tmp_path / "elsewhere")
    assert main(["index", str(tmp_path / "pictures"), "--jobs", "1", "--index", str(where)]) == 1
    said = capsys.readouterr().err
    assert "Repaired: " in said
    assert "Of 13 lost pictures, 0 were read again. 13 are named by nothing: they come back when" in said
    assert "There is no file or folder" in said
    (tmp_path / "elsewhere").rename(tmp_path / "pictures")
    assert main(["index", "--jobs", "1", "--index", str(where)]) == 0, "the folders are known still"
    assert len(Index.open(where)) == 13
