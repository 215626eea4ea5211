"""Query expansion and blending on the development sets: every variant, every set, with intervals.

    python benchmarks/expansion.py --cache FOLDER [--detector NAME] [--preset NAME]

What was learned for drawings is taken from training/drawings/heldout.npz, whose training saw none of the
categories that are scored here; the file in the package saw all of them. Prints Markdown.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sketchseek.contours.drawing import Sketch
from sketchseek.contours.picture import load_picture
from sketchseek.descriptor import Query, Settings
from sketchseek.evaluation import datasets
from sketchseek.evaluation.experiment import Experiment
from sketchseek.evaluation.metrics import average_precision, bootstrap_interval, precision_at
from sketchseek.expansion import BLEND, EXPAND, Pictures, ShapeScores, efficientnet, rerank
from sketchseek.expansion.describers import DRAWING_SIDE, PICTURE_SIDE, PLUS_MINUS_ONE, Network
from sketchseek.expansion.drawing import RENDERINGS, render
from sketchseek.expansion.quantisation import ProductCodes
from sketchseek.expansion.weights import read_tensors

HELD_OUT = Path(__file__).parents[1] / "training" / "drawings" / "heldout.npz"
SETS = ("sysu", "s2c", "sketchy")
Scores = np.ndarray


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-9)


def z(x: np.ndarray) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.maximum(x.std(-1, keepdims=True), 1e-9)


@dataclass
class Set:
    """Scores (queries, photos) and descriptors of one set, and what is right."""

    name: str
    relevant: np.ndarray
    instance: np.ndarray
    shape: Scores
    photos: np.ndarray
    """(n, 256): as the index stores them."""
    drawings: np.ndarray
    """(q, 256): centred, of length 1."""
    plain: Scores
    """The drawing through the network as it is, each domain centred on its own mean."""

    def __post_init__(self) -> None:
        self.vectors = unit(self.photos - self.photos.mean(0))
        self.network = self.drawings @ self.vectors.T
        self.pictures = Pictures(self.photos.astype(np.float16))


def kept(path: Path, make: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    if not path.is_file():
        np.savez(path, **make())
    return dict(np.load(path))


def load(name: str, cache: Path, detector: str, preset: str) -> Set:
    folder = datasets.data_folder()
    if folder is None:
        raise SystemExit("No data: see SKETCHSEEK_DATA.")
    data = datasets.load(folder / name)
    tensors = read_tensors(efficientnet.shipped_weights())
    learned = dict(np.load(HELD_OUT))
    adapted = efficientnet.with_batch_norm(tensors, learned["batch_norm"])

    def photos() -> dict[str, np.ndarray]:
        network = Network("efficientnet", efficientnet.build(tensors), PLUS_MINUS_ONE)
        return {"photos": np.array([network(load_picture(p).pixels, PICTURE_SIDE) for p in data.photos])}

    def drawings() -> dict[str, np.ndarray]:
        strokes = [Sketch.load(query.sketch).strokes for query in data.queries]
        seen = {}
        for kind, weights in (("plain", tensors), ("adapted", adapted)):
            network = Network("efficientnet", efficientnet.build(weights), PLUS_MINUS_ONE)
            seen[kind] = np.array(
                [
                    np.mean([network(render(s, r, DRAWING_SIDE), DRAWING_SIDE) for r in RENDERINGS], axis=0)
                    for s in strokes
                ]
            )
        return seen

    def shape() -> dict[str, np.ndarray]:
        experiment = Experiment.of(data, detector)
        settings = Settings.preset(preset)
        collection = experiment.collection(settings)
        return {
            "shape": np.array(
                [
                    collection.engine.scores(Query.of(s.points, settings))
                    if s
                    else np.zeros(len(data.photos))
                    for s in experiment.sketches
                ]
            )
        }

    cache.mkdir(parents=True, exist_ok=True)
    found = kept(cache / f"{name}-photos.npz", photos)
    found |= kept(cache / f"{name}-drawings.npz", drawings)
    found |= kept(cache / f"{name}-shape-{detector}-{preset}.npz", shape)
    relevant = np.zeros((len(data.queries), len(data.photos)), bool)
    for i, query in enumerate(data.queries):
        relevant[i, list(query.relevant)] = True
    projection = learned["projection"].astype(np.float32)
    plain, photo = unit(found["plain"]), unit(found["photos"])
    return Set(
        name=name,
        relevant=relevant,
        instance=np.array([-1 if q.instance is None else q.instance for q in data.queries]),
        shape=found["shape"],
        photos=photo @ projection,
        drawings=unit((unit(found["adapted"]) - learned["drawings"]) @ projection),
        plain=unit(plain - plain.mean(0)) @ unit(photo - photo.mean(0)).T,
    )


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


def shipped(s: Set, expand: int = EXPAND, blend: float = BLEND, pictures: Pictures | None = None) -> Scores:
    """What Index.search does."""
    scores = np.full(s.shape.shape, -np.inf)
    for i, (row, drawing) in enumerate(zip(s.shape, s.drawings, strict=True)):
        ids, score = rerank(
            ShapeScores(row),
            pictures or s.pictures,
            len(row),
            drawing=drawing,
            expand=expand,
            blend=blend,
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


def row(name: str, sets: list[Set], scores: Callable[[Set], Scores]) -> None:
    print(f"| {name} | " + " | ".join(cell(s, scores(s)) for s in sets) + " |", flush=True)


def header(title: str, sets: list[Set]) -> None:
    print(f"\n### {title}\n\n| | " + " | ".join(f"`{s.name}`" for s in sets) + " |")
    print("|---" * (len(sets) + 1) + "|")


def difference(
    name: str, sets: list[Set], better: Callable[[Set], Scores], than: Callable[[Set], Scores]
) -> None:
    cells = []
    for s in sets:
        gain = figures(s, better(s))[0] - figures(s, than(s))[0]
        low, high = bootstrap_interval(gain)
        cells.append(f"{100 * gain.mean():+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]")
    print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


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


def calibrated(sets: list[Set], first: int = 20) -> tuple[float, float]:
    """Middle and width of the logistic curve from scores of the first hits to the chance that they are right.

    Every set counts the same.
    """
    scores, right, weights = [], [], []
    for s in sets:
        for row, drawing, relevant in zip(s.shape, s.drawings, s.relevant, strict=True):
            ids, score = rerank(ShapeScores(row), s.pictures, first, drawing=drawing)
            scores.append(score)
            right.append(relevant[ids])
            weights.append(np.full(len(ids), 1 / len(s.shape)))
    x = np.stack([np.concatenate(scores), np.ones(sum(map(len, scores)))], 1)
    y, w = np.concatenate(right), np.concatenate(weights)
    line = np.zeros(2)
    for _ in range(30):  # Newton's method
        chance = 1 / (1 + np.exp(-x @ line))
        curvature = (x * (w * chance * (1 - chance))[:, None]).T @ x
        line += np.linalg.solve(curvature, x.T @ (w * (y - chance)))
    return -line[1] / line[0], 1 / line[0]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--detector", default="neural")
    parser.add_argument("--preset", default="precise")
    given = parser.parse_args()
    sets = [load(name, given.cache, given.detector, given.preset) for name in SETS]

    header("The drawing through the network, alone", sets)
    row("as it is, each domain centred on its own mean", sets, lambda s: s.plain)
    row("with batch normalisation for drawings", sets, lambda s: s.network)
    difference("gain", sets, lambda s: s.network, lambda s: s.plain)

    header("Blended with the shape", sets)
    row("shape alone", sets, lambda s: s.shape)
    for weight in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0):
        row(f"blend {weight}", sets, lambda s, w=weight: blended(s, w))

    variants: dict[str, Callable[[Set, Scores, int], Scores]] = {
        "mean": average,
        "mean, weights falling with rank": lambda s, x, n: average(s, x, n, fall=3 / n),
        "weights by standing out": standing_out,
        "weights by consensus": consensus,
        "mean, first ranking mixed in": mixed(average, 0.2),
        "mean, two rounds": twice(average),
        "standing out, two rounds": twice(standing_out),
        "standing out, two rounds, mixed": mixed(twice(standing_out), 0.2),
    }
    for title, first in (
        ("Expansion of shape alone", lambda s: z(s.shape)),
        (f"Expansion of the blend, {BLEND}", lambda s: blended(s, BLEND)),
    ):
        header(title, sets)
        row("not expanded", sets, first)
        for n in (1, 3, 5, 10, 20, 30):
            for name, how in variants.items():
                if n > 1 or name == "mean":
                    row(f"{name}, n = {n}", sets, lambda s, h=how, n=n, f=first: h(s, f(s), n))

    header("As shipped", sets)
    row("shape, expanded", sets, lambda s: shipped(s, blend=0))
    row("everything", sets, shipped)
    for candidates in (0, 100, 200):
        name = f"64-byte codes, {candidates} candidates re-scored"
        difference(name, sets, lambda s, c=candidates: coded(s, sets, c), shipped)
    difference(
        "everything against the plain mean of 3", sets, shipped, lambda s: average(s, blended(s, BLEND), 3)
    )
    print("\nConfidence: middle {:.2f}, width {:.2f}".format(*calibrated(sets)))


if __name__ == "__main__":
    main()
