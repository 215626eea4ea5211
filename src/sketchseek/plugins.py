"""What other packages add: detectors, networks and sources, by entry points; ours are listed in the same way.

A package names a function or a class in its `pyproject.toml`, under one of three groups:

`sketchseek.detectors` : `factory(file, device)` gives an `EdgeDetector`.
`sketchseek.networks` : `factory(file, device)` gives a `PictureEncoder`.
`sketchseek.sources` : `factory()` gives a `Source`; the entry's name is the scheme of its addresses.

`file` is what follows the colon in a name such as `structured:model.yml.gz`, else empty; `device` is "cpu" or
"cuda". What an index records is the `name` of the object made: by that name it is asked for again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from .errors import SketchseekError


@cache
def plugins(group: str) -> dict[str, str]:
    """The names that installed packages add to a group, and where each lies: "module:attribute"."""
    from importlib.metadata import entry_points  # of a mail reader's weight, and every search passes here

    return {entry.name: entry.value for entry in entry_points(group=group)}


def find(group: str, name: str, ours: Mapping[str, str]) -> Any:
    """What a name stands for, imported when it is asked for; None where it is unknown. Ours come first."""
    if name in ours:
        return _loaded(ours[name])
    place = plugins(group).get(name)
    if place is None:
        return None
    with blamed(f"The plug-in {name} ({place})"):
        return _loaded(place)


def made(group: str, name: str, ours: Mapping[str, str], *arguments: str) -> Any:
    """What the factory of that name makes of its arguments; None where it is unknown."""
    factory = find(group, name, ours)
    if factory is None or name in ours:
        return factory and factory(*arguments)
    with blamed(f"The plug-in {name}"):
        return factory(*arguments)


def _loaded(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


@contextmanager
def blamed(what: str) -> Iterator[None]:
    """Whatever goes wrong in other people's code becomes a sentence that says whose code it is."""
    try:
        yield
    except (SketchseekError, MemoryError):
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}".rstrip(".: ")
        raise SketchseekError(f"{what} failed: {said}.") from error
