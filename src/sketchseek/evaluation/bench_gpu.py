"""`sketchseek bench --device cuda`: the exact search on graphics processors, and what bounds it.

The roofline's two ceilings are measured in the same run: a large matrix product of the kind that the first
pass multiplies in, by the vendor's library, and a large copy in the device's memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..shape.engine.gpu import GpuEngine
from ..shape.engine.gpu.columns import Tensor
from ..shape.settings import Settings
from .bench import Measurement

if TYPE_CHECKING:
    from ..shape.query import Query

BATCH = 16
HITS = 100
_CHUNK = 1 << 20
_REPEATS = 20
_PATIENCE = 1.5  # seconds


def run_gpu(
    seeds: NDArray[np.float32], queries: list[Query], pictures: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """All measurements on the first device, as a document like `bench.run_bench`'s.

    seeds : (m, D) descriptors that the collection is mixed from. queries : at least one.
    """
    settings = queries[0].settings
    device = "cuda:0"
    peaks = {operand: _matrix_peak(operand, device) for operand in ("int8", "float16")}
    bandwidth = _bandwidth(device)
    say(f"{pictures} descriptors from {len(seeds)}")
    codes, norms = enlarged(seeds, pictures, settings, device)
    rows: list[Measurement] = []
    report: dict[str, Any] = {}
    useful = 2.0 * settings.dimensions * translations(queries[0])
    stored = settings.dimensions + 4 * (len(settings.scales) + 1)
    batch = (queries * BATCH)[:BATCH]

    def measure(
        name: str, operand: str, call: Callable[[Query], object], share: int = 1, peak: float | None = None
    ) -> None:
        seconds = _median([partial(call, q) for q in queries]) / share
        shares = (
            (useful * pictures / seconds / peak, stored * pictures / seconds / bandwidth)
            if peak
            else (None, None)
        )
        rows.append(
            Measurement(
                name, operand, pictures, 1, round(1e3 * seconds, 3), round(pictures / seconds), *shares
            )
        )
        say(f"{name:28} {operand:8} {1e3 * seconds:10.2f} ms")

    for operand, peak in peaks.items():
        begin = time.perf_counter()
        engine = GpuEngine(codes, norms, settings, devices=[device], operand=operand)
        loaded = time.perf_counter() - begin
        first = _seconds(partial(engine.top, queries[-1], HITS))
        report[operand] = {"seconds_to_load": round(loaded, 2), "first_ms": round(1e3 * first, 2)}
        measure("exhaustive-pass", operand, partial(_pass, engine), peak=peak)
        measure("exhaustive-top100", operand, partial(_top, engine))
        measure("exhaustive-top100-batch16", operand, partial(_batch, engine, batch), BATCH)
        with ThreadPoolExecutor(BATCH) as threads:
            measure("exhaustive-top100-threads16", operand, partial(_threads, engine, batch, threads), BATCH)
        del engine
        torch.cuda.empty_cache()
    machine = {
        "device": torch.cuda.get_device_name(device),
        "peak_tflops": {name: round(peak / 1e12, 1) for name, peak in peaks.items()},
        "peak_gbytes_per_second": round(bandwidth / 1e9, 1),
        "flops_per_picture": useful,
        "first": report,
    }
    return {"machine": machine, "rows": [asdict(row) for row in rows]}


def translations(query: Query) -> int:
    """How many columns a picture is multiplied with: both mirrors share one."""
    return int(sum((2 * int(r) + 1) ** 2 for r in query.reach))


def enlarged(
    seeds: NDArray[np.float32], n: int, settings: Settings, device: str
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """`bench.enlarged` on a device: mixtures of two descriptors each, with noise, as codes with norms."""
    generator = torch.Generator(device).manual_seed(0)
    scaled = torch.from_numpy(np.asarray(seeds / np.maximum(seeds[:, :1], 1e-9), np.float32)).to(device)
    spread = 0.15 * scaled.std(dim=0)
    steps = torch.from_numpy(settings.component_scales).to(device)
    weights = torch.from_numpy(settings.norm_weights.reshape(settings.dimensions, -1).astype(np.float32))
    squared = (steps.square()[:, None] * weights.to(device)).double()
    codes = np.empty((n, settings.dimensions), np.int8)
    norms = np.empty((n, len(settings.scales), 3), np.float32)
    for begin in range(0, n, _CHUNK):
        size = min(_CHUNK, n - begin)
        one, two = torch.randint(len(seeds), (2, size), device=device, generator=generator)
        share = 0.4 * torch.rand((size, 1), device=device, generator=generator)
        noise = torch.randn((size, settings.dimensions), device=device, generator=generator) * spread
        vectors = (scaled[one] * (1 - share) + scaled[two] * share + noise) / steps
        stored = torch.round(vectors * (127 / vectors.abs().amax(dim=1, keepdim=True)))
        part = slice(begin, begin + size)
        codes[part] = stored.to(torch.int8).cpu().numpy()
        lengths = torch.cat(
            [some.double().square() @ squared for some in torch.split(stored, 1 << 17)]
        ).sqrt()
        norms[part] = lengths.reshape(size, -1, 3).float().cpu().numpy()
    torch.cuda.empty_cache()
    return codes, norms


def _pass(engine: GpuEngine, query: Query) -> None:
    """The bounds of every row, and nothing after them."""
    for shard in engine.shards:
        engine.bounds(shard, [query])


def _top(engine: GpuEngine, query: Query) -> None:
    engine.top(query, HITS)


def _batch(engine: GpuEngine, batch: list[Query], _: Query) -> None:
    engine.tops(batch, HITS)


def _threads(engine: GpuEngine, batch: list[Query], threads: ThreadPoolExecutor, _: Query) -> None:
    """As many searches at once, as a server has them: those that come meanwhile share a pass."""
    list(threads.map(lambda query: engine.top(query, HITS), batch))


def _seconds(call: Callable[[], object]) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def _median(calls: Sequence[Callable[[], object]]) -> float:
    """Seconds of one, in turn, after one that is not counted; of fewer where they are long."""
    calls[0]()
    took: list[float] = []
    while len(took) < max(_REPEATS, len(calls)) and sum(took) < _PATIENCE:
        took.append(_seconds(calls[len(took) % len(calls)]))
    return float(np.median(took))


def _matrix_peak(operand: str, device: str) -> float:
    """Operations a second of the vendor's own matrix product, on random numbers."""
    n = 8192
    a, b = (torch.randint(-127, 128, (n, n), device=device, dtype=torch.int8) for _ in range(2))
    if operand == "int8":
        took = _median([lambda: torch._int_mm(a, b.T)])
    else:
        x, y = (m.to(torch.float16) / 64 for m in (a, b))
        took = _median([lambda: x @ y.T])
    return 2 * n**3 / took


def _bandwidth(device: str) -> float:
    """Bytes a second that a copy in the device's memory reads and writes."""
    a: Tensor = torch.ones(1 << 30, device=device)
    b = torch.empty_like(a)
    return 2 * 4 * len(a) / _median([lambda: b.copy_(a)])
