"""What starting the program costs, for `sketchseek bench`: each command in a process of its own.

Processor time of the process from its start to its end, the median of twenty; what was read from disk before
is in memory. An index is made up for it, of as many pictures with a dozen windows each as are asked for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import system
from ..errors import SketchseekError
from ..index import Index
from ..shape.descriptor import encode, norms
from ..storage.schema import schema_of, settings_of
from ..storage.store import Change, Store

if TYPE_CHECKING:
    import pyarrow as pa

    from ..shape.settings import Settings
    from ..storage.schema import IndexConfig

PICTURES = 10_000
RUNS = 20
_WINDOWS = 12
_BATCH = 1000
_SQUARE = {"strokes": [[[0, 0], [90, 0], [90, 80], [0, 80], [0, 0]]]}


def cold(
    describe: Callable[[Settings], NDArray[np.float32]], preset: str, say: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    """A row for each way to start.

    describe : descriptors (n, D) of some pictures, at these settings; the index has others like them.
    """
    python = [sys.executable, "-m", "sketchseek"]
    yield measured("--help", [*python, "--help"], 0, say)
    with TemporaryDirectory() as folder:
        drawing = Path(folder, "square.json")
        drawing.write_text(json.dumps(_SQUARE))
        search = [*python, "search", str(drawing), "--json", "--index"]
        for what, expansion in (("search by shape", False), ("search with the network", True)):
            place = str(Path(folder, what))
            try:
                make_index(place, describe, preset, expansion=expansion)
            except SketchseekError as error:
                say(f"without {what}: {error}")
                continue
            yield measured(what, [*search, place], PICTURES, say)


def measured(start: str, command: list[str], pictures: int, say: Callable[[str], None]) -> dict[str, Any]:
    """A row: processor time of a command from its start to its end, the median of `RUNS`."""
    taken = []
    for _ in range(RUNS + 1):
        status, seconds = system.processor_time(command)
        if status != 0:
            raise SketchseekError(f"{' '.join(command)} ended with {system.how_it_ended(status)}.")
        taken.append(1e3 * seconds)
    ms = median(taken[1:])  # a network is converted when it is first needed
    say(f"cold: {start:24} {ms:10.1f} ms")
    return {"start": start, "pictures": pictures, "ms": round(ms, 1), "least_ms": round(min(taken), 1)}


def make_index(
    place: str,
    describe: Callable[[Settings], NDArray[np.float32]],
    preset: str,
    *,
    expansion: bool,
    pictures: int = PICTURES,
) -> Index:
    """An index of synthetic pictures: rows as a run of `index` writes them, and its snapshot."""
    index = Index.create(place, preset, expansion=expansion)
    config, random = index.config, np.random.default_rng(0)
    seeds, store = describe(settings_of(config)), Store.open(place)
    for start in range(0, pictures, _BATCH):
        rows = _rows(config, seeds, range(start, min(start + _BATCH, pictures)), random)
        store.commit(lambda rows=rows: Change(rows))  # type: ignore[misc]
    index.refresh(save=True)
    return index


def _rows(
    config: IndexConfig, seeds: NDArray[np.float32], numbers: range, random: np.random.Generator
) -> pa.Table:
    import pyarrow as pa

    settings, n = settings_of(config), len(numbers)
    noise = random.standard_normal((n * _WINDOWS, seeds.shape[1]), np.float32) * 0.05 * np.abs(seeds).mean()
    codes = encode(seeds[random.integers(len(seeds), size=n * _WINDOWS)] + noise, settings)
    lengths = norms(codes, settings).reshape(n, _WINDOWS, -1)
    codes = codes.reshape(n, _WINDOWS, -1)
    window = np.tile(np.array([50, 50, 290, 290], np.float32), (_WINDOWS - 1, 1)).tobytes()
    schema = schema_of(config)
    columns: dict[str, list[Any]] = {name: [None] * n for name in schema.names}
    columns |= {
        "id": [f"{number:016x}" for number in numbers],
        "path": [f"/pictures/{number % 50}/{number}.jpg".encode() for number in numbers],
        "size": [1] * n,
        "modified": [1] * n,
        "digest": [b"%d" % number for number in numbers],
        "width": [400] * n,
        "height": [300] * n,
        "code": list(codes[:, 0]),
        "norms": list(lengths[:, 0]),
        "frame": [[0.0, 0.0, 400.0, 300.0]] * n,
        "is_line_art": [False] * n,
        "windows": [of_picture[1:].tobytes() for of_picture in codes],
        "window_frames": [window] * n,
        "smallest": [config.min_object_size] * n,
        "keywords": [""] * n,
    }
    if config.expansion is not None:
        vectors, tokens = config.expansion.columns
        depicted = random.standard_normal((n, config.expansion.dimension)).astype(np.float16)
        depicted[:, -1] = 0  # photographs
        columns[vectors] = [vector.tobytes() for vector in depicted]
        columns[tokens] = [random.bytes(config.expansion.token_bytes) for _ in numbers]
    return pa.table(columns, schema=schema)
