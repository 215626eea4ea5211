"""One of each kind of plug-in: `index shelf://mugs --detector gradient --expansion colours`."""

import numpy as np

from sketchseek.embeddings.encoders import PictureOnlyEncoder
from sketchseek.sources import Item

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="300"><path d="{}" fill="{}"/></svg>'
PICTURES = {"mug": ("M90 60h160v40h60v90h-60v50H90z", "teal"), "roof": ("M60 240L200 50l140 190z", "brown")}


class Gradient:
    """An edge detector: `factory(file, device)`; its name and version are kept in the index."""

    def __init__(self, file, device):
        self.name, self.version = "gradient", "1"

    def __call__(self, pixels):
        """(h, w, 3) uint8 -> (h, w) float32 in [0, 1]."""
        y, x = np.gradient(pixels.mean(axis=2))
        return np.clip(np.hypot(x, y) / 64, 0, 1).astype(np.float32)


def colours(file, device):
    """A network: here the mean colour of each quarter of a picture, brought to length 1."""

    def encode(pixels):
        halves = [half for rows in np.array_split(pixels, 2) for half in np.array_split(rows, 2, axis=1)]
        vector = np.concatenate([half.mean(axis=(0, 1)) for half in halves]).astype(np.float32) + 1
        return vector / np.linalg.norm(vector)

    return PictureOnlyEncoder("colours", "1", encode)


class Shelf:
    """A source of pictures: `shelf://ANYTHING`."""

    def items(self, root, kept):
        """List the pictures; a stamp changes when its picture does."""
        return [Item(name=name, reference=name, stamp="1", width=400, height=300) for name in PICTURES]

    def fetch(self, item):
        """Get the bytes of one."""
        return SVG.format(*PICTURES[item.reference]).encode()
