"""What `sketchseek bench` says of indexing; its times are for people."""

from types import SimpleNamespace

import pytest

from sketchseek.embeddings import flat_art
from sketchseek.errors import SketchseekError
from sketchseek.evaluation import bench_embeddings
from sketchseek.evaluation.bench import format_table


class Encoder:
    dimension, tokens = 5, SimpleNamespace(bytes=4096)

    def __call__(self, pixels):
        assert not flat_art.is_flat_art(pixels), "photographs are what most people index"
        return "described"

    def with_tokens(self, pixels):
        return "described, with tokens"


def test_each_network_that_is_there_is_measured_beside_the_contours(monkeypatch):
    def installed(name):
        if name == "dinov2":
            raise SketchseekError("It is not here.")
        return Encoder()

    monkeypatch.setattr(bench_embeddings, "get_encoder", installed)
    said = []
    steps = {name: (call(), kept) for name, call, kept in bench_embeddings.indexing(said.append)}
    assert list(steps) == ["contours", "efficientnet", "efficientnet with tokens"]
    assert len(steps["contours"][0].x) > 100
    assert steps["efficientnet"] == ("described", 10)
    assert steps["efficientnet with tokens"] == ("described, with tokens", 4106)
    assert said == ["without dinov2: It is not here."]


def test_the_meeting_that_is_measured_is_one():
    _, meet = bench_embeddings.meeting(7)
    found = meet()
    assert found.score.shape == (7,)
    assert (found.score != 0).all()
    assert len(set(found.score.tolist())) > 1


@pytest.mark.parametrize("steps", [0, 2])
def test_the_table_has_a_line_for_each_step(steps):
    machine = dict.fromkeys(("processor", "cores", "engine", "preset"), "?")
    machine |= {"peak_gflops": 1, "peak_gbytes_per_second": 1, "bytes_per_picture": {"exhaustive": 279.2}}
    indexing = [{"step": f"step {i}", "ms": 10.0 * (i + 1), "bytes_per_picture": i} for i in range(steps)]
    cold = [{"start": "--help", "pictures": 0, "ms": 50.4}]
    text = format_table({"machine": machine, "rows": [], "indexing": indexing, "cold": cold})
    assert "cold start, --help: 50 ms of processor time, 0 pictures" in text.splitlines()
    lines = [line for line in text.splitlines() if line.startswith("indexing")]
    assert len(lines) == steps
    assert steps == 0 or lines[1] == "indexing, step 1: 20.0 ms a picture, 2.00x the contours; 1 bytes"
