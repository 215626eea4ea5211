"""What pictures depict, with the shards: all of it stays there, that of candidates comes here."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..embeddings.pictures import Pictures, learned
from ..embeddings.quantisation import Ids, ProductCodes, Vector
from .engine import RemoteRows, ask, by_shard
from .fleet import Fleet
from .sharding import ShardLayout

_FETCHED = 16_384  # pictures a question


def remote_embeddings(fleet: Fleet, layout: ShardLayout, dimension: int) -> RemoteRows:
    """The stored embeddings (n, d) of all pictures; NaN, as for one without, where a shard is lost."""

    def fetch(ids: Ids) -> NDArray[np.float16]:
        return _of_pictures(fleet, layout, "embeddings", ids, np.full(dimension, np.nan, np.float16))

    return RemoteRows(fetch, (len(layout.pictures), dimension), np.float16)


def remote_tokens(fleet: Fleet, layout: ShardLayout, size: int) -> RemoteRows:
    """The stored tokens (n, bytes) of all pictures; zeros, as for one without, where a shard is lost."""

    def fetch(ids: Ids) -> NDArray[np.uint8]:
        return _of_pictures(fleet, layout, "tokens", ids, np.zeros(size, np.uint8))

    return RemoteRows(fetch, (len(layout.pictures), size), np.uint8)


def _of_pictures(fleet: Fleet, layout: ShardLayout, what: str, ids: Ids, lost: NDArray[Any]) -> NDArray[Any]:
    """What the shards have of some pictures, (m, ...); `lost` for those of one that does not answer."""
    out = np.tile(lost, (len(ids), 1))
    for start in range(0, len(ids), _FETCHED):
        chosen, wheres = by_shard(layout.pictures, ids[start : start + _FETCHED])
        requests = {s: (layout.keys[s], rows) for s, rows in chosen.items()}
        for shard, found in ask(fleet, what, requests).items():
            out[start + wheres[shard]] = found
    return out


class ShardedCodes:
    """`ProductCodes` whose codes are with the shards; the same candidates in the same order."""

    def __init__(self, fleet: Fleet, layout: ShardLayout, pictures: Pictures, codes: ProductCodes) -> None:
        self._fleet, self._layout, self._codes = fleet, layout, codes
        content = pictures.means.tobytes() + codes.centroids.tobytes()
        name = hashlib.blake2b(content, digest_size=12).hexdigest()
        self._keys = fleet.encode(layout, name, pictures.means, codes.centroids)

    def best(self, query: Vector, k: int, threads: int = 1) -> Ids:
        """See `ProductCodes.best`."""
        layout, tables = self._layout, self._codes.tables(query)
        shards = np.flatnonzero(layout.pictures.of_shard).tolist()
        found = ask(self._fleet, "alike", {s: (self._keys[s], tables, k) for s in shards})
        of_all = [layout.pictures.of_all(s, ids) for s, (ids, _) in found.items()]
        ids = np.concatenate([np.empty(0, np.int64), *of_all])
        sums = np.concatenate([np.empty(0, np.int64), *(sums for _, sums in found.values())])
        best: Ids = ids[np.lexsort((ids, -sums))[:k]]
        return best


class Codebooks:
    """Makes `ShardedCodes` of one version after the other, with codebooks that are kept while they fit."""

    def __init__(self) -> None:
        self._codes: ProductCodes | None = None

    def candidates(self, fleet: Fleet, layout: ShardLayout, pictures: Pictures, spread: Ids) -> ShardedCodes:
        """Codebooks learned here on a sample, codes made there."""
        if self._codes is None or self._codes.outgrown(len(pictures)):
            self._codes = learned(pictures, spread)
        return ShardedCodes(fleet, layout, pictures, self._codes)
