"""What a collection's pictures depict, and the network that sees the same in a drawing."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from .encoders import PictureEncoder
from .pictures import Pictures
from .quantisation import Ids
from .tokens import Codes


class EmbeddingIndex:
    """Embeddings of pictures and their network, each loaded when a search first asks for it.

    pictures : loads the embeddings, ready to be compared.
    encoder : loads the network that gave them; told whether one is required, it may answer None.
    tokens : (n, bytes) what is where in each picture, if that was kept; may be mapped from a file.
    token_version : what these tokens are (`TokenSpace.version`).
    network : its name, for those that need not load it.
    """

    def __init__(
        self,
        pictures: Callable[[], Pictures],
        encoder: Callable[[bool], PictureEncoder | None],
        tokens: Codes | None = None,
        token_version: str = "",
        network: str | None = None,
    ) -> None:
        self.network = network
        self._load_pictures, self._load_encoder = pictures, encoder
        self._tokens, self._token_version = tokens, token_version
        self._pictures: Pictures | None = None
        self._encoder: PictureEncoder | None = None
        self._lock = threading.Lock()

    @property
    def pictures(self) -> Pictures:
        """The pictures' embeddings."""
        with self._lock:
            if self._pictures is None:
                self._pictures = self._load_pictures()
            return self._pictures

    def encoder(self, *, required: bool) -> PictureEncoder | None:
        """The network; None where it is neither installed nor required."""
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load_encoder(required)
            return self._encoder

    def has_tokens_of(self, encoder: PictureEncoder) -> bool:
        """Whether it has tokens, and they are what this network's drawings can meet."""
        space = encoder.tokens if self._tokens is not None else None
        return space is not None and space.version == self._token_version

    def tokens(self, ids: Ids) -> Codes:
        """The tokens of some pictures, zeros for one that has none; only where there are tokens."""
        assert self._tokens is not None
        return np.asarray(self._tokens[ids])
