"""What a collection offers to begin with: some of its pictures, and drawings that lead back to a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError

if TYPE_CHECKING:
    from ..index import Index

Strokes = list[list[list[float]]]
SHOWN = 32
"""Pictures on the first page."""
EXAMPLES, TRIED = 5, 16
"""Drawings that are offered, and pictures that are traced at most to have them."""
LINES = 8
"""A drawing has no more lines than these."""
NEAR = 0.05
"""An end that is closer than this share of the extent to another line, or to its own other end, meets it."""
SHORT = 0.12
"""Lines shorter than this share of the drawing's extent are left out."""

COARSE = 0.003
"""Points that lie closer to the line between their neighbours, as a share of the extent, are left out."""


def spread(is_line_art: NDArray[np.bool_], most: int) -> list[int]:
    """Numbers of pictures from all over a collection; photographs and line art by turns where it has both."""
    kinds = [np.flatnonzero(~is_line_art), np.flatnonzero(is_line_art)]
    kinds = [np.random.default_rng(0).permutation(kind) for kind in kinds if len(kind)]
    together = [
        (place, kind, int(number)) for kind, some in enumerate(kinds) for place, number in enumerate(some)
    ]
    return [number for _, _, number in sorted(together)[:most]]


def shown_pictures(index: Index, most: int = SHOWN) -> list[dict[str, Any]]:
    """Pictures from all over a collection: number, id, path, width, height."""
    state = index.state
    return [
        {
            "number": i,
            "id": state.id(i),
            "picture": state.path(i),
            "width": int(state.width[i]),
            "height": int(state.height[i]),
        }
        for i in spread(np.asarray(state.is_line_art), most)
    ]


def examples(index: Index, trace: Callable[[bytes], Strokes | None], **options: Any) -> list[dict[str, Any]]:
    """Drawings traced in clear pictures, each finding its picture first: as `shown_pictures`, and strokes.

    trace : a small picture -> its lines; None where it has none. options : how visitors search.
    """
    from ..contours.drawing import Sketch

    tried = shown_pictures(index, TRIED)
    thumbnails = index.thumbnails([picture["id"] for picture in tried])
    traced = [clear_lines(trace(thumbnail) or []) for thumbnail in thumbnails]
    found: list[dict[str, Any]] = []
    for _, lines, picture in sorted(
        ((*some, picture) for some, picture in zip(traced, tried, strict=True) if some),
        key=lambda one: -one[0],
    ):
        hits = index.search(Sketch.from_strokes(lines), 1, **options)
        if hits and hits[0].id == picture["id"]:
            found.append({**picture, "strokes": lines})
        if len(found) == EXAMPLES:
            break
    return found


def traced(thumbnail: bytes) -> Strokes | None:
    """The lines in a small picture that this program has made."""
    from ..contours.drawing import Sketch

    try:
        return [stroke.tolist() for stroke in Sketch.load(thumbnail).strokes]
    except SketchseekError:
        return None


def clear_lines(strokes: Sequence[Sequence[Sequence[float]]]) -> tuple[float, Strokes] | None:
    """How clear a drawing is, from 0 to 1, and its longer lines; None where there are none.

    It is clear where few lines are most of what there is, and where their ends meet: pieces here and there
    are nothing to recognise.
    """
    lines = [np.asarray(stroke, np.float64) for stroke in strokes if len(stroke) > 1]
    if not lines:
        return None
    extent = float(np.ptp(np.concatenate(lines), axis=0).max())
    lengths = [float(np.hypot(*np.diff(line, axis=0).T).sum()) for line in lines]
    longest = sorted(range(len(lines)), key=lambda i: -lengths[i])[:LINES]
    kept = [lines[i] for i in longest if lengths[i] >= SHORT * extent]
    if extent <= 0 or not kept:
        return None
    share = sum(lengths[i] for i in longest) / sum(lengths)
    ends = [
        (end, [*kept[:i], *kept[i + 1 :], line[-1 - at][None]])
        for i, line in enumerate(kept)
        for at, end in ((0, line[0]), (-1, line[-1]))
    ]
    met = [np.hypot(*(np.concatenate(others) - end).T).min() < NEAR * extent for end, others in ends]
    return share * float(np.mean(met)), [_fewer(line, COARSE * extent) for line in kept]


def _fewer(line: NDArray[np.float64], tolerance: float) -> list[list[float]]:
    """A polyline (n, 2) with fewer points, its ends kept."""
    found = cv2.approxPolyDP(line.astype(np.float32)[:, None], tolerance, False)[:, 0].astype(float)
    if not np.allclose(found[-1], line[-1]):  # of a closed line OpenCV drops the end
        found = np.concatenate([found, line[-1:]])
    points: list[list[float]] = found.round(1).tolist()
    return points
