"""Dealing pictures to shards, and asking over sockets; no Ray is needed for these."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sketchseek.cluster.layout import PIECES, Layout, deal
from sketchseek.cluster.shard import Questions, Shard
from sketchseek.cluster.wire import Server, ask, connect, packed

VIEWS = st.lists(st.lists(st.integers(1, 12), min_size=0, max_size=40), min_size=0, max_size=6)


def fragments(counts: list[list[int]]) -> list[tuple[str, Any]]:
    return [(f"{i} file-{i}", np.array(views, np.int32)) for i, views in enumerate(counts)]


def owned(layout: Layout) -> list[Any]:
    rows = len(layout.rows)
    shards, local = layout.rows.homes(np.arange(rows))
    return [layout.rows.of_all(s, local[shards == s]) for s in range(layout.shards)]


@settings(deadline=None)
@given(VIEWS, st.integers(1, 5))
def test_every_row_has_one_place_and_finds_back(counts: list[list[int]], shards: int) -> None:
    layout = deal(fragments(counts), shards)
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
    layout = deal(fragments([[3] * 1000, [1] * 10]), 4, row_bytes=600, picture_bytes=1000)
    assert layout.rows.of_shard.max() < 1.1 * layout.rows.of_shard.min() + 3000 / PIECES
    assert all(
        a.fragment == b.fragment or a.last for a, b in zip(layout.pieces, layout.pieces[1:], strict=False)
    )


def test_what_is_still_there_stays_where_it_is() -> None:
    before = deal(fragments([[2] * 50, [2] * 30]), 3)
    after = deal(fragments([[2] * 50, [2] * 30, [1] * 5]), 3, before=before)
    homes = dict(zip(before.pieces, before.owner, strict=True))
    kept = [(p, o) for p, o in zip(after.pieces, after.owner, strict=True) if p in homes]
    assert len(kept) == len(before.pieces)
    assert all(homes[piece] == owner for piece, owner in kept)
    assert sum(a != b for a, b in zip(before.keys, after.keys, strict=True)) <= 2, "others load nothing"


def test_what_has_become_too_uneven_is_dealt_anew() -> None:
    before = deal(fragments([[1] * 60]), 3)
    mine = [p for p, owner in zip(before.pieces, before.owner, strict=True) if owner == 0]
    lopsided = Layout("", tuple(before.pieces), tuple(0 for _ in before.pieces), 3)
    assert mine
    assert deal(fragments([[1] * 60]), 3, before=lopsided).rows.of_shard.max() <= 25


def test_a_shard_knows_its_rows_by_what_they_are() -> None:
    one, same = (deal(fragments([[1, 2, 3]]), 2, name="a") for _ in range(2))
    assert one.keys == same.keys
    assert set(one.keys).isdisjoint(deal(fragments([[1, 2, 3]]), 2, name="b").keys)


class TestWire:
    @pytest.fixture
    def server(self) -> Server:
        def answer(name: str, arguments: tuple[Any, ...]) -> Any:
            if name == "fail":
                raise ValueError("as asked")
            return name, arguments

        return Server("127.0.0.1", answer)

    def test_a_question_and_its_answer(self, server: Server) -> None:
        line = connect(server.address)
        big = np.arange(300_000)
        ask(line, "what", "key", packed((big,)))
        good, (name, (key, back)) = line.recv()
        assert (good, name, key) == (True, "what", "key")
        assert np.array_equal(big, back)
        ask(line, "fail", "", packed(()))
        assert line.recv() == (False, "ValueError('as asked')")
        ask(line, "still there", "", packed(()))
        assert line.recv()[0]

    def test_who_does_not_know_the_secret_is_not_heard(self, server: Server) -> None:
        with pytest.raises((OSError, EOFError)):
            connect(replace(server.address, secret=b"guess"))
        heard = []
        stranger = socket.create_connection((server.address.host, server.address.port), timeout=5)
        stranger.sendall(b"\x00\x00\x00\x10cos\nsystem\n(S'x'")
        stranger.settimeout(15)
        try:
            while data := stranger.recv(100):
                heard.append(data)
        except OSError:
            pass
        assert b"".join(heard).count(b"#WELCOME#") == 0
        line = connect(server.address)  # and others are still answered
        ask(line, "fine", "", packed(()))
        assert line.recv()[0]

    def test_many_at_once(self, server: Server) -> None:
        found: list[Any] = []

        def ask_often(number: int) -> None:
            line = connect(server.address)
            for i in range(20):
                ask(line, "n", "", packed((number, i)))
                found.append(line.recv()[1][1] == ("", number, i))

        threads = [threading.Thread(target=ask_often, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [True] * 160


def test_scans_of_a_shard_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are fetched meanwhile."""
    scanning, most = 0, 0
    fetched = threading.Event()

    def top(*_: Any) -> bool:
        nonlocal scanning, most
        scanning += 1
        most = max(most, scanning)
        done = fetched.wait(60)
        scanning -= 1
        return done

    monkeypatch.setattr(Questions, "top", top)
    monkeypatch.setattr(Questions, "rows", lambda *_: fetched.set())
    shard: Any = Shard.__new__(Shard)
    shard._held, shard._threads, shard._turn = {"key": None}, 1, threading.Lock()
    shard._questions, shard._seconds = Counter(), defaultdict(float)
    with ThreadPoolExecutor(5) as pool:
        scans = [pool.submit(shard._answer, "top", ("key",)) for _ in range(4)]
        time.sleep(0.1)  # for the others to begin, if they could
        shard._answer("rows", ("key",))
        assert all(scan.result() for scan in scans)
    assert most == 1
    assert shard._questions == {"top": 4, "rows": 1}
