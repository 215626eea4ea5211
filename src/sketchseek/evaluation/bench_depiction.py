"""What knowing what pictures depict costs, in indexing and in searching, for `sketchseek bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import cv2
import numpy as np
from numpy.typing import NDArray

from ..depiction import get_describer
from ..depiction.describers import TAUGHT
from ..depiction.expand import EXPAND, rerank
from ..depiction.pictures import Pictures
from ..errors import SketchseekError
from ..search.ranking import Collection, located
from ..search.search import EngineScores, Options
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


def expanded(collection: Collection, pictures: Pictures, k: int, threads: int) -> Callable[[Query], object]:
    """A whole query with blending and expansion, the network's few milliseconds on the drawing left out."""
    drawing = pictures.vectors(np.array([0]))[0]

    def search(query: Query) -> object:
        shape = EngineScores(collection, query, Options(threads=threads))
        ids, _, _ = rerank(shape, pictures, k, drawing=drawing, expand=EXPAND, threads=threads)
        return located(collection, query, ids, threads)

    return search


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
            describer = get_describer(name)
        except SketchseekError as error:
            say(f"without {name}: {error}")
            continue
        yield name, partial(describer, pixels), 2 * describer.dimension


def _picture() -> NDArray[np.uint8]:
    """Blurred noise, as far from flat art as a photograph is."""
    noise = np.random.default_rng(0).integers(0, 256, (60, 80, 3)).astype(np.uint8)
    return np.asarray(cv2.resize(noise, (640, 480), interpolation=cv2.INTER_CUBIC), np.uint8)
