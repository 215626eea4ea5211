"""Errors for people: a sentence that states the fact. How to mend it, each face says in its own words."""


class SketchseekError(Exception):
    """Something a user can mend. The command line prints it, adds its own options, and exits with 1."""


class NoIndexError(SketchseekError):
    """There is not an index in a place."""


class OtherPlaceError(SketchseekError):
    """What is wanted cannot be had in this place: it takes an index in another."""


class DamagedError(SketchseekError):
    """Something in an index is not what was written."""


class NoDescriptorError(SketchseekError):
    """What pictures depict is not known here, and the search was to go by it."""


class AddressError(SketchseekError):
    """Nothing can be served at an address."""
