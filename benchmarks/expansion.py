"""Query expansion and blending on an annotated set: every variant, with intervals, for `make results`.

What was learned for drawings is taken from held-out twins in training/drawings, whose training saw none of
the categories that are scored here; the files in the package saw all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sketchseek.contours.picture import load_picture
from sketchseek.depiction import (
    EXPAND,
    PictureDescriber,
    Pictures,
    ShapeScores,
    get_describer,
    rerank,
)
from sketchseek.depiction.quantisation import ProductCodes
from sketchseek.evaluation.depiction import descriptors
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.extraction import cache_folder
from sketchseek.evaluation.metrics import average_precision, bootstrap_interval, precision_at
from sketchseek.search.clutter import local_scores
from sketchseek.search.ranking import located
from sketchseek.search.search import Answer, Options, place_hits
from sketchseek.search.view import PictureContours
from sketchseek.shape.query import Query
from sketchseek.shape.settings import Settings

TWINS = Path(__file__).parents[1] / "training" / "drawings"
HELD_OUT = {"efficientnet": TWINS / "heldout.npz", "dinov2": TWINS / "dinov2-heldout.npz"}
BOXED = 60
"""Drawings of each set whose hits are described by their boxes, one network pass a hit."""
Scores = np.ndarray


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-9)


def z(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.maximum(x.std(-1, keepdims=True), 1e-9)


@dataclass
class Set:
    """Scores (queries, photos) and descriptors of one set, and what is right."""

    experiment: Experiment
    cosine: Scores
    """By shape, as the paper scores it."""
    local: Scores
    """By shape, normalised where the drawing was found."""
    photos: np.ndarray
    """(n, d): as the index stores them."""
    drawings: np.ndarray
    """(q, d): centred, of length 1."""
    describer: PictureDescriber

    def __post_init__(self) -> None:
        queries = self.experiment.data.queries
        self.name = self.experiment.data.name
        self.relevant = np.zeros(self.cosine.shape, bool)
        for i, query in enumerate(queries):
            self.relevant[i, list(query.relevant)] = True
        self.instance = np.array([-1 if q.instance is None else q.instance for q in queries])
        self.shape = self.cosine
        self.vectors = unit(self.photos - self.photos.mean(0))
        self.network = self.drawings @ self.vectors.T
        self.pictures = Pictures(self.photos.astype(np.float16))


def load(e: Experiment, network: str = "efficientnet") -> Set:
    """Shape scores computed; the network's opinions computed, or remembered while network and data stay."""
    twin = get_describer(network, learned=HELD_OUT[network])
    lines = [line.tobytes() for sketch in e.sketches for line in sketch.strokes]
    cosine, local = shape_scores(e)
    return Set(
        experiment=e,
        cosine=cosine,
        local=local,
        photos=descriptors(e.data, twin).astype(np.float32),
        drawings=kept(
            [twin.version.encode(), HELD_OUT[network].read_bytes(), *lines],
            lambda: np.array([twin.drawing(sketch.strokes) for sketch in e.sketches]),
        ),
        describer=twin,
    )


def kept(source: list[bytes], make: Callable[[], np.ndarray]) -> np.ndarray:
    """Remembered as long as what it was made from stays the same."""
    digest = hashlib.sha256()
    for part in source:
        digest.update(hashlib.sha256(part).digest())
    path = cache_folder().parent / "features" / f"{digest.hexdigest()}.npy"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, make())
    return np.load(path)


def shape_scores(e: Experiment) -> tuple[Scores, Scores]:
    """Of every drawing with every photo, at the defaults: the cosine, and normalised locally."""
    settings = Settings.preset()
    collection = e.view(settings).collection
    cosine, local = [], []
    for sketch in e.sketches:
        query = Query.of(sketch.points, settings)
        placed = located(collection, query, np.arange(len(collection)))
        cosine.append(placed.score)
        local.append(local_scores(collection, query, placed))
    return np.array(cosine), np.array(local)


# The variants: each gives scores (queries, photos).


def blended(s: Set, weight: float) -> Scores:
    return z(s.shape) + weight * z(s.network)


def average(s: Set, scores: Scores, n: int, fall: float = 0.0) -> Scores:
    """Compare with the mean of the first n; weights fall with rank as exp(-fall x rank)."""
    first = np.argsort(-scores, axis=1)[:, :n]
    weights = np.exp(-fall * np.arange(n))
    return unit(np.einsum("qnd,n->qd", s.vectors[first], weights)) @ s.vectors.T


def standing_out(s: Set, scores: Scores, n: int, usual: int = 3) -> Scores:
    """Weights that follow how far a score stands above those further down."""
    first = np.argsort(-scores, axis=1)[:, : usual * n]
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


def shipped(
    s: Set,
    expand: int = EXPAND,
    blend: float | None = None,
    pictures: Pictures | None = None,
    shape: Scores | None = None,
) -> Scores:
    """What Index.search does."""
    scores = np.full(s.shape.shape, -np.inf)
    for i, (row, drawing) in enumerate(zip(s.shape if shape is None else shape, s.drawings, strict=True)):
        ids, score = rerank(
            ShapeScores(row),
            pictures or s.pictures,
            len(row),
            drawing=drawing,
            expand=expand,
            blend=s.describer.blend if blend is None else blend,
        )
        scores[i, ids] = score
    return scores


def figures(s: Set, scores: Scores) -> tuple[np.ndarray, float, float | None]:
    """Average precision of each query; P@20; recall of the instance at 10."""
    order = np.argsort(-scores, axis=1, kind="stable")
    right = np.take_along_axis(s.relevant, order, 1)
    precision = float(np.mean([precision_at(row, 20) for row in right]))
    found = (order[:, :10] == s.instance[:, None]).any(1).mean() if s.instance[0] >= 0 else None
    return np.array([average_precision(row) for row in right]), precision, found


def cell(s: Set, scores: Scores) -> str:
    precisions, p20, recall = figures(s, scores)
    low, high = bootstrap_interval(precisions)
    text = f"{100 * precisions.mean():.1f} [{100 * low:.1f}, {100 * high:.1f}] ({100 * p20:.1f})"
    return text if recall is None else f"{text} R@10 {100 * recall:.1f}"


def row(name: str, sets: list[Set], scores: Callable[[Set], Scores]) -> str:
    return f"| {name} | " + " | ".join(cell(s, scores(s)) for s in sets) + " |"


def header(title: str, sets: list[Set]) -> list[str]:
    return [
        f"\n### {title}\n",
        "| | " + " | ".join(s.name for s in sets) + " |",
        "|---" * (len(sets) + 1) + "|",
    ]


def difference(
    name: str, sets: list[Set], better: Callable[[Set], Scores], than: Callable[[Set], Scores]
) -> str:
    cells = []
    for s in sets:
        gain = figures(s, better(s))[0] - figures(s, than(s))[0]
        low, high = bootstrap_interval(gain)
        cells.append(f"{100 * gain.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]")
    return f"| {name} | " + " | ".join(cells) + " |"


class Coded(Pictures):
    """Candidates by codes, their exact products from the stored vectors: as with a large collection."""

    def __init__(self, s: Set, others: list[Set], candidates: int) -> None:
        super().__init__(s.photos.astype(np.float16))
        codes = ProductCodes.train(np.concatenate([o.vectors for o in others]).astype(np.float32), len(self))
        codes.encode([s.vectors.astype(np.float32)])
        self._decoded, self._candidates = codes.decoded(), candidates
        self._exact = self.vectors(np.arange(len(self)))

    def products(self, query: np.ndarray) -> np.ndarray:
        products = self._decoded @ query
        if self._candidates:
            best = np.argpartition(-products, self._candidates)[: self._candidates]
            products[best] = self._exact[best] @ query
        return products


def coded(s: Set, sets: list[Set], candidates: int) -> Scores:
    """The default with 64-byte codes, trained on the photos of the other sets."""
    return shipped(s, pictures=Coded(s, [o for o in sets if o is not s], candidates))


def boxed(s: Set, n: int = EXPAND) -> list[str]:
    """Cells: expansion by whole pictures, and its change when only each hit's box is described, or both.

    One round, weights by standing out, the first n hits of the blend, the same drawings in all three.
    """
    e = s.experiment
    chosen = np.sort(np.random.default_rng(0).permutation(len(e.sketches))[:BOXED])
    scores = blended(s, s.describer.blend)[chosen]
    view = e.view(Settings.preset())
    mean = s.photos.mean(0)
    found: dict[str, list[np.ndarray]] = {"whole": [], "box": [], "both": []}
    for i, row in zip(chosen, scores, strict=True):
        first = np.argsort(-row)[: 3 * n]
        weights = row[first[:n]] - row[first[-1]]
        query = Query.of(e.sketches[i].points, view.settings)
        answer = Answer(query, located(view.collection, query, first[:n]), row[first[:n]], row[first[:n]])
        boxes = [np.array(hit.box) for hit in place_hits(view, e.sketches[i], answer, Options(n))]
        crops = [
            crop(load_picture(e.data.photos[p]).pixels, b, e.contours[p])
            for p, b in zip(first, boxes, strict=False)
        ]
        box = unit(np.array([s.describer(c) for c in crops]) - mean)
        whole = s.vectors[first[:n]]
        for kind, vectors in (("whole", whole), ("box", box), ("both", unit(whole + box))):
            found[kind].append(s.vectors @ unit(weights @ vectors))
    precisions = {
        kind: np.array(
            [average_precision(s.relevant[i][np.argsort(-x)]) for i, x in zip(chosen, rows, strict=True)]
        )
        for kind, rows in found.items()
    }
    cells = [f"{100 * precisions['whole'].mean():.1f}"]
    for kind in ("box", "both"):
        change = 100 * (precisions[kind] - precisions["whole"])
        low, high = bootstrap_interval(change)
        cells.append(f"{change.mean():+.1f} [{low:+.1f}, {high:+.1f}]")
    return cells


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
}


def sections(sets: list[Set]) -> str:
    """All tables, as Markdown."""
    lines = header("As shipped", sets)
    lines.append(row("shape, expanded", sets, lambda s: shipped(s, blend=0)))
    lines.append(row("everything", sets, shipped))
    lines.append(
        difference(
            "shape's part normalised locally",
            sets,
            lambda s: shipped(s, shape=s.local),
            lambda s: shipped(s, shape=s.cosine),
        )
    )
    for candidates in (0, 100, 200):
        name = f"64-byte codes, {candidates} candidates re-scored"
        lines.append(difference(name, sets, lambda s, c=candidates: coded(s, sets, c), shipped))
    plain_mean = "everything against the plain mean of 3"
    lines.append(
        difference(plain_mean, sets, shipped, lambda s: average(s, blended(s, s.describer.blend), 3))
    )

    lines += header("The drawing through the network, alone", sets)
    lines.append(row("with normalisation for drawings", sets, lambda s: s.network))

    lines += header("Blended with the shape", sets)
    lines.append(row("shape alone", sets, lambda s: s.shape))
    for weight in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0):
        lines.append(row(f"blend {weight}", sets, lambda s, w=weight: blended(s, w)))

    lines += header(
        f"Only the box in which the drawing was found, n = {EXPAND}, {BOXED} drawings of each set", sets
    )
    columns = [boxed(s) for s in sets]
    for i, name in enumerate(("whole pictures", "boxes", "pictures and boxes, averaged")):
        lines.append(f"| {name} | " + " | ".join(c[i] for c in columns) + " |")

    for title, first in (
        ("Expansion of shape alone", lambda s: z(s.shape)),
        ("Expansion of the blend", lambda s: blended(s, s.describer.blend)),
    ):
        lines += header(title, sets)
        lines.append(row("not expanded", sets, first))
        for n in (1, 3, 5, 10, 20):
            for name, how in VARIANTS.items():
                if n > 1 or name == "mean":
                    lines.append(row(f"{name}, n = {n}", sets, lambda s, h=how, n=n, f=first: h(s, f(s), n)))
    return "\n".join(lines)
