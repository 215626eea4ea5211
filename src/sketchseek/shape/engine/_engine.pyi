"""The compiled engine (src/cpp). Arrays are C-contiguous; ids are picture numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Ints = NDArray[np.int32]

def supported_builds() -> list[str]: ...
def largest_sums(
    codes: NDArray[np.uint8], tables: NDArray[np.uint8], n: int, k: int, build: str, threads: int
) -> Ids: ...
def largest(scores: Floats, k: int) -> Ids: ...
def describe(
    points: Floats,
    sizes: NDArray[np.float64],
    frequencies: NDArray[np.float64],
    orientation_frequencies: NDArray[np.float64],
    build: str,
) -> Floats: ...
def densities(
    vectors: NDArray[Any],
    steps: Floats,
    poses: Floats,
    weights: NDArray[np.float64],
    orientation_weights: NDArray[np.float64],
    pose: Ids,
    shifts: Floats,
    frequencies: NDArray[np.float64],
    orientation_frequencies: NDArray[np.float64],
    build: str,
) -> Floats: ...

class PreparedQuery:
    def __init__(
        self,
        full: Floats,
        projections: Floats,
        frequencies: NDArray[np.float64],
        steps: NDArray[np.float64],
        reach: Ints,
        kernels: Ints,
        mirror: bool,
        dual: Floats | None,
    ) -> None: ...

class Collection:
    def __init__(self, vectors: NDArray[Any], norms: Floats, nx: int, no: int, build: str) -> None: ...
    def __len__(self) -> int: ...
    @property
    def build(self) -> str: ...
    @property
    def bytes(self) -> int: ...
    def scores(self, query: PreparedQuery, ids: Ids | None, threads: int) -> Floats: ...
    def plain_scores(self, query: PreparedQuery, ids: Ids | None, threads: int) -> Floats: ...
    def project(self, query: PreparedQuery, axis: int, ids: Ids | None, threads: int) -> Floats: ...
    def top(
        self, query: PreparedQuery, k: int, groups: Ints | None, prior: Floats | None, threads: int
    ) -> tuple[Ids, Floats]: ...
    def locate(
        self, query: PreparedQuery, ids: Ids | None, guide: str, radius: int, threads: int
    ) -> tuple[Floats, Ints, Ints, Ints, Ints]: ...
    def settle(
        self,
        vectors: Floats,
        norms: Floats,
        weights: Floats,
        kernels: Ints,
        steps: Floats,
        frequencies: NDArray[np.float64],
        ids: Ids,
        starts: NDArray[np.float64],
        poses: Ints,
        threads: int,
    ) -> tuple[NDArray[np.float64], Ints, NDArray[np.float64], NDArray[np.float64]]: ...
    def energy(self, factors: Floats, table: Floats, cells: int, ids: Ids, threads: int) -> Floats: ...

class ShapeSearch:
    def __init__(
        self,
        collection: Collection,
        settings: NDArray[np.float64],
        model: NDArray[np.float64],
        pictures: Ints,
        frames: Floats,
        made_up: NDArray[np.int8],
        shares: Floats,
        prior: Floats | None,
    ) -> None: ...
    def search(
        self,
        points: Floats,
        width: float,
        height: float,
        k: int,
        offset: int,
        mirror: bool,
        turn: float,
        threads: int,
    ) -> tuple[float, NDArray[np.float64]]: ...

class PublishedCollection:
    def __init__(
        self,
        settings: NDArray[np.float64],
        model: NDArray[np.float64],
        pictures: Ints,
        frames: Floats,
        codes: NDArray[np.int8],
        made_up: NDArray[np.int8],
    ) -> None: ...
    def search(
        self, strokes: NDArray[np.float64], lengths: Ints, k: int, offset: int, mirror: bool, turn: float
    ) -> tuple[float, NDArray[np.float64]]: ...

class PreparedTokens:
    def __init__(
        self,
        tokens: Floats,
        weights: Floats,
        places: Ints,
        across: int,
        centroids: Floats,
        scales: list[float],
        mirror: bool,
        overhang: int,
    ) -> None: ...
    def meet(self, codes: NDArray[np.uint8], build: str) -> tuple[Floats, NDArray[np.int16]]: ...
