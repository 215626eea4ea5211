"""What a data set's photos depict, remembered between runs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..embeddings import EmbeddingIndex, PictureEncoder, Pictures, get_encoder
from ..embeddings.cache import load_arrays, save_arrays
from ..embeddings.tokens import Codes
from ..errors import SketchseekError
from ..shape.engine import Ids
from ..sources.picture import load_picture
from .datasets import DataSet
from .extraction import cache_folder


@dataclass(frozen=True)
class PhotoFeatures:
    """What a network sees in photos, as an index keeps it.

    vectors : (n, d), NaN for an unreadable photo.
    tokens : (n, bytes), zeros for an unreadable photo; None where the network has none.
    """

    encoder: PictureEncoder
    vectors: NDArray[np.float16]
    tokens: Codes | None

    def part(self, ids: Ids) -> PhotoFeatures:
        """Those of some of the photos."""
        tokens = None if self.tokens is None else self.tokens[ids]
        return replace(self, vectors=self.vectors[ids], tokens=tokens)

    def embeddings(self, pictures: Pictures | None = None) -> EmbeddingIndex:
        """The photos, ready to be searched by; `pictures` compares them, if not by their embeddings."""
        known = pictures or Pictures(self.vectors, self.encoder.prior)
        space = self.encoder.tokens
        return EmbeddingIndex(
            lambda: known,
            lambda _: self.encoder,
            self.tokens,
            "" if space is None else space.version,
            self.encoder.name,
        )


def embeddings_of(
    data: DataSet,
    encoder: PictureEncoder | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> EmbeddingIndex:
    """What the photos depict, ready to be searched by."""
    return features(data, encoder or get_encoder(), progress).embeddings()


def features(
    data: DataSet, encoder: PictureEncoder, progress: Callable[[int, int], None] | None = None
) -> PhotoFeatures:
    """Describe the photos as an index does, or remember them from another run."""
    space, count = encoder.tokens, len(data.photos)
    rows = np.full((count, encoder.dimension), np.nan, np.float16)
    tokens = None if space is None else np.zeros((count, space.bytes), np.uint8)
    version = f"{encoder.version} {'' if space is None else space.version}"
    for i, path in enumerate(data.photos):
        with suppress(SketchseekError, OSError):  # the contours have said so
            known = _remembered(path, encoder, version)
            rows[i] = known["descriptor"]
            if tokens is not None:
                tokens[i] = known["tokens"]
        if progress:
            progress(i + 1, count)
    return PhotoFeatures(encoder, rows, tokens)


def _remembered(path: Path, encoder: PictureEncoder, version: str) -> dict[str, NDArray[np.generic]]:
    key = hashlib.sha256(f"{version} ".encode() + path.read_bytes()).hexdigest()
    kept = cache_folder().parent / "descriptors" / key[:2] / f"{key[2:]}.features"
    known = load_arrays(kept)
    if known is None:
        seen, tokens = encoder.with_tokens(load_picture(path).pixels)
        known = {"descriptor": seen.astype(np.float16)}
        if tokens is not None:
            known["tokens"] = tokens
        save_arrays(kept, **known)
    return known
