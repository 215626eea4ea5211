"""Many vectors in a few bytes each, and their products with a query that stays whole (asymmetric).

Small collections keep one byte per component and are compared in full. Large ones are product-quantised to
64 bytes by FAISS, which finds candidates; their exact products are then taken from the stored vectors.

References
----------
Jégou, Douze and Schmid, "Product quantization for nearest neighbor search", PAMI 2011.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sketchseek.errors import SketchseekError
from sketchseek.expansion.graph import MISSING_EXTRA

BYTES = 64
LARGE = 20_000
"""From this many vectors on, product quantisation: below, one byte per component is as fast."""
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
        self._step = np.maximum(np.abs(whole).max(axis=0, initial=0.0), 1e-9) / 127
        self.codes: NDArray[np.int8] = np.round(whole / self._step).astype(np.int8)

    def products(self, query: Vector) -> Vector:
        """The products of every vector with the query: (d,) -> (n,)."""
        folded = np.asarray(query * self._step, np.float32)
        out = np.empty(len(self.codes), np.float32)
        for start in range(0, len(out), 8192):
            out[start : start + 8192] = self.codes[start : start + 8192].astype(np.float32) @ folded
        return out


class ProductCodes:
    """64 bytes per vector: 128 parts of four bits, searched by FAISS with tables in registers."""

    def __init__(self, index: Any, trained_on: int) -> None:
        self._index = index
        self.trained_on = trained_on

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @classmethod
    def train(cls, sample: NDArray[np.float32], trained_on: int) -> ProductCodes:
        """Learn codebooks on a sample (m, d) of a collection of `trained_on` vectors; no codes yet."""
        faiss = _faiss()
        index = faiss.IndexPQFastScan(sample.shape[1], 2 * BYTES, 4, faiss.METRIC_INNER_PRODUCT)
        with _threads(faiss, 1):  # the parts are too small to share
            index.train(np.ascontiguousarray(sample, np.float32))
        return cls(index, trained_on)

    def encode(self, batches: Iterable[NDArray[np.float32]]) -> None:
        """Replace the codes by those of other vectors, with the codebooks as they are."""
        self._index.reset()
        with _threads(_faiss(), 1):
            for batch in batches:
                self._index.add(np.ascontiguousarray(batch, np.float32))

    def outgrown(self, n: int) -> bool:
        """Whether a collection of n vectors deserves codebooks of its own."""
        return n > _GROWTH * self.trained_on

    def best(self, query: Vector, k: int, threads: int = 1) -> Ids:
        """The k vectors with the largest products, as the codes see them."""
        with _threads(_faiss(), threads):
            _, ids = self._index.search(np.ascontiguousarray(query, np.float32)[None], min(k, len(self)))
        return np.asarray(ids[0][ids[0] >= 0], np.int64)

    def decoded(self) -> NDArray[np.float32]:
        """The vectors as the codes have them: (n, d)."""
        return np.asarray(self._index.reconstruct_n(0, len(self)), np.float32)

    def save(self, path: Path) -> None:
        """Write it beside its place and move it there: nobody reads half a file."""
        faiss = _faiss()
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        os.close(handle)
        try:
            faiss.write_index(self._index, temporary)
            Path(temporary).replace(path)
        finally:
            Path(temporary).unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path, trained_on: int) -> ProductCodes | None:
        """Read what `save` wrote; None when it isn't there or isn't whole."""
        try:
            return cls(_faiss().read_index(str(path)), trained_on)
        except (RuntimeError, OSError):
            return None


@contextmanager
def _threads(faiss: Any, count: int) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise SketchseekError(MISSING_EXTRA) from None
    return faiss
