"""A search takes no processor time to wait in: NumPy's threads are not woken for small systems."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sketchseek import Index

pytestmark = pytest.mark.slow

SEARCHES = """if True:
    import sys, time
    from sketchseek import Index, Sketch
    index = Index.open(sys.argv[1], device="cpu")
    drawing = Sketch.from_strokes([[[0, 0], [100, 0], [100, 70], [0, 70], [0, 0]]])
    for _ in range(3):  # what is loaded and made once
        index.search(drawing, 20, threads=1)
    began = time.process_time()  # of all threads
    for _ in range(10):
        index.search(drawing, 20, threads=1)
    print(time.process_time() - began)
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="with one core there is one thread")
def test_a_search_does_not_spin(tmp_path: Path, vector_model: Callable[..., bytes]) -> None:
    random = np.random.default_rng(0)
    for i in range(450):  # more than diffusion takes
        image = Image.new("RGB", (96, 72), tuple(random.integers(120, 256, 3).tolist()))
        ImageDraw.Draw(image).rectangle((9, 9, *random.integers(30, 70, 2).tolist()), outline="black")
        image.save(tmp_path / f"{i}.png")
    (tmp_path / "network.onnx").write_bytes(vector_model())
    index = Index.create(
        tmp_path / "index",
        "compact",
        detector="canny",
        expansion=f"onnx:{tmp_path}/network.onnx",
        min_object_size=0.6,
    )
    assert not index.add([tmp_path]).failed

    def seconds(**environment: str) -> float:
        unset = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "GOTO_NUM_THREADS")
        plain = {name: value for name, value in os.environ.items() if name not in unset}
        command = [sys.executable, "-c", SEARCHES, str(tmp_path / "index")]
        done = subprocess.run(
            command, env={**plain, **environment}, capture_output=True, text=True, check=True
        )
        return float(done.stdout)

    # In turns, and the median of ratios: what else the machine does falls on both.
    ratios = [seconds() / seconds(OPENBLAS_NUM_THREADS="1") for _ in range(3)]
    assert statistics.median(ratios) < 1.6, ratios
