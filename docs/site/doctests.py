"""Examples in docstrings (`>>>`) are shown as code."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^(?:>>> .*\n?(?:(?!\n|>>> ).+\n?)*)+", re.MULTILINE)
FLAG = re.compile(r"\s+# doctest: \+\w+")


class Doctests(griffe.Extension):
    """Puts fences around examples."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """An object was read."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(
                lambda m: f"```pycon\n{FLAG.sub('', m[0]).rstrip()}\n```\n", obj.docstring.value
            )
