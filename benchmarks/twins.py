"""Held-out twins of the networks: what they learned about drawings, learned from other categories only.

The package's own files saw the categories of the development sets, and every doodle. A figure comes from a
twin whose training saw none of the categories that are asked for (training/drawings).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from sketchseek.embeddings import encoders, get_encoder, rendering, tokens
from sketchseek.embeddings.cache import load_arrays, save_arrays
from sketchseek.embeddings.encoders import fingerprint
from sketchseek.embeddings.tokens import DrawnTokens
from sketchseek.evaluation.extraction import cache_folder
from sketchseek.networks.weights import Tensors, read_tensors

FOLDER = Path(__file__).parents[1] / "training" / "drawings"
HALVES = ("even", "odd")


def learned(doodles: str | None = None) -> Tensors:
    """By both networks; about flat art without doodles, or with those of a half of the classes."""
    found = read_tensors(FOLDER / "heldout.npz")
    if doodles is not None:
        found |= read_tensors(FOLDER / f"doodles-{doodles}.npz")
    return found


class Twin:
    """A network's held-out twin, which looks at each drawing once: what it saw is kept between runs."""

    def __init__(self, network: str, doodles: str | None = None) -> None:
        known = learned(doodles)
        self._network = get_encoder(network, learned=known)
        self._learned = fingerprint(known)
        self.half = doodles

    def __getattr__(self, name: str) -> object:
        return getattr(self._network, name)

    def __call__(self, pixels: np.ndarray) -> np.ndarray:
        return self._network(pixels)

    def drawing(self, strokes: Sequence[np.ndarray], kinds: Sequence[int] = (0, 1)) -> np.ndarray:
        return self.drawing_with_tokens(strokes, kinds)[0]

    def drawing_with_tokens(
        self, strokes: Sequence[np.ndarray], kinds: Sequence[int] = (0, 1)
    ) -> tuple[np.ndarray, list[DrawnTokens | None]]:
        asked = b"".join([self._made_by, bytes(kinds), *(line.tobytes() for line in strokes)])
        key = hashlib.sha256(asked).hexdigest()
        kept = cache_folder().parent / "drawings" / key[:2] / f"{key[2:]}.drawing"
        known = load_arrays(kept)
        if known is None:
            vectors, drawn = self._network.drawing_with_tokens(strokes, kinds)
            known = {"vectors": vectors}
            for kind, its in enumerate(drawn):
                if its is not None:
                    known |= {f"{name}{kind}": getattr(its, name) for name in _OF_TOKENS}
            save_arrays(kept, **known)
        space = self._network.tokens
        return known["vectors"], [
            DrawnTokens(*(known[f"{name}{kind}"] for name in _OF_TOKENS), space.centroids)
            if f"tokens{kind}" in known and space is not None
            else None
            for kind in (0, 1)
        ]

    @cached_property
    def _made_by(self) -> bytes:
        """What it sees changes with any of these."""
        space = self._network.tokens
        parts = [self._network.version, self._learned, "" if space is None else space.version]
        sources = [Path(module.__file__).read_bytes() for module in (encoders, rendering, tokens)]
        sources += [path.read_bytes() for path in Path(encoders.__file__).parent.glob("data/*-tokens.npz")]
        return hashlib.sha256(b"".join([*(part.encode() for part in parts), *sources])).digest()


_OF_TOKENS = ("tokens", "weights", "places")


def half_of(category: str) -> str:
    """That half of the classes of doodles which one belongs to."""
    classes = (FOLDER / "doodles.txt").read_text().split("\n")
    return HALVES[classes.index(category) % 2]
