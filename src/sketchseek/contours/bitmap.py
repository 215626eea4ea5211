"""A drawing in pixels -> strokes: ink from paper, thinned, traced and smoothed."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError

Float = NDArray[np.float64]
Mask = NDArray[np.bool_]


def bitmap_strokes(pixels: NDArray[np.uint8]) -> list[Float]:
    """Polylines (n, 2) along the middle of each line in a drawing (h, w), (h, w, 3) or (h, w, 4)."""
    ink = find_ink(pixels)
    if not ink.any():
        raise SketchseekError("The drawing is blank: there is no line on it.")
    skeleton = thin(ink)
    return [smooth(path) for path in trace(skeleton) if len(path) > 1]


def find_ink(pixels: NDArray[np.uint8]) -> Mask:
    """Where the drawing has ink (h, w): dark on light, light on dark, or opaque on transparent."""
    grey = _grey(pixels)
    if float(np.ptp(grey)) < 16:
        return np.zeros(grey.shape, dtype=bool)
    if np.median(grey) < 128:
        grey = 255 - grey
    level, _ = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    return grey <= level


def _grey(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if pixels.ndim == 2:
        return pixels
    if pixels.shape[2] == 4 and pixels[..., 3].min() < 255:
        return 255 - pixels[..., 3]
    return np.asarray(cv2.cvtColor(np.ascontiguousarray(pixels[..., :3]), cv2.COLOR_RGB2GRAY))


def thin(mask: Mask) -> Mask:
    """A one-pixel skeleton of a mask (Zhang and Suen 1984)."""
    padded = np.pad(mask, 1).astype(np.uint8) * 255
    return np.asarray(cv2.ximgproc.thinning(padded)[1:-1, 1:-1] > 0)


def trace(skeleton: Mask) -> list[Float]:
    """The skeleton's branches and loops as polylines through pixel centres."""
    stride = skeleton.shape[1] + 2
    flat = np.pad(skeleton, 1).ravel()
    neighbours: dict[int, list[int]] = {}
    for index in np.flatnonzero(flat).tolist():
        found = [index + step for step in (1, -1, stride, -stride) if flat[index + step]]
        for sx in (1, -1):
            for sy in (stride, -stride):
                # A diagonal step only where no straight one leads round the corner.
                if flat[index + sx + sy] and not flat[index + sx] and not flat[index + sy]:
                    found.append(index + sx + sy)
        neighbours[index] = found
    used: set[tuple[int, int]] = set()

    def follow(start: int, second: int) -> list[int]:
        path = [start, second]
        used.update(((start, second), (second, start)))
        while len(neighbours[path[-1]]) == 2:
            a, b = neighbours[path[-1]]
            onward = b if a == path[-2] else a
            if (path[-1], onward) in used:
                break
            used.update(((path[-1], onward), (onward, path[-1])))
            path.append(onward)
        return path

    nodes = [index for index, found in neighbours.items() if len(found) != 2]
    paths = [follow(node, n) for node in nodes for n in neighbours[node] if (node, n) not in used]
    paths += [follow(i, f[0]) for i, f in neighbours.items() if len(f) == 2 and (i, f[0]) not in used]
    return [np.stack([np.array(p) % stride - 0.5, np.array(p) // stride - 0.5], axis=1) for p in paths]


def smooth(path: Float, sigma: float = 2.0) -> Float:
    """The staircase of pixels made a curve; its ends stay, a loop stays closed."""
    radius = int(4 * sigma)
    if len(path) <= 2:
        return path
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    if np.all(path[0] == path[-1]):
        body = path[:-1]
        index = np.arange(-radius, len(body) + radius) % len(body)
        out = np.stack([np.convolve(body[index, k], kernel, "valid") for k in (0, 1)], axis=1)
        return np.vstack([out, out[:1]])
    reach = min(radius, len(path) - 1)
    before = 2 * path[0] - path[reach:0:-1]
    after = 2 * path[-1] - path[-2 : -reach - 2 : -1]
    padded = np.vstack([before, path, after])
    padded = np.pad(padded, ((radius - reach, radius - reach), (0, 0)), mode="edge")
    return np.stack([np.convolve(padded[:, k], kernel, "valid") for k in (0, 1)], axis=1)
