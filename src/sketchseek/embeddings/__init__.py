"""What pictures depict: their embeddings, the network's opinion of a drawing, and query expansion."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..networks.graph import MISSING_EXTRA, has_extra, need_extra
    from .encoders import PictureEncoder, get_encoder, prior_mean
    from .expansion import EXPAND, ShapeRanking, default_expand, rerank
    from .index import EmbeddingIndex
    from .pictures import CodeCache, Pictures

__all__ = [
    "EXPAND",
    "MISSING_EXTRA",
    "CodeCache",
    "EmbeddingIndex",
    "PictureEncoder",
    "Pictures",
    "ShapeRanking",
    "default_expand",
    "get_encoder",
    "has_extra",
    "need_extra",
    "prior_mean",
    "rerank",
]

_HOMES = {
    **dict.fromkeys(("MISSING_EXTRA", "has_extra", "need_extra"), "..networks.graph"),
    **dict.fromkeys(("PictureEncoder", "get_encoder", "prior_mean"), ".encoders"),
    **dict.fromkeys(("EXPAND", "ShapeRanking", "default_expand", "rerank"), ".expansion"),
    **dict.fromkeys(("CodeCache", "Pictures"), ".pictures"),
    "EmbeddingIndex": ".index",
}
"""Where each name is; imported when it is asked for: the network for icons needs no OpenCV."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
