"""Show a picture in its folder, on the desktop of the machine that the server runs on.

Only the person at that machine may ask: the connection comes from this machine, the page was opened under
its local name, and the browser says that the page itself asks.
"""

from __future__ import annotations

from starlette.requests import Request

from .. import system
from ..errors import SketchseekError
from ..sources.volumes import file_of
from .security import host_name, is_loopback, is_origin_of

SECONDS = 3.0
"""A file manager that still runs after these has opened."""
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


def from_this_machine(request: Request) -> bool:
    """Whether the visitor sits at the machine that the server runs on."""
    headers = request.headers
    if request.client is None or not is_loopback(request.client.host) or request.scope.get("root_path"):
        return False  # under a prefix there is a proxy in between
    return is_loopback(host_name(headers.get("host", ""))) and not any(name in headers for name in FORWARDED)


def by_the_page(request: Request) -> bool:
    """Whether a page of this server asks: browsers name the origin of a POST, and no page can forge it."""
    origin = request.headers.get("origin")
    return origin is not None and is_origin_of(origin, request.headers.get("host", ""))


def reveal(path: str) -> None:
    """Open the folder of a file, with the file selected where the file manager can."""
    path = file_of(path)
    if not any(system.runs(command, SECONDS) for command in system.reveal_commands(path)):
        raise SketchseekError("There is no file manager here that could show it.")
