"""What a network sees in drawings and photographs of all kinds of things, added to what it learned.

    python training/drawings/reference.py efficientnet src/sketchseek/embeddings/data/efficientnet.npz
    python training/drawings/reference.py dinov2 src/sketchseek/embeddings/data/dinov2.npz
    python training/drawings/reference.py efficientnet training/drawings/heldout.npz --held-out
    python training/drawings/reference.py dinov2 training/drawings/heldout.npz --held-out

Drawings and photographs of `sketchy-train`, whose categories no other set asks for but two, which are left
out of what is held out. The network is asked as a search asks it; needs no torch.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from sketchseek.contours.drawing import Sketch
from sketchseek.embeddings import get_encoder
from sketchseek.embeddings.normalizer import RANK, Cohort, Reference
from sketchseek.evaluation.datasets import data_folder
from sketchseek.networks.weights import Tensors, read_tensors
from sketchseek.sources.picture import load_picture

PHOTOGRAPHS = 12
"""Of each category."""
ASKED_FOR = {"piano", "tree"}


def reference(network: str, learned: Tensors | None, leave_out: set[str]) -> Reference:
    encoder = get_encoder(network, learned=learned)
    folder = data_folder() / "sketchy-train"
    drawings, photographs = [], []
    for category in sorted(p.name for p in (folder / "sketches").iterdir() if p.name not in leave_out):
        for path in sorted((folder / "sketches" / category).iterdir()):
            drawings.append(encoder.drawing(Sketch.load(path).strokes, [0])[0])
        for path in sorted((folder / "photos" / category).iterdir())[:PHOTOGRAPHS]:
            photographs.append(encoder(load_picture(path).pixels)[:-1])
        print(category, len(drawings), len(photographs), flush=True)
    centred = np.array(photographs) - encoder.prior[0]
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    return Reference(Cohort.of(np.array(drawings), RANK), centred)


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("network", choices=("efficientnet", "dinov2"))
    parser.add_argument("file", type=Path)
    parser.add_argument(
        "--held-out", action="store_true", help="the file is a twin's, with both networks in it"
    )
    given = parser.parse_args()
    learned = read_tensors(given.file)
    found = reference(
        given.network, learned if given.held_out else None, ASKED_FOR if given.held_out else set()
    )
    before = "efficientnet." if given.held_out and given.network == "efficientnet" else ""
    learned |= {f"{before}{name}": values for name, values in found.tensors().items()}
    np.savez_compressed(given.file, **learned)


if __name__ == "__main__":
    main()
