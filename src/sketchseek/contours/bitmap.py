"""A drawing in pixels -> strokes: ink found on its ground, thinned, traced and smoothed.

Lines become their middle, solid shapes their outline.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from ..errors import SketchseekError
from .skeleton import THICK_LINE, centre_lines, half_width, outlines, split_solid

Float = NDArray[np.float64]
Soft = NDArray[np.float32]
Mask = NDArray[np.bool_]

WORK_SIDE = 512
"""A smaller drawing is enlarged to this before thinning, which is no better than a pixel."""
WORK_HALF_WIDTH, WORK_LEAST = 8.0, 256
"""Thick lines are thinned at a smaller size: it takes a step for each pixel of their half width."""
DOT = 0.04
"""A full patch of ink no larger than this share of the page is a dot, not a shape."""
SMOOTHING = 2.0
"""Standard deviation in pixels, at a drawing's extent of 512, that makes a staircase of pixels a curve."""
STRONG, FAINT = 0.55, 0.3
"""Ink starts where it is strong, and goes on where it is faint (hysteresis)."""


def bitmap_strokes(pixels: NDArray[np.uint8]) -> list[Float]:
    """Polylines (n, 2) along the lines of a drawing (h, w), (h, w, 3) or (h, w, 4), in its pixels."""
    ink = find_ink(pixels)
    mask = drop_specks(hysteresis(ink))
    if not mask.any():
        raise SketchseekError("The drawing is blank: there is no line on it.")
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    top, left = max(rows[0] - 2, 0), max(columns[0] - 2, 0)
    box = np.s_[top : rows[-1] + 3, left : columns[-1] + 3]
    extent = max(int(np.ptp(rows)), int(np.ptp(columns))) + 1
    if extent < DOT * max(mask.shape) and mask.sum() > 0.6 * extent**2:
        raise SketchseekError("The drawing is a single dot: draw at least one line.")
    mask = mask[box]
    scale = _work_scale(mask, extent)
    if scale != 1:
        near = cv2.dilate(mask.astype(np.uint8), np.ones((3, 3), np.uint8))
        how = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA
        resized = cv2.resize(ink[box] * near, None, fx=scale, fy=scale, interpolation=how)
        mask = drop_specks(resized >= (STRONG + FAINT) / 2)
    solid, lines = split_solid(mask)
    sigma = SMOOTHING * max(extent * scale / WORK_SIDE, 0.65)  # a pixel's share of the drawing differs
    strokes = outlines(solid, sigma) + centre_lines(lines, sigma)
    return [stroke / scale + [left, top] for stroke in strokes]


def _work_scale(mask: Mask, extent: int) -> float:
    """By how much to resize a drawing before thinning: thin lines grow, thick ones shrink."""
    fine, usual = max(1.0, WORK_SIDE / extent), max(half_width(mask), 0.5)
    if usual > 2 * THICK_LINE * extent:  # no lines at all
        return fine
    return max(min(fine, WORK_HALF_WIDTH / usual), min(fine, WORK_LEAST / extent))


def find_ink(pixels: NDArray[np.uint8]) -> Soft:
    """How much ink there is (h, w), 0 on the ground, 1 on a full line, whatever their colours."""
    grey = _grey(pixels)
    if int(np.ptp(grey)) < 24:
        return np.zeros(grey.shape, dtype=np.float32)
    if not _is_even(grey):
        return _find_ink_on_paper(grey)
    if not _is_dark_on_light(grey):
        grey = 255 - grey
    level = int(_otsu(grey))
    counts = np.bincount(grey.ravel(), minlength=256)
    paper, full = level + 1 + _quantile(counts[level + 1 :], 0.5), _quantile(counts[: level + 1], 0.25)
    ink = (paper - np.arange(256, dtype=np.float32)) / (paper - full)
    return np.asarray(cv2.LUT(grey, ink.clip(0, 1)))


def _quantile(counts: NDArray[np.intp], share: float) -> int:
    """The value below which lies that share of what was counted."""
    return int(np.searchsorted(np.cumsum(counts), share * counts.sum()))


def _grey(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if pixels.ndim == 2:
        return pixels
    grey = pixels[..., 0]
    if pixels.shape[2] >= 3:
        grey = np.asarray(cv2.cvtColor(np.ascontiguousarray(pixels[..., :3]), cv2.COLOR_RGB2GRAY))
    if pixels.shape[2] != 4 or pixels[..., 3].min() >= 250:
        return grey
    alpha = pixels[..., 3].astype(np.float32) / 255
    spread = np.sqrt(np.cov(grey.ravel(), aweights=alpha.ravel())) if alpha.sum() > 2 else 0.0
    if spread < 40:  # ink of one colour, whichever it is, on nothing
        return 255 - pixels[..., 3]
    return np.asarray(255 - alpha * (255 - grey.astype(np.float32))).astype(np.uint8)


def _otsu(grey: NDArray[np.uint8]) -> float:
    return float(cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)[0])


def _is_dark_on_light(grey: NDArray[np.uint8]) -> bool:
    """Whether light is the ground: it has most of the picture and of its border."""
    light = grey > _otsu(grey)
    border = np.concatenate([light[0], light[-1], light[:, 0], light[:, -1]])
    return float(light.mean() + border.mean()) >= 1


def _is_even(grey: NDArray[np.uint8]) -> bool:
    """Whether two levels, give or take a little, make up the drawing, unlike paper under a lamp."""
    counts = np.bincount(grey.ravel(), minlength=256)
    window = np.convolve(counts, np.ones(17), "same")
    first = int(window.argmax())
    counts[max(first - 8, 0) : first + 9] = 0
    second = np.convolve(counts, np.ones(17), "same").max()
    return float(window[first] + second) > 0.6 * grey.size


def _find_ink_on_paper(grey: NDArray[np.uint8]) -> Soft:
    """Ink on photographed paper: darker than the paper around it, and than the paper's own grain."""
    height, width = grey.shape
    scale = min(1.0, 160 / max(height, width))
    small = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    around = small.astype(np.float32) - cv2.medianBlur(small, 21)
    if np.quantile(around, 0.99) > -np.quantile(around, 0.01):  # chalk on a board
        grey, small = 255 - grey, 255 - small
    paper = cv2.dilate(cv2.medianBlur(small, 3), cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (9, 9)))
    paper = cv2.GaussianBlur(paper, (0, 0), 4, borderType=cv2.BORDER_REPLICATE)
    paper = cv2.resize(paper, (width, height), interpolation=cv2.INTER_LINEAR)
    calm = cv2.GaussianBlur(grey, (0, 0), 0.6 + max(height, width) / 1500).astype(np.float32)
    ink = 1 - calm / np.maximum(paper, 1)
    bare = float(np.median(ink))
    grain = 1.4826 * float(np.median(np.abs(ink - bare)))
    peak = float(np.quantile(ink, 0.995)) - bare
    if peak < 5 * grain:
        return np.zeros_like(ink)
    return np.asarray(np.clip((ink - bare) / peak, 0, 1))


def hysteresis(ink: Soft) -> Mask:
    """Faint ink that is joined to strong ink."""
    _, labels = cv2.connectedComponents((ink >= FAINT).astype(np.uint8), connectivity=8)
    strong = np.zeros(int(labels.max()) + 1, dtype=bool)
    strong[labels[ink >= STRONG]] = True
    strong[0] = False
    return np.asarray(strong[labels])


def drop_specks(mask: Mask, share: float = 0.012) -> Mask:
    """The mask without crumbs, whose extent is less than `share` of the largest piece's."""
    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
    extent = stats[:, [cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT]].max(axis=1)
    keep = extent >= max(share * extent[1:].max(initial=0), 2)
    keep[0] = False
    return np.asarray(keep[labels])
