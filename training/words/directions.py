"""Makes src/sketchseek/words/data/classes.npz: the directions of EfficientNet's classes among embeddings.

See README.md beside this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from sketchseek.networks import efficientnet
from sketchseek.networks.weights import read_tensors
from sketchseek.words.directions import directions_of, packed

DEPICTION = Path(__file__).parents[2] / "src" / "sketchseek" / "embeddings"


def main() -> None:
    head = read_tensors(efficientnet.shipped_weights())["_fc.weight"]
    projection = read_tensors(DEPICTION / "data" / "efficientnet.npz")["projection"]
    np.savez_compressed(sys.argv[1], **packed(directions_of(head, projection)))


if __name__ == "__main__":
    main()
