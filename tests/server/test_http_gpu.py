"""A server whose index is on a card, or interpreted: searches that come at once share passes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from card import DEVICE
from sketchseek import Index
from sketchseek.server.app import create_app
from sketchseek.server.limits import Limits
from sketchseek.shape.engine.gpu import GpuEngine
from sketchseek.shape.query import Query

ADDRESS = "http://127.0.0.1:8000"
AT_ONCE = 3


def stretched(star: list[list[list[float]]], by: float) -> dict[str, Any]:
    return {"strokes": [[[x * by, y] for x, y in stroke] for stroke in star], "k": 3}


def test_searches_at_once_share_passes_and_are_answered_as_alone(
    shape_pictures: Path, tmp_path: Path, star: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = tmp_path / "index"
    Index.create(where, "compact", detector="canny", min_object_size=0.6, expansion=False).add(
        [shape_pictures]
    )
    # Fewer than there are pictures: the engine has to choose.
    monkeypatch.setattr("sketchseek.search.search._engine", SimpleNamespace(wanted=lambda *_: 3))
    asked = [stretched(star, 1 + 0.2 * i) for i in range(AT_ONCE)]
    with TestClient(create_app(where, device="cpu"), base_url=ADDRESS) as client:
        alone = [client.post("/api/search", json=body).json()["hits"] for body in asked]
    assert len({str(hits) for hits in alone}) == AT_ONCE

    monkeypatch.setattr(
        "sketchseek.index.engine_on", lambda _: partial(GpuEngine, devices=[DEVICE], room=1 << 30)
    )
    passes: list[int] = []
    candidates = GpuEngine._candidates

    def counted(self: GpuEngine, queries: Sequence[Query], *rest: Any) -> Any:
        passes.append(len(queries))
        until = time.monotonic() + 60
        while sum(passes) + self.waiting < AT_ONCE and time.monotonic() < until:
            time.sleep(0.01)
        return candidates(self, queries, *rest)

    app = create_app(where, limits=Limits(searches=AT_ONCE, search_seconds=280.0), device="cuda")
    with TestClient(app, base_url=ADDRESS) as client, ThreadPoolExecutor(AT_ONCE) as people:
        assert client.get("/api/index").json()["pictures"] > 0
        client.get("/api/examples")  # they are searched for, too: once they are there, nobody else asks
        monkeypatch.setattr(GpuEngine, "_candidates", counted)
        answers = list(people.map(lambda body: client.post("/api/search", json=body), asked))
    assert [answer.json()["hits"] for answer in answers] == alone
    assert sum(passes) == AT_ONCE
    assert len(passes) <= 2  # who came first, and the others
