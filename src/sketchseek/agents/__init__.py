"""The index for agents: a server of the Model Context Protocol that only reads.

An agent can write SVG, hence draw. Pictures leave by their ids in the index; no tool takes a path.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import SketchseekError
from ..server.decoding import BusyDecoderError, Decoder
from ..server.library import Library, NoPictureError, NothingIndexedError, OutOfReachError

if TYPE_CHECKING:
    import os

MISSING_EXTRA = "Agents are served by the extra: pip install 'sketchseek[mcp]'."
INSTRUCTIONS = """\
sketchseek finds pictures by shape: draw the thing with a few strokes, and get the pictures that show it,
with the place. Call `search` with an SVG that you write. If the first hits are wrong, draw again: fewer
strokes, truer proportions, the outline as one closed line."""
SEARCH = """\
Find pictures that contain a drawn shape, and where in them it is. Give a drawing (`svg` or `strokes`),
`words`, a `picture`, or a drawing with words.

How to draw so that it is found:
- Use a square viewBox, such as <svg viewBox="0 0 100 100">, and fill it with the thing. Position and size
  in the viewBox do not matter, proportions do.
- Lines only: fill="none" stroke="black". A filled shape counts as its outline.
- The outline first, as one closed path; then the two or three inner lines that tell the thing from others
  (a handle, a window, a stem). 1 to 8 strokes are best; no shading, no hatching, no text, no frame.
- Draw it from the side from which it is usually shown, upright. Curves (C, Q, A) are followed exactly.

Mirrored copies are found, too; turned ones with `turn`. Each hit has a box in pixels of its picture and a
confidence from 0 to 1. `present` is the chance that the collection has the thing at all, `first_page` that it
is among the first ten hits; `verdict` says it in words. `absent` is true where the thing is probably not
here, and the hits are only what comes nearest."""
EXPLAIN = """\
Why a picture matched a drawing, or did not: a sentence, and a picture in which what the drawing met is
green. `id` is a hit's."""
PICTURE = """\
A picture of the index, by a hit's `id`; with `box` [x0, y0, x1, y1], in its pixels as hits have it, only
that part, with a little around it."""
COLLECTION = "What can be searched here: how many pictures, in which folders, whether words are understood."


def has_extra() -> bool:
    """Whether the package that speaks the protocol is installed."""
    return find_spec("mcp") is not None


def serve_agents(where: str | os.PathLike[str], device: str = "auto") -> None:
    """Serve one client on standard input and output until it leaves."""
    if not has_extra():
        raise SketchseekError(MISSING_EXTRA)
    from ..index import Index
    from ..server.limits import Limits

    library, decoder = Library(where, device, Index.open(where, device=device)), Decoder(Limits())
    try:
        agent_server(library, decoder).run("stdio")
    finally:
        decoder.close()


def agent_server(library: Library, decoder: Decoder) -> Any:
    """The server and its tools. library : the index. decoder : opens files of strangers."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp_types import CallToolResult, ImageContent, TextContent, ToolAnnotations

    from .. import __version__
    from .tools import Tools

    tools = Tools(library, decoder)
    server = MCPServer(
        "sketchseek", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR", subscriptions=False
    )

    def answer(found: dict[str, Any], images: Sequence[tuple[str, bytes]] = ()) -> CallToolResult:
        shown = [
            ImageContent(type="image", data=base64.b64encode(data).decode(), mime_type=kind)
            for kind, data in images
        ]
        text = TextContent(type="text", text=json.dumps(found, ensure_ascii=False))
        return CallToolResult(content=[text, *shown], structured_content=found)

    def offered(name: str, description: str, work: Callable[..., Awaitable[Any]]) -> None:
        """A tool: what it refuses is said in a sentence."""

        @wraps(work)
        async def call(**arguments: Any) -> CallToolResult:
            try:
                return answer(*await work(**arguments))
            except (SketchseekError, NoPictureError, NothingIndexedError, OutOfReachError) as error:
                raise ToolError(str(error)) from None
            except BusyDecoderError:
                raise ToolError("Too much to do; try again.") from None

        call.__annotations__ = {**work.__annotations__, "return": CallToolResult}
        read_only = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        server.add_tool(
            call, name=name, description=description, annotations=read_only, structured_output=False
        )

    offered("search", SEARCH, tools.search)
    offered("explain", EXPLAIN, tools.explain)
    offered("picture", PICTURE, tools.picture)
    offered("collection", COLLECTION, tools.collection)
    return server
