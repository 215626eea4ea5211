"""Text as words are compared by: letters without case and accents, split where names are, without endings."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any, Final

from ..shape.engine import _engine

_DESCRIPTION: Final[dict[str, Any]] = json.loads(_engine.description())
NAMES: Final[dict[str, float]] = _DESCRIPTION["names"]
"""What matches with names count, here and in a published site (src/cpp/search/constants.hpp)."""
COMMON: Final = frozenset[str](_DESCRIPTION["common words"])
"""What people put around the word that they mean."""
LONGEST = 400
"""Characters of a query or of a name that are looked at."""
_RUN = re.compile(r"[^\W\d_]+|\d+")
# Where a name changes from one word to the next without a sign between: redCar, HTMLPage.
_HUMP = re.compile(r"(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-Z])(?=[A-Z][a-z])")
_FOLDED = str.maketrans({"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d"})


def folded(text: str) -> str:
    """In small letters without accents: "Flügel" -> "flugel"."""
    lower = unicodedata.normalize("NFKD", text[:LONGEST].casefold()).translate(_FOLDED)
    return "".join(c for c in lower if not unicodedata.combining(c))


def tokens(text: str) -> list[str]:
    """The words and numbers of a text or a name: "redCar-2.svg" -> ["red", "car", "2", "svg"]."""
    text = text[:LONGEST]
    if not text.islower():
        text = _HUMP.sub(" ", text)
    return _RUN.findall(text.lower() if text.isascii() else folded(text))


def stem(word: str) -> str:
    """An English word without the ending of its plural: "boxes" -> "box", "berries" -> "berry".

    Words of other languages lose an s at most, on both sides of a comparison.
    """
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    return word[:-1]
