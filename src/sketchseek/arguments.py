"""What may be written on the command line, as values; what may not is said in a few words."""

from __future__ import annotations

import argparse

MOST_WEIGHT = 5.0
"""Of what a drawing depicts beside its shape, which weighs 1: beyond, the shape says nothing any more."""


def positive(text: str) -> int:
    """A whole number from 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def said(text: str) -> str:
    """Words: one letter or digit at least."""
    if not any(c.isalnum() for c in text):
        raise argparse.ArgumentTypeError("must have a word in it")
    return text


def box(text: str) -> tuple[float, ...]:
    """X0,Y0,X1,Y1."""
    try:
        x0, y0, x1, y1 = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError("must be four numbers: X0,Y0,X1,Y1") from None
    return x0, y0, x1, y1


def natural(text: str) -> int:
    """A whole number from 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return value


def weight(text: str) -> float:
    """What weighs as much as the shape at 1, and all but alone at `MOST_WEIGHT`."""
    value = float(text)
    if not 0 <= value <= MOST_WEIGHT:  # nor is NaN
        raise argparse.ArgumentTypeError(f"must be from 0 to {MOST_WEIGHT:g}")
    return value


def strength(text: str) -> float:
    """A number from 0, less than 1."""
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError("must be 0 or more, and less than 1")
    return value


def port(text: str) -> int:
    """A number of a port; 0 lets the system choose."""
    value = int(text)
    if not 0 <= value < 2**16:
        raise argparse.ArgumentTypeError("must be from 0 to 65535")
    return value


def turn(text: str) -> float:
    """Degrees, or any angle."""
    if text == "any":
        return 180.0
    value = float(text)
    if not 0 <= value <= 180:
        raise argparse.ArgumentTypeError("must be from 0 to 180, or any")
    return value


def seconds(text: str) -> float:
    """How long something may take."""
    value = float(text)
    if not 0.05 <= value <= 3600:
        raise argparse.ArgumentTypeError("must be from 0.05 to 3600 seconds")
    return value
