"""What agents can ask: each tool gives a document, and pictures with their media types."""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from ..errors import SketchseekError
from ..search.html import painted_png
from ..server.bodies import Coordinate, Degrees, PictureId, Strokes
from ..server.limits import Limits
from ..sources.files import as_text

if TYPE_CHECKING:
    from PIL import Image

    from ..contours.drawing import Sketch
    from ..search.hit import Hit, Hits
    from ..server.decoding import Decoder, Traced
    from ..server.library import Library

Found = tuple[dict[str, Any], list[tuple[str, bytes]]]
Box = Annotated[list[Coordinate], Field(min_length=4, max_length=4)]
Svg = Annotated[
    str, Field(max_length=1 << 19, description="A drawing as SVG text: lines in a square viewBox.")
]
Upload = Annotated[
    str,
    Field(
        max_length=12 << 20,
        description="An example instead of a drawing: a picture file in base64, or a hit's id.",
    ),
]
Words = Annotated[str, Field(max_length=400, description="What is looked for, by its looks and by names.")]
AROUND = 0.15
"""What is shown around a box, as a share of it."""
FOLDERS = 50


class Tools:
    """Reads an index. decoder : opens what strangers send, in processes with limits."""

    def __init__(self, library: Library, decoder: Decoder) -> None:
        self._library, self._decoder, self._limits = library, decoder, Limits()

    async def search(  # noqa: PLR0917
        self,
        svg: Svg | None = None,
        strokes: Strokes | None = None,
        words: Words | None = None,
        picture: Upload | None = None,
        k: Annotated[int, Field(ge=1, le=50, description="How many hits.")] = 10,
        thumbnails: Annotated[
            int, Field(ge=0, le=20, description="Of how many hits to show the picture, the outline in green.")
        ] = 4,
        mirror: Annotated[bool, Field(description="Also look for the mirrored drawing.")] = True,
        turn: Annotated[
            Degrees | Literal["any"], Field(description="Also look for it turned by up to so many degrees.")
        ] = 0.0,
    ) -> Found:
        """See `SEARCH`."""
        if sum(given is not None for given in (svg, strokes, picture)) > 1:
            raise SketchseekError("Give one drawing: `svg`, `strokes` or `picture`.")
        nothing = svg is None and strokes is None and picture is None
        if nothing and not (words and words.strip()):
            raise SketchseekError("Give `svg`, `strokes`, `picture` or `words`.")
        traced = await self._traced(svg, strokes, picture)
        found = await asyncio.to_thread(self._find, traced, k, words=words, mirror=mirror, turn=turn)
        shown = await asyncio.to_thread(lambda: [_jpeg(painted_png(hit)) for hit in found[1][:thumbnails]])
        return found[0], [("image/jpeg", image) for image in shown]

    async def explain(self, id: PictureId, svg: Svg | None = None, strokes: Strokes | None = None) -> Found:
        """See `EXPLAIN`."""
        if (svg is None) == (strokes is None):
            raise SketchseekError("Give one drawing: `svg` or `strokes`.")
        traced = await self._traced(svg, strokes, None)
        assert traced is not None
        path, _ = await asyncio.to_thread(self._library.locate, id)
        index = await asyncio.to_thread(self._library.ready)

        async def explained(kind: str) -> bytes:
            config = index.config
            return await self._decoder.explanation(
                path,
                traced.strokes,
                detector=config.detector,
                settings=config.settings,
                min_object_size=config.min_object_size,
                mirror=True,
                network=None,
                patches=None,
                kind=kind,
            )

        why = json.loads(await explained("application/json"))
        said = {"id": id, "sentence": why["sentence"], "details": why["details"]}
        return said, [("image/png", await explained("image/png"))]

    async def picture(
        self,
        id: PictureId,
        box: Box | None = None,
        side: Annotated[
            int, Field(ge=32, le=2048, description="The longer side of the answer, in pixels.")
        ] = 768,
    ) -> Found:
        """See `PICTURE`."""
        path, _ = await asyncio.to_thread(self._library.locate, id)
        row = (await asyncio.to_thread(self._library.ready)).row(id)
        data = await self._decoder.webp(path)
        cut = await asyncio.to_thread(_cut, data, (row.width, row.height), box, side)
        said = {"id": id, "picture": as_text(row.picture), "width": row.width, "height": row.height}
        return said, [("image/jpeg", cut)]

    async def collection(self) -> Found:
        """See `COLLECTION`."""
        index = await asyncio.to_thread(self._library.ready)
        folders = await asyncio.to_thread(self._library.folders, FOLDERS)
        return {
            "pictures": len(index),
            "folders": [{"folder": name, "pictures": count} for name, count in folders],
            "depicts": index.config.expansion is not None,
            "words": "by what pictures depict, and by names"
            if index.config.expansion is not None
            else "by names of files and folders",
        }, []

    async def _traced(self, svg: str | None, strokes: list[Any] | None, picture: str | None) -> Traced | None:
        from ..server.decoding import Traced

        if strokes is not None:
            points = sum(map(len, strokes))
            if points > self._limits.points:
                raise SketchseekError(
                    f"The drawing has {points:,} points; {self._limits.points:,} are the most."
                )
            return Traced(strokes)
        if svg is not None:
            data = svg.encode()
            if not data.lstrip().startswith(b"<"):
                raise SketchseekError(
                    '`svg` is the text of an SVG, such as <svg viewBox="0 0 100 100">...</svg>.'
                )
            return await self._decoder.strokes(data)
        if picture is None:
            return None
        if len(picture) <= 32:
            path, _ = await asyncio.to_thread(self._library.locate, picture)
            return await self._decoder.strokes(await self._decoder.webp(path))
        try:
            return await self._decoder.strokes(base64.b64decode(picture, validate=True))
        except (binascii.Error, ValueError):
            raise SketchseekError("`picture` is a picture file in base64, or a hit's id; no path.") from None

    def _find(self, traced: Traced | None, k: int, **options: Any) -> tuple[dict[str, Any], Hits]:
        from dataclasses import replace

        from ..contours.drawing import Sketch

        index = self._library.ready()
        drawn: Sketch | None = None
        if traced is not None:
            drawn = replace(Sketch.from_strokes(traced.strokes), picture=traced.picture)
        hits = index.search(drawn, k, **options)
        return {
            "pictures": len(index),
            "present": hits.present,
            "first_page": hits.first_page,
            "verdict": hits.verdict,
            "absent": hits.absent,
            "note": hits.note,
            "hits": [_hit(hit) for hit in hits],
        }, hits


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "id": hit.id,
        "picture": as_text(hit.picture),
        "confidence": round(hit.confidence, 3),
        "box": [round(x, 1) for x in hit.box],
        "width": hit.width,
        "height": hit.height,
        "mirrored": hit.mirrored,
    }


def _jpeg(data: bytes) -> bytes:
    from PIL import Image

    return _saved(Image.open(io.BytesIO(data)))


def _cut(data: bytes, size: tuple[int, int], box: list[float] | None, side: int) -> bytes:
    """Of a picture that is `size` large where it lies, the part that a box means."""
    from PIL import Image

    image = Image.open(io.BytesIO(data), formats=["WEBP"]).convert("RGB")
    if box is not None:
        x0, y0, x1, y1 = min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])
        across, along = AROUND * (x1 - x0), AROUND * (y1 - y0)
        scale = image.width / size[0], image.height / size[1]
        left, top = max(0, int((x0 - across) * scale[0])), max(0, int((y0 - along) * scale[1]))
        right = min(image.width, int((x1 + across) * scale[0]) + 1)
        bottom = min(image.height, int((y1 + along) * scale[1]) + 1)
        if right - left < 2 or bottom - top < 2:
            raise SketchseekError("The box lies outside of the picture.")
        image = image.crop((left, top, right, bottom))
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    return _saved(image)


def _saved(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.convert("RGB").save(out, "JPEG", quality=82)
    return out.getvalue()
