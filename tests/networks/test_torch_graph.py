"""The edge network in torch is the one that onnxruntime runs."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-gpu` installs it")
pytest.importorskip("onnx", reason="onnx is not installed: it comes with the extras expansion and gpu")

from sketchseek.contours.detectors.neural import Neural  # noqa: E402
from sketchseek.errors import SketchseekError  # noqa: E402
from sketchseek.networks.torch_graph import OPERATIONS, TorchGraph  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WEIGHTS = files("sketchseek.contours.detectors").joinpath("edges.onnx").read_bytes()


def test_both_see_the_same() -> None:
    network, reference = TorchGraph(WEIGHTS, DEVICE), Neural()._network
    for seed in range(4):  # from the second on, a card replays what it recorded
        for shape in ((96, 64), (112, 176)):
            pixels = np.random.default_rng(seed).integers(0, 256, (*shape, 3), np.uint8)
            pixels[20:60, 16:48] = 230
            mine, theirs = network(pixels), reference(pixels)
            assert theirs.max() - theirs.min() > 0.1  # it sees something
            np.testing.assert_allclose(mine, theirs, atol=2e-5)


def test_an_unknown_operation_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(OPERATIONS, "Sigmoid")
    with pytest.raises(SketchseekError, match="Sigmoid"):
        TorchGraph(WEIGHTS, "cpu")
