"""The compiled engine (src/cpp). Arrays are C-contiguous; ids are picture numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Ints = NDArray[np.int32]
Doubles = NDArray[np.float64]

CODE_BLOCK: int
EMBEDDING: int
INK_LONGER: int
INK_SIDE: int
TOKEN_CELLS: int
TOKEN_CELLS_ACROSS: int

def supported_builds() -> list[str]: ...
def largest_sums(
    codes: NDArray[np.uint8], tables: NDArray[np.uint8], n: int, k: int, build: str, threads: int
) -> Ids: ...
def largest(scores: Floats, k: int) -> Ids: ...
def products(rows: NDArray[Any], others: Floats, build: str) -> Floats: ...
def diffused(scores: Floats, cosines: Floats, neighbours: int, share: float) -> Floats: ...
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
    def refine_pose(
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

class PreparedDrawing: ...

class ConfidenceModel:
    def __init__(self, numbers: Doubles) -> None: ...
    def judge(self, evidence: Doubles, likeness: Doubles) -> tuple[Doubles, float, float, int]: ...

class IconNetwork:
    def __init__(self, weights: bytes, build: str) -> None: ...
    def of_ink(self, ink: Floats) -> Floats: ...
    def of_strokes(self, points: Doubles, lengths: Ints) -> Floats: ...

class Resemblance:
    def __bool__(self) -> bool: ...
    def at(self, ids: Ids) -> Floats: ...
    def part(self, ids: Ids) -> Resemblance: ...
    def most(self) -> Ids: ...

class IconEmbeddings:
    def __init__(self, codes: NDArray[np.int8]) -> None: ...
    @property
    def speak(self) -> bool: ...
    def resemblance(self, asked: Floats) -> Resemblance: ...

def icon_ink(points: Doubles, lengths: Ints, width: float) -> Floats: ...

class Search:
    def __init__(
        self,
        collection: Collection,
        settings: Doubles,
        pictures: Ints,
        frames: Floats,
        synthetic: NDArray[np.int8],
    ) -> None: ...
    def drawn(
        self, points: Floats, width: float, height: float, mirror: bool, turn: float
    ) -> PreparedDrawing: ...
    def candidates(self, drawing: PreparedDrawing, k: int, threads: int) -> Ids: ...
    def scores(self, drawing: PreparedDrawing, ids: Ids, threads: int) -> Floats: ...
    def whole_scores(self, drawing: PreparedDrawing, ids: Ids, threads: int) -> Floats: ...
    def rescore(
        self,
        drawing: PreparedDrawing,
        model: ConfidenceModel,
        k: int,
        offset: int,
        count: int,
        normalization: float,
        coverage: float,
        place: bool,
        rows: Ids | None,
        placed: Floats | None,
        pictures: Ids | None,
        order: Doubles | None,
        network_evidence: list[Doubles] | None,
        background: Floats | None,
        total: int,
        resemblance: Resemblance | None,
        icon_blend: float,
        threads: int,
    ) -> dict[str, Any]: ...
    def meet(self, drawing: PreparedDrawing, picture: int) -> dict[str, Any]: ...

class PublishedCollection:
    def __init__(
        self,
        settings: Doubles,
        model: Doubles,
        pictures: Ints,
        frames: Floats,
        codes: NDArray[np.int8],
        synthetic: NDArray[np.int8],
    ) -> None: ...
    def see(self, weights: bytes, embeddings: NDArray[np.int8]) -> None: ...
    def search(
        self, strokes: Doubles, lengths: Ints, k: int, offset: int, mirror: bool, turn: float
    ) -> dict[str, Any]: ...

def description() -> str: ...
def wanted(k: int, offset: int, among: int) -> int: ...
def judged(k: int, offset: int, among: int) -> int: ...
def spread(n: int) -> Ids: ...
def ordinary(vectors: NDArray[np.int8] | Floats) -> Ids: ...
def question(evidence: Doubles) -> int: ...
def heard(evidence: Doubles, likeness: Doubles) -> Doubles: ...
def window_shares(frames: Floats, pictures: Ints, line_art: NDArray[np.bool_]) -> Floats: ...
def window_priors(shares: Floats) -> Floats: ...

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
