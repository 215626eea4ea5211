"""What the search's numbers mean, as the engine says it: every number and name of a search is in one place.

src/cpp/search/constants.hpp is that place; browsers ask the same document of the same engine.
"""

from __future__ import annotations

import json
from typing import Any, Final

from ..shape.engine import _engine

_DESCRIPTION: Final[dict[str, Any]] = json.loads(_engine.description())

CORE: Final[dict[str, float]] = _DESCRIPTION["constants"]
"""Defaults, by name."""
EVIDENCE: Final[tuple[str, ...]] = tuple(_DESCRIPTION["evidence"])
"""The columns of a hit's evidence."""
LIKENESS: Final[tuple[str, ...]] = tuple(_DESCRIPTION["likeness"])
"""The columns of likeness to photographs."""
PLACE: Final[tuple[str, ...]] = tuple(_DESCRIPTION["place"])
"""The numbers of a place."""
VERDICTS: Final[tuple[str, ...]] = tuple(_DESCRIPTION["verdicts"])
"""What is said of an answer: the thing is likely there, these are the closest matches, it is probably not."""
LIKELY, CLOSEST, ABSENT = VERDICTS
QUESTIONS: Final[int] = _DESCRIPTION["questions"]
"""Kinds of searches, each with a threshold of its own below which a thing is said to be absent."""
