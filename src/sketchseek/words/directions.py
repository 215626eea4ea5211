"""Weights over ImageNet's classes -> a vector in the space of stored embeddings.

The last layer of EfficientNet has a direction for each class, along which features of its pictures lie.
Stored embeddings are those features, projected; the directions are brought there by the projection's
inverse, so that a product with an embedding is what the last layer would say.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from ..embeddings.encoders import TAUGHT, unit
from ..errors import SketchseekError
from ..networks.weights import Tensors, read_tensors


def directions_of(head: NDArray[np.float32], projection: NDArray[np.float32]) -> NDArray[np.float32]:
    """The directions of the last layer's classes (c, f) in the space of a projection (f, d): (c, d).

    What all classes share says nothing of any.
    """
    centred = head.astype(np.float64) - head.mean(axis=0)
    return np.asarray(centred @ np.linalg.pinv(projection.astype(np.float64)).T, np.float32)


def query_vector(weights: NDArray[np.float32], network: str, dimension: int) -> NDArray[np.float32] | None:
    """The vector, of length 1, to ask stored embeddings for; None where a network has no classes.

    Parameters
    ----------
    weights : (classes,)
    network : str
        Whose embeddings the pictures have; for ``dinov2``, EfficientNet's part of them is asked.
    dimension : int
        Length of a stored embedding, the kind at its end not counted.
    """
    if network not in TAUGHT:
        return None
    wanted = weights @ class_directions()
    before = dimension - len(wanted)
    if before != (len(wanted) if network == "dinov2" else 0):
        return None  # embeddings of another version
    return unit(np.concatenate([np.zeros(before, np.float32), wanted]))


@cache
def class_directions() -> NDArray[np.float32]:
    """The directions that ship: (1000, d)."""
    with resources.as_file(resources.files("sketchseek.words") / "data" / "classes.npz") as path:
        return unpacked(read_tensors(path))


def unpacked(tensors: Tensors) -> NDArray[np.float32]:
    """Directions of one byte a component (classes, d) by a scale for each class (classes,)."""
    try:
        codes, scales = tensors["codes"], tensors["scales"]
        fits = codes.dtype == np.int8 and codes.ndim == 2 and scales.shape == codes.shape[:1]
    except KeyError:
        fits = False
    if not fits or not np.isfinite(scales).all():
        raise SketchseekError("The file of the classes' directions is damaged; reinstall sketchseek.")
    return np.asarray(codes * scales[:, None].astype(np.float32), np.float32)


def packed(directions: NDArray[np.float32]) -> Tensors:
    """The same in one byte a component."""
    scales = np.abs(directions).max(axis=1) / 127
    return {
        "codes": np.round(directions / scales[:, None]).astype(np.int8),
        "scales": scales.astype(np.float32),
    }
