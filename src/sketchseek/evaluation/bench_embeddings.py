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
from ..embeddings.encoders import TAUGHT, token_space
from ..embeddings.pictures import Pictures
from ..embeddings.tokens import ACROSS, Codes, DrawnTokens, TokenSpace, grid
from ..errors import SketchseekError
from ..search.collection import Collection
from ..search.options import Options
from ..search.search import search
from ..search.state import SearchState
from ..shape.query import Query

DIMENSION = 384
"""As EfficientNet's embeddings have."""
_CATEGORIES = 1000


def synthetic(pictures: int, seed: int = 0) -> Pictures:
    """Embeddings (float16) of as many pictures, in a thousand loose clusters."""
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

    def __init__(self, drawing: NDArray[np.float32], tokens: TokenSpace | None) -> None:
        self._drawing, self.tokens = drawing, tokens
        self._drawn = None if tokens is None else drawn_tokens(tokens)

    def drawing(self, strokes: object, kinds: object) -> NDArray[np.float32]:
        return self._drawing

    def drawing_with_tokens(
        self, strokes: object, kinds: object
    ) -> tuple[NDArray[np.float32], list[DrawnTokens | None]]:
        return self._drawing, [self._drawn] * 2


class _Tokens:
    """Tokens of any number of pictures, in the memory of a few."""

    def __init__(self, space: TokenSpace) -> None:
        rng = np.random.default_rng(0)
        self._few = rng.integers(0, 256, (1000, space.bytes), np.uint8)
        self._few[:, [-1 - 64, -1]] = grid(480, 640)

    def __getitem__(self, ids: NDArray[np.int64]) -> Codes:
        return self._few[ids % len(self._few)]


def drawn_tokens(space: TokenSpace) -> DrawnTokens:
    """The tokens of a drawing of 70 inked cells, about as many as drawings of photographs have."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((space.channels, ACROSS, ACROSS), np.float32)
    ink = np.zeros((ACROSS, ACROSS), np.float32)
    ink.ravel()[rng.permutation(ink.size)[:70]] = 0.2
    drawn = space.draw(features, ink)
    assert drawn is not None
    return drawn


def meeting(candidates: int) -> tuple[TokenSpace, Callable[[], object]]:
    """The tokens of a drawing meet those of so many pictures."""
    space = token_space("efficientnet")
    assert space is not None
    drawn, codes = drawn_tokens(space), _Tokens(space)[np.arange(candidates)]
    return space, partial(drawn.meet, codes)


def state_with(collection: Collection, pictures: Pictures, tokens: TokenSpace | None = None) -> SearchState:
    """A collection as a search sees it, with what its pictures depict, and what is where in them."""
    n = len(collection)
    encoder: Any = _Encoder(pictures.vectors(np.array([0]))[0], tokens)
    codes: Any = None if tokens is None else _Tokens(tokens)
    version = "" if tokens is None else tokens.version
    embeddings = EmbeddingIndex(lambda: pictures, lambda _: encoder, codes, version)
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
        if encoder.tokens is not None:
            kept = 2 * encoder.dimension + encoder.tokens.bytes
            yield f"{name} with tokens", partial(encoder.with_tokens, pixels), kept


def _picture() -> NDArray[np.uint8]:
    """Blurred noise, as far from flat art as a photograph is."""
    noise = np.random.default_rng(0).integers(0, 256, (60, 80, 3)).astype(np.uint8)
    return np.asarray(cv2.resize(noise, (640, 480), interpolation=cv2.INTER_CUBIC), np.uint8)
