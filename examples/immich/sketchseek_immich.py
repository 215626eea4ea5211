"""Pictures of an Immich server: `sketchseek index immich+https://photos.example/albums/ALBUM` or `.../all`.

The key of its API is read from the variable IMMICH_API_KEY. Only what reads is asked: an album, a search for
metadata, and previews of pictures.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from sketchseek.errors import SketchseekError
from sketchseek.sources import Item, Kept
from sketchseek.sources.http import PATIENCE_S, Polite, check_address

PAGE = 1000


class Immich:
    """See `sketchseek.sources.Source`."""

    def __init__(self) -> None:
        self._ask = Polite()
        key = os.environ.get("IMMICH_API_KEY")
        if not key:
            raise SketchseekError(
                "Set IMMICH_API_KEY to a key of your photo server; reading is all it needs."
            )
        self._headers = {"x-api-key": key, "accept": "application/json"}

    def items(self, root: str, kept: Kept) -> Iterator[Item]:
        """The pictures of an album, or all."""
        parts = urlsplit(root)
        server = f"{parts.scheme.removeprefix('immich+')}://{parts.netloc}"
        kind, _, album = parts.path.strip("/").partition("/")
        if kind == "albums" and album:
            assets = self._json(f"{server}/api/albums/{album}")["assets"]
        elif kind == "all":
            assets = self._all(server)
        else:
            raise SketchseekError(f"{root} names no album: end it with /albums/ALBUM or /all.")
        for asset in assets:
            if asset.get("type") == "IMAGE" and not asset.get("isTrashed"):
                yield self._item(asset, server)

    def _item(self, asset: dict[str, Any], server: str) -> Item:
        about = asset.get("exifInfo") or {}
        width, height = int(about.get("exifImageWidth") or 0), int(about.get("exifImageHeight") or 0)
        if str(about.get("orientation")) in ("5", "6", "7", "8"):
            width, height = height, width
        return Item(
            name=asset["id"],
            reference=f"{server}/api/assets/{asset['id']}/thumbnail?size=preview",
            stamp=str(asset.get("checksum") or asset.get("fileModifiedAt") or ""),
            width=width,
            height=height,
            label=str(asset.get("originalFileName") or ""),
            link=f"{server}/photos/{asset['id']}",
        )

    def fetch(self, item: Item) -> bytes:
        """The preview of a picture, of 1,440 pixels by default."""
        data = self._ask.get(item.reference, headers={**self._headers, "accept": "image/*"}).data
        if not data:
            raise SketchseekError(f"{item.reference} is empty.")
        return data

    def _json(self, url: str) -> Any:
        answer = self._ask.get(url, headers=self._headers)
        try:
            return json.loads(answer.data or b"")
        except ValueError as error:
            raise SketchseekError(f"{url} is not JSON: is it a photo server?") from error

    def _all(self, server: str) -> Iterator[dict[str, Any]]:
        """Everything, page by page; the API asks for it by POST, and changes nothing."""
        page: int | None = 1
        while page:
            url = f"{server}/api/search/metadata"
            check_address(url)
            body = json.dumps({"page": page, "size": PAGE, "withExif": True, "type": "IMAGE"}).encode()
            headers = {**self._headers, "content-type": "application/json"}
            request = urllib.request.Request(url, body, headers, method="POST")
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
                    found = json.load(response)["assets"]
            except (OSError, ValueError, KeyError) as error:
                raise SketchseekError(f"{url} can't be read: {error}.") from error
            yield from found["items"]
            page = int(found["nextPage"]) if found.get("nextPage") else None
