"""What pictures depict: their descriptors, the network's opinion of a drawing, and query expansion."""

from .describers import PictureDescriber, get_describer, usual_mean
from .expand import BLEND, EXPAND, Shape, ShapeScores, rerank
from .graph import need_extra
from .pictures import Cache, Pictures

__all__ = [
    "BLEND",
    "EXPAND",
    "Cache",
    "PictureDescriber",
    "Pictures",
    "Shape",
    "ShapeScores",
    "get_describer",
    "need_extra",
    "rerank",
    "usual_mean",
]
