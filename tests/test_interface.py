"""The Python interface: ways to give a drawing, options by name, types that a checker accepts."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
from PIL import Image, ImageDraw

import sketchseek
from sketchseek import ArgumentError, Index, Sketch, SketchseekError
from sketchseek.search.options import Options, SearchOptions

ROOF = [(40, 240), (200, 50), (360, 240), (40, 240)]
LINE = " ".join(f"{x},{y}" for x, y in ROOF)
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300">'
    f'<path d="M{LINE}" fill="none" stroke="black"/></svg>'
)


def picture(corners: list[tuple[int, int]]) -> Image.Image:
    image = Image.new("RGB", (400, 300), "white")
    ImageDraw.Draw(image).line(corners, fill="black", width=4)
    return image


@pytest.fixture(scope="module")
def index(tmp_path_factory) -> Index:
    folder = tmp_path_factory.mktemp("pictures")
    picture(ROOF).save(folder / "roof.png")
    picture([(60, 60), (340, 60), (340, 240), (60, 240), (60, 60)]).save(folder / "box.png")
    made = Index.create(tmp_path_factory.mktemp("index") / "i", "compact", detector="canny", expansion=False)
    made.add(folder, jobs=1)
    return made


def test_a_drawing_may_be_given_in_any_form(index, tmp_path):
    picture(ROOF).save(tmp_path / "drawing.png")
    grey = np.asarray(picture(ROOF).convert("L"))
    forms = [
        tmp_path / "drawing.png", str(tmp_path / "drawing.png"), (tmp_path / "drawing.png").read_bytes(),
        picture(ROOF), np.asarray(picture(ROOF)), grey, [ROOF], (ROOF,), SVG, f"\n{SVG}", SVG.encode(),
        Sketch.from_strokes([ROOF]),
    ]  # fmt: skip
    assert [Path(hits[0].picture).name for hits in index.search_many(forms, 1)] == len(forms) * ["roof.png"]


@pytest.mark.parametrize(
    ("drawing", "said"),
    [
        (np.zeros((3, 3)), "uint8"),
        (np.zeros((0, 3), np.uint8), "uint8"),
        (np.zeros((3, 3, 2, 2), np.uint8), "uint8"),
        (7, "not of type int"),
        ({"strokes": []}, "not of type dict"),
    ],
)
def test_what_is_no_drawing_is_a_wrong_argument(index, drawing, said):
    with pytest.raises(ArgumentError, match=said):
        index.search(drawing)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0}, {"offset": -1}, {"turn": 181}, {"turn": "some"}, {"expand": -1},
        {"blend": 6.0}, {"blend": -1}, {"method": "fast"}, {"shortlist": 5}, {"rerank": "exact"},
        {"method": "dpf", "neighborhood": 1}, {"words": 3}, {"coverage": "much"}, {"coverage": -1},
        {"local_normalization": 1.0}, {"threads": 0}, {"folder": 3}, {"picked": "abc"}, {"rejected": [3]},
    ],
)  # fmt: skip
def test_a_wrong_option_is_a_value_error_and_a_sentence(index, wrong):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 (that it is one is the point)
        index.search([ROOF], **wrong)
    assert isinstance(raised.value, SketchseekError)


def test_other_wrong_arguments_are_value_errors_as_well(tmp_path):
    for wrong in ({"preset": "huge"}, {"min_object_size": 0.4}, {"detector": "none"}, {"expansion": "none"}):
        with pytest.raises(ValueError, match=r"[Cc]hoose"):
            Index.create(tmp_path / "index", **{"expansion": False, **wrong})


def test_every_option_is_spelled_in_the_signature():
    fields = {f.name: f.default for f in dataclasses.fields(Options)}
    parameters = inspect.signature(Index.search).parameters
    spelled = {name: p.default for name, p in parameters.items() if name not in ("self", "drawing")}
    assert spelled == fields
    assert {*get_type_hints(SearchOptions), "k"} == fields.keys()


def test_an_index_is_a_collection_of_pictures(index):
    names = [Path(row.picture).name for row in index]
    assert sorted(names) == ["box.png", "roof.png"]
    assert [row.id for row in index.pictures[:1]] == [index.pictures[0].id]
    assert len(index.pictures) == len(index) == 2
    first = index.pictures[0]
    assert first in index
    assert first.picture in index
    assert Path(first.picture) in index
    assert first.id in index
    assert "elsewhere.png" not in index
    assert 7 not in index
    with pytest.raises(IndexError):
        _ = index.pictures[2]


def test_it_closes_and_opens_again(index):
    with Index.open(index.location) as opened:
        assert opened.search([ROOF], 1)
    assert opened.search([ROOF], 1)[0].picture == index.search([ROOF], 1)[0].picture
    opened.close()
    assert len(opened) == 2
    assert opened.refresh() is False


@pytest.mark.parametrize(
    ("call", "wrong", "said"),
    [
        ("create", {"preset": "huge"}, "no preset 'huge'"),
        ("create", {"detector": "eyes"}, "no edge detector 'eyes'"),
        ("create", {"expansion": "nothing"}, "no picture network 'nothing'"),
        ("create", {"expansion": 3}, "expansion must be"),
        ("create", {"min_object_size": 0.5}, "0.5 of a picture"),
        ("create", {"min_object_size": "small"}, "'small' of a picture"),
        ("open", {"device": "tpu"}, "no device 'tpu'"),
        ("add", {"jobs": 0}, "jobs must be"),
        ("add", {"jobs": "2"}, "jobs must be"),
        ("add", {"exclude": "thumbs"}, "exclude must be a list"),
        ("add", {"device": "tpu"}, "no device 'tpu'"),
        ("set_min_object_size", {"min_object_size": 0.4}, "0.4 of a picture"),
        ("enable_expansion", {"name": "nothing"}, "no picture network"),
        ("draw", {"k": 0}, "k must be positive"),
    ],
)
def test_a_wrong_argument_is_a_value_error_and_a_sentence(index, tmp_path, call, wrong, said):
    calls = {
        "create": lambda: Index.create(tmp_path / "i", **{"expansion": False, "detector": "canny", **wrong}),
        "open": lambda: Index.open(index.location, **wrong),
        "add": lambda: index.add(tmp_path, **wrong),
    }
    with pytest.raises(ValueError, match=said) as raised:
        calls.get(call, lambda: getattr(index, call)(**wrong))()
    assert isinstance(raised.value, ArgumentError)
    assert not (tmp_path / "i").exists()


def test_all_errors_are_one_tree():
    errors = [getattr(sketchseek, name) for name in sketchseek.__all__ if name.endswith("Error")]
    assert len(errors) == 8
    assert all(issubclass(error, SketchseekError) and error.__doc__ for error in errors)


EVERYTHING = """
from pathlib import Path

import numpy as np
from PIL import Image

from sketchseek import (
    ArgumentError, DamagedError, Hit, Hits, Index, NoEmbeddingError, NoIndexError, PictureRow, Sketch,
    SketchseekError,
)
from sketchseek.kernels import RBF, Periodic, set_similarity
from sketchseek.maps import (
    HarmonicMap, JointMap, LowDimensionalMap, MatchKernel, orientation_map, spatial_map,
)


def everything(folder: Path) -> float:
    with Index.create(
        folder / "index", "compact", detector="canny", expansion=None, min_object_size=0.3, tokens=True,
        exist_ok=True,
    ) as index:
        report = index.add([folder], jobs=2, exclude=["*.tmp"], forget_missing=False, retry=True)
        assert report.added + report.unchanged == len(index)
        hits: Hits = index.search("mug.png", k=20, expand=3, blend=None, turn="any", words="a mug")
        for drawing in (folder, b"...", Image.new("L", (9, 9)), np.zeros((9, 9), np.uint8), [[[0, 0]]]):
            hits = index.search(drawing, 5, offset=1, mirror=False, method="dpf", shortlist=50)
        best: Hit = hits[0]
        for found in index.search_many(["<svg/>", Sketch.load("mug.png")], 3, coverage=0.5):
            best = found[0]
        rows: list[PictureRow] = [row for row in index if row in index and row.picture in index]
        index.refresh()
        index.remove(folder)
        document = index.info()
        name: str = index.identify(best.picture)
        small: bytes = index.thumbnail(name)
        print(len(rows), document["pictures"], len(small), hits.present, best.box, best.confidence)
    try:
        Index.open(folder, device="cpu", repair=True)
    except (NoIndexError, DamagedError, NoEmbeddingError, ArgumentError) as error:
        print(isinstance(error, SketchseekError))
    maps = JointMap(kernels=[RBF(0.12), RBF(0.2)], n_frequencies=5, domain=3.14).fit()
    other = (HarmonicMap(), LowDimensionalMap())
    return float(maps.transform_query(np.zeros((1, 1)), kernel=0).sum()) + len(other)


def drawings(folder: Path) -> list[str]:
    sketch: Sketch = Sketch.of([[[0, 0], [9, 9]]]).simplified(100)
    several = [
        Sketch.from_strokes([[[0.0, 0.0], [9.0, 9.0]]], name="line"), Sketch.from_svg("<svg/>"),
        Sketch.from_pixels(np.zeros((9, 9), np.uint8)), Sketch.from_bitmap(np.zeros((9, 9), np.uint8)),
        Sketch.from_image(Image.new("L", (9, 9))), Sketch.load(folder / "mug.png", box=(0, 0, 5, 5)),
    ]
    print(len(sketch.points), sketch.strokes[0].shape, sketch.picture is None)
    return [one.to_svg() + one.name for one in several]


def keep(index: Index) -> str:
    index.enable_expansion("efficientnet")
    index.keep_tokens(False)
    index.set_min_object_size(0.2)
    hits = index.search("mug.png")
    hit = hits[0]
    known = index.row(hit.id), index.pictures[0].width, index.identify(index.picture_path(hit.id))
    print(known, len(index.thumbnails([hit.id])[0]), index.folders(most=5))
    print(index.version, index.config.preset)
    print(index.note, index.method, index.state.settings.scales, len(index.snapshot), index.store.version)
    print(index.likeness(Sketch.load("mug.png"), hit.id).cosine, index.draw(k=3), index.measures())
    print(hits.absent, hits.others(hits[:2]).verdict, hits.first_page, hits.note, hits.covered)
    print(hit.outline(), hit.pose.scale, hit.also, hit.missing, hit.matched, hit.like, hit.to_dict())
    index.close()
    return index.location


def sets() -> float:
    x = np.zeros((3, 1))
    maps = JointMap([RBF(0.12)], n_frequencies=3).set_output(transform="default").set_params(n_frequencies=4)
    print(maps.fit_transform(x), maps.fit(x).transform(x), maps.transform_symmetric(x), maps.get_params())
    print(maps.get_feature_names_out(), maps.signature(x), maps.errors(), maps.column_weights(0))
    print(maps.check_fitted().weights_for(Periodic(RBF(0.2), period=2.0)), maps.columns(x))
    kernel = MatchKernel([maps, orientation_map(2).fit()])
    V = kernel.describe(np.zeros((3, 2)), [1.0, 1.0, 1.0])
    W = kernel.translate(V, {0: 0.5})
    print(kernel.scores(V, W, {0: np.zeros(3)}), kernel.polynomial(V, W, [0]), kernel.component_weights(0))
    print(kernel.similarity(V, W), kernel.norm(V), spatial_map(3).frequencies_)
    return set_similarity(x, x, [RBF(0.1)], normalization="cosine")
"""


def test_the_script_uses_every_public_function():
    classes = [getattr(sketchseek, name) for name in sketchseek.__all__ if name[0].isupper()]
    classes += [getattr(sketchseek.maps, name) for name in sketchseek.maps.__all__]
    members = {
        name for c in classes if inspect.isclass(c) and not issubclass(c, Exception) for name in dir(c)
    }
    public = {f".{name}" for name in members if not name.startswith("_")} - {f".{name}" for name in dir(list)}
    public |= {
        name for name in (*sketchseek.maps.__all__, "set_similarity", "Periodic") if name != "FeatureMap"
    }
    assert [name for name in sorted(public) if name not in EVERYTHING] == []


@pytest.mark.slow
def test_a_script_that_uses_everything_passes_mypy_strict(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(EVERYTHING)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(tmp_path)]
    done = subprocess.run(
        [*command, "--follow-imports", "silent", "--ignore-missing-imports", str(script)],
        capture_output=True, text=True, check=False, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    wrong = EVERYTHING.replace("expand=3", "expands=3")
    script.write_text(wrong)
    done = subprocess.run(
        [*command, "--follow-imports", "silent", "--ignore-missing-imports", str(script)],
        capture_output=True, text=True, check=False, timeout=250,
    )  # fmt: skip
    assert 'Unexpected keyword argument "expands"' in done.stdout
