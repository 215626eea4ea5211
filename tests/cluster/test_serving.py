"""An index on shards answers as the index on one machine does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from comparing import same_hits

from sketchseek import Index
from sketchseek.shape.query import Query

pytest.importorskip("ray", reason="ray is not installed: make test-cluster installs it")

from sketchseek.cluster.fleet import ClusterOptions
from sketchseek.cluster.index import ClusterIndex


DEADLINE = 60.0  # of tests that are not about deadlines, on machines with much else to do


@pytest.fixture(scope="module")
def spread(cluster: Any, collection: Path) -> Iterator[ClusterIndex]:
    with ClusterIndex.spread(collection, ClusterOptions(shards=3, deadline=DEADLINE)) as index:
        yield index


@pytest.mark.parametrize("method", ["exhaustive", "projections", "dpf"])
@pytest.mark.parametrize("rerank", ["exact", "binary", "local", "binary-all", "local-all"])
def test_every_method_has_the_answers_of_one_machine(
    spread: ClusterIndex, collection: Path, drawings: Any, method: str, rerank: str
) -> None:
    alone = Index.open(collection)
    for drawing in drawings:
        options = {"method": method, "rerank": rerank, "shortlist": 60}
        found = spread.search(drawing, 30, **options)
        assert len(found) == 30
        assert same_hits(found, alone.search(drawing, 30, **options))
        assert found.covered == 1.0
