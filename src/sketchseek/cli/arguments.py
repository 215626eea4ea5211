"""Types of arguments and the options that several commands share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from ..errors import SketchseekError


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
    """A number from 0 to `MOST_WEIGHT`."""
    from ..search.options import MOST_WEIGHT

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


def token(text: str) -> str | None:
    """A token that a server can ask for."""
    from ..server import checked_token

    try:
        return checked_token(text)
    except SketchseekError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_index(parser: argparse.ArgumentParser) -> None:
    """The option `--index`."""
    parser.add_argument(
        "--index",
        default=os.environ.get("SKETCHSEEK_INDEX") or ".sketchseek",
        metavar="DIR",
        help="the index: a folder or an object-store address (default: $SKETCHSEEK_INDEX, then "
        ".sketchseek here)",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """The option `--device` of a search."""
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where to search: auto takes a graphics card for a large index, if there is one",
    )


def add_cluster(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """The options of a search on a Ray cluster."""
    parser.add_argument(
        "--cluster",
        default=default,
        metavar="ADDRESS",
        help="search on a Ray cluster: HOST:PORT, auto (the cluster of this machine) or local "
        "(start one here)",
    )
    parser.add_argument(
        "--shards", type=positive, metavar="N", help="number of parts of the index (default: one per node)"
    )
    parser.add_argument(
        "--replicas", type=positive, metavar="N", help="number of copies of each part (default: 1)"
    )
    parser.add_argument(
        "--deadline",
        type=seconds,
        metavar="S",
        help="answer after S seconds, without the parts that are late (default: 2)",
    )


def cluster_options(args: argparse.Namespace) -> dict[str, Any]:
    """What was said of how to spread an index; refused where it is not spread."""
    given = {name: getattr(args, name) for name in ("shards", "replicas", "deadline")}
    given = {name: value for name, value in given.items() if value is not None}
    if given and args.cluster is None:
        raise SketchseekError(
            f"--{next(iter(given))} is for an index on a cluster: leave it out, or add --cluster ADDRESS."
        )
    return given


def add_address(parser: argparse.ArgumentParser) -> None:
    """The address that a server listens on."""
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    parser.add_argument("--port", type=port, default=8000, help="default: 8000")
    parser.add_argument(
        "--token",
        type=token,
        default=os.environ.get("SKETCHSEEK_TOKEN") or None,
        help="the word that visitors must bring (default: the variable SKETCHSEEK_TOKEN, which no list of "
        "processes shows)",
    )


def unambiguous(arguments: Sequence[str]) -> list[str]:
    """The same words, as argparse understands them.

    `--expansion` before a path or nothing gets the default network's name. A `--box` that begins with a
    minus, as that of a hit at the edge may, would be taken for an option: a blank before it says that it is
    none.
    """
    words = list(arguments)
    for i, word in enumerate(words):
        following = words[i + 1] if i + 1 < len(words) else ""
        if word == "--expansion" and not _names_network(following):
            words[i] = "--expansion=efficientnet"
        if word == "--box" and i + 1 < len(words):
            words[i + 1] = f" {words[i + 1]}"
    return words


def _names_network(word: str) -> bool:
    """Whether a word after `--expansion` is the name of one, or can't be anything else but a wrong one."""
    from ..embeddings.encoders import is_encoder

    if is_encoder(word):
        return True
    return bool(word) and not (word.startswith("-") or os.sep in word or os.path.lexists(word))
