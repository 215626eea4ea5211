"""Readers of annotated folders, each on a tiny tree of its layout."""

import json

import numpy as np
import pytest
from PIL import Image

from sketchseek.errors import SketchseekError
from sketchseek.evaluation import datasets


def picture(path, size=(20, 10)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, "white").save(path)


@pytest.fixture
def own(tmp_path):
    for name in ("photos/cup/1.jpg", "photos/cup/2.jpg", "photos/other/3.jpg", "sketches/cup/1-1.png"):
        picture(tmp_path / name)
    truth = {
        "name": "tiny",
        "queries": [
            {
                "sketch": "sketches/cup/1-1.png",
                "category": "cup",
                "relevant": ["photos/cup/1.jpg", "photos/cup/2.jpg"],
                "instance": "photos/cup/2.jpg",
                "kind": "drawing",
            }
        ],
        "boxes": {"photos/cup/2.jpg": [[1, 2, 3, 4], [0, 0, 5, 5]]},
    }
    (tmp_path / "groundtruth.json").write_text(json.dumps(truth))
    return tmp_path


def test_own_layout_takes_svg_pictures(own):
    (own / "photos" / "cup" / "4.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    assert [p.name for p in datasets.load(own).photos] == ["1.jpg", "2.jpg", "4.svg", "3.jpg"]


def test_own_layout_keeps_photos_nobody_asks_for(own):
    data = datasets.load(own)
    assert data.name == "tiny"
    assert [p.name for p in data.photos] == ["1.jpg", "2.jpg", "3.jpg"]
    (query,) = data.queries
    assert (query.relevant, query.instance, query.kind) == (frozenset({0, 1}), 1, "drawing")
    np.testing.assert_array_equal(data.boxes[1], [[1, 2, 3, 4], [0, 0, 5, 5]])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda t: t["queries"][0].update(relevant=["photos/none.jpg"]), "photos/none.jpg"),
        (lambda t: t["queries"][0].pop("sketch"), "sketch"),
        (lambda t: t.update(queries=[]), "no drawing"),
        (lambda t: t.update(queries=3), "not laid out"),
        (lambda t: t["boxes"].update({"photos/cup/1.jpg": [[1, 2]]}), "a box is"),
    ],
)
def test_a_wrong_groundtruth_is_explained(own, change, sentence):
    truth = json.loads((own / "groundtruth.json").read_text())
    change(truth)
    (own / "groundtruth.json").write_text(json.dumps(truth))
    with pytest.raises(SketchseekError, match=sentence):
        datasets.load(own)


def test_a_folder_without_groundtruth_names_the_layouts(tmp_path):
    with pytest.raises(SketchseekError, match="--layout flickr15k"):
        datasets.load(tmp_path)
    with pytest.raises(SketchseekError, match="not a folder"):
        datasets.load(tmp_path / "none")
    (tmp_path / "groundtruth.json").write_text("{")
    with pytest.raises(SketchseekError, match="not laid out"):
        datasets.load(tmp_path)


@pytest.mark.parametrize("photos", ["images/source", "images", "."])
def test_flickr15k(tmp_path, photos):
    for name in ("airplane/1.jpg", "airplane/2.jpg", "big_ben/3.jpg", "noise/4.jpg"):
        picture(tmp_path / photos / name)
    for person in "12":
        for number in "12":
            picture(tmp_path / "330sketches" / person / f"{number}.png")
    (tmp_path / "groundtruth").write_text("1 airplane/1.jpg\n1 airplane/2.jpg\n2 big_ben/3.jpg\n")
    data = datasets.load(tmp_path, "flickr15k")
    assert len(data.photos) == 4
    assert [(q.sketch.parent.name, q.category, sorted(q.relevant)) for q in data.queries] == [
        ("1", "airplane", [0, 1]),
        ("1", "big_ben", [2]),
        ("2", "airplane", [0, 1]),
        ("2", "big_ben", [2]),
    ]


def test_flickr15k_says_what_is_missing(tmp_path):
    with pytest.raises(SketchseekError, match="groundtruth"):
        datasets.load(tmp_path, "flickr15k")
    (tmp_path / "groundtruth").write_text("1 airplane/1.jpg\n")
    with pytest.raises(SketchseekError, match="330sketches"):
        datasets.load(tmp_path, "flickr15k")
    picture(tmp_path / "330sketches/1/1.png")
    with pytest.raises(SketchseekError, match=r"airplane/1\.jpg"):
        datasets.load(tmp_path, "flickr15k")


@pytest.mark.parametrize("models", [".", "models"])
def test_ethz(tmp_path, models):
    for name in ("apple/a.jpg", "apple/b [1].jpg", "hat/c.jpg"):
        picture(tmp_path / name)
    for name in ("apple.png", "hat_outline.pgm"):
        picture(tmp_path / models / name)
    (tmp_path / "apple/b [1]_apple.groundtruth").write_text("1 2 30 40\n5 6 7 8\n\n")
    (tmp_path / "hat/c_hats.groundtruth").write_text("0.5 0 9 9\n")
    data = datasets.load(tmp_path, "ethz")
    assert [(q.category, sorted(q.relevant)) for q in data.queries] == [("apple", [0, 1]), ("hat", [2])]
    np.testing.assert_array_equal(data.boxes[1], [[1, 2, 30, 40], [5, 6, 7, 8]])
    np.testing.assert_array_equal(data.boxes[2], [[0.5, 0, 9, 9]])
    (tmp_path / "hat/c_hats.groundtruth").write_text("1 2 3\n")
    with pytest.raises(SketchseekError, match="four numbers"):
        datasets.load(tmp_path, "ethz")


@pytest.mark.skipif(datasets.data_folder() is None, reason="needs the development sets")
@pytest.mark.parametrize(
    ("name", "photos", "queries"), [("s2c", 1567, 425), ("sysu", 490, 90), ("sketchy", 1000, 400)]
)
def test_development_sets(name, photos, queries):
    data = datasets.load(datasets.data_folder() / name)
    assert (len(data.photos), len(data.queries)) == (photos, queries)
    assert all(q.sketch.is_file() and q.relevant for q in data.queries)
    assert (len(data.boxes) > 0) == (name == "sysu")
    assert all((q.instance is not None) == (name == "sketchy") for q in data.queries)
