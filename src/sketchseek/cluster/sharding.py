"""Which shard holds which pictures: fragments of the table, cut where they are large, dealt by bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..shape.engine import Ids

PIECES = 4
"""A fragment is cut so that a shard's fair share is at least so many pieces."""
UNEVEN = 1.5
"""Once a shard holds this many times its fair share, everything is dealt anew."""


@dataclass(frozen=True)
class Piece:
    """Consecutive pictures of a fragment of the table.

    fragment : what the fragment's rows are known by (`fragment_name`).
    first, last : of its readable pictures, those from `first` to `last - 1`. rows : how many windows they
        have.
    """

    fragment: str
    first: int
    last: int
    rows: int

    @property
    def pictures(self) -> int:
        """How many there are."""
        return self.last - self.first

    @property
    def fragment_id(self) -> int:
        """The fragment's number in the table."""
        return int(self.fragment.partition(" ")[0])


class Numbering:
    """Numbers of things (rows, or pictures) in the whole collection, and in the shard that has them.

    counts : (m,) how many each piece has, in the table's order. owner : (m,) the shard of each piece.
    """

    def __init__(self, counts: NDArray[np.int64], owner: NDArray[np.int64], shards: int) -> None:
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._owner = owner
        self._local = np.zeros(len(counts), np.int64)
        self._pieces = [np.flatnonzero(owner == shard) for shard in range(shards)]
        for mine in self._pieces:
            self._local[mine] = np.cumsum(counts[mine]) - counts[mine]
        self.of_shard = np.array([counts[mine].sum() for mine in self._pieces], np.int64)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def homes(self, numbers: Ids) -> tuple[Ids, Ids]:
        """The shard of each, and its number there."""
        piece = np.searchsorted(self._starts, numbers, side="right") - 1
        return self._owner[piece], numbers - self._starts[piece] + self._local[piece]

    def of_all(self, shard: int, numbers: Ids) -> Ids:
        """From the numbers in a shard to those in the whole."""
        mine = self._pieces[shard]
        piece = mine[np.searchsorted(self._local[mine], numbers, side="right") - 1]
        found: Ids = numbers - self._local[piece] + self._starts[piece]
        return found


@dataclass(frozen=True)
class ShardLayout:
    """pieces : all, in the table's order. owner : the shard of each. name : of the index and its config."""

    name: str
    pieces: tuple[Piece, ...]
    owner: tuple[int, ...]
    shards: int

    def of_shard(self, shard: int) -> tuple[Piece, ...]:
        """The pieces of a shard, in the table's order."""
        return tuple(p for p, owner in zip(self.pieces, self.owner, strict=True) if owner == shard)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """What the rows of each shard are known by: the same in two layouts when the rows are the same."""
        return tuple(
            hashlib.blake2b(repr((self.name, self.of_shard(s))).encode(), digest_size=12).hexdigest()
            for s in range(self.shards)
        )

    @cached_property
    def rows(self) -> Numbering:
        """Of the windows."""
        return self._numbering([piece.rows for piece in self.pieces])

    @cached_property
    def pictures(self) -> Numbering:
        """Of the pictures."""
        return self._numbering([piece.pictures for piece in self.pieces])

    def _numbering(self, counts: list[int]) -> Numbering:
        return Numbering(np.array(counts, np.int64), np.array(self.owner, np.int64), self.shards)


def assign_shards(
    fragments: Sequence[tuple[str, NDArray[np.int32]]],
    shards: int,
    *,
    name: str = "",
    row_bytes: int = 1,
    picture_bytes: int = 0,
    before: ShardLayout | None = None,
) -> ShardLayout:
    """Every picture to one shard, so that each holds about the same number of bytes.

    fragments : the name of each, and (n,) how many windows each of its pictures has.
    before : the layout of an earlier version: what is still there stays where it is, unless that has become
        too uneven.
    """
    weights = [int(windows.sum()) * row_bytes + len(windows) * picture_bytes for _, windows in fragments]
    share = sum(weights) / shards
    known: dict[str, list[tuple[Piece, int]]] = {}
    if before is not None and before.shards == shards:
        for piece, owner in zip(before.pieces, before.owner, strict=True):
            known.setdefault(piece.fragment, []).append((piece, owner))
    load = np.zeros(shards)
    pieces: list[Piece] = []
    owners: list[int] = []
    for (fragment, windows), weight in zip(fragments, weights, strict=True):
        kept = known.get(fragment)
        cut = _cut(fragment, windows, weight, share) if kept is None else [piece for piece, _ in kept]
        pieces += cut
        owners += [-1] * len(cut) if kept is None else [owner for _, owner in kept]
    sizes = [piece.rows * row_bytes + piece.pictures * picture_bytes for piece in pieces]
    for size, owner in zip(sizes, owners, strict=True):
        if owner >= 0:
            load[owner] += size
    for i in sorted((i for i, owner in enumerate(owners) if owner < 0), key=lambda i: -sizes[i]):
        owners[i] = int(load.argmin())
        load[owners[i]] += sizes[i]
    if known and load.max() > UNEVEN * share + max(sizes, default=0):
        return assign_shards(fragments, shards, name=name, row_bytes=row_bytes, picture_bytes=picture_bytes)
    return ShardLayout(name, tuple(pieces), tuple(owners), shards)


def _cut(fragment: str, windows: NDArray[np.int32], weight: float, share: float) -> list[Piece]:
    """A fragment in so many pieces that a shard's share is at least `PIECES` of them, if it can be."""
    count = int(min(max(1, np.ceil(weight / max(share, 1) * PIECES)), max(len(windows), 1)))
    edges = np.linspace(0, len(windows), count + 1).astype(int)
    rows = np.concatenate([[0], np.cumsum(windows)])
    return [Piece(fragment, a, b, int(rows[b] - rows[a])) for a, b in pairwise(edges.tolist()) if b > a]
