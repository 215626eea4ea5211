"""Pictures are opened in processes of their own, never in the server's: see `sources/sandbox.py`.

A message is a line of JSON that says what to do, and the file's bytes where it has no path.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import SketchseekError
from ..sources.sandbox import Children, LimitError
from .limits import Limits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..contours.detectors import EdgeDetector

LARGE_SIDE = 2048
"""Longer side, in pixels, of a picture that browsers cannot show as it is."""

Strokes = list[list[list[float]]]


class Traced(NamedTuple):
    """Strokes to search for, and the pixels (h, w, 3) of the photograph that they were traced in, if any."""

    strokes: Strokes
    picture: NDArray[np.uint8] | None = None


class Decoder:
    """Turns files into what the page shows, a few at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._children = Children(
            f"{__name__}:work",
            memory=limits.decoding_bytes,
            seconds=limits.decoding_seconds,
            patience=limits.decoding_patience,
        )
        self._threads = ThreadPoolExecutor(limits.decoding, thread_name_prefix="decoding")
        self._pending = 0

    async def strokes(self, data: bytes, box: list[float] | None = None) -> Traced:
        """The strokes in a bitmap, an SVG or a file of strokes; SketchseekError if there are none."""
        answer = json.loads(await self._ask("strokes", data, max_pixels=self._limits.upload_pixels, box=box))
        if answer["pixels"] is None:
            return Traced(answer["strokes"])
        import numpy as np

        pixels = np.frombuffer(base64.b64decode(answer["pixels"]), np.uint8)
        return Traced(answer["strokes"], pixels.reshape(answer["size"]))

    async def webp(self, path: str) -> bytes:
        """A picture that browsers cannot show, or could run, as one that they can."""
        return await self._ask("webp", path=path)

    async def contours(self, path: str, detector: str) -> bytes:
        """What the program sees in a picture, as a transparent PNG of the same shape."""
        return await self._ask("contours", path=path, detector=detector)

    async def explanation(self, path: str, strokes: Strokes, **options: Any) -> bytes:
        """Why a picture matches a drawing, or does not; options as `_explain` takes them."""
        return await self._ask("explain", path=path, strokes=strokes, **options)

    async def _ask(self, what: str, data: bytes = b"", **options: Any) -> bytes:
        if self._pending >= self._limits.decoding_waiting:
            raise BusyDecoderError
        self._pending += 1
        message = json.dumps({"what": what, **options}).encode() + b"\n" + data
        asked = asyncio.get_running_loop().run_in_executor(self._threads, self._children.ask, message)
        asked.add_done_callback(self._finished)
        try:
            # Shielded: when the client leaves, the process is busy all the same, and its place stays taken.
            return await asyncio.shield(asked)
        except LimitError as error:
            raise SketchseekError(f"This file takes {error} to open.") from error

    def _finished(self, asked: asyncio.Future[bytes]) -> None:
        self._pending -= 1
        if not asked.cancelled():
            asked.exception()  # it may not be asked for any more

    def close(self) -> None:
        """End the processes, whatever they do."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._children.close()
        self._threads.shutdown(wait=True)
        self._children.close()


class BusyDecoderError(Exception):
    """Too many files are waiting to be opened."""


def work(message: bytes) -> bytes:
    """What the process does with one message."""
    line, _, data = message.partition(b"\n")
    options = json.loads(line)
    does: dict[str, Callable[..., bytes]] = {
        "strokes": _strokes,
        "webp": _webp,
        "contours": _contours,
        "explain": _explain,
    }
    do = does[options.pop("what")]
    return do(data, **options) if data or do is _strokes else do(**options)


def _strokes(data: bytes, max_pixels: int, box: list[float] | None) -> bytes:
    from ..contours.drawing import Sketch

    sketch = Sketch.load(data, box=box, max_pixels=max_pixels)
    picture = sketch.picture
    answer = {
        "strokes": [stroke.astype(float).round(2).tolist() for stroke in sketch.strokes],
        "pixels": None if picture is None else base64.b64encode(picture.tobytes()).decode(),
        "size": None if picture is None else picture.shape,
    }
    return json.dumps(answer).encode()


def _webp(path: str) -> bytes:
    from PIL import Image

    from ..sources.picture import load_picture

    out = io.BytesIO()
    Image.fromarray(load_picture(path, LARGE_SIDE).pixels).save(out, "WEBP", quality=88, method=2)
    return out.getvalue()


def _contours(path: str, detector: str) -> bytes:
    from ..contours.extract import picture_contours
    from ..contours.panels import contours_overlay

    return contours_overlay(picture_contours(path, _detector(detector)).points)


def _explain(
    path: str,
    strokes: Strokes,
    *,
    detector: str,
    settings: dict[str, Any],
    min_object_size: float,
    mirror: bool,
    network: float | None,
    patches: list[list[float]] | None,
    kind: str,
) -> bytes:
    """settings : as the index's config has them. network, patches : what the server's network says of the
    two, as `explain` takes them.
    kind : image/png or application/json.
    """
    import numpy as np

    from ..contours.drawing import Sketch
    from ..contours.extract import picture_contours
    from ..index import explain_contours
    from ..search.explanation_image import explained_json, explained_png
    from ..shape.settings import Settings

    seen = picture_contours(path, _detector(detector))
    sketch, how = Sketch.from_strokes(strokes), Settings.from_json(settings)
    met = None if patches is None else np.array(patches, np.float32).reshape(-1, 5)
    why = explain_contours(
        sketch, seen, path, how, min_object_size=min_object_size, mirror=mirror, network=network, patches=met
    )
    if kind == "application/json":
        return explained_json(why)
    return explained_png(why, seen.picture.pixels, seen.points)


@lru_cache(1)
def _detector(name: str) -> EdgeDetector:
    from ..contours.detectors import get_detector

    return get_detector(name)
