"""The edge network in torch is the one that onnxruntime runs."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-gpu` installs it")
pytest.importorskip("onnx", reason="onnx is not installed: it comes with the extras expansion and gpu")

from sketchseek.contours.detectors.neural import Neural  # noqa: E402
from sketchseek.contours.detectors.torch_graph import OPERATIONS, TorchGraph  # noqa: E402
from sketchseek.errors import SketchseekError  # noqa: E402

WEIGHTS = files("sketchseek.contours.detectors").joinpath("edges.onnx").read_bytes()


@pytest.mark.parametrize("shape", [(96, 64), (112, 176)])
def test_both_see_the_same(shape: tuple[int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    pixels[20:60, 16:48] = 230
    mine, theirs = TorchGraph(WEIGHTS, "cpu")(pixels), Neural()._network(pixels)
    assert theirs.max() - theirs.min() > 0.1  # it sees something
    np.testing.assert_allclose(mine, theirs, atol=2e-5)


def test_an_unknown_operation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(OPERATIONS, "Sigmoid")
    with pytest.raises(SketchseekError, match="Sigmoid"):
        TorchGraph(WEIGHTS, "cpu")
