"""Arrays in a file, derived from something else: whatever is wrong with the file, they are made again."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DIGEST = 16  # bytes of it before the arrays: those of a zip don't cover everything in it


def save_arrays(path: Path, **arrays: Any) -> None:
    """Write them beside their place and move them there: so no reader sees half a file."""
    content = io.BytesIO()
    np.savez(content, **arrays)  # an allow_pickle here is one more array to NumPy before 2.0
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(content.getbuffer()))
            file.write(content.getbuffer())
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def load_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """What `save_arrays` wrote, byte for byte; None when it isn't there or isn't that."""
    try:
        content = path.read_bytes()
        if len(content) < _DIGEST or content[:_DIGEST] != _digest(memoryview(content)[_DIGEST:]):
            return None
        with np.load(io.BytesIO(content[_DIGEST:]), allow_pickle=False) as kept:
            return dict(kept)
    except Exception:  # a strange file may raise anything
        return None


def _digest(content: memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()
