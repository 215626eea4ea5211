"""What a data set's photos depict, remembered between runs."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..contours.picture import load_picture
from ..depiction import Depiction, PictureDescriber, Pictures, get_describer
from ..errors import SketchseekError
from .datasets import DataSet
from .extraction import cache_folder


def depiction_of(
    data: DataSet,
    describer: PictureDescriber | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Depiction:
    """What the photos depict, ready to be searched by."""
    network = describer or get_describer()
    pictures = Pictures(descriptors(data, network, progress), network.usual)
    return Depiction(lambda: pictures, lambda _: network)


def descriptors(
    data: DataSet, describer: PictureDescriber, progress: Callable[[int, int], None] | None = None
) -> NDArray[np.float16]:
    """Describe the photos, or remember them from another run: (n, d), NaN for an unreadable one."""
    rows = np.full((len(data.photos), describer.dimension), np.nan, np.float16)
    for i, path in enumerate(data.photos):
        with suppress(SketchseekError, OSError):  # the contours have said so
            rows[i] = _remembered(path, describer)
        if progress:
            progress(i + 1, len(data.photos))
    return rows


def _remembered(path: Path, describer: PictureDescriber) -> NDArray[np.float16]:
    content = path.read_bytes()
    key = hashlib.sha256(f"{describer.version} ".encode() + content).hexdigest()
    kept = cache_folder().parent / "descriptors" / key[:2] / f"{key[2:]}.npy"
    try:
        return np.asarray(np.load(kept, allow_pickle=False))
    except (OSError, ValueError):
        pass  # not there yet, or cut short
    vector = describer(load_picture(path).pixels).astype(np.float16)
    kept.parent.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(f".{os.getpid()}.npy")
    np.save(partial, vector)
    partial.replace(kept)
    return vector
