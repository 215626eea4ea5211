"""Uploads are opened in a process of their own: a file that crashes, fills or stalls a decoder ends that
process, and the server starts another.

Each message, in either direction, is its length in eight bytes and then the bytes.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import SketchseekError
from .limits import Limits

if TYPE_CHECKING:
    from ..contours.drawing import Sketch

PLAIN = 12
"""A picture of more colours than these is a photograph."""
STRONG = 0.3
"""Contours weaker than this are left out when a photograph becomes a drawing."""


class Decoder:
    """Turns an uploaded file into strokes."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def strokes(self, data: bytes) -> list[list[list[float]]]:
        """The strokes in a bitmap, an SVG or a file of strokes; SketchseekError if there are none."""
        async with self._turn:
            try:
                async with asyncio.timeout(self._limits.decoding_seconds):
                    answer = json.loads(await self._ask(data))
            except BaseException as error:
                self.close()  # also when the client has left: nobody may be given the answer to this file
                if isinstance(error, TimeoutError | asyncio.IncompleteReadError | ConnectionError):
                    raise SketchseekError("This file takes too much time or memory to open.") from None
                raise
        if "problem" in answer:
            raise SketchseekError(answer["problem"])
        strokes: list[list[list[float]]] = answer["strokes"]
        return strokes

    async def _ask(self, data: bytes) -> bytes:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                __name__,
                str(self._limits.decoding_bytes),
                str(self._limits.upload_pixels),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # Ctrl+C is for the server, which then closes this
            )
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        to.write(len(data).to_bytes(8, "big") + data)
        await to.drain()
        return await back.readexactly(int.from_bytes(await back.readexactly(8), "big"))

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        self._process = None


def answer(data: bytes, pixels: int) -> dict[str, Any]:
    """Strokes of one file, in a form for JSON; or the problem, as a sentence."""
    from ..contours import picture

    picture.MAX_PIXELS = picture.MAX_DECODED_PIXELS = pixels
    try:
        sketch = read(data)
    except SketchseekError as error:
        return {"problem": str(error)}
    except (MemoryError, RecursionError):
        return {"problem": "This file takes too much memory to open."}
    return {"strokes": [stroke.round(2).tolist() for stroke in sketch.strokes]}


def read(data: bytes) -> Sketch:
    """A drawing as it was drawn; a photograph as its contours."""
    from ..contours.drawing import Sketch
    from ..contours.strokes import is_strokes
    from ..contours.svg import is_svg

    if is_svg(data) or is_strokes(data) or not is_photograph(data):
        return Sketch.load(data)
    return trace(data)


def is_photograph(data: bytes) -> bool:
    """Whether it takes many colours to fill most of the picture.

    Of 60 drawings none takes more than 2 of the 4,096 colours for 85% of its pixels; photographs take 6 to
    hundreds. Between them are drawings on photographed paper.
    """
    import numpy as np

    from ..contours.picture import load_picture

    colours = load_picture(data, 128).pixels.astype(np.int64) >> 4
    counts = np.sort(np.bincount((colours @ [256, 16, 1]).ravel()))[::-1]
    return int(np.searchsorted(np.cumsum(counts), 0.85 * counts.sum())) + 1 > PLAIN


def trace(data: bytes) -> Sketch:
    """The stronger contours of a photograph, as lines of a drawing."""
    import numpy as np

    from ..contours.detectors import get_detector
    from ..contours.drawing import Sketch
    from ..contours.picture import load_picture

    strength = get_detector()(load_picture(data).pixels)
    return Sketch.from_bitmap(np.where(strength > STRONG, 0, 255).astype(np.uint8))


def main(memory: int, pixels: int, source: BinaryIO, out: BinaryIO) -> None:
    """Answer one file after another, until the server closes the pipe."""
    import resource

    if sys.platform == "linux":  # elsewhere the limit on address space is not one
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while header := source.read(8):
        reply = json.dumps(answer(source.read(int.from_bytes(header, "big")), pixels)).encode()
        out.write(len(reply).to_bytes(8, "big") + reply)
        out.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.stdin.buffer, sys.stdout.buffer)
