"""Curves and confidence on a small planted set: what is drawn is what was measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sketchseek.contours.drawing import Sketch
from sketchseek.contours.points import Points
from sketchseek.contours.synthetic import outline_points, random_curves, random_shape
from sketchseek.evaluation import ablations
from sketchseek.evaluation.calibration import halves
from sketchseek.evaluation.datasets import AnnotatedQuery, DataSet
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.open_set import Described, trials
from sketchseek.search.options import Options
from sketchseek.search.state import PictureContours
from sketchseek.shape.settings import Settings
from sketchseek.shape.windows import WHOLE

pytestmark = pytest.mark.slow

COMPACT = Settings.preset("compact")


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    """Twelve outlines, each in a picture of its own, all amid other curves."""
    rng = np.random.default_rng(2)
    shapes = [random_shape(rng) for _ in range(12)]
    contours = [outline_points(s).scaled(0.8).translated(*rng.uniform(-40, 40, 2)) for s in shapes]
    busy = [random_curves(seed, closed=3) for seed in range(40)]
    contours = [together(c, b) for c, b in zip(contours, busy[:12], strict=True)] + busy[12:]
    sketches = tuple(Sketch.from_strokes([np.vstack([s, s[:1]])]) for s in shapes)
    queries = tuple(AnnotatedQuery(Path("d"), f"c{i}", frozenset([i]), i) for i in range(12))
    data = DataSet("planted", Path(), tuple(Path(str(i)) for i in range(40)), queries)
    return Experiment(
        data, tuple(PictureContours(c, 400, 400, (0.0, 0.0, 400.0, 400.0)) for c in contours), sketches, ()
    )


def together(a: Points, b: Points) -> Points:
    columns = (np.concatenate([getattr(a, n), getattr(b, n)]) for n in ("x", "y", "angle", "weight"))
    return Points(*columns, 400.0, 400.0)


def mean(scores: list) -> float:
    return float(np.mean([s.average_precision for s in scores]))


def test_the_joint_map_does_with_few_frequencies_what_the_harmonic_one_cannot(experiment, monkeypatch):
    monkeypatch.setattr(ablations, "FREQUENCIES", (3, 5))
    monkeypatch.setattr(ablations, "ORIENTATIONS", (2,))
    curves = ablations.frequencies(experiment)
    assert mean(curves["joint, 2 of orientation"][1][1]) > mean(curves["joint, 2 of orientation"][0][1])
    assert mean(curves["joint, 2 of orientation"][0][1]) > mean(curves["harmonic, 2 of orientation"][0][1])
    assert any(name.startswith("one descriptor a kernel") for name in curves)


def test_a_shortlist_of_everything_is_the_exact_search(experiment):
    curves = ablations.shortlists(experiment, COMPACT)
    exact = [
        s.average_precision
        for s in experiment.run(
            experiment.state(COMPACT, min_object_size=WHOLE), Options(local_normalization=0.0)
        )
    ]
    for points in curves.values():
        share, scores = points[-1]
        assert share == 1
        assert mean(scores) == pytest.approx(np.mean(exact), abs=0.02)  # ties within rounding may swap
    assert mean(curves["Sx + Sy"][0][1]) < mean(curves["Sx + Sy"][-1][1])


def test_refining_a_larger_neighbourhood_comes_nearer_to_the_exact_one(experiment):
    curves = ablations.rerankings(experiment, COMPACT)
    assert set(curves) == {"exact", "binary", "local", "binary-all", "local-all"}
    for rerank in ("binary-all", "local-all"):
        assert mean(curves[rerank][-1][1]) >= mean(curves[rerank][0][1])
    assert mean(curves["exact"][0][1]) >= mean(curves["local"][0][1])


def test_curves_are_drawn(experiment, tmp_path):
    pytest.importorskip("matplotlib")
    from sketchseek.evaluation.figures import reliability, rerankings

    rerankings.plot({"planted": ablations.rerankings(experiment, COMPACT)}, tmp_path / "r.png")
    searched = list(trials(experiment, Described(experiment.state(COMPACT)), sizes=(None, 20)))
    reliability.plot({"shape": searched}, tmp_path / "c.png")
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("r.png", "c.png"))


def test_without_the_development_sets_a_sentence_says_so(monkeypatch):
    from sketchseek.errors import SketchseekError

    monkeypatch.setattr(ablations, "data_folder", lambda: None)
    with pytest.raises(SketchseekError, match="SKETCHSEEK_DATA"):
        ablations.development_sets()


def test_halves_hold_whole_categories():
    split = halves(["b", "a", "c", "a", "d"])
    np.testing.assert_array_equal(split, [False, True, True, True, False])
