"""The embeddings of a collection's pictures, ready to be compared with a query's."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..shape.engine import _engine
from ..shape.engine.ids import distinct
from ..shape.engine.native import products, select
from .cache import load_arrays, save_arrays
from .quantisation import LARGE, Ids, ProductCodes, ScalarCodes, Vector

QueryEmbeddings = NDArray[np.float32]
"""(d,), or (kinds, d): a row for each kind."""

COMPARED = int(json.loads(_engine.description())["constants"]["compared"])
"""Fewer pictures than these are all compared with a drawing; of more, those that some score names."""
_BATCH = 65_536
_TRAINING = 16_384  # vectors that codebooks are learned on: a thousand a centroid
_BACKGROUND = 1024  # pictures that say what an ordinary score is
# A kind of which there are fewer is centred and asked as the others are: among photographs, flat art is
# mostly the one in a hundred that only looks so, and with a mean of its own would be like every drawing.
_RARE = 0.05
_COMPONENTS_HASHED = 64  # numbers of an embedding that say where in the order of background pictures it is
_PRIOR_WEIGHT = 64  # a collection's own mean counts for half when it has as many pictures


@dataclass(frozen=True)
class CodeCache:
    """A folder for codes, and what no other version of this or another collection is known by."""

    folder: Path
    identity: str


@dataclass(frozen=True)
class EmbeddingRows:
    """Embeddings of some pictures, centred, of length 1 (zeros for none), and their kinds: (m, d), (m,)."""

    vectors: NDArray[np.float32]
    kinds: Ids

    def cosines(self, query: QueryEmbeddings) -> Vector:
        """With the query, or its row for each one's kind."""
        if query.ndim == 1:
            return products(self.vectors, query)
        found: Vector = np.einsum("md,md->m", self.vectors, query[self.kinds])
        return found

    def __getitem__(self, some: slice) -> EmbeddingRows:
        return EmbeddingRows(self.vectors[some], self.kinds[some])

    def __add__(self, other: EmbeddingRows) -> EmbeddingRows:
        vectors = np.concatenate([self.vectors, other.vectors])
        return EmbeddingRows(vectors, np.concatenate([self.kinds, other.kinds]))


class Candidates(Protocol):
    """What names those of many pictures that may be most like a query."""

    def best(self, query: Vector, k: int, threads: int = 1) -> Ids:
        """See `ProductCodes.best`."""


class Pictures:
    """Embeddings centred on the collection's mean and brought to length 1.

    Where pictures are of two kinds, photographs and flat art, each kind has a mean of its own, and a query
    may have a row for each: (2, d), of which a picture is asked by that of its kind.

    Parameters
    ----------
    stored : ndarray of shape (n, d), or (n, d + 1) with kinds
        As the index keeps them (float16), the kind last; a row of NaN where a picture has none. Kept, not
        copied.
    prior : ndarray of shape (2, d), optional
        The means of the kinds in general, for collections that have too few of one to have a mean of their
        own; without it all pictures are of one kind.
    cache : CodeCache, optional
        Where the codes of a large collection are kept. They are derived from `stored`, and made again when
        they are not there.
    candidates : callable, optional
        (these pictures, a sample to learn on) -> what names candidates, for embeddings that are elsewhere.
    """

    def __init__(
        self,
        stored: NDArray[np.floating[Any]],
        prior: Vector | None = None,
        cache: CodeCache | None = None,
        candidates: Callable[[Pictures, Ids], Candidates] | None = None,
    ) -> None:
        self.stored = stored
        n = len(stored)
        kept = _load(cache, n) if COMPARED <= n < LARGE and cache is not None else None
        known = kept or _Statistics.of(stored, prior)
        self.means: NDArray[np.float32] = known.means
        """Of each kind: (kinds, d)."""
        self.flat_art = float(known.flat_art)
        """Which share of the pictures are flat art."""
        self.kinds_here: list[int] = known.kinds_here.tolist()
        """The kinds that there are more than a few of: a drawing need not be described for the others."""
        self.background: Ids = known.background
        """Some pictures from all over the collection, by number: they say what an ordinary score is."""
        self.background_rows = self.rows(self.background)
        self._kinds: Ids | None = None
        self._scalar: ScalarCodes | None = None
        self._product: Candidates | None = None
        if n >= LARGE:
            spread = known.spread
            self._product = candidates(self, spread) if candidates else _codes(self, spread, cache)
        elif kept is not None:
            self._kinds, self._scalar = kept.kinds, ScalarCodes.kept(kept.codes, kept.steps)
        else:
            everything = self.rows(np.arange(n))
            self._kinds, self._scalar = everything.kinds, ScalarCodes(everything.vectors)
            if n >= COMPARED and cache is not None:
                kinds, codes, steps = self._kinds, self._scalar.codes, self._scalar.steps
                _save(cache, replace(known, kinds=kinds, codes=codes, steps=steps))

    def __len__(self) -> int:
        return len(self.stored)

    def has(self, ids: Ids) -> NDArray[np.bool_]:
        """Which of the pictures have an embedding."""
        return _has_embedding(self.stored[ids])

    def rows(self, ids: Ids) -> EmbeddingRows:
        """Some pictures, read once."""
        stored = self.stored[ids]
        return EmbeddingRows(centred_rows(stored, self.means), kinds_of(stored, self.means))

    def vectors(self, ids: Ids) -> NDArray[np.float32]:
        """The embeddings of some: (m,) -> (m, d), of length 1; zeros where a picture has none."""
        return self.rows(ids).vectors

    def centred(self, embedding: Vector) -> Vector:
        """The embedding of a picture that is asked for, as it would be stored: (d,), as these are."""
        row: Vector = centred_rows(embedding[None], self.means)[0]
        return row

    @property
    def small(self) -> bool:
        """Whether all pictures are compared with a drawing, shape included; of more, only candidates are."""
        return len(self) < COMPARED

    def products(self, query: QueryEmbeddings) -> Vector:
        """Cosines of all pictures of a collection that is not large; 0 for one without an embedding."""
        if self._scalar is None or self._kinds is None:
            raise ValueError("too many pictures to compare all with a query")
        if query.ndim == 1:
            return self._scalar.products(query)
        return np.choose(self._kinds, [self._scalar.products(row) for row in query])

    def best(self, query: QueryEmbeddings, k: int, threads: int = 1) -> Ids:
        """The k pictures that are most like the query; of a large collection, candidates for these."""
        if self._product is None:
            return select(self.products(query), k)
        if query.ndim == 1:
            return self._product.best(query, k, threads)
        named = [self._product.best(query[kind], k, threads) for kind in self.kinds_here]
        return distinct(np.concatenate(named))


@dataclass(frozen=True)
class _Statistics:
    """What comparing pictures takes to know of all of them.

    means, flat_art, kinds_here, background : see `Pictures`. spread : (m,) pictures that have an embedding.
    kinds, codes, steps : of every picture, where all are compared (`ScalarCodes`).
    """

    means: NDArray[np.float32]
    flat_art: NDArray[np.float64]
    kinds_here: Ids
    background: Ids
    spread: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    kinds: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    codes: NDArray[np.int8] = field(default_factory=lambda: np.zeros((0, 0), np.int8))
    steps: Vector = field(default_factory=lambda: np.zeros(0, np.float32))

    @classmethod
    def of(cls, stored: NDArray[np.floating[Any]], prior: Vector | None) -> _Statistics:
        n = len(stored)
        some = np.arange(n) if n <= _BATCH else np.sort(np.random.default_rng(0).permutation(n)[:_BATCH])
        rows = np.asarray(stored[some], np.float32)
        there = _has_embedding(rows)
        known = rows[there]
        means = _means(known, prior, n / max(len(some), 1))
        kinds = kinds_of(known, means)
        shares = np.bincount(kinds, minlength=len(means)) / max(len(kinds), 1)
        here = np.flatnonzero(shares >= min(_RARE, shares.max()))
        if len(here) == 1:
            means[:] = means[here[0]]
        spread: Ids = some[there] if there.any() else some
        background = _by_content(stored, spread)[:_BACKGROUND]
        return cls(means, np.asarray(kinds.mean() if len(kinds) else 0.0), here, background, spread)


def _by_content(stored: NDArray[np.floating[Any]], some: Ids) -> Ids:
    """Pictures in an order that does not depend on their numbers: a collection that is made again says the
    same to the last digit."""
    bits = (
        np.ascontiguousarray(stored[some, :_COMPONENTS_HASHED], np.float32).view(np.uint32).astype(np.uint64)
    )
    factors = np.random.default_rng(0).integers(1, 2**63, bits.shape[1], np.uint64)
    mixed = bits @ (factors | np.uint64(1))
    return some[np.argsort(mixed ^ mixed >> np.uint64(29), kind="stable")]


def _load(cache: CodeCache, n: int) -> _Statistics | None:
    """What `_save` kept for n pictures; None when it isn't there or isn't that."""
    found = load_arrays(cache.folder / f"expansion-{cache.identity}.scalars")
    if found is None or found.keys() != _KEPT or len(found["codes"]) != n:
        return None
    return _Statistics(**found)


def _save(cache: CodeCache, known: _Statistics) -> None:
    """Keep it for `_load`, in place of what older versions of the collection had."""
    with suppress(OSError):  # a folder that can't be written keeps none
        path = cache.folder / f"expansion-{cache.identity}.scalars"
        save_arrays(path, **{name: getattr(known, name) for name in _KEPT})
        for other in cache.folder.glob("expansion-*.scalars"):
            if other != path:
                other.unlink(missing_ok=True)


_KEPT = {"means", "flat_art", "kinds_here", "background", "kinds", "codes", "steps"}


def _has_embedding(stored: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Which rows are embeddings: NaN stands for none, and a damaged number would spoil those of others."""
    return np.asarray(np.isfinite(stored).all(axis=1))


def kinds_of(stored: NDArray[np.floating[Any]], means: NDArray[np.float32]) -> Ids:
    """What embeddings (m, d or d + 1) as stored say of kinds that have these means: (m,)."""
    if stored.shape[1] == means.shape[1]:
        return np.zeros(len(stored), np.int64)
    return np.asarray(stored[:, -1] == 1, np.int64)


def _means(
    rows: NDArray[np.float32], prior: NDArray[np.float32] | None, weight: float
) -> NDArray[np.float32]:
    """The mean of each kind, drawn towards that in general where it is rare; a row counts `weight` times."""
    if prior is None:
        return (
            rows.mean(axis=0, keepdims=True, dtype=np.float64).astype(np.float32)
            if len(rows)
            else np.zeros((1, rows.shape[1]), np.float32)
        )
    kinds = kinds_of(rows, prior)
    counts = weight * np.bincount(kinds, minlength=len(prior))
    # In double precision sums of what is stored are exact, in whatever order.
    sums = np.stack([rows[kinds == kind, :-1].sum(axis=0, dtype=np.float64) for kind in range(len(prior))])
    own = (weight * sums + _PRIOR_WEIGHT * prior) / (counts + _PRIOR_WEIGHT)[:, None]
    return np.asarray(own, np.float32)


def centred_rows(stored: NDArray[np.floating[Any]], means: NDArray[np.float32]) -> NDArray[np.float32]:
    """Embeddings (m, d or d + 1) as stored, without the mean of their kind, of length 1; zeros for none."""
    centred = np.array(stored[:, : means.shape[1]], np.float32)
    centred -= means[kinds_of(stored, means)]
    centred[~_has_embedding(centred)] = 0
    length = np.sqrt(np.einsum("nd,nd->n", centred, centred))
    centred /= np.maximum(length, 1e-9)[:, None]
    return centred


def learned(pictures: Pictures, spread: Ids) -> ProductCodes:
    """Codebooks for a collection's embeddings, learned on some of them; no codes yet."""
    return ProductCodes.train(pictures.vectors(spread[:: -(-len(spread) // _TRAINING)]), len(pictures))


def _codes(pictures: Pictures, spread: Ids, cache: CodeCache | None) -> ProductCodes:
    """Those that were kept for this version; else made now, with codebooks that were kept while they fit."""
    n, d = len(pictures), pictures.means.shape[1]
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
