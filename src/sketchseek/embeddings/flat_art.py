"""Icons, emoji, clip art: pictures of a few flat colours, which a network sees with a side of its own."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

VERSION: Final = "1"
"""Part of a encoder's version: which side sees a picture decides on its vector."""
COLOURS: Final = 8
"""So many of 4,096 colours fill most of the even parts of flat art, its ground aside. Emoji take 1 to 6;
photographs take 20 to 200, but five in a hundred, of things before a clear sky, take no more than 8."""
MOST: Final = 0.8
EVEN: Final = 0.6
"""At least this share of flat art's pixels are as the next one is."""
GRADUAL: Final = 0.1
"""At most this share of flat art's pixels differ a little from the next one: of emoji .01, of small ones .07;
of photographs half, and of those five in a hundred all but one more than .1."""
_LITTLE = (2, 24)  # of 256 levels, in the channel that differs most
_SIDE = 512  # pixels each way that are looked at, about


def is_flat_art(pixels: NDArray[np.uint8]) -> bool:
    """Whether a few colours fill most of a picture (h, w, 3), its commonest aside, without any shades."""
    step = max(min(pixels.shape[:2]) // _SIDE, 1)
    pixels = pixels[:: 2 * step, ::step].astype(np.intp)
    change = np.abs(np.diff(pixels, axis=1)).max(axis=2)
    if not change.size:
        return True
    even, gradual = change <= _LITTLE[0], (change > _LITTLE[0]) & (change < _LITTLE[1])
    if even.mean() < EVEN or gradual.mean() > GRADUAL:
        return False
    counts = np.sort(np.bincount((pixels[:, 1:][even] >> 4) @ [256, 16, 1], minlength=2))[-2::-1]
    return bool(counts[:COLOURS].sum() >= MOST * counts.sum())
