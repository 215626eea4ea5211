"""Many sets of points described at once, on a card where there is one, are described as one by one."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-gpu` installs it")

from sketchseek.contours.points import Points  # noqa: E402
from sketchseek.contours.synthetic import random_curves  # noqa: E402
from sketchseek.shape.accumulation import describe_together  # noqa: E402
from sketchseek.shape.descriptor import describe, encode  # noqa: E402
from sketchseek.shape.settings import PRESETS, Settings  # noqa: E402

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("preset", PRESETS)
def test_together_as_one_by_one(preset: str) -> None:
    settings = Settings.preset(preset)
    parts = [random_curves(seed) for seed in range(5)]
    parts.insert(2, Points(*[np.zeros(0, np.float32)] * 4, width=300.0, height=300.0))
    assert len({len(part) for part in parts}) > 2
    mine = describe_together(parts, settings, DEVICE)
    theirs = np.stack([describe(part, settings) for part in parts])
    assert (mine[2] == 0).all()
    np.testing.assert_allclose(mine, theirs, atol=2e-6 * np.abs(theirs).max())
    assert np.abs(encode(mine, settings).astype(int) - encode(theirs, settings)).max() <= 1
    assert (describe_together([parts[2]], settings, DEVICE) == 0).all()
