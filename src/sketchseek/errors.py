"""Errors for people: a sentence that states the fact. How to mend it, each face says in its own words.

SketchseekError
    ArgumentError       also a ValueError: what was asked for cannot be asked for
    NoIndexError        there is no index in a place
    OtherPlaceError     it takes an index in another place
    DamagedError        something in an index is not what was written
    NoEmbeddingError    a search was to go by embeddings that are not known here
    AddressError        nothing can be served at an address
    ClusterError        a cluster cannot be joined, or does not answer
"""

from __future__ import annotations


class SketchseekError(Exception):
    """Something a user can mend. The command line prints it, adds its own options, and exits with 1."""


class ArgumentError(SketchseekError, ValueError):
    """A value that cannot be asked for: a preset that there is not, a count below 1."""


class NoIndexError(SketchseekError):
    """There is no index in a place."""


class OtherPlaceError(SketchseekError):
    """What is wanted cannot be had in this place: it takes an index in another."""


class DamagedError(SketchseekError):
    """Something in an index is not what was written."""


class NoEmbeddingError(SketchseekError):
    """What pictures depict is not known here, and the search was to go by it."""


class AddressError(SketchseekError):
    """Nothing can be served at an address."""


class ClusterError(SketchseekError):
    """A cluster cannot be joined, is not what is needed, or does not answer."""
