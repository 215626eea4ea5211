"""Held-out twins of the networks: what they learned about drawings, learned from other categories only.

The package's own files saw the categories of the development sets, and every doodle. A figure comes from a
twin whose training saw none of the categories that are asked for (training/drawings).
"""

from __future__ import annotations

from pathlib import Path

from sketchseek.depiction import PictureDescriber, get_describer
from sketchseek.depiction.weights import Tensors, read_tensors

FOLDER = Path(__file__).parents[1] / "training" / "drawings"
HALVES = ("even", "odd")


def learned(doodles: str | None = None) -> Tensors:
    """By both networks; about flat art without doodles, or with those of a half of the classes."""
    found = read_tensors(FOLDER / "heldout.npz")
    if doodles is not None:
        found |= read_tensors(FOLDER / f"doodles-{doodles}.npz")
    return found


def twin(network: str) -> PictureDescriber:
    return get_describer(network, learned=learned())


def half_of(category: str) -> str:
    """That half of the classes of doodles which one belongs to."""
    classes = (FOLDER / "doodles.txt").read_text().split("\n")
    return HALVES[classes.index(category) % 2]
