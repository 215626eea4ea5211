"""Strokes: lists of polylines, read from JSON, and sampled into contour points."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SketchseekError
from ..sources.limits import MAX_JSON_BYTES, MAX_SAMPLES, MAX_STROKES, MAX_VERTICES, check_size, too_large
from .points import FRAME, Points, tangent_angle

STEP = 1.0
"""Distance between samples, in pixels of the frame: about that of the pixels of a thinned contour."""

Float = NDArray[np.float64]


def is_strokes(data: bytes) -> bool:
    """Whether the bytes are JSON; no picture format begins with a bracket."""
    return data[:256].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def parse_strokes(data: bytes, name: str) -> list[Float]:
    """Strokes in JSON: {"strokes": [[[x, y], ...], ...]}, the bare list, or a Quick, Draw! drawing.

    Quick, Draw! keeps the coordinates apart: a stroke is [[x, ...], [y, ...]], raw ones add [t, ...].
    Of a file with one drawing per line, the first is taken.
    """
    document = _parse_json(data, name)
    if isinstance(document, dict):
        if "strokes" in document:
            return clean_strokes(document["strokes"])
        document = document.get("drawing")
        return clean_strokes(_transpose(document))
    return clean_strokes(_transpose(document) if _is_quick_draw(document) else document)


def _parse_json(data: bytes, name: str) -> Any:
    """The document, or that of the first line where there is one on each."""
    line = data[: MAX_JSON_BYTES + 1].lstrip().partition(b"\n")[0]
    small = [text for text in (data, line) if _is_small(text)]
    for text in small:
        with suppress(ValueError, RecursionError):
            return json.loads(text.decode("utf-8-sig"))
    if data in small:
        raise SketchseekError(f"{name} is not a drawing in JSON.")
    raise too_large()


def _is_small(text: bytes) -> bool:
    """Whether JSON is no longer than a drawing, nor has more lists: 24 times their two brackets' memory."""
    return len(text) <= MAX_JSON_BYTES and text.count(b"[") + text.count(b"{") <= MAX_STROKES + MAX_VERTICES


def _is_quick_draw(strokes: Any) -> bool:
    """Whether each stroke is two or three equally long lists of numbers, not all of them pairs."""
    try:
        rows = [[len(row) for row in stroke] for stroke in strokes]
    except TypeError:
        return False
    regular = all(len(lengths) in (2, 3) and len(set(lengths)) == 1 for lengths in rows)
    return regular and any(lengths[0] != 2 for lengths in rows)


def _transpose(drawing: Any) -> Any:
    try:
        return [list(zip(stroke[0], stroke[1], strict=True)) for stroke in drawing]
    except (TypeError, ValueError, IndexError, KeyError) as error:
        raise SketchseekError("The drawing's strokes must be lists of x and lists of y.") from error


def clean_strokes(strokes: Sequence[ArrayLike]) -> list[Float]:
    """Checked polylines (n, 2); SketchseekError if there is a stroke that is not a list of [x, y]."""
    if not isinstance(strokes, list | tuple | np.ndarray):
        raise SketchseekError("A drawing is a list of strokes, each a list of [x, y].")
    cleaned: list[Float] = []
    vertices = 0
    for stroke in strokes:
        try:
            polyline = np.asarray(stroke, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise SketchseekError("Each stroke of a drawing must be a list of [x, y].") from error
        if polyline.size == 0:
            continue
        if polyline.ndim != 2 or polyline.shape[1] != 2:
            raise SketchseekError("Each stroke of a drawing must be a list of [x, y].")
        if not np.isfinite(polyline).all() or np.abs(polyline).max() > 1e9:
            raise SketchseekError("The drawing has coordinates that are not ordinary numbers.")
        vertices += len(polyline)
        cleaned.append(polyline)
        check_size(len(cleaned), vertices)
    return cleaned


def to_frame(strokes: list[Float]) -> tuple[list[NDArray[np.float32]], float, float]:
    """Strokes moved to their tight box, longer side FRAME, origin in its middle; its width and height."""
    lines = [stroke for stroke in strokes if len(stroke) > 1 and np.any(stroke != stroke[0])]
    if not lines:
        raise SketchseekError("The drawing is blank, or a single dot: draw at least one line.")
    everything = np.concatenate(lines)
    low, high = everything.min(axis=0), everything.max(axis=0)
    middle, extent = (low + high) / 2, high - low
    framed = [((line - middle) / extent.max() * FRAME).astype(np.float32) for line in lines]
    width, height = extent / extent.max() * FRAME
    # Beside a very large stroke a very small one is a dot.
    return [line for line in framed if np.any(line != line[0])], float(width), float(height)


def sample_strokes(strokes: Sequence[NDArray[np.floating[Any]]], width: float, height: float) -> Points:
    """Points at equal steps along each polyline, with its tangent there and weight 1."""
    length = float(sum(np.hypot(*np.diff(stroke, axis=0).T).sum() for stroke in strokes))
    step = max(STEP, length / MAX_SAMPLES)
    x, y, angle = [], [], []
    for stroke in strokes:
        line = np.asarray(stroke, dtype=np.float64)
        pieces = np.diff(line, axis=0)
        lengths = np.hypot(pieces[:, 0], pieces[:, 1])
        pieces, starts, lengths = pieces[lengths > 0], line[:-1][lengths > 0], lengths[lengths > 0]
        if not len(lengths):
            continue
        ends = np.cumsum(lengths)
        n = max(1, round(ends[-1] / step))
        at = (np.arange(n) + 0.5) * ends[-1] / n
        piece = np.searchsorted(ends, at, side="right").clip(max=len(ends) - 1)
        along = (at - (ends - lengths)[piece]) / lengths[piece]
        where = starts[piece] + along[:, None] * pieces[piece]
        x.append(where[:, 0])
        y.append(where[:, 1])
        angle.append(tangent_angle(pieces[piece, 0], pieces[piece, 1]))
    nothing = np.empty(0, np.float32)
    xs, ys, angles = (np.concatenate([nothing, *values], dtype=np.float32) for values in (x, y, angle))
    return Points(xs, ys, angles, np.ones_like(xs), width, height)


def lines_to_points(strokes: Sequence[Float], size: tuple[float, float]) -> Points:
    """The same for the lines of a picture, in pixels of a page of that size (width, height)."""
    scale = FRAME / max(size)
    framed = [(stroke - np.array(size) / 2) * scale for stroke in strokes]
    return sample_strokes(framed, size[0] * scale, size[1] * scale)


def check_shape(points: Points, cell: float = 10.0, most: float = 0.85) -> None:
    """Refuse scribble over everything: a drawing that leaves hardly a cell of the page free.

    Of 280 hand drawings and icons, none fills more than .51 of the cells.
    """
    columns, rows = int(points.width // cell), int(points.height // cell)
    if min(columns, rows) < 8:  # a line has no page to fill
        return
    column = ((points.x / points.width + 0.5) * columns).astype(int).clip(0, columns - 1)
    row = ((points.y / points.height + 0.5) * rows).astype(int).clip(0, rows - 1)
    if np.count_nonzero(np.bincount(row * columns + column)) > most * columns * rows:
        raise SketchseekError("The drawing is scribble over everything: there is no shape in it to look for.")
