"""The engine for graphics processors against the C++ engine: on a real one, or interpreted."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_native import made

from card import DEVICE, torch
from sketchseek.contours.synthetic import random_curves
from sketchseek.shape.engine import gpu
from sketchseek.shape.engine.gpu import GpuEngine
from sketchseek.shape.engine.native import NativeEngine
from sketchseek.shape.query import Query
from sketchseek.shape.settings import PRESETS, Settings

EVERYTHING = 1 << 30
COMPACT = Settings.preset("compact")
NEAR = replace(COMPACT, max_translation=20.0)  # fewer translations, for the interpreter's sake


def engines(
    settings: Settings, n: int, storage: str = "int8", **options: Any
) -> tuple[GpuEngine, NativeEngine]:
    vectors, its_norms = made(COMPACT if settings is NEAR else settings, n, storage)
    options = {"devices": [DEVICE], "room": EVERYTHING} | options
    return GpuEngine(vectors, its_norms, settings, **options), NativeEngine(vectors, its_norms, settings)


def query(settings: Settings, seed: int = 500, **options: Any) -> Query:
    return Query.of(random_curves(seed, closed=1), settings, **options)


def assert_same_top(mine: GpuEngine, native: NativeEngine, asked: Query, k: int, **windows: Any) -> None:
    for got, wanted in zip(mine.top(asked, k, **windows), native.top(asked, k, **windows), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("storage", ["int8", "float32"])
@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str, storage: str) -> None:
    settings = Settings.preset(preset)
    mine, native = engines(settings, 19, storage)
    asked = query(settings)
    np.testing.assert_allclose(mine.scores(asked), native.scores(asked), atol=1e-5)
    assert_same_top(mine, native, asked, 5)
    np.testing.assert_array_equal(
        mine.scores(asked, np.array([4, 2])), native.scores(asked, np.array([4, 2]))
    )


@pytest.mark.parametrize("operand", ["int8", "float16"])
@pytest.mark.parametrize("mirror", [True, False])
def test_bounds_are_bounds(operand: str, mirror: bool) -> None:
    mine, native = engines(NEAR, 60, operand=operand)
    asked = query(NEAR, mirror=mirror)
    exact = native.scores(asked)
    bounds, _ = mine.bounds(mine.shards[0], [asked])
    bounds = bounds[0].cpu().numpy()
    assert (bounds >= exact - gpu.ROUNDING).all()
    assert bounds[3] == 0  # a blank picture
    assert np.abs(bounds - exact).max() < {"int8": 0.08, "float16": 0.002}[operand]
    assert_same_top(mine, native, asked, 10)


@pytest.mark.parametrize("n", [0, 1, 127, 128, 129, 200])
def test_any_number_of_pictures(n: int) -> None:
    mine, native = engines(NEAR, n)
    assert len(mine) == mine.resident == n
    mine.warm_up()
    for k in (1, max(1, n // 2), n + 7):
        assert_same_top(mine, native, query(NEAR), k)
    np.testing.assert_allclose(mine.scores(query(NEAR)), native.scores(query(NEAR)), atol=1e-5)


def test_the_answer_is_exact_where_the_first_pass_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "CANDIDATES", 8)
    monkeypatch.setitem(gpu.columns.PEAKS, "int8", 4.0)  # columns of nine values
    mine, native = engines(NEAR, 200)
    missed = 0
    for asked in (query(NEAR, seed) for seed in range(500, 504)):
        bounds, _ = mine.bounds(mine.shards[0], [asked])
        first = torch.topk(bounds[0], 8).indices.cpu().numpy()
        missed += not np.isin(native.top(asked, 2)[0], first).all()
        assert_same_top(mine, native, asked, 2)
    assert missed > 0  # otherwise nothing was tested


def test_equal_scores_are_ordered_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "CANDIDATES", 4)
    vectors, its_norms = made(COMPACT, 8, "int8")
    rows = np.tile(np.arange(8), 20)
    copies = vectors[rows], its_norms[rows], NEAR
    assert_same_top(
        GpuEngine(*copies, devices=[DEVICE], room=EVERYTHING), NativeEngine(*copies), query(NEAR), 9
    )


@pytest.mark.parametrize("candidates", [2048, 6])
def test_windows(monkeypatch: pytest.MonkeyPatch, candidates: int) -> None:
    monkeypatch.setattr(gpu, "CANDIDATES", candidates)
    rng = np.random.default_rng(1)
    groups = np.sort(rng.integers(0, 40, 150)).astype(np.int32)
    prior = rng.uniform(0.8, 1, 150).astype(np.float32)
    mine, native = engines(NEAR, 150, devices=[DEVICE, DEVICE])
    for k in (1, 5, 60):
        for windows in ({"groups": groups}, {"prior": prior}, {"groups": groups, "prior": prior}):
            assert_same_top(mine, native, query(NEAR), k, **windows)
    one_picture = np.zeros(150, np.int32)  # however many rows are looked at, there is only one
    assert_same_top(mine, native, query(NEAR), 3, groups=one_picture)
    with pytest.raises(ValueError, match="prior"):
        mine.top(query(NEAR), 1, prior=np.full(150, 2.0))


def test_several_devices_and_rows_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu.rows, "CHUNK", 40)
    for options in ({"devices": [DEVICE] * 3}, {"room": 50 * 300}, {"room": 0}):
        mine, native = engines(NEAR, 150, **options)
        assert (mine.resident == 150) == ("room" not in options)
        assert_same_top(mine, native, query(NEAR), 7)
        np.testing.assert_allclose(mine.scores(query(NEAR)), native.scores(query(NEAR)), atol=1e-5)


def test_batches_and_rotations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "BOUNDS", 2 * 4 * 60)  # two queries a pass
    mine, native = engines(NEAR, 60)
    for rotations in ((0.0,), (-0.3, 0.0, 0.3)):
        several = [query(NEAR, seed, rotations=rotations) for seed in (500, 501, 502)]
        for asked, (ids, scores) in zip(several, mine.tops(several, 6), strict=True):
            wanted, their_scores = native.top(asked, 6)
            np.testing.assert_array_equal(ids, wanted)
            np.testing.assert_array_equal(scores, their_scores)


@pytest.mark.parametrize("room", [EVERYTHING, 0])
def test_searches_that_come_meanwhile_share_a_pass(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    mine, native = engines(NEAR, 60, room=room)
    prior = np.random.default_rng(2).uniform(0.8, 1, 60).astype(np.float32)
    several = [query(NEAR, 500 + i, mirror=i != 2) for i in range(6)]
    asked = [(q, {} if i % 2 else {"prior": prior}) for i, q in enumerate(several)]
    alone = [native.top(q, 6, **windows) for q, windows in asked]
    passes: list[int] = []
    everybody_is_here = threading.Barrier(len(asked) + 1)
    candidates = mine._candidates

    def slow(queries: Sequence[Query], *rest: Any) -> Any:
        if not passes:
            everybody_is_here.wait(60)
            time.sleep(0.5)  # the others are in line, or will be: only how many passes there are may change
        passes.append(len(queries))
        return candidates(queries, *rest)

    monkeypatch.setattr(mine, "_candidates", slow)

    def search(one: tuple[Query, dict[str, Any]]) -> Any:
        if one is not asked[0]:
            everybody_is_here.wait(60)
        return mine.top(one[0], 6, **one[1])

    with ThreadPoolExecutor(len(asked)) as threads:
        found = [threads.submit(search, one) for one in asked]
        everybody_is_here.wait(60)
        for got, wanted in zip(found, alone, strict=True):
            np.testing.assert_array_equal(got.result()[0], wanted[0])
            np.testing.assert_array_equal(got.result()[1], wanted[1])
    assert sum(passes) == len(asked)
    assert passes[0] == 1  # nobody waited for company


def test_a_blank_drawing_finds_the_first_pictures() -> None:
    mine, native = engines(NEAR, 20)
    nothing = Query.of(replace(random_curves(0), weight=0 * random_curves(0).weight), NEAR)
    assert_same_top(mine, native, nothing, 4)


def test_the_rest_is_the_native_engines() -> None:
    mine, native = engines(NEAR, 20)
    ids = np.array([7, 1])
    for name in ("score", "pose", "mirrored", "dx", "dy"):
        np.testing.assert_array_equal(
            getattr(mine.locate(query(NEAR), ids), name), getattr(native.locate(query(NEAR), ids), name)
        )
    np.testing.assert_array_equal(mine.project(query(NEAR), 1), native.project(query(NEAR), 1))
    assert mine.host.build == native.build
    with pytest.raises(ValueError, match="settings"):
        mine.top(query(Settings.preset("precise")), 1)
