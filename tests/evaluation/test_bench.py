"""What `sketchseek bench` says of indexing; its times are for people."""

import pytest

from sketchseek.embeddings import flat_art
from sketchseek.errors import SketchseekError
from sketchseek.evaluation import bench_embeddings
from sketchseek.evaluation.bench import format_table


class Describer:
    dimension = 5

    def __call__(self, pixels):
        assert not flat_art.is_flat_art(pixels), "photographs are what most people index"
        return "described"


def test_each_network_that_is_there_is_measured_beside_the_contours(monkeypatch):
    def installed(name):
        if name == "dinov2":
            raise SketchseekError("It is not here.")
        return Describer()

    monkeypatch.setattr(bench_embeddings, "get_encoder", installed)
    said = []
    steps = {name: (call(), kept) for name, call, kept in bench_embeddings.indexing(said.append)}
    assert list(steps) == ["contours", "efficientnet"]
    assert len(steps["contours"][0].x) > 100
    assert steps["efficientnet"] == ("described", 10)
    assert said == ["without dinov2: It is not here."]


@pytest.mark.parametrize("steps", [0, 2])
def test_the_table_has_a_line_for_each_step(steps):
    machine = dict.fromkeys(("processor", "cores", "engine", "preset"), "?")
    machine |= {"peak_gflops": 1, "peak_gbytes_per_second": 1, "bytes_per_picture": {"exhaustive": 279.2}}
    indexing = [{"step": f"step {i}", "ms": 10.0 * (i + 1), "bytes_per_picture": i} for i in range(steps)]
    text = format_table({"machine": machine, "rows": [], "indexing": indexing})
    lines = [line for line in text.splitlines() if line.startswith("indexing")]
    assert len(lines) == steps
    assert steps == 0 or lines[1] == "indexing, step 1: 20.0 ms a picture, 2.00x the contours; 1 bytes"
