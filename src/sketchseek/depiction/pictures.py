"""The picture descriptors of a collection, ready to be compared with a query's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .quantisation import LARGE, Ids, ProductCodes, ScalarCodes, Vector

_BATCH = 65_536
_TRAINING = 16_384  # vectors that codebooks are learned on: a thousand a centroid
_USUAL = 1024  # pictures that say what a usual score is
_PRIOR_WEIGHT = 64  # a collection's own mean counts for half when it has as many pictures


@dataclass(frozen=True)
class CodeCache:
    """A folder for codes, and what no other version of this or another collection is known by."""

    folder: Path
    identity: str


class Candidates(Protocol):
    """What names those of many pictures that may be most like a query."""

    def best(self, query: Vector, k: int, threads: int = 1) -> Ids:
        """See `ProductCodes.best`."""


class Pictures:
    """Descriptors centred on the collection's mean and brought to length 1.

    Parameters
    ----------
    stored : ndarray of shape (n, d)
        As the index keeps them (float16); a row of NaN where a picture has none. Kept, not copied.
    prior : ndarray of shape (d,)
        The mean of pictures in general, for collections too small to have a mean of their own.
    cache : CodeCache, optional
        Where the codes of a large collection are kept. They are derived from `stored`, and made again when
        they are not there.
    candidates : callable, optional
        (these pictures, a sample to learn on) -> what names candidates, for descriptors that are elsewhere.
    """

    def __init__(
        self,
        stored: NDArray[np.floating[Any]],
        prior: Vector | None = None,
        cache: CodeCache | None = None,
        candidates: Callable[[Pictures, Ids], Candidates] | None = None,
    ) -> None:
        self._stored = stored
        n, d = stored.shape
        some = np.sort(np.random.default_rng(0).permutation(n)[:_BATCH])
        rows = np.asarray(stored[some], np.float32)
        there = ~np.isnan(rows[:, 0])
        count = there.sum() * n / max(len(some), 1)
        own = rows[there].mean(axis=0) if there.any() else np.zeros(d, np.float32)
        weight = count / (count + _PRIOR_WEIGHT) if prior is not None else 1.0
        self.mean: Vector = np.asarray(
            weight * own + (1 - weight) * (own if prior is None else prior), np.float32
        )
        self.photographs = 0.0 if prior is None else _cosine(own, prior)
        """How like photographs the pictures are all in all: the cosine of their mean with that in general."""
        spread: Ids = some[there] if there.any() else some
        self.usual: Ids = spread[:: -(-len(spread) // _USUAL)]
        """Some pictures from all over the collection, by number: they say what a usual score is."""
        self.usual_vectors = self.vectors(self.usual)
        self._scalar = ScalarCodes(self.vectors(np.arange(n))) if n < LARGE else None
        self._product: Candidates | None = None
        if n >= LARGE:
            self._product = candidates(self, spread) if candidates else _codes(self, spread, cache)

    def __len__(self) -> int:
        return len(self._stored)

    def has(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of the pictures have a descriptor."""
        return np.asarray(~np.isnan(self._stored[ids, 0]))

    def vectors(self, ids: Ids) -> NDArray[np.float32]:
        """The descriptors of some: (m,) -> (m, d), of length 1; zeros where a picture has none."""
        return centred_rows(self._stored[ids], self.mean)

    def centred(self, descriptor: Vector) -> Vector:
        """The descriptor (d,) of a picture that is asked for: as these are, of length 1."""
        centred = np.asarray(descriptor, np.float32) - self.mean
        return np.asarray(centred / max(float(np.linalg.norm(centred)), 1e-9), np.float32)

    @property
    def small(self) -> bool:
        """Whether all pictures are compared, by one byte per component; of many, only candidates are."""
        return self._product is None

    def products(self, query: Vector) -> Vector:
        """Cosines of all pictures of a small collection with the query; 0 for one without a descriptor."""
        if self._scalar is None:
            raise ValueError("too many pictures to compare all with a query")
        return self._scalar.products(query)

    def best(self, query: Vector, k: int, threads: int = 1) -> Ids:
        """Candidates for the k pictures of a large collection that are most like the query."""
        if self._product is None:
            raise ValueError("a small collection is compared in full")
        return self._product.best(query, k, threads)


def _cosine(one: Vector, other: Vector) -> float:
    return float(one @ other / max(float(np.linalg.norm(one) * np.linalg.norm(other)), 1e-9))


def centred_rows(stored: NDArray[np.floating[Any]], mean: Vector) -> NDArray[np.float32]:
    """Descriptors (m, d) as stored -> without the mean, of length 1; zeros for NaN."""
    centred = np.array(stored, np.float32)
    centred -= mean
    centred[np.isnan(centred[:, 0])] = 0
    length = np.sqrt(np.einsum("nd,nd->n", centred, centred))
    centred /= np.maximum(length, 1e-9)[:, None]
    return centred


def learned(pictures: Pictures, spread: Ids) -> ProductCodes:
    """Codebooks for a collection's descriptors, learned on some of them; no codes yet."""
    return ProductCodes.train(pictures.vectors(spread[:: -(-len(spread) // _TRAINING)]), len(pictures))


def _codes(pictures: Pictures, spread: Ids, cache: CodeCache | None) -> ProductCodes:
    """Those that were kept for this version; else made now, with codebooks that were kept while they fit."""
    n, d = len(pictures), len(pictures.mean)
    codes = None
    if cache is not None:
        for path in cache.folder.glob("expansion-*-*.codes"):
            identity, _, trained_on = path.stem.removeprefix("expansion-").rpartition("-")
            found = ProductCodes.load(path, int(trained_on), d) if trained_on.isdigit() else None
            if found is not None and identity == cache.identity and len(found) == n:
                return found
            codes = found or codes
    if codes is None or codes.outgrown(n):
        codes = learned(pictures, spread)
    codes.encode(pictures.vectors(np.arange(i, min(i + _BATCH, n))) for i in range(0, n, _BATCH))
    if cache is not None:
        with suppress(OSError):  # a folder that can't be written keeps none
            kept = cache.folder / f"expansion-{cache.identity}-{codes.trained_on}.codes"
            codes.save(kept)
            for path in cache.folder.glob("expansion-*-*.codes"):
                if path != kept:
                    path.unlink(missing_ok=True)
    return codes
