"""What a collection's pictures depict, and the network that sees the same in a drawing."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from .describers import PictureDescriber
from .pictures import Pictures
from .quantisation import Ids
from .tokens import Codes


class Depiction:
    """Descriptors of pictures and their network, each loaded when a search first asks for it.

    pictures : loads the descriptors, ready to be compared.
    describer : loads the network that gave them; told whether one is required, it may answer None.
    network : its name, for those that need not load it.
    tokens : (n, bytes) what is where in each picture, if that was kept; may be mapped from a file.
    token_version : what these tokens are (`TokenSpace.version`).
    """

    def __init__(
        self,
        pictures: Callable[[], Pictures],
        describer: Callable[[bool], PictureDescriber | None],
        tokens: Codes | None = None,
        token_version: str = "",
        network: str | None = None,
    ) -> None:
        self.network = network
        self._load_pictures, self._load_describer = pictures, describer
        self._tokens, self._token_version = tokens, token_version
        self._pictures: Pictures | None = None
        self._describer: PictureDescriber | None = None
        self._lock = threading.Lock()

    @property
    def pictures(self) -> Pictures:
        """The pictures' descriptors."""
        with self._lock:
            if self._pictures is None:
                self._pictures = self._load_pictures()
            return self._pictures

    def describer(self, *, required: bool) -> PictureDescriber | None:
        """The network; None where it is neither installed nor required."""
        with self._lock:
            if self._describer is None:
                self._describer = self._load_describer(required)
            return self._describer

    def has_tokens_of(self, describer: PictureDescriber) -> bool:
        """Whether it has tokens, and they are what this network's drawings can meet."""
        space = describer.tokens if self._tokens is not None else None
        return space is not None and space.version == self._token_version

    def tokens(self, ids: Ids) -> Codes:
        """The tokens of some pictures, zeros for one that has none; only where there are tokens."""
        assert self._tokens is not None
        return np.asarray(self._tokens[ids])
