"""Which engine scores a collection: `--device auto|cpu|cuda`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final

from numpy.typing import ArrayLike, NDArray

from ...errors import ArgumentError
from ..settings import Settings
from . import Engine
from .native import NativeEngine

DEVICES: Final = ("auto", "cpu", "cuda")
LARGE: Final = 5_000_000
"""Rows from which `auto` looks for a graphics processor: starting one takes seconds."""


def engine_on(device: str) -> Callable[[NDArray[Any], ArrayLike, Settings], Engine]:
    """What makes the engine of a collection on one of `DEVICES`.

    Without a graphics processor that can be used, `cuda` says so on stderr and is `cpu`; `auto` says nothing.
    """
    if device not in DEVICES:
        raise ArgumentError(f"There is no device {device!r}; choose one of {', '.join(DEVICES)}.")

    def made(vectors: NDArray[Any], norms: ArrayLike, settings: Settings) -> Engine:
        if device == "cpu" or (device == "auto" and len(vectors) < LARGE):
            return NativeEngine(vectors, norms, settings)
        if usable(device) == "cpu":
            return NativeEngine(vectors, norms, settings)
        from .gpu import GpuEngine

        return GpuEngine(vectors, norms, settings)

    return made


def usable(device: str) -> str:
    """ "cuda" where that is asked for and can be used, otherwise "cpu"; who asked for it is told why."""
    if device == "cpu":
        return "cpu"
    reason = why_not()
    if reason is not None and device == "cuda":
        print(f"{reason} The processor does the work instead.", file=sys.stderr)
    return "cuda" if reason is None else "cpu"


def why_not() -> str | None:
    """Why there is no graphics processor to search on, in a sentence; None where there is one."""
    missing = [name for name in ("torch", "triton") if find_spec(name) is None]
    if missing:
        return f"There is no {' and no '.join(missing)} here (pip install 'sketchseek[gpu]')."
    try:
        import torch
    except (ImportError, OSError) as error:  # a part of it is missing, or made for another machine
        return f"The torch that is here can't be loaded ({str(error).splitlines()[0]})."
    return None if torch.cuda.is_available() else "There is no graphics processor here that torch can use."
