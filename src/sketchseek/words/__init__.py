"""Words beside a drawing: what they may depict, and which names they are in."""

from .directions import class_directions, query_vector
from .keywords import read_keywords
from .meaning import Dictionary, Meaning, content_words
from .names import Named, NameIndex
from .text import NAMES

__all__ = [
    "NAMES",
    "Dictionary",
    "Meaning",
    "NameIndex",
    "Named",
    "class_directions",
    "content_words",
    "query_vector",
    "read_keywords",
]
