"""What the kernels' tests run on: a graphics processor, or Triton's interpreter. Import this before them.

Whoever imports it is skipped, with a word, where torch or triton is not installed.
"""

from __future__ import annotations

import os

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-gpu` installs it")
DEVICE = "cuda:0" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported
    torch.set_num_threads(1)
pytest.importorskip("triton", reason="triton is not installed: `make test-gpu` installs it")
