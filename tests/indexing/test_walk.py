from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from sketchseek.indexing.walk import (
    Listing,
    Rules,
    Walk,
    absolute,
    below,
    holding,
    is_under,
    list_folder,
    walk,
)


def names(seen: Walk, root: Path) -> set[str]:
    return {os.path.relpath(os.fsdecode(path), root) for path in seen.files}


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    return path


def test_pictures_are_known_by_their_suffix(tmp_path: Path) -> None:
    for name in (
        "a.jpg",
        "B.JPEG",
        "c.Png",
        "d.heic",
        "e.svg",
        "notes.txt",
        "archive.zip",
        "jpg",
        "f.jpg.part",
    ):
        touch(tmp_path / name)
    assert names(walk([absolute(tmp_path)]), tmp_path) == {"a.jpg", "B.JPEG", "c.Png", "d.heic", "e.svg"}


def test_a_file_named_itself_is_taken_whatever_its_name(tmp_path: Path) -> None:
    odd = touch(tmp_path / ".hidden.dat")
    assert list(walk([absolute(odd)]).files) == [os.fsencode(odd)]


def test_hidden_and_excluded_are_passed_over(tmp_path: Path) -> None:
    for name in (".git/a.jpg", ".venv/b.jpg", ".sketchseek/c.jpg", ".d.jpg", "node_modules/e.jpg", "f.jpg"):
        touch(tmp_path / name)
    for name in ("drafts/g.jpg", "deep/drafts/h.jpg", "deep/thumb_i.jpg", "deep/j.jpg"):
        touch(tmp_path / name)
    seen = walk([absolute(tmp_path)], exclude=["drafts", "thumb_*", "deep/j.*"])
    assert names(seen, tmp_path) == {"f.jpg"}


def test_links_that_loop_end(tmp_path: Path) -> None:
    touch(tmp_path / "a" / "1.jpg")
    (tmp_path / "a" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a" / "self")
    assert names(walk([absolute(tmp_path)]), tmp_path) == {"a/1.jpg"}


def test_a_link_inside_the_root_is_met_where_it_really_is(tmp_path: Path) -> None:
    touch(tmp_path / "z" / "1.jpg")
    (tmp_path / "a").symlink_to(tmp_path / "z", target_is_directory=True)
    (tmp_path / "b.jpg").symlink_to(tmp_path / "z" / "1.jpg")
    assert names(walk([absolute(tmp_path)]), tmp_path) == {"z/1.jpg"}


def test_links_out_of_the_root_are_followed_once(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    touch(other / "1.jpg")
    (other / "back").symlink_to(root)
    (other / "again").symlink_to(other)
    root.mkdir()
    (root / "link").symlink_to(other)
    (root / "picture.jpg").symlink_to(other / "1.jpg")
    (root / "dangling.jpg").symlink_to(tmp_path / "nowhere.jpg")
    assert names(walk([absolute(root)]), root) == {"link/1.jpg", "picture.jpg"}


def test_links_into_folders_that_are_not_entered_are_followed(tmp_path: Path) -> None:
    """As git-annex lays pictures out; so are links whose names alone are those of pictures."""
    root = tmp_path / "root"
    touch(root / "1.jpg")
    for number in (2, 3, 4):
        touch(root / ".git" / "annex" / "objects" / f"k{number}" / f"k{number}.jpg")
    (root / "2.jpg").symlink_to(".git/annex/objects/k2/k2.jpg")
    (root / "more").mkdir()
    (root / "more" / "3.jpg").symlink_to("../.git/annex/objects/k3/k3.jpg")
    (root / "all").symlink_to(".git/annex/objects")
    (root / "1again.jpg").symlink_to("1.jpg")
    touch(root / "blob")
    (root / "blob.jpg").symlink_to("blob")
    linked = {"1.jpg", "2.jpg", "more/3.jpg", "blob.jpg"}
    assert names(walk([absolute(root)]), root) == linked | {f"all/k{n}/k{n}.jpg" for n in (2, 3, 4)}
    seen = walk([absolute(root), absolute(root / ".git" / "annex" / "objects")])
    assert names(seen, root) == {"1.jpg", "blob.jpg"} | {
        f".git/annex/objects/k{n}/k{n}.jpg" for n in (2, 3, 4)
    }
    assert names(walk([absolute(root)], ["k3*"]), root) == linked - {"more/3.jpg"} | {
        f"all/k{n}/k{n}.jpg" for n in (2, 4)
    }


def test_a_link_that_leads_nowhere_is_remembered(tmp_path: Path) -> None:
    root = tmp_path / "root"
    touch(root / "1.jpg")
    (tmp_path / "drive").mkdir()
    (root / "plugged.in").symlink_to(tmp_path / "drive")
    (root / "drive").symlink_to(tmp_path / "nowhere")
    (root / "2.jpg").symlink_to(tmp_path / "nowhere.jpg")
    (root / ".hidden").symlink_to(tmp_path / "nowhere")
    seen = walk([absolute(root)])
    assert {os.path.basename(path) for path in seen.away} == {b"plugged.in", b"drive", b"2.jpg"}
    assert names(seen, root) == {"1.jpg"}


def test_the_order_of_listings_does_not_matter(tmp_path: Path) -> None:
    """Of several ways to one folder, that without links is taken, then that of the first link by name."""
    root, other, further = (tmp_path / name for name in ("root", "other", "further"))
    for name in ("1.jpg", "deep/2.jpg", "deep/deeper/3.jpg"):
        touch(other / name)
    touch(further / "4.jpg")
    for number in range(5):
        touch(root / f"{number}" / "5.jpg")
    for name, target in (("z", other), ("b", other / "deep"), ("c", other), ("0/a", further), ("d", further)):
        (root / name).symlink_to(target)
    (further / "onward").symlink_to(other)

    def shuffled(seed: int) -> Callable[..., Iterator[tuple[bytes, Listing]]]:
        chance = random.Random(seed)

        def listings(waiting: deque[bytes], rules: Rules) -> Iterator[tuple[bytes, Listing]]:
            while waiting:
                waiting.rotate(chance.randrange(len(waiting)))
                folder = waiting.pop()
                found = list_folder(folder, rules)
                for each in (found.folders, found.links):
                    chance.shuffle(each)
                yield folder, found

        return listings

    seen = walk([absolute(root)])
    assert names(seen, root) == {
        *(f"{number}/5.jpg" for number in range(5)),
        *("0/a/4.jpg", "b/2.jpg", "b/deeper/3.jpg", "c/1.jpg"),
    }
    assert all(walk([absolute(root)], listings=shuffled(seed)) == seen for seed in range(20))


def test_a_walk_may_end_with_the_first_picture(tmp_path: Path) -> None:
    for number in range(9):
        touch(tmp_path / f"{number}" / "1.jpg")
    assert len(walk([absolute(tmp_path)], only_first=True).files) == 1


ODD = [
    b"a space.jpg",
    b"new\nline.jpg",
    b"\xff\xfe not text.jpg",
    "🖌️.jpg".encode(),
    b"x" * 251 + b".jpg",
    b"-rf.jpg",
]


@pytest.mark.parametrize("name", ODD)
def test_odd_names(tmp_path: Path, name: bytes) -> None:
    path = os.fsencode(tmp_path) + b"/" + name
    with open(path, "wb") as file:
        file.write(b"x")
    assert list(walk([absolute(tmp_path)]).files) == [path]


def test_overlapping_roots_count_once(tmp_path: Path) -> None:
    touch(tmp_path / "a" / "1.jpg")
    seen = walk([absolute(tmp_path), absolute(tmp_path / "a"), absolute(tmp_path / "a" / "1.jpg")])
    assert names(seen, tmp_path) == {"a/1.jpg"}
    assert not seen.empty


def test_many_roots_are_not_compared_with_all_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`index ~/Pictures/*`: what it takes grows with the pictures, not with pictures times folders."""
    roots = [touch(tmp_path / f"{folder}" / f"{n}.jpg").parent for folder in range(20) for n in range(5)]
    compared = []
    real = below

    def counting(places: Iterable[bytes]) -> Callable[[bytes], bool]:
        is_below = real(places)
        return lambda path: (compared.append(path), is_below(path))[1]

    monkeypatch.setattr("sketchseek.indexing.walk.below", counting)
    seen = walk([*map(absolute, sorted(set(roots))), absolute(tmp_path / "0")])
    assert len(seen.files) == 100
    assert seen.empty == []  # the root that was met before is none, either
    assert len(compared) <= 100


def test_missing_and_empty_roots_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    seen = walk([absolute(tmp_path / "empty"), absolute(tmp_path / "gone")])
    assert seen.empty == [os.fsencode(tmp_path / "empty")]
    assert seen.missing == [os.fsencode(tmp_path / "gone")]


def test_a_folder_that_cannot_be_listed_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refusal is simulated: whoever runs the tests as root may read every folder."""
    touch(tmp_path / "open" / "1.jpg")
    touch(tmp_path / "locked" / "2.jpg")
    real = os.scandir

    def refuse(path: bytes) -> object:
        if path.endswith(b"/locked"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    seen = walk([absolute(tmp_path)])
    assert names(seen, tmp_path) == {"open/1.jpg"}
    assert seen.unseen == {os.fsencode(tmp_path / "locked"): "Permission denied"}


def test_a_named_pipe_is_no_picture(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    assert not walk([absolute(tmp_path)]).files


def test_places_that_hold_something() -> None:
    paths = [b"/a/b/c.jpg", b"/a/d.jpg", b"/e.jpg"]
    assert holding([b"/", b"/a/", b"/a/b", b"/a/bc", b"/e.jpg", b"/f"], paths) == {
        b"/",
        b"/a/",
        b"/a/b",
        b"/e.jpg",
    }
    assert holding([b"/", b"/a"], []) == set()


def test_under_means_below_not_beside() -> None:
    assert is_under(b"/a/b", [b"/a"])
    assert is_under(b"/a", [b"/a"])
    assert is_under(b"/a/b", [b"/"])
    assert not is_under(b"/ab", [b"/a"])
