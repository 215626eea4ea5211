"""Query expansion and blending on an annotated set: every variant, with intervals, for `make results`.

What ships is measured as it ships, through `Experiment.run`; variants that don't are matrices of scores.

What was learned for drawings is taken from held-out twins, whose training saw none of the categories that are
scored here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import twins
from sketchseek.embeddings import EXPAND, Pictures
from sketchseek.embeddings.expansion import SPREAD, diffused
from sketchseek.embeddings.pictures import EmbeddingRows
from sketchseek.embeddings.quantisation import ProductCodes
from sketchseek.evaluation.embeddings import PhotoFeatures, features
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.metrics import average_precision, bootstrap_interval, precision_at
from sketchseek.evaluation.scoring import QueryScore
from sketchseek.search.candidates import ShapeScores
from sketchseek.search.options import Options
from sketchseek.search.search import find, hits_of
from sketchseek.search.state import PictureContours, SearchState
from sketchseek.shape.settings import Settings
from sketchseek.sources.picture import load_picture

SAMPLE = 60
"""Drawings of each set with which approximations and boxes are looked at, at random."""
Scores = np.ndarray


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-9)


def z(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.maximum(x.std(-1, keepdims=True), 1e-9)


@dataclass
class Set:
    """One set: what is right in it, its photos' embeddings, and scores (queries, photos) of two kinds."""

    experiment: Experiment
    features: PhotoFeatures
    """By the held-out twin."""

    def __post_init__(self) -> None:
        e = self.experiment
        self.name, self.encoder = e.data.name, self.features.encoder
        self.relevant = np.zeros((len(e.data.queries), len(e.data.photos)), bool)
        for i, query in enumerate(e.data.queries):
            self.relevant[i, list(query.relevant)] = True
        self.instance = np.array([-1 if q.instance is None else q.instance for q in e.data.queries])
        self.pictures = Pictures(self.features.vectors, self.encoder.prior)
        rows = self.pictures.rows(np.arange(len(self.pictures)))
        drawings = (self.encoder.drawing(s.strokes, self.pictures.kinds_here) for s in e.sketches)
        self.vectors, self.network = rows.vectors, np.array([rows.cosines(d) for d in drawings])

    @cached_property
    def state(self) -> SearchState:
        """The photos as a search sees them."""
        return self.seen(self.pictures)

    def seen(self, pictures: Pictures) -> SearchState:
        """The same with other embeddings."""
        return self.experiment.state(Settings.preset(), embeddings=self.features.embeddings(pictures))

    @cached_property
    def shape(self) -> Scores:
        """By shape, as it is blended."""
        everything = np.arange(len(self.state))
        asked = (ShapeScores(self.state, s.points, Options()) for s in self.experiment.sketches)
        return np.array([scores.at(everything) for scores in asked])


def load(e: Experiment, network: str = "efficientnet", doodles: str | None = None) -> Set:
    """A set as a held-out twin sees it.

    doodles : the half of the classes of doodles that the twin learned from, if any.
    """
    return Set(e, features(e.data, twins.Twin(network, doodles)))


def doodle_sets(e: Experiment, network: str = "efficientnet") -> list[Set]:
    """The doodles of each half of their classes, asked of a twin that learned from those of the other."""
    half = np.array([twins.half_of(query.category) for query in e.data.queries])
    return [
        load(e.only(np.flatnonzero(half == asked)), network, learned)
        for asked, learned in zip(twins.HALVES, reversed(twins.HALVES), strict=True)
    ]


# What ships


def shipped(s: Set, **options: float) -> list[QueryScore]:
    """What a search answers, by a network that saw none of these categories."""
    return s.experiment.run(s.state, Options(**options), place=False)


def shipped_cell(scores: list[QueryScore]) -> str:
    precisions = np.array([q.average_precision for q in scores])
    low, high = bootstrap_interval(precisions)
    p20 = np.mean([q.precision[20] for q in scores])
    text = f"{100 * precisions.mean():.1f} [{100 * low:.1f}, {100 * high:.1f}] ({100 * p20:.1f})"
    if scores[0].instance_rank is None:
        return text
    return f"{text} R@10 {100 * np.mean([found_by(q) for q in scores]):.1f}"


def found_by(q: QueryScore, depth: int = 10) -> bool:
    return q.instance_rank is not None and q.instance_rank <= depth


def shipped_row(name: str, sets: list[Set], **options: float) -> str:
    return f"| {name} | " + " | ".join(shipped_cell(shipped(s, **options)) for s in sets) + " |"


def coded(s: Set, others: list[Set], candidates: int) -> str:
    """What 64-byte codes, trained on the photos of other sets, change in mAP."""
    some = s.experiment.sample(SAMPLE)
    exact = some.run(s.state, place=False)
    approximate = some.run(s.seen(Coded(s, others, candidates)), place=False)
    return signed(
        [a.average_precision - b.average_precision for a, b in zip(approximate, exact, strict=True)]
    )


def signed(gain: list[float]) -> str:
    low, high = bootstrap_interval(gain)
    return f"{100 * np.mean(gain):+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"


class Coded(Pictures):
    """Candidates by codes, their exact products from the stored vectors: as with a large collection."""

    def __init__(self, s: Set, others: list[Set], candidates: int) -> None:
        super().__init__(s.features.vectors, s.encoder.prior)
        codes = ProductCodes.train(np.concatenate([o.vectors for o in others]).astype(np.float32), len(self))
        codes.encode([s.vectors.astype(np.float32)])
        self._exact, self._candidates = self.rows(np.arange(len(self))), candidates
        self._decoded = EmbeddingRows(codes.decoded(), self._exact.kinds)

    def products(self, query: np.ndarray) -> np.ndarray:
        found = self._decoded.cosines(query)
        if self._candidates:
            best = np.argpartition(-found, self._candidates)[: self._candidates]
            found[best] = self._exact.cosines(query)[best]
        return found


# Variants that don't ship: each gives scores (queries, photos).


def blended(s: Set, weight: float) -> Scores:
    return z(s.shape) + weight * z(s.network)


def average(s: Set, scores: Scores, n: int, fall: float = 0.0) -> Scores:
    """Compare with the mean of the first n; weights fall with rank as exp(-fall x rank)."""
    first = np.argsort(-scores, axis=1)[:, :n]
    weights = np.exp(-fall * np.arange(n))
    return unit(np.einsum("qnd,n->qd", s.vectors[first], weights)) @ s.vectors.T


def standing_out(s: Set, scores: Scores, n: int, background: int = 3) -> Scores:
    """Weights that follow how far a score stands above those further down."""
    first = np.argsort(-scores, axis=1)[:, : background * n]
    values = np.take_along_axis(scores, first, 1)
    weights = values[:, :n] - values[:, -1:]
    return unit(np.einsum("qnd,qn->qd", s.vectors[first[:, :n]], weights)) @ s.vectors.T


def consensus(s: Set, scores: Scores, n: int) -> Scores:
    """Weights that follow how much a hit is like the other hits."""
    x = s.vectors[np.argsort(-scores, axis=1)[:, :n]]
    alike = np.maximum(np.einsum("qid,qjd->qij", x, x), 0)
    return unit(np.einsum("qnd,qn->qd", x, alike.sum(2) ** 2)) @ s.vectors.T


def twice(how: Callable[[Set, Scores, int], Scores]) -> Callable[[Set, Scores, int], Scores]:
    def rounds(s: Set, scores: Scores, n: int) -> Scores:
        return how(s, z(how(s, scores, n)) + 0.3 * z(scores), n)

    return rounds


def mixed(how: Callable[[Set, Scores, int], Scores], weight: float) -> Callable[[Set, Scores, int], Scores]:
    """The first ranking's score mixed back in."""
    return lambda s, scores, n: z(how(s, scores, n)) + weight * z(scores)


def spread(how: Callable[[Set, Scores, int], Scores]) -> Callable[[Set, Scores, int], Scores]:
    """The scores of the first hits spread to what is alike."""

    def rounds(s: Set, scores: Scores, n: int) -> Scores:
        found = how(s, scores, n)
        for row in found:
            first = np.argsort(-row)[:SPREAD]
            lowest, new = row[first[-1]], diffused(row[first], s.vectors[first], n)
            row[first] = new + max(0.0, lowest - new.min())  # what comes after them stays after them
        return found

    return rounds


def cell(s: Set, scores: Scores) -> str:
    order = np.argsort(-scores, axis=1, kind="stable")
    right = np.take_along_axis(s.relevant, order, 1)
    precisions = np.array([average_precision(row) for row in right])
    low, high = bootstrap_interval(precisions)
    p20 = np.mean([precision_at(row, 20) for row in right])
    text = f"{100 * precisions.mean():.1f} [{100 * low:.1f}, {100 * high:.1f}] ({100 * p20:.1f})"
    if s.instance[0] < 0:
        return text
    return f"{text} R@10 {100 * (order[:, :10] == s.instance[:, None]).any(1).mean():.1f}"


def row(name: str, sets: list[Set], scores: Callable[[Set], Scores]) -> str:
    return f"| {name} | " + " | ".join(cell(s, scores(s)) for s in sets) + " |"


def header(title: str, sets: list[Set]) -> list[str]:
    return [
        f"\n### {title}\n",
        "| | " + " | ".join(s.name for s in sets) + " |",
        "|---" * (len(sets) + 1) + "|",
    ]


def boxed(s: Set, n: int = EXPAND) -> list[str]:
    """Cells: expansion by whole pictures, and its change when only each hit's box is described, or both.

    One round, weights by standing out, the first n hits of what ships without expanding, the same drawings in
    all three.
    """
    e = s.experiment
    chosen = np.sort(np.random.default_rng(0).permutation(len(e.sketches))[:SAMPLE])
    found: dict[str, list[float]] = {"whole": [], "box": [], "both": []}
    for i in chosen:
        answer = find(s.state, e.sketches[i], Options(n, expand=0), count=3 * n)
        first, weights = answer.pictures[:n], answer.order[:n] - answer.order[-1]
        hits = hits_of(s.state, e.sketches[i], answer)
        crops = [
            crop(load_picture(e.data.photos[p]).pixels, np.array(hit.box), e.contours[p])
            for p, hit in zip(first, hits, strict=True)
        ]
        box = np.array([s.pictures.centred(s.encoder(c)) for c in crops])
        whole = s.vectors[first]
        for kind, vectors in (("whole", whole), ("box", box), ("both", unit(whole + box))):
            order = np.argsort(-(s.vectors @ unit(weights @ vectors)))
            found[kind].append(average_precision(s.relevant[i][order]))
    changes = [np.subtract(found[kind], found["whole"]).tolist() for kind in ("box", "both")]
    return [f"{100 * np.mean(found['whole']):.1f}", *map(signed, changes)]


def crop(pixels: np.ndarray, box: np.ndarray, photo: PictureContours, margin: float = 0.1) -> np.ndarray:
    """The box, a tenth wider on each side, of a picture that was loaded smaller than it is."""
    height, width = pixels.shape[:2]
    x0, y0, x1, y1 = box * (width / photo.width)
    dx, dy = margin * (x1 - x0), margin * (y1 - y0)
    left, top = max(0, int(x0 - dx)), max(0, int(y0 - dy))
    right, bottom = min(width, int(x1 + dx) + 1), min(height, int(y1 + dy) + 1)
    return pixels[top:bottom, left:right] if right - left > 8 and bottom - top > 8 else pixels


VARIANTS: dict[str, Callable[[Set, Scores, int], Scores]] = {
    "mean": average,
    "mean, weights falling with rank": lambda s, x, n: average(s, x, n, fall=3 / n),
    "weights by standing out": standing_out,
    "weights by consensus": consensus,
    "mean, first ranking mixed in": mixed(average, 0.2),
    "mean, two rounds": twice(average),
    "standing out, two rounds": twice(standing_out),
    "standing out, two rounds, mixed": mixed(twice(standing_out), 0.2),
    "standing out, two rounds, mixed, diffusion": spread(mixed(twice(standing_out), 0.2)),
}


def sections(sets: list[Set]) -> str:
    """All tables, as Markdown."""
    lines = header("As shipped", sets)
    lines.append(shipped_row("shape, expanded", sets, blend=0.0))
    lines.append(shipped_row("shape and drawing, not expanded", sets, expand=0))
    lines.append(shipped_row("everything", sets))
    lines += header(f"64-byte codes, change of mAP, {SAMPLE} drawings of each set", sets)
    for candidates in (0, 100, 200):
        cells = [coded(s, [o for o in sets if o is not s], candidates) for s in sets]
        lines.append(f"| {candidates} candidates re-scored | " + " | ".join(cells) + " |")

    lines += header("The drawing through the network, alone", sets)
    lines.append(row("with normalisation for drawings", sets, lambda s: s.network))

    lines += header("Blended with the shape", sets)
    lines.append(row("shape alone, the plain cosine", sets, lambda s: s.shape))
    for weight in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0):
        lines.append(row(f"blend {weight}", sets, lambda s, w=weight: blended(s, w)))

    lines += header(
        f"Only the box in which the drawing was found, n = {EXPAND}, {SAMPLE} drawings of each set", sets
    )
    columns = [boxed(s) for s in sets]
    for i, name in enumerate(("whole pictures", "boxes", "pictures and boxes, averaged")):
        lines.append(f"| {name} | " + " | ".join(c[i] for c in columns) + " |")

    for title, first in (
        ("Expansion of shape alone", lambda s: z(s.shape)),
        ("Expansion of the blend", lambda s: blended(s, s.encoder.blend)),
    ):
        lines += header(title, sets)
        lines.append(row("not expanded", sets, first))
        for n in (1, 3, 10):
            for name, how in VARIANTS.items():
                if n > 1 or name == "mean":
                    lines.append(row(f"{name}, n = {n}", sets, lambda s, h=how, n=n, f=first: h(s, f(s), n)))
    return "\n".join(lines)
