"""What people ask and what they ask it of: the searches that confidence is fitted on and judged by.

    python benchmarks/asked.py PACKAGE WORK --kind efficientnet

Doodles by strangers of icons and emoji; icons' copies, exact, moved or by a light or heavy hand; drawings of
photographs; drawings of drawings and of scans; slips of the pen. Each is asked of a collection that has what
it shows and of the same collection without it, of ten pictures or of thousands, of one make or several. Keeps
the evidence of each search in WORK.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import line_art
import twins
from pools import (
    HALF,
    MARKS,
    OTHER,
    Pool,
    black_outline,
    contours,
    doodle_labels,
    features,
    label,
    pools,
    strangers,
    whole_pools,
)
from sketchseek.contours.drawing import Sketch
from sketchseek.embeddings import PictureEncoder
from sketchseek.errors import SketchseekError
from sketchseek.evaluation.datasets import data_folder
from sketchseek.evaluation.hand_drawn import by_hand
from sketchseek.evaluation.open_set import FIRST, Described, Trial, slip
from sketchseek.search.options import Options
from sketchseek.search.search import find
from sketchseek.search.state import state_of
from sketchseek.shape.settings import Settings

SIDES = (
    ("tabler", "ph", "openmoji", "s2c", "drawings", "all openmoji", "all s2c"),
    ("lucide", "fluent", "noto", "sketchy", "sysu", "scans", "all lucide", "all fluent-mdl2", "all sketchy"),
)
"""Pools that are never in one collection: what is fitted on one side is judged on the other."""
COLLECTIONS = (
    ("icons",),
    ("emoji",),
    ("photographs",),
    ("icons", "emoji"),
    ("icons", "photographs"),
    ("icons", "emoji", "photographs", "drawings", "scans"),
)
SIZES = (1, 10, 100, None)
TOGETHER = {1: (8, 1), 10: (15, 3), 100: (24, 8), None: (40, 40)}
"""Drawings of a group, and how many of them share a collection of that size."""

COPIED = {
    "tabler": 60,
    "ph": 60,
    "lucide": 60,
    "fluent": 60,
    "openmoji": 60,
    "all lucide": 100,
    "all fluent-mdl2": 100,
}
"""Pools whose copies are drawn, and how many."""
DRAWN = {"s2c": 300, "sketchy": 300, "sysu": 90, "all s2c": 160, "all sketchy": 160}
"""Pools of photographs that are asked for by hand drawings, and how many."""


@dataclass(frozen=True)
class Ask:
    """A drawing.

    hand : how it was made. shows : the labels that are right. picture : the very one that it was made of, as
    (pool, number); None where nobody knows. side : of what it may be asked (`SIDES`); None for either.
    drawn : a doodle's class.
    """

    sketch: Sketch
    hand: str
    shows: tuple[str, ...]
    picture: tuple[str, int] | None = None
    side: int | None = None
    drawn: str = ""


def learned_from(ask: Ask, half: str) -> bool:
    """Whether it is a doodle of a class whose doodles the twin of this half learned from."""
    known = (twins.FOLDER / "doodles.txt").read_text().split("\n")
    name = ask.drawn
    return ask.hand == "doodle" and name in known and twins.half_of(name) == half


class Remembered(twins.Twin):
    """A twin whose looks at drawings are kept for as long as it is the same network."""

    @cached_property
    def _made_by(self) -> bytes:
        space = self._network.tokens
        parts = [self._network.version, self._learned, "" if space is None else space.version, "asked"]
        return hashlib.sha256(" ".join(parts).encode()).digest()


# --- drawings --------------------------------------------------------------------------------------------


def doodles(folder: Path, each: int) -> list[Ask]:
    """By strangers, of classes whose doodles the icon network did not learn from."""
    out = []
    for stranger in strangers():
        name = stranger.replace("_", " ")
        lines = (folder / f"{stranger}.ndjson").read_text().splitlines()
        for i in np.linspace(0, len(lines) - 1, each).astype(int):
            strokes = [np.array(s, np.float64).T for s in json.loads(lines[i])["drawing"]]
            with suppress(SketchseekError):  # a scribble
                sketch = Sketch.from_strokes(strokes)
                out.append(Ask(sketch, "doodle", tuple(doodle_labels(name)), drawn=name))
    return out


def copies(pool: Pool, side: int, count: int) -> list[Ask]:
    """Pictures of lines by themselves, moved and thicker, and by a light to a heavy hand."""
    rng, out = np.random.default_rng(5), []
    for number, i in enumerate(rng.permutation(len(pool))[:count].tolist()):
        path = pool.paths[i]
        known = {"shows": (pool.shows[i],), "picture": (pool.name, i), "side": side}
        try:
            itself = black_outline(path) if pool.kind == "emoji" else Sketch.load(path)
            if itself is None:
                continue
            how = number % 4
            if how == 0:
                out.append(Ask(itself, "exact", **known))
            elif how == 1 and pool.kind == "icons":
                out.append(Ask(Sketch.from_bitmap(line_art.copy_of(path, i)), "moved", **known))
            else:
                heavy = float(rng.uniform(0.1, 1.4))
                hand = "light hand" if heavy < 0.5 else "hand" if heavy < 1 else "heavy hand"
                out.append(Ask(Sketch.from_strokes(by_hand(itself.strokes, rng, heavy)), hand, **known))
        except SketchseekError:
            continue
    return out


def of_photographs(folder: Path, pool: Pool, side: int, count: int, redrawn: bool = True) -> list[Ask]:
    """Drawings of a set of photographs, a fifth of them drawn once more by another hand."""
    truth = json.loads((folder / "groundtruth.json").read_text())["queries"]
    rng, out = np.random.default_rng(6), []
    numbers = {path.relative_to(folder).as_posix(): i for i, path in enumerate(pool.paths)}
    for number, i in enumerate(rng.permutation(len(truth))[:count].tolist()):
        query = truth[i]
        sketch, hand = Sketch.load(folder / query["sketch"]), query.get("kind", "hand drawing")
        if redrawn and number % 5 == 4:
            again = by_hand(sketch.strokes, rng, float(rng.uniform(0.2, 1)))
            sketch, hand = Sketch.from_strokes(again), f"{hand} again"
        picture = numbers.get(query.get("instance", ""))
        where = None if picture is None else (pool.name, picture)
        out.append(Ask(sketch, hand, tuple(doodle_labels(query["category"])), where, side))
    return out


def of_drawings(folder: Path, pool: Pool, side: int, each: int) -> list[Ask]:
    """Drawings of the same things by others; of scans also what was scanned, drawn again."""
    rng, out = np.random.default_rng(9), []
    for category in sorted(p for p in folder.iterdir() if p.is_dir()):
        shows = tuple(doodle_labels(category.name))
        for path in sorted(category.iterdir())[-each:]:
            out.append(Ask(Sketch.load(path), "drawing", shows, None, side))
    for i in rng.permutation(len(pool))[: len(out) // 2].tolist():
        original = folder / pool.shows[i] / f"{pool.paths[i].stem}.png"
        again = by_hand(Sketch.load(original).strokes, rng, float(rng.uniform(0.1, 0.8)))
        made = Ask(
            Sketch.from_strokes(again),
            "drawn again",
            tuple(doodle_labels(pool.shows[i])),
            (pool.name, i),
            side,
        )
        out.append(made)
    return out


# --- what they are asked of ------------------------------------------------------------------------------


def relation(shows: tuple[str, ...], picture: str) -> int:
    """2: the picture is right. 1: nobody can say, and it is left out. 0: it is something else."""
    if picture in shows:
        return 2
    words = set(picture.split())
    asked = [set(one.split()) for one in shows]
    if any(one < words and words - one <= MARKS for one in asked):
        return 2
    return int(any(one & words for one in asked))


class World:
    """All pictures, described once, of which collections are parts."""

    def __init__(self, everything: list[Pool], work: Path, encoder: PictureEncoder | None) -> None:
        seen = [contours(pool, work) for pool in everything]
        there = [np.array([c is not None for c in mine]) for mine in seen]
        self.pools = everything
        self.shows = [
            label(show) if pool.kind not in ("icons", "emoji") else show
            for pool, ok in zip(everything, there, strict=True)
            for show in np.array(pool.shows)[ok].tolist()
        ]
        self.pool = np.concatenate([np.full(int(ok.sum()), i) for i, ok in enumerate(there)])
        at, self.number = 0, {}
        for pool, ok in zip(everything, there, strict=True):
            for i in np.flatnonzero(ok).tolist():
                self.number[pool.name, i] = at
                at += 1
        state = state_of([c for mine in seen for c in mine if c is not None], Settings.preset())
        self.described = Described(state)
        if encoder is not None:
            found = [features(pool, work, encoder) for pool in everything]
            rows = np.concatenate([f.vectors[ok] for f, ok in zip(found, there, strict=True)])
            tokens = None
            if found[0].tokens is not None:
                tokens = np.concatenate([f.tokens[ok] for f, ok in zip(found, there, strict=True)])
            self.described = Described(state, type(found[0])(encoder, rows, tokens))

    def of(self, side: int, kinds: tuple[str, ...]) -> NDArray[np.int64]:
        """Pictures of these kinds on a side."""
        wanted = [i for i, p in enumerate(self.pools) if p.name in SIDES[side] and p.kind in kinds]
        return np.flatnonzero(np.isin(self.pool, wanted))


@dataclass(frozen=True)
class Group:
    """Drawings that are asked of the same collections.

    pictures : (n,) what collections are made of. size : of each, None for most of what there is. kinds, side
    : of the pictures. seed : what is chosen at random. whole : collections are all of it, but what must go.
    """

    asks: list[Ask]
    pictures: NDArray[np.int64]
    size: int | None
    kinds: tuple[str, ...]
    side: int
    seed: int
    whole: bool = False

    def search(self, world: World) -> list[Trial]:
        """Each drawing in a collection with what it shows, and without."""
        together = TOGETHER[self.size][1]
        parts = [self.asks[i : i + together] for i in range(0, len(self.asks), together)]
        return [
            trial
            for i, asks in enumerate(parts)
            for trial in replace(self, asks=asks, seed=self.seed + i).found(world)
        ]

    def found(self, world: World) -> Iterator[Trial]:
        rng = np.random.default_rng(self.seed)
        pictures = self.pictures
        right, unclear = [], set()
        for ask in self.asks:
            of = np.array([relation(ask.shows, world.shows[i]) for i in pictures.tolist()])
            itself = -1 if ask.picture is None else world.number[ask.picture]
            right.append(pictures[(of == 2) | (pictures == itself)])
            unclear |= set(pictures[of == 1].tolist()) - {itself}
        every = set(np.concatenate([*right, np.zeros(0, np.int64)]).tolist())
        others = np.array([i for i in pictures.tolist() if i not in every and i not in unclear], np.int64)
        part = 1.0 if self.whole else float(rng.uniform(0.3, 1))
        others = rng.permutation(others)[: self.size or int(len(others) * part)]
        kept: set[int] = set()
        for ask, mine in zip(self.asks, right, strict=True):
            share = max(1, round(len(mine) * len(others) / len(pictures)))
            kept |= set(rng.permutation(mine)[:share].tolist())
            if ask.picture is not None:
                kept.add(world.number[ask.picture])
        there = np.sort([*others[: max(len(others) - len(kept), 0)].tolist(), *kept])
        for present, ids in ((True, there), (False, np.sort(others))):
            if not len(ids) or (present and not kept):
                continue
            state = world.described.part(ids)
            for ask, mine in zip(self.asks, right, strict=True):
                answer = find(state, ask.sketch, Options(FIRST, threads=1), place=False)
                yield Trial(
                    answer.evidence,
                    answer.likeness,
                    np.isin(ids[answer.pictures], mine) & present,
                    present,
                    f"{'+'.join(self.kinds)} by {ask.hand}",
                    ask.shows[0],
                    len(state),
                    answer.confidence,
                    answer.present,
                    self.side,
                )


def groups_of(world: World, asks: list[Ask], times: float, seed: int = 0) -> Iterator[Group]:
    """What is asked of what; `times` is how much of what could be asked is, twice over."""
    rng = np.random.default_rng(seed)
    for side, kinds in _collections(world):
        pictures = world.of(side, kinds)
        shown = sorted({world.shows[i] for i in pictures.tolist()})
        fitting = []
        for ask in asks:
            here = ask.picture is None or world.number.get(ask.picture, -1) in pictures
            if ask.side in (None, side) and here and any(relation(ask.shows, show) == 2 for show in shown):
                fitting.append(ask)
        wanted = min(len(fitting), round(times * len(fitting) / 2))
        chosen = [fitting[i] for i in rng.permutation(len(fitting))[:wanted].tolist()]
        begin = 0
        while begin < len(chosen):
            size = SIZES[int(rng.choice(len(SIZES), p=[0.1, 0.2, 0.3, 0.4]))]
            asked = chosen[begin : begin + TOGETHER[size][0]]
            begin += len(asked)
            yield Group(asked, pictures, size, kinds, side, int(rng.integers(2**31)))


def slips(world: World, count: int, seed: int) -> Iterator[Group]:
    """What is no drawing of anything; of icons and emoji scrawls alone: there are arrows, circles, bars."""
    rng = np.random.default_rng(seed)
    for side, kinds in _collections(world):
        drawn = [slip(rng, i % 4 if kinds == ("photographs",) else 3) for i in range(count)]
        asks = [Ask(Sketch.from_strokes([one]), "slip", (f"slip {seed} {i}",)) for i, one in enumerate(drawn)]
        size = SIZES[int(rng.integers(len(SIZES)))]
        yield Group(asks, world.of(side, kinds), size, kinds, side, int(rng.integers(2**31)))


def whole_groups(world: World, asks: list[Ask], most: int = 240) -> Iterator[Group]:
    """The same of whole collections, each kind of drawing of each."""
    rng = np.random.default_rng(7)
    for side, kinds in _collections(world, 1):
        pictures = world.of(side, kinds)
        shown = sorted({world.shows[i] for i in pictures.tolist()})
        hands: dict[str, list[Ask]] = {}
        for ask in asks:
            here = ask.picture is None or world.number.get(ask.picture, -1) in pictures
            if ask.side in (None, side) and here and any(relation(ask.shows, show) == 2 for show in shown):
                hands.setdefault(ask.hand, []).append(ask)
        for mine in hands.values():
            chosen = [mine[i] for i in rng.permutation(len(mine))[:most].tolist()]
            for begin in range(0, len(chosen), 40):
                asked = chosen[begin : begin + 40]
                yield Group(asked, pictures, None, kinds, side, int(rng.integers(2**31)), whole=True)


def _collections(world: World, most: int = 9) -> Iterator[tuple[int, tuple[str, ...]]]:
    for side in range(len(SIDES)):
        for kinds in COLLECTIONS:
            if len(kinds) <= most and all(len(world.of(side, (kind,))) for kind in kinds):
                yield side, kinds


def drawings_of(everything: list[Pool]) -> list[Ask]:
    """All that is drawn."""
    data = data_folder()
    assert data is not None
    by_name = {pool.name: pool for pool in everything}
    sides = {name: side for side, names in enumerate(SIDES) for name in names}
    out = doodles(data / "quickdraw", 8)
    for name, count in COPIED.items():
        if name in by_name:
            out += copies(by_name[name], sides[name], count)
    for name, count in DRAWN.items():
        if name in by_name:
            folder = data / name.removeprefix("all ")
            out += of_photographs(folder, by_name[name], sides[name], count, not name.startswith("all "))
    for name in ("drawings", "scans"):
        if name in by_name:
            out += of_drawings(data / "sketchy-train" / "sketches", by_name[name], sides[name], 1)
    return out


def collect(
    everything: list[Pool], work: Path, kind: str, out: Path, times: float, *, whole: bool = False
) -> None:
    """Search, group after group; what is done is kept and not done again.

    A network's twin is asked what it did not learn from. The other one is asked those doodles that it knows,
    of EfficientNet and of parts of collections alone: it sees all line art and flat art anew.
    """
    drawn = drawings_of(everything)
    out.mkdir(parents=True, exist_ok=True)
    for half in (HALF, OTHER) if kind == "efficientnet" and not whole else (HALF,):
        encoder = None if kind == "shape" else Remembered(kind, half)
        asks = drawn
        if encoder is not None:
            asks = [ask for ask in drawn if learned_from(ask, HALF) == (half == OTHER)]
        # Twins differ in what they see in flat art and line art.
        some = [pool for pool in everything if half == HALF or pool.kind in ("icons", "emoji")]
        world = World(some, work, encoder)
        print(kind, half, len(world.shows), "pictures", len(asks), "drawings", flush=True)
        groups = list(whole_groups(world, asks) if whole else groups_of(world, asks, times))
        if half == HALF and not whole:
            groups = [*(group for seed in range(4) for group in slips(world, 6, seed)), *groups]
        for done, i in enumerate(np.random.default_rng(1).permutation(len(groups)).tolist()):
            file = out / f"{half}-{i}.pkl"
            if file.exists():
                continue
            found = groups[i].search(world)
            file.with_suffix(".part").write_bytes(pickle.dumps(found))
            file.with_suffix(".part").rename(file)
            print(f"{kind} {half} {done + 1} of {len(groups)}", groups[i].kinds, len(found), flush=True)


def kept(folder: Path) -> list[Trial]:
    """What `collect` kept."""
    return [one for file in sorted(folder.glob("*.pkl")) for one in pickle.loads(file.read_bytes())]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--kind", default="efficientnet")
    parser.add_argument("--pools", nargs="*", help="only pictures of these")
    parser.add_argument("--times", type=float, default=2)
    parser.add_argument(
        "--whole", action="store_true", help="ask whole collections: nothing is fitted on these"
    )
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    everything = (whole_pools if args.whole else pools)(args.package, args.work)
    everything = [pool for pool in everything if not args.pools or pool.name in args.pools]
    out = args.out or args.work / f"{'whole' if args.whole else 'asked'}-{args.kind}"
    collect(everything, args.work, args.kind, out, args.times, whole=args.whole)


if __name__ == "__main__":
    sys.exit(main())
