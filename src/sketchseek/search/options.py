"""How to search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, TypedDict

from ..errors import ArgumentError
from .core import CORE
from .ranking import METHODS, RERANKINGS

MOST_WEIGHT = 5.0
"""The largest `blend`, where the shape weighs 1: beyond, the shape has no influence on the order."""
Turn = float | Literal["any"] | None
"""Degrees; "any" is 180."""


class SearchOptions(TypedDict, total=False):
    """The keywords of `Index.search`, for those who pass them on; `Options` says what they mean."""

    offset: int
    mirror: bool
    turn: Turn
    expand: int | None
    blend: float | None
    picked: Sequence[str]
    rejected: Sequence[str]
    words: str | None
    folder: str | None
    method: str | None
    shortlist: int | None
    rerank: str | None
    neighborhood: int | None
    local_normalization: float
    coverage: float
    threads: int | None


@dataclass(frozen=True)
class Options:
    """How to search; None stands for the default that was measured to be best.

    k, offset : the best k hits after the first `offset`.
    mirror : also look for the mirrored drawing.
    turn : also look for the drawing turned, by up to so many degrees either way; 180 is any angle, 0 upright
        alone. None: upright, and where nothing fits well turned by the angle that does (`rotation.py`).
    expand : how many first hits to ask again with, by what they depict; 0 for none.
    blend : weight of the drawing's own embedding beside its shape; 0 is shape alone.
    picked : ids of pictures that are right: ask again with these instead of the first hits.
    rejected : ids of pictures that are not what was meant: they go, and what is like them goes down.
    words : what is looked for, beside a drawing or instead of one: by what it looks like, and by names.
    folder : only pictures in this folder and those below; these are compared exactly, whatever the method.
    method, shortlist, rerank, neighborhood : see `sketchseek.search.ranking`. The last three are refused
        where the method would not look at them. Without a method a search is exact while that takes less
        than a blink; beyond that, and where a network's opinion is blended in, the paper's two stages name
        candidates.
    local_normalization : strength of the local normalisation, in [0, 1); see docs/explanation/clutter.md.
        0 is the paper's cosine.
    coverage : what it counts that all of the drawing is there, 0: nothing; see docs/explanation/windows.md.
    threads : None for one per core.
    """

    k: int = 20
    offset: int = 0
    mirror: bool = True
    turn: float | None = None
    expand: int | None = None
    blend: float | None = None
    picked: Sequence[str] = ()
    rejected: Sequence[str] = ()
    words: str | None = None
    folder: str | None = None
    method: str | None = None
    shortlist: int | None = None
    rerank: str | None = None
    neighborhood: int | None = None
    local_normalization: float = CORE["local normalization"]
    coverage: float = CORE["coverage"]
    threads: int | None = None

    def __post_init__(self) -> None:
        self._check_kinds()
        if self.k < 1:
            raise ArgumentError(f"k must be positive, got {self.k}")
        if self.offset < 0:
            raise ArgumentError(f"offset must not be negative, got {self.offset}")
        if not 0 <= self.degrees <= 180:
            raise ArgumentError(f"turn must be from 0 to 180 degrees, got {self.turn}")
        if self.expand is not None and self.expand < 0:
            raise ArgumentError(f"expand must not be negative, got {self.expand}")
        if self.blend is not None and not 0 <= self.blend < math.inf:
            raise ArgumentError(f"blend must be finite and not negative, got {self.blend}")
        if not 0 <= self.local_normalization < 1:
            raise ArgumentError(f"local_normalization must be in [0, 1), got {self.local_normalization}")
        if not 0 <= self.coverage < math.inf:
            raise ArgumentError(f"coverage must be finite and not negative, got {self.coverage}")
        if self.threads is not None and self.threads < 1:
            raise ArgumentError(f"threads must be positive, got {self.threads}")
        self._check_method()

    def _check_kinds(self) -> None:
        """Refuse what is of another kind in a sentence, before it is compared with a number."""
        for name in ("k", "offset", "expand", "shortlist", "neighborhood", "threads"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Integral):
                raise ArgumentError(f"{name} must be a whole number, got {value!r}")
        for name in ("turn", "blend", "local_normalization", "coverage"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Real):
                raise ArgumentError(f"{name} must be a number, got {value!r}")
        for name in ("words", "folder"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise ArgumentError(f"{name} must be a text, got {value!r}")
        for name in ("picked", "rejected"):
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(one, str) for one in value):
                raise ArgumentError(f"{name} must be a list of pictures' ids, got {value!r}")

    def _check_method(self) -> None:
        if self.method not in (None, *METHODS):
            raise ArgumentError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.rerank not in (None, *RERANKINGS):
            raise ArgumentError(f"rerank must be one of {', '.join(RERANKINGS)}, got {self.rerank!r}")
        for name in ("shortlist", "rerank", "neighborhood"):
            if self.method in (None, "exhaustive") and getattr(self, name) is not None:
                raise ArgumentError(
                    f"A search by the method exhaustive has no {name}: leave it out, or choose the method "
                    "projections or dpf."
                )
        if self.neighborhood is not None and self.rerank in (None, "exact"):
            raise ArgumentError(
                "A neighborhood is for a rerank by binary or local: exact looks at every translation."
            )

    @classmethod
    def of(cls, k: int, given: SearchOptions) -> Options:
        """The options of a search as people give them: a blend within reason, a turn by any angle."""
        blend, turn = given.get("blend"), given.get("turn")
        if isinstance(blend, int | float) and blend > MOST_WEIGHT:
            raise ArgumentError(f"blend must be from 0 to {MOST_WEIGHT:g}, got {blend}")
        fields: dict[str, Any] = {**given, "turn": 180.0 if turn == "any" else turn}
        return cls(k, **fields)

    @property
    def degrees(self) -> float:
        """By how much the drawing is turned either way in one search."""
        return self.turn or 0.0

    @property
    def ranking(self) -> dict[str, Any]:
        """Those that `rank` takes, as far as they are given."""
        names = ("shortlist", "rerank", "neighborhood", "threads")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def shape_alone(self) -> bool:
        """Whether nothing beyond the shape is asked for."""
        return self.expand == 0 and self.blend == 0 and not self.picked

    @property
    def more_than_shape(self) -> bool:
        """Whether something beyond the shape is asked for, rather than left to the default."""
        return bool(self.expand or self.blend or self.picked)
