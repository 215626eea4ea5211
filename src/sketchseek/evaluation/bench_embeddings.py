"""What knowing what pictures depict costs, in indexing and in searching, for `sketchseek bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ..contours.drawing import Sketch
from ..embeddings import EmbeddingIndex, get_encoder
from ..embeddings.encoders import TAUGHT
from ..embeddings.pictures import Pictures
from ..errors import SketchseekError
from ..search.collection import Collection
from ..search.options import Options
from ..search.search import search
from ..search.state import SearchState
from ..shape.query import Query

DIMENSION = 384
"""As EfficientNet's descriptors have."""
_CATEGORIES = 1000


def synthetic(pictures: int, seed: int = 0) -> Pictures:
    """Descriptors (float16) of as many pictures, in a thousand loose clusters."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((_CATEGORIES, DIMENSION), np.float32)
    stored = np.empty((pictures, DIMENSION), np.float16)
    for start in range(0, pictures, 65_536):
        part = stored[start : start + 65_536]
        part[:] = centres[rng.integers(_CATEGORIES, size=len(part))]
        part += rng.standard_normal(part.shape, np.float32).astype(np.float16)
    return Pictures(stored)


class _Encoder:
    """Stands for the network, whose few milliseconds on the drawing are left out."""

    name, blend, reference = "efficientnet", 1.0, None

    def __init__(self, drawing: NDArray[np.float32]) -> None:
        self._drawing = drawing

    def drawing(self, strokes: object, kinds: object) -> NDArray[np.float32]:
        return self._drawing


def state_with(collection: Collection, pictures: Pictures) -> SearchState:
    """A collection as a search sees it, with what its pictures depict."""
    n = len(collection)
    encoder: Any = _Encoder(pictures.vectors(np.array([0]))[0])
    embeddings = EmbeddingIndex(lambda: pictures, lambda _: encoder)
    return SearchState(
        collection,
        np.full(n, 400),
        np.full(n, 400),
        np.tile(np.array([0, 0, 400, 400], np.float32), (len(collection.engine), 1)),
        is_line_art=np.zeros(n, bool),
        ids=np.arange(n).astype("S12"),
        path=str,
        thumbnail=lambda _: b"",
        load_embeddings=lambda: embeddings,
    )


def expanded(state: SearchState, k: int, threads: int) -> Callable[[Query], object]:
    """A whole search with blending and expansion, judged and placed; the network's passes are left out."""

    def ask(query: Query) -> object:
        return search(state, Sketch(query.points, [], "bench"), Options(k, threads=threads))

    return ask


def indexing(say: Callable[[str], None]) -> Iterator[tuple[str, Callable[[], object], int]]:
    """What a picture of 640 x 480 goes through when it is indexed: a name, a call, and bytes that are kept.

    Its contours first, then the networks, where their weights are installed.
    """
    from ..contours import strength_to_points
    from ..contours.detectors import get_detector

    pixels, detector = _picture(), get_detector("neural")
    yield "contours", lambda: strength_to_points(detector(pixels)), 0
    for name in TAUGHT:
        try:
            encoder = get_encoder(name)
        except SketchseekError as error:
            say(f"without {name}: {error}")
            continue
        yield name, partial(encoder, pixels), 2 * encoder.dimension


def _picture() -> NDArray[np.uint8]:
    """Blurred noise, as far from flat art as a photograph is."""
    noise = np.random.default_rng(0).integers(0, 256, (60, 80, 3)).astype(np.uint8)
    return np.asarray(cv2.resize(noise, (640, 480), interpolation=cv2.INTER_CUBIC), np.uint8)
