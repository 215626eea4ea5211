"""What models of confidence use, of all that they may: few things, which mean the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable

from sketchseek.evaluation.calibration import ModelTerms, Terms


def _alone(names: Iterable[str]) -> Terms:
    return tuple((name, "one") for name in names)


def _each_with(names: Iterable[str], other: str) -> Terms:
    return tuple((name, other) for name in names)


_SHAPE = ("match", "coverage", "shape z-score", "near copy", "background above by shape")
_NETWORK = ("network cosine", "network z-score", "background above by network", "similarity to first hits")
_ICONS = ("icon cosine", "icon z-score")
_ICON_SEARCH = ("best icon cosine", "icon margin to the fifth", "icon spread")
_SEARCH = (
    "match margin to the second",
    "shape margin to the tenth",
    "shape skewness",
    "log pictures",
    "log length drawn",
    "simplicity",
    "network margin to the tenth",
    "network skewness",
    "agreement",
    "nearest by network",
    "cohesion of first hits",
    "background similar to first hits",
    "flat art share",
    "mean line art",
)
_LIKENESS = (
    "first five",
    "nearest",
    "nearest five",
    "nearest twenty",
    "mean of the first",
    "best triplet",
    "elsewhere",
    "nearest beyond elsewhere",
    "likeness is heard",
)
_TELLING = ("match", "shape z-score", "network z-score", "agreement", "nearest by network")
OF_SEARCH: Terms = (
    *_alone((*_SHAPE, *_NETWORK, *_ICONS, *_ICON_SEARCH, *_SEARCH, *_LIKENESS)),
    *_alone(f"mean {name}" for name in ("match", "shape z-score", *_NETWORK, *_ICONS)),
    *_each_with(_TELLING, "flat art share"),
    *_each_with(_TELLING, "mean line art"),
    *_each_with((*_TELLING, "nearest five", "best triplet"), "log pictures"),
    *(
        (name, name)
        for name in ("match", "simplicity", "log length drawn", "log pictures", "network z-score")
    ),
    ("match", "network z-score"),
    ("match", "icon z-score"),
    ("icon z-score", "log pictures"),
    ("icon cosine", "icon cosine"),
    ("match", "simplicity"),
    ("match", "match margin to the second"),
)
OF_HIT: Terms = (
    *_alone((*_SHAPE, *_NETWORK, *_ICONS, *_SEARCH, *_LIKENESS, "order score", "line art", "log rank")),
    *_alone(f"mean {name}" for name in ("match", "network z-score", "similarity to first hits", *_ICONS)),
    *_each_with(("match", "network z-score", "similarity to first hits"), "flat art share"),
    *_each_with(("match", "network z-score", "similarity to first hits"), "mean line art"),
    *_each_with(("match", "network z-score", "log pictures", "near copy"), "log rank"),
    *_each_with(("network z-score", "cohesion of first hits"), "similarity to first hits"),
    ("match", "match"),
    ("match", "match margin to the second"),
    ("match", "network z-score"),
    ("match", "icon z-score"),
    ("icon z-score", "log rank"),
    ("icon cosine", "icon cosine"),
    ("match", "simplicity"),
    ("match margin to the second", "log rank"),
)

TERMS = ModelTerms(OF_SEARCH, OF_HIT)
