"""What commands write besides their results: messages to the person, files."""

from __future__ import annotations

import sys

from ..errors import SketchseekError


def say(text: str) -> None:
    """A message for the person, on stderr."""
    print(text, file=sys.stderr, flush=True)


def write_file(path: str, content: bytes) -> None:
    """Write a file that the person named."""
    try:
        with open(path, "wb") as file:
            file.write(content)
    except OSError as error:
        raise SketchseekError(f"Cannot write {path}: {error.strerror or error}.") from None
