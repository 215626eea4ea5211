"""What the icon network sees in pictures: kept by an index, added to an older one, part of a search."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sketchseek.contours.drawing import Sketch
from sketchseek.embeddings.icons import DIMENSION, as_stored, embed_drawing, embed_picture
from sketchseek.index import Index
from sketchseek.sources.picture import load_picture
from sketchseek.storage.schema import EMBEDDING

ICONS = 12


def polygon(corners: int, radius: float = 10, turned: float = 0.3) -> list[tuple[float, float]]:
    angles = [2 * math.pi * i / corners + turned for i in range(corners)]
    return [(12 + radius * math.cos(a), 12 + radius * math.sin(a)) for a in angles]


def write_icon(path: Path, points: list[tuple[float, float]], style: str) -> None:
    data = "M" + "L".join(f"{x:.3f} {y:.3f}" for x, y in points) + "z"
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"><path d="{data}" {style}/></svg>'
    )
    os.utime(path, (1e9, 1e9))


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Icons in lines, icons that are filled, and two photographs."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(ICONS):
        style = 'fill="none" stroke="black" stroke-width="2"' if i % 2 else 'fill="#c33"'
        write_icon(folder / f"icon-{i}.svg", polygon(3 + i // 2, turned=0.3 * i), style)
    for i in range(2):
        noise = np.random.default_rng(i).integers(0, 255, (60, 80, 3)).astype(np.uint8)
        Image.fromarray(noise).save(folder / f"photo-{i}.png")
        os.utime(folder / f"photo-{i}.png", (1e9, 1e9))
    return folder


@pytest.fixture
def index(tmp_path: Path, pictures: Path) -> Index:
    made = Index.create(tmp_path / "index", "compact", detector="canny", expansion=False)
    assert made.add(pictures, jobs=1).added == ICONS + 2
    return made


def embeddings_of(index: Index) -> dict[str, np.ndarray]:
    state = index.state
    return {Path(state.path(i)).name: state.icon_codes[i] for i in range(len(state))}


def test_line_art_and_flat_art_have_one_and_photographs_none(index: Index, pictures: Path) -> None:
    for at in (index, Index.open(index.location)):
        for name, row in embeddings_of(at).items():
            assert row.any() == name.startswith("icon"), name
        assert at.state.icons is not None
    name = "icon-0.svg"
    seen = as_stored(embed_picture(load_picture(pictures / name).pixels))
    np.testing.assert_array_equal(embeddings_of(index)[name], seen)
    rows = index.store.table(["path", EMBEDDING]).to_pylist()
    assert {len(row[EMBEDDING]) for row in rows} == {0, DIMENSION}, "nobody need look at photographs again"


def test_an_older_index_gets_them_with_the_next_run(
    index: Index, pictures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sketch = Sketch.from_strokes([[*polygon(5), polygon(5)[0]]])
    before, codes = embeddings_of(index), index.snapshot.codes.copy()
    by_shape = [hit.to_dict() for hit in index.search(sketch, blend=0, expand=0)]
    config = json.loads(index.config.to_json()) | {"schema": 6}
    index.store.dataset.drop_columns([EMBEDDING])
    index.store.dataset.update_schema_metadata({"sketchseek": json.dumps(config)})
    for file in Path(index.location).glob("snapshot-*.bin"):
        file.unlink()

    old = Index.open(index.location)
    assert not any(row.any() for row in embeddings_of(old).values())
    assert old.state.icons is None
    assert [hit.to_dict() for hit in old.search(sketch, turn=0)] == by_shape
    report = old.add(pictures, jobs=1)
    assert (report.unchanged, report.added, report.refreshed, report.failed) == (ICONS + 2, 0, 0, [])
    for upgraded in (old, Index.open(index.location)):
        after = embeddings_of(upgraded)
        assert all((after[name] == row).all() for name, row in before.items())
        assert sorted(map(bytes, upgraded.snapshot.codes)) == sorted(map(bytes, codes))
    monkeypatch.setattr("sketchseek.indexing.run.Workers", None)  # no picture is to be read
    assert old.add(pictures).unchanged == ICONS + 2


def test_what_it_resembles_comes_up_and_shape_alone_stays_shape_alone(index: Index) -> None:
    sketch = Sketch.from_strokes([[*polygon(4, turned=0), polygon(4, turned=0)[0]]])
    resemblance = index.state.icons.resemblance(embed_drawing(sketch.strokes))
    z = resemblance.at(np.arange(len(index)))
    blended, alone = index.search(sketch, turn=0), index.search(sketch, turn=0, blend=0, expand=0)
    assert {hit.id for hit in blended} == {hit.id for hit in alone}

    def mean_place(hits: Any) -> float:
        places = {hit.id: hit.rank for hit in hits}
        return float(np.mean([places[index.state.id(int(i))] for i in np.argsort(-z)[:4]]))

    assert mean_place(blended) < mean_place(alone)
    with_method = index.search(sketch, turn=0, method="projections")
    assert [hit.id for hit in with_method] != [hit.id for hit in blended]
