"""An explanation as a picture: contours, the drawing coloured by what it met, the score over translations."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

if TYPE_CHECKING:
    from ..contours.points import Points
    from .explanation import Explanation

SIDE = 560
MARGIN = 16
LETTERS = 22  # pixels of height
GREEN, GREY = np.array([0, 200, 83]), np.array([150, 150, 150])


def explained_png(explanation: Explanation, pixels: NDArray[np.uint8], contours: Points) -> bytes:
    """A PNG: the picture, its contours with the drawing over them, and the score over translations.

    pixels : (h, w, 3) of the picture, at any size. contours : what the program saw in it.
    """
    hit = explanation.hit
    scale = SIDE / max(hit.width, hit.height)
    size = max(1, round(hit.width * scale)), max(1, round(hit.height * scale))
    photo = Image.fromarray(pixels).resize(size)
    _frame_patches(photo, explanation.patches, scale)
    seen = Image.new("RGB", size, (250, 250, 250))
    pen = ImageDraw.Draw(seen)
    middle = np.array(size) / 2
    for x, y, weight in zip(contours.x, contours.y, contours.weight, strict=True):
        at = np.array([x, y]) * (SIDE / 400) + middle
        shade = int(235 - 140 * min(float(weight), 1.0))
        pen.point((float(at[0]), float(at[1])), fill=(shade, shade, shade))
    for canvas in (photo, seen):
        brush = ImageDraw.Draw(canvas)
        for (x, y), share in zip(explanation.met * scale, np.sqrt(explanation.support), strict=True):
            r = 3.0
            colour = tuple(int(c) for c in share * GREEN + (1 - share) * GREY)
            brush.ellipse((float(x) - r, float(y) - r, float(x) + r, float(y) + r), fill=colour)
    heat = _heat(explanation.surface)
    width = 2 * size[0] + heat.width + 4 * MARGIN
    height = max(size[1], heat.height) + 2 * MARGIN + 2 * LETTERS
    sheet = Image.new("RGB", (width, height), (255, 255, 255))
    left = MARGIN
    for panel in (photo, seen, heat):
        sheet.paste(panel, (left, MARGIN))
        left += panel.width + MARGIN
    ImageDraw.Draw(sheet).text(
        (MARGIN, height - MARGIN - LETTERS), sentence(explanation), fill=(30, 30, 30), font_size=LETTERS
    )
    out = io.BytesIO()
    sheet.save(out, "PNG")
    return out.getvalue()


def sentence(explanation: Explanation) -> str:
    """What was found, in words."""
    hit = explanation.hit
    met = float((explanation.support > MET).mean())
    text = (
        f"shape {hit.score:.3f}, coverage {explanation.coverage:.2f}, {met:.0%} of the drawing met contours, "
        f"at {hit.scale:.0%} of the picture{', mirrored' if hit.mirrored else ''}"
    )
    if explanation.network is not None:
        text += f"; network {explanation.network:+.2f}"
    if explanation.patches is not None:
        alike = float((explanation.patches[:, 4] >= PATCH_ALIKE).mean())
        text += f", {alike:.0%} of its patches alike"
    return text


MET = 0.25
"""A point of the drawing that met this share of what the best one met has met contours."""
NO_SHAPE = 0.3
"""Just any picture has a cosine below this."""
ALIKE = 0.25
"""The network's cosine from which on a picture looks like the drawing."""


PATCH_ALIKE = 0.3
"""The cosine from which on a patch of the drawing and one of the picture are alike."""


def explained_json(explanation: Explanation) -> bytes:
    """The same for a page that draws it: a sentence, the numbers, and points with what they met."""
    points = np.column_stack([explanation.met, np.sqrt(explanation.support)]).round(2)
    said = {"sentence": plainly(explanation), "details": sentence(explanation), "points": points.tolist()}
    if explanation.patches is not None:
        said["patches"] = explanation.patches.astype(float).round(2).tolist()
    return json.dumps(said).encode()


def plainly(explanation: Explanation) -> str:
    """What was found, without numbers."""
    met = float((explanation.support > MET).mean()) if explanation.hit.score >= NO_SHAPE else 0.0
    much = next(
        word
        for least, word in ((0.8, "Nearly all"), (0.5, "Most"), (0.2, "Part"), (0, "Little"))
        if met >= least
    )
    alike = explanation.network is not None and explanation.network >= ALIKE
    also = f"; {'it also' if met >= 0.5 else 'but it'} looks like what you drew" if alike else ""
    return f"{much} of your outline meets edges here{also}."


def _frame_patches(photo: Image.Image, patches: NDArray[np.float32] | None, scale: float) -> None:
    """Frame the patches that are like what was drawn, the liker the brighter."""
    brush = ImageDraw.Draw(photo)
    for *box, cosine in [] if patches is None else patches[np.argsort(patches[:, 4])].tolist():
        if cosine >= PATCH_ALIKE:
            shade = int(130 + 125 * min(cosine, 1.0))
            brush.rectangle([v * scale for v in box], outline=(shade, int(0.75 * shade), 0))


def _heat(surface: NDArray[np.float64]) -> Image.Image:
    """The score over translations: dark is low, light is high, the best place crossed."""
    low, high = float(surface.min()), float(surface.max())
    shade = (surface - low) / max(high - low, 1e-9)
    colour = np.stack([shade, shade**2, 0.35 + 0.25 * shade], axis=-1)
    image = Image.fromarray((255 * colour).astype(np.uint8).transpose(1, 0, 2)).resize((240, 240))
    cell = 240 / len(surface)
    x, y = (int(i) for i in np.unravel_index(int(surface.argmax()), surface.shape))
    pen, cx, cy = ImageDraw.Draw(image), (x + 0.5) * cell, (y + 0.5) * cell
    pen.line((cx - 6, cy, cx + 6, cy), fill=(255, 255, 255), width=2)
    pen.line((cx, cy - 6, cx, cy + 6), fill=(255, 255, 255), width=2)
    return image
