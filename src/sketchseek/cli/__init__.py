"""The command line: each command is a module here, with `add_arguments(parser)` and `run(args)`.

`run` returns the exit status. Only the module of the command that was typed is imported, and heavy packages
are imported by its `run`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from .. import __version__
from ..errors import (
    AddressError,
    DamagedError,
    NoEmbeddingError,
    NoIndexError,
    OtherPlaceError,
    SketchseekError,
)
from .arguments import unambiguous
from .output import say

COMMANDS = {
    "index": "add new pictures, read changed ones again, forget those that are gone",
    "search": "find the pictures that contain a drawing",
    "remove": "remove pictures from the index; the files stay",
    "check": "check the whole index for damage",
    "info": "show what is in the index",
    "serve": "serve a page to draw on",
    "mcp": "serve the index to agents, by the Model Context Protocol on standard input and output",
    "demo": "index the demo pictures and serve a page to draw on",
    "publish": "write a static site that searches the index in the browser",
    "cluster": "show what a Ray cluster serves, or restart it piece by piece",
    "network": "list, add or remove networks that see what pictures show",
    "contours": "show what the program sees in a picture or drawing",
    "explain": "show why a picture matches a drawing, or why not",
    "evaluate": "measure retrieval on an annotated folder",
    "bench": "measure the speed of every method and its peers",
    "figure": "redraw a figure of the paper or of the documentation",
    "completion": "print a script that lets your shell complete commands",
}
"""Names of the commands, which are those of their modules, and what each does."""
_ADVICE: dict[type[SketchseekError], str] = {
    NoIndexError: "Make one with `sketchseek index FOLDER`, or name another with --index.",
    OtherPlaceError: "Name another place with --index.",
    DamagedError: "`sketchseek check --repair` makes it whole again from the pictures.",
    NoEmbeddingError: "Add embeddings with `sketchseek index --expansion FOLDER`, or search by shape alone "
    "with --expand 0 --blend 0.",
    AddressError: "Choose another with --host or --port.",
}
"""What a person at the command line can do about an error."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 0 done, 1 could not do it, 2 wrong usage."""
    _forgiving_streams()
    # The engine has threads of its own; NumPy's products here are small, and its threads would wait busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = unambiguous(sys.argv[1:] if arguments is None else arguments)
    args = build_parser(words).parse_args(words)
    try:
        status: int = args.run(args)
        return status
    except SketchseekError as error:
        say(f"sketchseek: {error} {_ADVICE.get(type(error), '')}".rstrip())
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader of our output has left; so may we
    except KeyboardInterrupt:
        say("\nsketchseek: Interrupted.")
    except MemoryError:
        say("sketchseek: There is not enough memory for that.")
    return 1


def build_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Every command by name, the one in `arguments` with its options; all with theirs for `completion`."""
    parser = argparse.ArgumentParser(
        prog="sketchseek",
        description="Draw a shape, get back the pictures that contain it, with the outline where it was "
        "found.",
    )
    parser.add_argument("--version", action="version", version=f"sketchseek {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    typed = next((word for word in arguments if not word.startswith("-")), None)
    for name, text in COMMANDS.items():
        added = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if typed in (name, "completion"):
            module = import_module(f".{name}", __name__)
            module.add_arguments(added)
            added.set_defaults(run=module.run, wrong=added.error)
    return parser


def _forgiving_streams() -> None:
    """A name that is no text must not end the program when it is printed."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
