"""What a collection's pictures depict, and the network that sees the same in a drawing."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .describers import PictureDescriber
from .pictures import Pictures


class Depiction:
    """Descriptors of pictures and their network, each loaded when a search first asks for it.

    pictures : loads the descriptors, ready to be compared.
    describer : loads the network that gave them; told whether one is required, it may answer None.
    network : its name, for those that need not load it.
    """

    def __init__(
        self,
        pictures: Callable[[], Pictures],
        describer: Callable[[bool], PictureDescriber | None],
        network: str | None = None,
    ) -> None:
        self.network = network
        self._load_pictures, self._load_describer = pictures, describer
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
