"""A sheet of paper in a photograph: found by its light ground and its four sides, and straightened."""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Float = NDArray[np.float32]

SIDE: Final = 320
"""Longer side, in pixels, at which the sheet is looked for."""
SMALLEST, LARGEST = 0.12, 0.93
"""Share of the picture that a sheet has: a larger one is the picture itself."""
FILLED: Final = 0.93
"""Share of its four-sided outline that a sheet fills, what is drawn on it included."""
STEP: Final = 14.0
"""Levels of grey by which a sheet is lighter than the desk beside it, on each side that shows."""
EDGE: Final = 0.03
"""Share of its sides that is cut off: shadows, and corners that curl."""
PALE, COLOURFUL = 100, 0.3
"""Paper is at least so light, and its colours differ by less than this share of the lightest."""
PLAIN, INK = 0.75, 0.0015
"""At least this share of a sheet is bare paper, and this one is drawn on."""


def find_sheet(pixels: Pixels) -> Pixels | None:
    """The sheet (h, w) in a photograph (h, w, 3): straight, evenly lit, no edge; None where there is none."""
    height, width = pixels.shape[:2]
    scale = SIDE / max(height, width)
    if scale > 1:
        return None
    small = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    corners = _four_corners(small)
    if corners is None:
        return None
    return _drawn_on(_straightened(pixels, corners / scale))


def _four_corners(small: Pixels) -> Float | None:
    """The corners (4, 2) of the lightest large thing with four sides, clockwise; None where there is none."""
    light = cv2.medianBlur(np.asarray(cv2.cvtColor(small, cv2.COLOR_RGB2GRAY)), 5)
    area = light.size
    otsu = float(cv2.threshold(light, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)[0])
    brightest = float(np.quantile(light, 0.98))
    for level in (otsu, (otsu + brightest) / 2, otsu - 15):
        mask = cv2.morphologyEx((light > level).astype(np.uint8), cv2.MORPH_OPEN, np.ones((5, 5), np.uint8))
        outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        for outline in sorted(outlines, key=cv2.contourArea, reverse=True)[:2]:
            hull = cv2.convexHull(outline)
            corners = _as_four_sided(hull)
            if corners is None:
                continue
            inside = cv2.contourArea(corners)
            if not SMALLEST * area < inside < LARGEST * area or cv2.contourArea(outline) < FILLED * inside:
                continue
            if _stands_out(light, corners):
                return corners
    return None


def _as_four_sided(hull: NDArray[np.int32]) -> Float | None:
    """A convex outline as four corners (4, 2), clockwise from the upper left; None where it is round."""
    length = cv2.arcLength(hull, True)
    for share in (0.02, 0.03, 0.045, 0.06):
        found = cv2.approxPolyDP(hull, share * length, True)[:, 0].astype(np.float32)
        if len(found) == 4 and cv2.contourArea(found) > 0.93 * cv2.contourArea(hull):
            middle = found.mean(axis=0)
            turn = np.arctan2(found[:, 1] - middle[1], found[:, 0] - middle[0])
            ordered = found[np.argsort(turn)]
            return np.asarray(np.roll(ordered, -int(ordered.sum(axis=1).argmin()), axis=0))
    return None


def _stands_out(light: Pixels, corners: Float) -> bool:
    """Whether what lies beside each side that shows is darker; at least two sides have to show."""
    height, width = light.shape
    middle = corners.mean(axis=0)
    showing = 0
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        along = np.linspace(0.1, 0.9, 25, dtype=np.float32)[:, None]
        side = a + along * (b - a)
        outward = np.array([b[1] - a[1], a[0] - b[0]], np.float32)
        outward /= max(float(np.hypot(*outward)), 1e-6)
        outward *= -1 if np.dot(outward, middle - a) > 0 else 1
        outer, inner = side + 7 * outward, side - 7 * outward
        seen = ((outer >= 0) & (outer < [width, height])).all(axis=1)
        if seen.mean() < 0.6:
            continue  # cut off by the picture's edge
        at = [np.clip(p[seen], 0, [width - 1, height - 1]).astype(int) for p in (outer, inner)]
        beside, on = (light[p[:, 1], p[:, 0]].astype(np.float32) for p in at)
        if float(np.median(on - beside)) < STEP or float((on - beside > STEP / 2).mean()) < 0.75:
            return False
        showing += 1
    return showing >= 2


def _straightened(pixels: Pixels, corners: Float) -> Pixels:
    """The four-sided part of a picture as a rectangle, its edge cut off."""
    sides = np.hypot(*(np.roll(corners, -1, axis=0) - corners).T)
    width, height = float(max(sides[0], sides[2])), float(max(sides[1], sides[3]))
    to = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    turned = cv2.getPerspectiveTransform(corners.astype(np.float32), to)
    whole = cv2.warpPerspective(pixels, turned, (round(width), round(height)), flags=cv2.INTER_AREA)
    x, y = round(EDGE * width), round(EDGE * height)
    return np.ascontiguousarray(whole[y : whole.shape[0] - y, x : whole.shape[1] - x])


def _drawn_on(sheet: Pixels) -> Pixels | None:
    """The sheet in grey, evenly lit; None where it is not mostly bare paper with something darker on it."""
    colour = np.median(sheet.reshape(-1, 3), axis=0)
    if min(sheet.shape[:2]) < 32 or colour.max() < PALE or np.ptp(colour) > COLOURFUL * colour.max():
        return None
    grey = np.asarray(cv2.cvtColor(sheet, cv2.COLOR_RGB2GRAY))
    height, width = grey.shape
    small = cv2.resize(grey, (160, max(8, round(160 * height / width))), interpolation=cv2.INTER_AREA)
    paper = cv2.medianBlur(cv2.dilate(small, np.ones((5, 5), np.uint8)), 31)
    paper = np.maximum(cv2.GaussianBlur(paper, (0, 0), 6), 1)
    off = small / paper.astype(np.float32) - 1
    bare = float(np.median(off))
    if float((np.abs(off - bare) < 0.1).mean()) < PLAIN or float((off - bare < -0.12).mean()) < INK:
        return None
    light = cv2.resize(paper, (width, height), interpolation=cv2.INTER_LINEAR).astype(np.float32)
    return np.asarray(np.clip(grey / light * 240, 0, 255).astype(np.uint8))
