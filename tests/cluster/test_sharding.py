"""Dealing pictures to shards; no Ray is needed for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sketchseek.cluster.sharding import PIECES, ShardLayout, assign_shards

WINDOWS = st.lists(st.lists(st.integers(1, 12), min_size=0, max_size=40), min_size=0, max_size=6)


def fragments(counts: list[list[int]]) -> list[tuple[str, Any]]:
    return [(f"{i} file-{i}", np.array(windows, np.int32)) for i, windows in enumerate(counts)]


def owned(layout: ShardLayout) -> list[Any]:
    rows = len(layout.rows)
    shards, local = layout.rows.homes(np.arange(rows))
    return [layout.rows.of_all(s, local[shards == s]) for s in range(layout.shards)]


@settings(deadline=None)
@given(WINDOWS, st.integers(1, 5))
def test_every_row_has_one_place_and_finds_back(counts: list[list[int]], shards: int) -> None:
    layout = assign_shards(fragments(counts), shards)
    total = sum(map(sum, counts))
    assert len(layout.rows) == total == layout.rows.of_shard.sum()
    assert len(layout.pictures) == sum(map(len, counts)) == layout.pictures.of_shard.sum()
    if total:
        mine = owned(layout)
        assert np.array_equal(np.sort(np.concatenate(mine)), np.arange(total))
        for shard, rows in enumerate(mine):
            assert (np.diff(rows) > 0).all(), "in the table's order, so that ties are settled alike"
            assert len(rows) == layout.rows.of_shard[shard]


def test_one_large_fragment_is_cut_and_dealt_evenly() -> None:
    layout = assign_shards(fragments([[3] * 1000, [1] * 10]), 4, row_bytes=600, picture_bytes=1000)
    assert layout.rows.of_shard.max() < 1.1 * layout.rows.of_shard.min() + 3000 / PIECES
    assert all(
        a.fragment == b.fragment or a.last for a, b in zip(layout.pieces, layout.pieces[1:], strict=False)
    )


def test_what_is_still_there_stays_where_it_is() -> None:
    before = assign_shards(fragments([[2] * 50, [2] * 30]), 3)
    after = assign_shards(fragments([[2] * 50, [2] * 30, [1] * 5]), 3, before=before)
    homes = dict(zip(before.pieces, before.owner, strict=True))
    kept = [(p, o) for p, o in zip(after.pieces, after.owner, strict=True) if p in homes]
    assert len(kept) == len(before.pieces)
    assert all(homes[piece] == owner for piece, owner in kept)
    assert sum(a != b for a, b in zip(before.keys, after.keys, strict=True)) <= 2, "others load nothing"


def test_what_has_become_too_uneven_is_dealt_anew() -> None:
    before = assign_shards(fragments([[1] * 60]), 3)
    mine = [p for p, owner in zip(before.pieces, before.owner, strict=True) if owner == 0]
    lopsided = ShardLayout("", tuple(before.pieces), tuple(0 for _ in before.pieces), 3)
    assert mine
    assert assign_shards(fragments([[1] * 60]), 3, before=lopsided).rows.of_shard.max() <= 25


def test_a_shard_knows_its_rows_by_what_they_are() -> None:
    one, same = (assign_shards(fragments([[1, 2, 3]]), 2, name="a") for _ in range(2))
    assert one.keys == same.keys
    assert set(one.keys).isdisjoint(assign_shards(fragments([[1, 2, 3]]), 2, name="b").keys)
