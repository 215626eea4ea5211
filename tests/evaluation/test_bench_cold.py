"""The index that cold starts are measured with, and what a measurement says."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from sketchseek import Index, Sketch
from sketchseek.contours.synthetic import random_curves
from sketchseek.errors import SketchseekError
from sketchseek.evaluation import bench_cold
from sketchseek.shape.descriptor import describe


def test_the_index_is_searched_by_its_snapshot_alone(tmp_path: Path) -> None:
    curves = [random_curves(number) for number in range(3)]
    made = bench_cold.make_index(
        str(tmp_path / "index"),
        lambda settings: np.stack([describe(points, settings) for points in curves]),
        "compact",
        expansion=False,
        pictures=30,
    )
    assert len(made) == 30
    index = Index.open(tmp_path / "index")
    hits = index.search(Sketch.from_strokes([[(0, 0), (90, 0), (90, 80), (0, 0)]]), 5)
    assert len(hits) == 5
    assert index._store is None, "no table was opened"
    assert len(list((tmp_path / "index").glob("snapshot-*.bin"))) == 1


def test_a_command_is_measured_in_a_process_of_its_own_and_one_that_fails_is_told() -> None:
    row = bench_cold.measured("nothing", [sys.executable, "-S", "-c", "pass"], 0, lambda _: None)
    assert row.keys() == {"start", "pictures", "ms", "least_ms"}
    assert 0 < row["least_ms"] <= row["ms"]
    with pytest.raises(SketchseekError, match="exit status 3"):
        bench_cold.measured("bad", [sys.executable, "-c", "raise SystemExit(3)"], 0, lambda _: None)
