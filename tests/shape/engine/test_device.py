"""Which engine is taken, and what is said where there is no graphics processor."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from sketchseek.errors import SketchseekError
from sketchseek.shape.engine import device
from sketchseek.shape.engine.native import NativeEngine
from sketchseek.shape.settings import Settings

NOTHING = np.zeros((2, 243), np.int8), np.zeros((2, 3, 3), np.float32), Settings.preset("compact")


def test_cpu_and_small_collections_need_no_graphics_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "why_not", lambda: pytest.fail("nobody should look for one"))
    for name in ("cpu", "auto"):
        assert isinstance(device.engine_on(name)(*NOTHING), NativeEngine)


@pytest.mark.parametrize("missing", [("torch", "triton"), ("triton",)])
def test_without_one_the_processor_searches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: tuple[str, ...]
) -> None:
    monkeypatch.setattr(device, "find_spec", lambda name: None if name in missing else object())
    monkeypatch.setattr(device, "LARGE", 1)
    assert isinstance(device.engine_on("auto")(*NOTHING), NativeEngine)
    assert capsys.readouterr().err == ""  # nobody asked for one
    assert isinstance(device.engine_on("cuda")(*NOTHING), NativeEngine)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "sketchseek[gpu]" in said
    assert all(f"no {name}" in said for name in missing)


def test_without_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: `make test-gpu` installs it")
    monkeypatch.setattr(device, "find_spec", lambda name: object())
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "no graphics processor" in str(device.why_not())


def test_a_torch_that_does_not_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so.13: cannot open shared object file')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(device, "find_spec", lambda name: object())
    assert isinstance(device.engine_on("cuda")(*NOTHING), NativeEngine)
    assert "can't be loaded (libcudart.so.13" in capsys.readouterr().err


def test_unknown_devices_are_refused() -> None:
    with pytest.raises(SketchseekError, match="tpu"):
        device.engine_on("tpu")
