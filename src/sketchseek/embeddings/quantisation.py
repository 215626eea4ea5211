"""Many vectors in a few bytes each, and their products with a query that stays whole (asymmetric).

Small collections keep one byte per component and are compared in full. Large ones are product-quantised to
64 bytes, which name candidates; their exact products are then taken from the stored vectors.

References
----------
Jégou, Douze and Schmid, "Product quantization for nearest neighbor search", PAMI 2011.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from ..networks.graph import MISSING_EXTRA
from ..shape.engine import _engine
from ..shape.engine.native import largest_sums, products
from .cache import load_arrays, save_arrays

BYTES = 64
LARGE = 20_000
"""From this many vectors on, product quantisation: below, one byte per component is as fast."""
_BLOCK = _engine.CODE_BLOCK  # vectors side by side in the codes
_GROWTH = 2.0  # a codebook serves until the collection is this many times what it was learned on

Vector = NDArray[np.float32]
Ids = NDArray[np.int64]


class ScalarCodes:
    """One byte per component, one step per component.

    >>> codes = ScalarCodes(np.eye(3, dtype=np.float32))
    >>> codes.products(np.array([1, 0, 0], np.float32)).round(2).tolist()
    [1.0, 0.0, 0.0]
    """

    def __init__(self, vectors: NDArray[np.floating[Any]]) -> None:
        whole = np.asarray(vectors, np.float32)
        self.steps: Vector = np.maximum(np.abs(whole).max(axis=0, initial=0.0), 1e-9) / np.float32(127)
        self.codes: NDArray[np.int8] = np.round(whole / self.steps).astype(np.int8)

    @classmethod
    def kept(cls, codes: NDArray[np.int8], steps: Vector) -> ScalarCodes:
        """The codes as they were, made of vectors before."""
        found = cls.__new__(cls)
        found.codes, found.steps = codes, steps
        return found

    def products(self, query: Vector) -> Vector:
        """The products of every vector with the query: (d,) -> (n,)."""
        return products(self.codes, query * self.steps)


class ProductCodes:
    """64 bytes per vector: 128 parts of four bits. FAISS learns and assigns them; the engine scans them.

    Parameters
    ----------
    centroids : ndarray of shape (parts, 16, d / parts)
    codes : ndarray of shape (blocks, 64, 64)
        Two parts a byte, 64 vectors side by side.
    count : int
        Vectors; the last block may have room for more.
    trained_on : int
        How many vectors the collection had that the centroids were learned for.
    """

    def __init__(self, centroids: Vector, codes: NDArray[np.uint8], count: int, trained_on: int) -> None:
        self.centroids, self.codes = centroids, codes
        self._count, self.trained_on = count, trained_on

    def __len__(self) -> int:
        return self._count

    @classmethod
    def train(cls, sample: NDArray[np.float32], trained_on: int) -> ProductCodes:
        """Learn codebooks on a sample (m, d) of a collection of `trained_on` vectors; no codes yet."""
        faiss = faiss_or_sentence()
        quantiser = faiss.ProductQuantizer(sample.shape[1], 2 * BYTES, 4)
        with _threads(faiss, 1):  # the parts are too small to share
            quantiser.train(np.ascontiguousarray(sample, np.float32))
        centroids = faiss.vector_to_array(quantiser.centroids).reshape(2 * BYTES, 16, -1)
        return cls(centroids, np.zeros((0, BYTES, _BLOCK), np.uint8), 0, trained_on)

    def encode(self, batches: Iterable[NDArray[np.float32]]) -> None:
        """Replace the codes by those of other vectors, with the codebooks as they are."""
        faiss = faiss_or_sentence()
        parts, _, length = self.centroids.shape
        quantiser = faiss.ProductQuantizer(parts * length, parts, 4)
        faiss.copy_array_to_vector(self.centroids.ravel(), quantiser.centroids)
        with _threads(faiss, 1):
            rows = [quantiser.compute_codes(np.ascontiguousarray(b, np.float32)) for b in batches]
        self._count = sum(map(len, rows))
        padding = np.zeros((-self._count % _BLOCK, BYTES), np.uint8)
        blocks = np.concatenate([*rows, padding]).reshape(-1, _BLOCK, BYTES)
        self.codes = np.ascontiguousarray(blocks.transpose(0, 2, 1))

    def outgrown(self, n: int) -> bool:
        """Whether a collection of n vectors deserves codebooks of its own."""
        return n > _GROWTH * self.trained_on

    def best(self, query: Vector, k: int, threads: int = 1) -> Ids:
        """The k vectors with the largest products, as the codes see them, best first.

        The products of the query with the centroids are rounded to a byte each, so that the order may differ
        among near equals.
        """
        return self.largest(self.tables(query), k, threads)

    def tables(self, query: Vector) -> NDArray[np.uint8]:
        """(parts, 16): what each centroid counts for a query."""
        products = np.einsum("pcd,pd->pc", self.centroids, query.reshape(len(self.centroids), -1))
        products -= products.min(axis=1, keepdims=True)  # the same for all vectors
        scaled: NDArray[np.uint8] = np.rint(products * (255 / max(float(products.max()), 1e-30))).astype(
            np.uint8
        )
        return scaled

    def largest(self, tables: NDArray[np.uint8], k: int, threads: int = 1) -> Ids:
        """The k vectors with the largest sums of what their centroids count, best first."""
        return largest_sums(self.codes, tables, len(self), min(k, max(len(self), 1)), threads)

    def sums(self, tables: NDArray[np.uint8], ids: Ids) -> NDArray[np.int64]:
        """Those sums, of some vectors."""
        rows = self.codes[ids // _BLOCK, :, ids % _BLOCK]
        each = np.stack([rows & 15, rows >> 4], axis=-1).reshape(len(ids), -1)
        total: NDArray[np.int64] = tables[np.arange(each.shape[1]), each].sum(axis=1, dtype=np.int64)
        return total

    def decoded(self) -> NDArray[np.float32]:
        """The vectors as the codes have them: (n, d)."""
        rows = self.codes.transpose(0, 2, 1).reshape(-1, BYTES)[: len(self)]
        each = np.stack([rows & 15, rows >> 4], axis=-1).reshape(len(self), 2 * BYTES)
        return self.centroids[np.arange(2 * BYTES), each].reshape(len(self), -1)

    def save(self, path: Path) -> None:
        """Keep it for `load`."""
        save_arrays(path, centroids=self.centroids, codes=self.codes, count=len(self))

    @classmethod
    def load(cls, path: Path, trained_on: int, dimension: int) -> ProductCodes | None:
        """Read what `save` wrote for vectors (n, dimension); None when it isn't there or isn't that."""
        kept = load_arrays(path)
        if kept is None or kept.keys() != {"centroids", "codes", "count"}:
            return None
        centroids, codes, count = kept["centroids"], kept["codes"], kept["count"]
        whole = (
            centroids.dtype == np.float32
            and centroids.shape == (2 * BYTES, 16, dimension // (2 * BYTES))
            and codes.dtype == np.uint8
            and codes.shape[1:] == (BYTES, _BLOCK)
            and count.ndim == 0
            and len(codes) == -(-int(count) // _BLOCK)
        )
        return cls(centroids, codes, int(count), trained_on) if whole else None


@contextmanager
def _threads(faiss: Any, count: int) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def faiss_or_sentence() -> Any:
    """The package, or the sentence that says how to get it."""
    try:
        import faiss
    except ImportError:
        raise SketchseekError(MISSING_EXTRA) from None
    return faiss
