"""`sketchseek bench`: every method and its peers on the same descriptors, in one run.

Peers are what a reasonable person would write without the engine, given every advantage that costs no
exactness: NumPy and FAISS get float32 copies laid out for them beforehand, and the same number of threads.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import system

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contours.points import Points
    from ..shape.query import Query
    from ..shape.settings import Settings

SHORTLIST = 50_000
PHOTOS = 200  # whose contours the descriptors are made of
QUERIES = 3
WINDOWS, PRIOR = 12, 0.9  # the same rows as windows of fewer pictures, the first of each its whole
CANDIDATES = 100  # whose tokens meet a drawing's in a row of its own; a search has twice as many
_BLOCK = 8192
_PATIENCE = 3.0  # seconds after which a measurement is not repeated


@dataclass(frozen=True)
class Measurement:
    """One measurement: the best of its repetitions for each query, averaged over the queries."""

    method: str
    storage: str
    pictures: int
    threads: int
    ms: float
    pictures_per_second: float
    flop_share: float | None = None
    bandwidth_share: float | None = None


def run_bench_on_gpu(pictures: int, preset: str, say: Callable[[str], None]) -> dict[str, Any]:
    """The exact search on a graphics processor, measured."""
    from ..errors import SketchseekError
    from ..shape.engine.device import why_not

    reason = why_not()
    if reason is not None:
        raise SketchseekError(reason)
    import numpy as np

    from ..shape.descriptor import describe
    from ..shape.query import Query
    from ..shape.settings import Settings
    from .bench_gpu import run_gpu

    settings = Settings.preset(preset)
    photos, drawings, _ = seed_contours()
    seeds = np.stack([describe(points, settings) for points in photos])
    return run_gpu(seeds, [Query.of(points, settings) for points in drawings], pictures, say)


def run_bench(
    pictures: int, preset: str = "compact", threads: int = 1, say: Callable[[str], None] = lambda text: None
) -> dict[str, Any]:
    """All measurements, as the JSON document that the command prints."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    import numpy as np

    from ..search.collection import Collection
    from ..search.ranking import rank
    from ..shape.descriptor import describe
    from ..shape.engine.native import NativeEngine, build_name
    from ..shape.query import Query
    from ..shape.settings import Settings, X

    settings = Settings.preset(preset)
    say("contours")
    photos, drawings, source = seed_contours()
    seeds = np.stack([describe(points, settings) for points in photos])
    queries = [Query.of(points, settings) for points in drawings[:QUERIES]]
    say(f"{pictures} descriptors from {len(seeds)} {source}")
    codes, code_norms = enlarged(seeds, pictures, settings)
    collection = Collection(codes, code_norms, settings)
    engine = collection.engine
    assert isinstance(engine, NativeEngine)
    peak = _peak_flops(threads), _peak_bandwidth()
    memory = {"exhaustive": engine.memory / pictures}
    engine.project(queries[0], X)
    memory["with projections"] = engine.memory / pictures

    short = min(SHORTLIST, pictures)
    ids = np.sort(np.random.default_rng(1).choice(pictures, short, replace=False))
    work = _work(settings, queries[0])
    rows: list[Measurement] = []

    def measure(
        method: str,
        call: Callable[[Query], object],
        *,
        n: int = pictures,
        storage: str = "int8",
        count: int = threads,
        flops: float | None = None,
        read: float | None = None,
    ) -> None:
        ms = 1e3 * float(np.mean([best_time(partial(call, query), count) for query in queries]))
        rate = n / ms * 1e3
        shares = (
            None if flops is None else 2 * flops * rate / (peak[0] * count / threads),
            None if read is None else read * rate / peak[1],
        )
        rows.append(Measurement(method, storage, n, count, round(ms, 3), round(rate), *shares))
        say(f"{method:24} {storage:8} {count} thread(s) {ms:10.1f} ms")

    def measure_engine(method: str, call: Callable[[Query, int], object], **options: Any) -> None:
        """With one thread, with as many as were asked for, and with two where there are two cores."""
        for count in sorted({1, threads, min(2, os.cpu_count() or 1)}):
            measure(method, lambda q, c=count: call(q, c), count=count, **options)  # type: ignore[misc]

    row_bytes = settings.dimensions + 4 * len(settings.scales)
    side = settings.shape[0] * settings.shape[2]
    measure_engine(
        "projection-scan",
        lambda q, c: engine.project(q, X, threads=c),
        flops=work["projection"],
        read=side + 4 * len(settings.scales),
    )
    sides, inverse = _projection_arrays(codes, code_norms, settings)
    measure("projection-scan-numpy", lambda q: _numpy_projection(sides, inverse, q), storage="float32")
    index = _faiss_index(sides, threads)
    if index is not None:
        measure(
            "projection-scan-faiss", lambda q: index.search(_moved_projections(q), 1000), storage="float32"
        )

    measure_engine(
        "rerank-exact",
        lambda q, c: engine.scores(q, ids, threads=c),
        n=short,
        flops=work["exact"],
        read=row_bytes,
    )
    measure_engine("rerank-binary", lambda q, c: engine.locate(q, ids, "binary", threads=c), n=short)
    gathered, gathered_inverse = _gathered(codes, code_norms, ids, settings)
    measure(
        "rerank-numpy", lambda q: _numpy_rerank(gathered, gathered_inverse, q), n=short, storage="float32"
    )

    measure_engine(
        "exhaustive", lambda q, c: engine.scores(q, threads=c), flops=work["exact"], read=row_bytes
    )
    measure("exhaustive-plain", lambda q: engine.plain_scores(q, threads=threads), flops=work["plain"])
    measure_engine("exhaustive-top100", lambda q, c: engine.top(q, 100, threads=c))
    row = np.arange(pictures)
    groups = (row // WINDOWS).astype(np.int32)
    prior = np.where(row % WINDOWS, PRIOR, 1.0).astype(np.float32)
    measure_engine("views-top100", lambda q, c: engine.top(q, 100, threads=c, groups=groups, prior=prior))
    measure_engine(
        "two-stage", lambda q, c: rank(collection, q, method="dpf", k=100, shortlist=short, threads=c)
    )
    steps: list[dict[str, Any]] = []
    if find_spec("faiss") is not None:
        from .bench_embeddings import expanded, indexing, meeting, state_with, synthetic

        known = synthetic(pictures)
        depicted = state_with(collection, known)
        measure_engine("expanded-top100", lambda q, c: expanded(depicted, 100, c)(q))
        tokens, meet = meeting(CANDIDATES)
        measure("tokens-meet", lambda _: meet(), n=CANDIDATES, count=1)
        there = state_with(collection, known, tokens)
        measure_engine("tokens-top100", lambda q, c: expanded(there, 100, c)(q))
        del depicted, known, there
        for step, call, kept in indexing(say):
            call()  # a network is built when it is first needed
            ms = 1e3 * best_time(call, 1)
            steps.append({"step": step, "ms": round(ms, 2), "bytes_per_picture": kept})
            say(f"indexing: {step:24} {ms:10.1f} ms")
    from .bench_cold import cold

    starts = list(cold(lambda made: np.stack([describe(points, made) for points in photos]), preset, say))
    floats = codes[:SHORTLIST] * settings.component_scales
    plain = NativeEngine(floats, code_norms[:SHORTLIST], settings)
    plain.project(queries[0], X)
    measure(
        "projection-scan",
        lambda q: plain.project(q, X, threads=threads),
        n=len(floats),
        storage="float32",
    )
    measure("exhaustive", lambda q: plain.scores(q, threads=threads), n=len(floats), storage="float32")

    machine = {
        "processor": system.processor_name(),
        "cores": os.cpu_count(),
        "engine": build_name(),
        "peak_gflops": round(peak[0] / 1e9, 1),
        "peak_gbytes_per_second": round(peak[1] / 1e9, 1),
        "bytes_per_picture": {name: round(value, 1) for name, value in memory.items()},
        "preset": preset,
        "descriptors": source,
    }
    return {"machine": machine, "rows": [asdict(row) for row in rows], "indexing": steps, "cold": starts}


COMPARED = {
    "projection-scan-numpy": "projection-scan",
    "projection-scan-faiss": "projection-scan",
    "rerank-binary": "rerank-exact",
    "rerank-numpy": "rerank-exact",
    "exhaustive-plain": "exhaustive",
    "exhaustive-top100": "exhaustive",
    "views-top100": "exhaustive",
    "expanded-top100": "exhaustive-top100",
    "tokens-top100": "expanded-top100",
}
"""What the time of a method is shown as a multiple of, measured with as many threads."""


def format_table(document: dict[str, Any]) -> str:
    """The document for people: one line a measurement, what it compares with, and what more threads gain."""
    rows, machine = document["rows"], document["machine"]
    lines = [
        f"{machine['processor']}, {machine['cores']} cores, engine {machine['engine']}, preset "
        f"{machine['preset']}; measured peaks {machine['peak_gflops']} GFLOP/s, "
        f"{machine['peak_gbytes_per_second']} GB/s",
        "bytes a picture: " + ", ".join(f"{k} {v}" for k, v in machine["bytes_per_picture"].items()),
        f"{'method':24}{'storage':9}{'pictures':>10}{'threads':>8}{'ms':>11}{'M/s/core':>10}{'ratio':>9}"
        f"{'speedup':>9}{'flops':>7}{'bytes':>7}",
    ]
    steps = document["indexing"]
    lines[2:2] = [
        f"indexing, {step['step']}: {step['ms']:.1f} ms a picture, {step['ms'] / steps[0]['ms']:.2f}x the "
        f"contours; {step['bytes_per_picture']} bytes"
        for step in steps
    ]
    lines[2:2] = [
        f"cold start, {start['start']}: {start['ms']:.0f} ms of processor time, {start['pictures']} pictures"
        for start in document["cold"]
    ]
    times = {(row["method"], row["threads"]): row["ms"] for row in rows if row["storage"] == "int8"}
    for row in rows:
        other = times.get((COMPARED.get(row["method"]), row["threads"]))
        alone = times.get((row["method"], 1)) if row["storage"] == "int8" and row["threads"] > 1 else None
        ratio = f"{row['ms'] / other:.2f}x" if other else ""
        speedup = f"{alone / row['ms']:.2f}x" if alone else ""
        shares = ["" if row[k] is None else f"{100 * row[k]:.0f}%" for k in ("flop_share", "bandwidth_share")]
        lines.append(
            f"{row['method']:24}{row['storage']:9}{row['pictures']:>10}{row['threads']:>8}"
            f"{row['ms']:>11.1f}"
            f"{row['pictures_per_second'] / row['threads'] / 1e6:>10.2f}"
            f"{ratio:>9}{speedup:>9}{shares[0]:>7}{shares[1]:>7}"
        )
    return "\n".join(lines)


def best_time(call: Callable[[], object], threads: int) -> float:
    """Seconds, the best of thirty or of as many as patience allows.

    One thread is timed by its own processor time, which other programs' load hardly touches.
    """
    clock = time.thread_time if threads == 1 else time.perf_counter
    best, spent = float("inf"), 0.0
    for _ in range(30):
        begin = clock()
        call()
        took = clock() - begin
        best, spent = min(best, took), spent + took
        if spent > _PATIENCE:
            break
    return best


def seed_contours() -> tuple[list[Points], list[Points], str]:
    """Contours of photos and drawings where the data is, generated curves otherwise."""
    data = Path(os.environ.get("SKETCHSEEK_DATA", Path(__file__).parents[4] / "shared" / "data"))
    photos = sorted((data / "sysu" / "photos").rglob("*.jpg"))
    sketches = sorted(
        p for p in (data / "sysu" / "sketches").rglob("*") if p.suffix in (".png", ".jpg", ".svg")
    )
    if len(photos) < PHOTOS or len(sketches) < QUERIES:
        from ..contours.synthetic import random_curves

        curves = [random_curves(number) for number in range(PHOTOS)]
        return (
            curves,
            [random_curves(10_000 + number, closed=1) for number in range(QUERIES)],
            "generated curves",
        )
    from ..contours import picture_contours
    from ..contours.detectors import get_detector
    from ..contours.drawing import Sketch

    detector = get_detector("canny")
    chosen = photos[:: len(photos) // PHOTOS][:PHOTOS]
    drawn = sketches[:: len(sketches) // QUERIES][:QUERIES]
    points = [picture_contours(path, detector).points for path in chosen]
    return points, [Sketch.load(path).points for path in drawn], "photos' contours"


def enlarged(
    seeds: NDArray[np.float32], n: int, settings: Settings
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """One-byte codes and norms of n mixtures of two descriptors each, with noise of their own spread."""
    import numpy as np

    from ..shape.descriptor import encode, norms

    rng = np.random.default_rng(0)
    seeds = np.asarray(seeds / np.maximum(seeds[:, :1], 1e-9), np.float32)
    spread = 0.15 * seeds.std(axis=0)
    codes = np.empty((n, settings.dimensions), np.int8)
    all_norms = np.empty((n, len(settings.scales), 3), np.float32)
    for begin in range(0, n, _BLOCK):
        size = min(_BLOCK, n - begin)
        one, two = rng.integers(0, len(seeds), (2, size))
        share = 0.4 * rng.random((size, 1), dtype=np.float32)
        noise = rng.standard_normal((size, settings.dimensions), dtype=np.float32) * spread
        codes[begin : begin + size] = encode(seeds[one] * (1 - share) + seeds[two] * share + noise, settings)
        all_norms[begin : begin + size] = norms(codes[begin : begin + size], settings)
    return codes, all_norms


def _moved_projections(query: Query) -> NDArray[np.float32]:
    """The x-projection of the drawing in every pose, mirror and translation: (90, Dx * Do) by default."""
    import numpy as np

    from ..maps.components import columns
    from ..shape.descriptor import mirror_signs, projection
    from ..shape.polynomial import polynomial_1d
    from ..shape.settings import RADIANS, X

    signs = projection(mirror_signs(query.settings), X, query.settings)
    identity = np.eye(query.projections.shape[2], dtype=np.float32)
    moved = []
    for pose in range(len(query)):
        unit = query.projections[pose, X - 1] / max(float(query.norms[pose, X]), 1e-30)
        for vector in (unit, unit * signs) if query.mirror else (unit,):
            linear = polynomial_1d(vector, identity, query.settings)  # coefficients of each component
            variables = columns(query.translations(pose) * RADIANS, query.settings.frequencies)
            moved.append(variables @ linear.T)
    return np.concatenate(moved).astype(np.float32)


def _projection_arrays(
    codes: NDArray[np.int8], code_norms: NDArray[np.float32], settings: Settings
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    import numpy as np

    from ..shape.descriptor import projection
    from ..shape.settings import X

    scales = projection(settings.component_scales, X, settings)
    sides = np.concatenate(
        [projection(codes[b : b + _BLOCK], X, settings) * scales for b in range(0, len(codes), _BLOCK)]
    )
    return np.ascontiguousarray(sides, np.float32), _inverse(code_norms[:, :, X])


def _numpy_projection(
    sides: NDArray[np.float32], inverse: NDArray[np.float32], query: Query
) -> NDArray[np.float32]:
    """Best score of the x-projection of every picture: one GEMM a block, one maximum a pose.

    Pictures lie along the rows of a product, where NumPy's maximum is fastest.
    """
    import numpy as np

    moved = _moved_projections(query)
    widths = [(2 * int(r) + 1) * (2 if query.mirror else 1) for r in query.reach]
    ends = np.cumsum([0, *widths])
    out = np.empty(len(sides), np.float32)
    for begin in range(0, len(sides), 2048):  # small enough for the product to stay in the cache
        part = slice(begin, begin + 2048)
        values = moved @ sides[part].T
        per_pose = np.stack([values[a:b].max(axis=0) for a, b in pairwise(ends)])
        out[part] = (per_pose * inverse[part, query.kernels].T).max(axis=0)
    return out


def _faiss_index(sides: NDArray[np.float32], threads: int) -> Any:
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatIP(sides.shape[1])
    index.add(sides)
    return index


def _inverse(lengths: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    return np.asarray(1 / np.maximum(lengths, 1e-30), np.float32)


def _gathered(
    codes: NDArray[np.int8], code_norms: NDArray[np.float32], ids: NDArray[np.int64], settings: Settings
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    from ..shape.descriptor import decode
    from ..shape.settings import FULL

    return decode(codes[ids], settings), _inverse(code_norms[ids][:, :, FULL])


def _numpy_rerank(
    vectors: NDArray[np.float32], inverse: NDArray[np.float32], query: Query
) -> NDArray[np.float32]:
    """The exact alignment as two GEMMs a pose and mirror: coefficients, then N2 products a translation."""
    import numpy as np

    from ..maps.components import columns
    from ..shape.polynomial import polynomial_2d, variants
    from ..shape.settings import RADIANS

    settings = query.settings
    n2 = settings.shape[0] ** 2
    best = np.full(len(vectors), -np.inf, np.float32)
    identity = np.eye(settings.dimensions, dtype=np.float32)
    for pose, _, unit in variants(query):
        linear = polynomial_2d(unit, identity, settings).reshape(-1, n2).astype(np.float32)
        c = columns(query.translations(pose) * RADIANS, settings.frequencies).astype(np.float32)
        variables = np.einsum("xa,yb->abxy", c, c).reshape(n2, -1)
        for begin in range(0, len(vectors), 2048):
            part = slice(begin, begin + 2048)
            values = ((vectors[part] @ linear) @ variables).max(axis=1)
            best[part] = np.maximum(best[part], values * inverse[part, query.kernels[pose]])
    return best


def _work(settings: Settings, query: Query) -> dict[str, float]:
    """Multiply-adds a picture that the engine needs at least, by what it computes."""
    dx, _, do = settings.shape
    mirrors = 2 if query.mirror else 1
    products = 4 * do * (dx - 1) ** 2 + 4 * do * (dx - 1) + do
    exact = plain = projection = 0.0
    for reach in query.reach:
        side, half = 2 * int(reach) + 1, int(reach) + 1
        exact += products + mirrors * (dx * dx * half + dx * side * half)
        plain += mirrors * dx * dx * side * side + products
        projection += 2 * do * (dx - 1) + do + mirrors * dx * half
    return {"exact": exact, "plain": plain, "projection": projection}


def _peak_flops(threads: int) -> float:
    """FLOP/s of the machine's own matrix product, float32."""
    import numpy as np

    a = np.random.default_rng(0).random((1536, 1536), dtype=np.float32)
    took = [best_time(lambda: a @ a, threads) for _ in range(2)]
    return float(2 * 1536**3 / min(took))


def _peak_bandwidth() -> float:
    """Bytes a second that one core reads from memory."""
    import numpy as np

    a = np.ones(1 << 25, np.int64)
    return float(a.nbytes / best_time(a.max, 1))
