"""A collection that is too large to be loaded at once: what stays on the host, and in which order.

A visitor loads what the icon network sees in each picture, in half a byte a number; it names the pictures in
which a search looks. Their records come by range requests, neighbours together, so that pictures lie beside
those that the network takes for alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..shape.engine import _engine

if TYPE_CHECKING:
    from ..search.engine_arrays import EngineArrays
    from ..search.state import SearchState

LOADED_AT_ONCE = 16 * 2**20
"""Bytes of different codes that a visitor loads; of more, a search loads what it needs."""
RECORDS = 4 * 2**20
"""Bytes of records in a file."""
_TOGETHER = 4  # pictures that are not parted any more
_ROUNDS = 4  # of finding the direction in which some pictures differ most
_MOST = 7  # of half a byte


def is_large(state: SearchState, different: int) -> bool:
    """Whether the codes of a collection stay on the host: where they are many and the network knows them."""
    dimensions = state.collection.vectors.shape[1]
    if state.icons is None or state.icon_codes is None or different * dimensions <= LOADED_AT_ONCE:
        return False
    return bool(state.icon_codes.any(axis=1).mean() > 0.5)


def neighbours_first(embeddings: NDArray[np.int8]) -> NDArray[np.int64]:
    """The order in which pictures (n, 128) that are alike lie beside each other: halves of halves."""
    lengths = np.linalg.norm(embeddings.astype(np.float32), axis=1, keepdims=True)
    points = (embeddings / np.maximum(lengths, 1)).astype(np.float32)
    rng = np.random.default_rng(0)
    order: list[NDArray[np.int64]] = []
    waiting = [np.arange(len(points))]
    while waiting:
        some = waiting.pop()
        if len(some) <= _TOGETHER:
            order.append(some)
            continue
        own = points[some] - points[some].mean(axis=0)
        direction = rng.standard_normal(own.shape[1]).astype(np.float32)
        for _ in range(_ROUNDS):
            direction = own.T @ (own @ direction)
            direction /= max(float(np.linalg.norm(direction)), 1e-12)
        ranked = some[np.argsort(own @ direction, kind="stable")]
        half = len(some) // 2
        waiting += [ranked[half:], ranked[:half]]
    return np.concatenate([np.zeros(0, np.int64), *order])


def halved(embeddings: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Embeddings (n, 128) with half a byte a number, the largest 7 from 0: (n, 64)."""
    largest = np.maximum(np.abs(embeddings).max(axis=1, keepdims=True, initial=0), 1)
    small = np.round(embeddings * (_MOST / largest.astype(np.float32))).astype(np.int8).view(np.uint8)
    return np.asarray(small[:, ::2] << 4 | small[:, 1::2] & 15, np.uint8)


def arranged(layout: EngineArrays, order: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The table of pictures in an order, and the rows in it."""
    counts = layout.pictures[:, 3].astype(np.int64)
    starts = np.cumsum(counts) - counts
    mine = counts[order]
    begins = np.repeat(starts[order] - (np.cumsum(mine) - mine), mine)
    return layout.pictures[order], begins + np.arange(len(begins))


def records(
    embeddings: NDArray[np.int8], layout: EngineArrays, pictures: NDArray[np.int32], rows: NDArray[np.int64]
) -> Iterator[bytes]:
    """Of each picture what the network sees in it, and its codes and frames."""
    at = 0
    for embedding, count in zip(embeddings, pictures[:, 3].tolist(), strict=True):
        mine = rows[at : at + count]
        yield embedding.tobytes() + layout.codes[mine].tobytes() + layout.frames[mine].tobytes()
        at += count


def ordinary(layout: EngineArrays, pictures: NDArray[np.int32], rows: NDArray[np.int64]) -> NDArray[Any]:
    """The first rows of the pictures that say what an ordinary score is: (m, D)."""
    first = np.cumsum(pictures[:, 3]) - pictures[:, 3]
    whole = layout.codes[rows[first[_engine.spread(len(pictures))]]]
    return np.asarray(whole[_engine.ordinary(np.ascontiguousarray(whole))])
