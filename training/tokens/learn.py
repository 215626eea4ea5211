"""Learn the tokens of a network: means, principal components and codebooks of its maps' cells.

    python training/tokens/learn.py NETWORK OUT.npz [--learned FILE.npz]

Nothing is trained: cells of maps are collected, from photographs and hand drawings of `sketchy-train` and
from emoji and doodles of `doodles`, as a search would see them, and described by their statistics. Seeds are
fixed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from sketchseek.contours.drawing import Sketch
from sketchseek.embeddings import get_encoder
from sketchseek.embeddings.encoders import PairedEncoder, SketchAdaptedEncoder
from sketchseek.embeddings.quantisation import faiss_or_sentence
from sketchseek.embeddings.tokens import ACROSS, INKED, grid, resampled
from sketchseek.evaluation.datasets import data_folder
from sketchseek.networks.weights import read_tensors
from sketchseek.sources.picture import load_picture

PICTURES, DRAWINGS = 300, 200  # of photographs; of flat art a half of each
DIMENSION = {"efficientnet": 64, "dinov2": 128}
PARTS = {"efficientnet": 32, "dinov2": 32}  # of four bits each
WHITENING = 0.25  # components are divided by this power of their variance
CODEBOOK_CELLS = 20_000
LEFT_OUT = ("piano", "tree")  # categories that are asked for elsewhere


def sample(files: list[Path], count: int) -> list[Path]:
    chosen = np.random.default_rng(0).permutation(len(files))[:count]
    return [files[i] for i in sorted(chosen)]


def picture_cells(encoder: SketchAdaptedEncoder, files: list[Path], kind: int) -> np.ndarray:
    found = []
    for path in files:
        pixels = load_picture(path).pixels
        features = encoder.map_as_kind(pixels, kind)[1]
        found.append(resampled(features, *grid(*pixels.shape[:2])))
    return np.concatenate(found)


def drawn_cells(encoder: SketchAdaptedEncoder, sketches: list[Sketch], kind: int) -> np.ndarray:
    found = []
    for sketch in sketches:
        features, ink = encoder.drawn_map(sketch.strokes, kind)
        found.append(resampled(features, ACROSS, ACROSS)[ink.ravel() > INKED])
    return np.concatenate(found)


def components(cells: np.ndarray, dimension: int, deviation: np.ndarray) -> np.ndarray:
    """(n, c) -> (c, dimension): principal components, half whitened, turned so that parts weigh alike."""
    centred = ((cells - cells.mean(0)) / deviation).astype(np.float64)
    variance, vectors = np.linalg.eigh(centred.T @ centred / len(centred))
    variance, vectors = variance[::-1][:dimension], vectors[:, ::-1][:, :dimension]
    vectors = vectors * np.sign(np.take_along_axis(vectors, np.abs(vectors).argmax(0)[None], 0))
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((dimension, dimension)))[0]
    return (vectors * variance**-WHITENING / deviation[:, None]) @ turn


def codebooks(tokens: np.ndarray, parts: int) -> np.ndarray:
    """(n, d) -> (parts, 16, d / parts)."""
    faiss = faiss_or_sentence()
    faiss.omp_set_num_threads(1)
    some = np.random.default_rng(0).permutation(len(tokens))[:CODEBOOK_CELLS]
    quantiser = faiss.ProductQuantizer(tokens.shape[1], parts, 4)
    quantiser.train(np.ascontiguousarray(tokens[some], np.float32))
    return faiss.vector_to_array(quantiser.centroids).reshape(parts, 16, -1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("network", choices=sorted(DIMENSION))
    parser.add_argument("out")
    parser.add_argument("--learned", help="what was learned about drawings, if not what ships")
    given = parser.parse_args()
    known = read_tensors(Path(given.learned)) if given.learned else None
    found = get_encoder(given.network, learned=known)
    encoder = found._eyes[0] if isinstance(found, PairedEncoder) else found
    folder = data_folder()
    if folder is None:
        raise SystemExit("The development data is not here.")
    photos, drawings = (
        [
            path
            for path in sorted((folder / "sketchy-train" / part).rglob("*.*"))
            if path.parent.name not in LEFT_OUT
        ]
        for part in ("photos", "sketches")
    )
    truth = json.loads((folder / "doodles" / "groundtruth.json").read_text())
    emoji = sorted((folder / "doodles").rglob("*.svg"))
    doodles = sorted({folder / "doodles" / query["sketch"] for query in truth["queries"]})
    cells = [
        picture_cells(encoder, sample(photos, PICTURES), 0),
        picture_cells(encoder, sample(emoji, PICTURES // 2), 1),
    ]
    drawn = [
        drawn_cells(encoder, [Sketch.load(path) for path in sample(drawings, DRAWINGS)], 0),
        drawn_cells(encoder, [Sketch.load(path) for path in sample(doodles, DRAWINGS // 2)], 1),
    ]
    # The layers of a transformer differ in size: each channel is brought to the same spread first.
    deviation = cells[0].std(0) if given.network == "dinov2" else np.ones(cells[0].shape[1])
    projection = components(cells[0], DIMENSION[given.network], deviation)
    tokens = np.concatenate([(each - each.mean(0)) @ projection for each in cells])
    tokens /= np.maximum(np.linalg.norm(tokens, axis=1, keepdims=True), 1e-9)
    learned = {
        "pictures": np.stack([each.mean(0) for each in cells]),
        "drawings": np.stack([each.mean(0) for each in drawn]),
        "projection": projection,
        "centroids": codebooks(tokens, PARTS[given.network]),
    }
    np.savez_compressed(given.out, **{name: values.astype(np.float16) for name, values in learned.items()})


if __name__ == "__main__":
    main()
