"""Hits that depict nearly the same: five pictures of one mistake are one mistake, shown five times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .hit import Hits

if TYPE_CHECKING:
    from .state import SearchState

ALIKE = 0.7
"""The cosine of what two pictures show from which one stands for the other (docs/research/expansion.md)."""


def with_likeness(hits: Hits, state: SearchState) -> Hits:
    """The same hits in the same order, each naming the first one before it that depicts nearly the same."""
    embeddings = state.embeddings if state.collection.host is not None else None  # embeddings are at hand
    if embeddings is None or len(hits) < 2:
        return hits
    vectors = embeddings.pictures.rows(np.array([state.number(hit.id) for hit in hits])).vectors
    tops: list[int] = []
    for i, hit in enumerate(hits):
        near = [top for top in tops if float(vectors[i] @ vectors[top]) >= ALIKE]
        if near:
            hits[i] = replace(hit, like=hits[near[0]].id)
        else:
            tops.append(i)
    return hits
