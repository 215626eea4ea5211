"""Docstrings as pages: examples (`>>>`) are shown as code, parameters (`name : text`) as a list."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(?:>>> .*\n?(?:(?!\n|>>> ).+\n?)*)+", re.MULTILINE)
FLAG = re.compile(r"\s+# doctest: \+\w+")
PARAMETER = re.compile(r"^((?:[a-z_]\w*, )*[a-z_]\w*) : ", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Puts fences around examples, and makes items of parameters."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """An object was read."""
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)


def readable(text: str) -> str:
    """A docstring in Markdown."""
    text = EXAMPLE.sub(lambda m: f"```pycon\n{FLAG.sub('', m[0]).rstrip()}\n```\n", text)
    first = PARAMETER.search(text)
    if first is None:
        return text
    items = PARAMETER.sub(lambda m: f"- `{m[1]}`: ", text[first.start() :])
    return f"{text[: first.start()]}\n{items}"
