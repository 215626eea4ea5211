"""A mask of ink -> polylines: thinned to one pixel, traced, spurs cut off, joined at crossings, smoothed."""

from __future__ import annotations

from collections import defaultdict

import cv2
import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Mask = NDArray[np.bool_]

THICK_LINE = 0.06
"""Half the width, as a share of the drawing's extent, from which ink may be a solid shape, not a line."""

THIN_PEN = 5.0
"""Half the width, in pixels, below which a line has nothing to take off: its middle is its skeleton."""
MARGIN, PATCH = 0.2, 0.6
"""Shares of half a pen's width: what is left of it along its way, and how much wider a patch is than that."""


def split_solid(ink: Mask) -> tuple[Mask, Mask]:
    """Silhouettes, which have an outline, and drawings of lines, which have a middle.

    A piece of ink is a silhouette when a good part of it is much wider than the drawing's lines: its thin
    limbs are then no lines.
    """
    depth = _depth(ink)
    extent = max(ink.shape)
    radius = max(THICK_LINE * extent, min(2.5 * _usual(depth), 2 * THICK_LINE * extent))
    if depth.max(initial=0) <= radius:
        return np.zeros_like(ink), ink
    _, labels = cv2.connectedComponents(ink.astype(np.uint8), connectivity=8)
    opened = _opened(ink, depth, radius)
    share = np.bincount(labels.ravel(), opened.ravel()) / np.maximum(np.bincount(labels.ravel()), 1)
    solid = (share > 0.45)[labels] & ink
    return solid, ink & ~solid


def _opened(ink: Mask, depth: NDArray[np.float32], radius: float) -> Mask:
    """Where a disc of that radius fits into the ink."""
    return ink & (_distance_to(depth > radius) <= radius)


def _distance_to(mask: Mask) -> NDArray[np.float32]:
    if not mask.any():
        return np.full(mask.shape, np.inf, np.float32)
    return np.asarray(cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 5))


def half_width(ink: Mask) -> float:
    """That of most lines, in pixels."""
    return _usual(_depth(ink))


def _usual(depth: NDArray[np.float32]) -> float:
    middle = depth[(depth > 0) & (depth >= cv2.dilate(depth, np.ones((3, 3), np.uint8)))]
    return float(np.quantile(middle, 0.25)) if middle.size else 0.0


def _depth(mask: Mask) -> NDArray[np.float32]:
    """Distance of each pixel of the mask to the nearest pixel outside."""
    padded = np.pad(mask, 1).astype(np.uint8)
    return np.asarray(cv2.distanceTransform(padded, cv2.DIST_L2, 5)[1:-1, 1:-1])


def outlines(solid: Mask, sigma: float) -> list[Float]:
    """Closed polylines round solid shapes and their holes."""
    found, _ = cv2.findContours(solid.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    loops = [contour[:, 0].astype(np.float64) + 0.5 for contour in found if len(contour) > 8]
    return [smooth(np.vstack([loop, loop[:1]]), sigma) for loop in loops]


def centre_lines(ink: Mask, sigma: float) -> list[Float]:
    """Polylines along the way of the pen.

    The pen's middle was never nearer to the edge of the ink than half its width. Taking so much off all
    round, but for a margin, leaves thin bands along its way, and patches where lines ran together, whose
    outline is its way too.
    """
    dots = _dots(ink)
    depth = _depth(ink & ~dots)
    pen = _usual(depth)
    if pen < THIN_PEN:
        return outlines(dots, sigma) + _skeleton_lines(ink & ~dots, np.zeros_like(ink), sigma)
    margin = max(MARGIN * pen, 2)
    patch = margin + PATCH * pen
    bands = depth > pen - margin
    wide = _distance_to(_depth(bands) > patch) <= 1.4 * patch
    rest = ink & ~dots & (_distance_to(bands) > pen + 2)  # lines of a thinner pen
    return (
        outlines(dots | (wide & (depth > pen)), sigma)
        + _skeleton_lines(bands, wide, sigma)
        + _skeleton_lines(rest, np.zeros_like(ink), sigma)
    )


def _dots(ink: Mask) -> Mask:
    """Pieces of ink that are about as long as they are wide, and full: no way of a pen, but its touch."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(ink.astype(np.uint8), connectivity=8)
    width, height, area = (
        stats[:, cv2.CC_STAT_WIDTH],
        stats[:, cv2.CC_STAT_HEIGHT],
        stats[:, cv2.CC_STAT_AREA],
    )
    dot = (np.maximum(width, height) < 1.3 * np.minimum(width, height)) & (area > 0.7 * width * height)
    dot[0] = False
    return np.asarray(dot[labels])


def _skeleton_lines(bands: Mask, without: Mask, sigma: float) -> list[Float]:
    """The middle of bands, except where it is in `without`."""
    if not bands.any():
        return []
    skeleton = thin(bands) & ~without
    return [smooth(path, sigma) for path in join(cut_spurs(trace(skeleton), _depth(bands)))]


def thin(mask: Mask) -> Mask:
    """A one-pixel skeleton of a mask, by the parallel thinning of Guo and Hall (1989).

    Only pixels of ink are looked at, each step being one table look-up of their eight neighbours.
    """
    padded = np.pad(mask, 1).astype(np.uint8)
    on = padded.ravel()
    stride = padded.shape[1]
    around = [
        -stride,
        -stride + 1,
        1,
        stride + 1,
        stride,
        stride - 1,
        -1,
        -stride - 1,
    ]  # clockwise from above
    ink = np.flatnonzero(on)
    changed = True
    while changed:
        changed = False
        for table in _DELETABLE:
            code = np.zeros(len(ink), dtype=np.uint8)
            for bit, step in enumerate(around):
                code |= on[ink + step] << bit
            gone = table[code]
            if gone.any():
                changed = True
                on[ink[gone]] = 0
                ink = ink[~gone]
    return padded[1:-1, 1:-1] > 0


def _deletable() -> NDArray[np.bool_]:
    """(2, 256): whether a pixel with these neighbours goes, in the first and in the second half-step."""
    n, ne, e, se, s, sw, w, nw = (np.arange(256) >> bit & 1 for bit in range(8))
    crossings = ((1 - n) & (ne | e)) + ((1 - e) & (se | s)) + ((1 - s) & (sw | w)) + ((1 - w) & (nw | n))
    pairs = np.minimum((nw | n) + (ne | e) + (se | s) + (sw | w), (n | ne) + (e | se) + (s | sw) + (w | nw))
    inner = (crossings == 1) & (pairs >= 2) & (pairs <= 3)
    return np.stack([inner & (((n | ne | (1 - se)) & e) == 0), inner & (((s | sw | (1 - nw)) & w) == 0)])


_DELETABLE = _deletable()


def trace(skeleton: Mask) -> list[Float]:
    """The skeleton's branches and loops, as polylines through pixel centres (n, 2)."""
    stride = skeleton.shape[1] + 2
    on = np.pad(skeleton, 1).ravel()
    neighbours: dict[int, list[int]] = {}
    straight = (1, -1, stride, -stride)
    diagonal = [(sx, sy) for sx in (1, -1) for sy in (stride, -stride)]
    lit = set(np.flatnonzero(on).tolist())
    for index in lit:
        found = [index + step for step in straight if index + step in lit]
        for sx, sy in diagonal:
            # A diagonal step only where no straight one leads round the corner.
            if index + sx + sy in lit and index + sx not in lit and index + sy not in lit:
                found.append(index + sx + sy)
        neighbours[index] = found
    used: set[tuple[int, int]] = set()

    def follow(start: int, second: int) -> list[int]:
        path = [start, second]
        used.update(((start, second), (second, start)))
        while len(neighbours[path[-1]]) == 2 and path[-1] != start:
            a, b = neighbours[path[-1]]
            onward = b if a == path[-2] else a
            used.update(((path[-1], onward), (onward, path[-1])))
            path.append(onward)
        return path

    ends = [index for index, found in neighbours.items() if len(found) != 2]
    paths = [follow(end, n) for end in ends for n in neighbours[end] if (end, n) not in used]
    paths += [follow(i, n[0]) for i, n in neighbours.items() if len(n) == 2 and (i, n[0]) not in used]
    return [np.stack([np.array(p) % stride - 0.5, np.array(p) // stride - 0.5], axis=1) for p in paths]


def cut_spurs(paths: list[Float], depth: NDArray[np.float32]) -> list[Float]:
    """Paths without the short twigs that thinning grows where a line's edge is rough.

    A twig has one loose end and is hardly longer than the line is wide where it starts.
    """
    meeting = _meetings(paths)
    kept = []
    for path in paths:
        first, last = (len(meeting[_key(path[0])]), len(meeting[_key(path[-1])]))
        loose = (first == 1) != (last == 1)
        if loose:
            root = path[-1] if first == 1 else path[0]
            half_width = depth[int(root[1]), int(root[0])]
            loose = _length(path) < 1.5 * half_width + 1
        if not loose:
            kept.append(path)
    return kept


def join(paths: list[Float]) -> list[Float]:
    """Paths joined end to end where lines go on or cross: at each meeting, those that bend least."""
    paths = list(paths)
    link: dict[tuple[int, int], tuple[int, int]] = {}
    for ends in _meetings(paths).values():
        headings = [_heading(paths[index], end) for index, end in ends]
        pairs = sorted((float(headings[a] @ headings[b]), a, b) for a in range(len(ends)) for b in range(a))
        taken: set[int] = set()
        for cosine, a, b in pairs:  # -1: straight on
            if a in taken or b in taken or ends[a][0] == ends[b][0] or (cosine > -0.5 and len(ends) > 2):
                continue
            taken.update((a, b))
            link[ends[a]], link[ends[b]] = ends[b], ends[a]
    joined: list[Float] = []
    seen: set[int] = set()

    def run(index: int, end: int) -> None:
        """Collect pieces from path `index`, entered at its `end`, as far as links lead."""
        pieces: list[Float] = []
        while index not in seen:
            seen.add(index)
            piece = paths[index] if end == 0 else paths[index][::-1]
            pieces.append(piece if not pieces else piece[1:])
            onward = link.get((index, 1 - end))
            if onward is None:
                break
            index, end = onward
        joined.append(np.concatenate(pieces))

    for index in range(len(paths)):
        for end in (0, 1):
            if index not in seen and (index, end) not in link:
                run(index, end)
    for index in range(len(paths)):
        if index not in seen:
            run(index, 0)
    return joined


def _meetings(paths: list[Float]) -> dict[tuple[float, float], list[tuple[int, int]]]:
    """(path, end) pairs by the place where they end; end 0 is a path's start, 1 its finish."""
    meeting: dict[tuple[float, float], list[tuple[int, int]]] = defaultdict(list)
    for index, path in enumerate(paths):
        for end, place in enumerate((path[0], path[-1])):
            meeting[_key(place)].append((index, end))
    return meeting


def _key(place: Float) -> tuple[float, float]:
    return float(place[0]), float(place[1])


def _heading(path: Float, end: int, reach: int = 8) -> Float:
    """Unit vector by which a path leaves its end."""
    away = (
        path[min(reach, len(path) - 1)] - path[0] if end == 0 else path[-min(reach + 1, len(path))] - path[-1]
    )
    return np.asarray(away / max(float(np.hypot(*away)), 1e-9))


def _length(path: Float) -> float:
    return float(np.hypot(*np.diff(path, axis=0).T).sum())


def smooth(path: Float, sigma: float) -> Float:
    """The path convolved with a Gaussian; its ends stay, a loop stays closed."""
    if len(path) <= 2:
        return path
    radius = int(np.ceil(3 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    closed = bool(np.all(path[0] == path[-1]))
    if closed:
        padded = path[np.arange(-radius, len(path) + radius - 1) % (len(path) - 1)]
    else:
        # Reflected through the ends, so that they stay where they are.
        padded = np.vstack(
            [2 * path[0] - path[radius:0:-1], path, 2 * path[-1] - path[-2 : -radius - 2 : -1]]
        )
        short = len(path) + 2 * radius - len(padded)
        padded = np.pad(padded, ((short // 2, short - short // 2), (0, 0)), mode="edge")
    smoothed = np.stack([np.convolve(padded[:, axis], kernel, "valid") for axis in (0, 1)], axis=1)
    return np.vstack([smoothed, smoothed[:1]]) if closed else smoothed
