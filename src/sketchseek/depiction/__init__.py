"""What pictures depict: their descriptors, the network's opinion of a drawing, and query expansion."""

from .depiction import Depiction
from .describers import PictureDescriber, get_describer, usual_mean
from .expand import EXPAND, Shape, default_expand, rerank
from .graph import MISSING_EXTRA, has_extra, need_extra
from .pictures import CodeCache, Pictures

__all__ = [
    "EXPAND",
    "MISSING_EXTRA",
    "CodeCache",
    "Depiction",
    "PictureDescriber",
    "Pictures",
    "Shape",
    "default_expand",
    "get_describer",
    "has_extra",
    "need_extra",
    "rerank",
    "usual_mean",
]
