"""What pictures depict: their descriptors, the network's opinion of a drawing, and query expansion."""

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
