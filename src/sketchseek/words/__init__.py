"""Words beside a drawing: what they may depict, and which names they are in."""

from .directions import query_vector
from .keywords import read_keywords
from .meaning import Dictionary, Meaning
from .names import Named, NameIndex

__all__ = ["Dictionary", "Meaning", "NameIndex", "Named", "query_vector", "read_keywords"]
