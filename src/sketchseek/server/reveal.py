"""Show a picture in its folder, on the desktop of the machine that the server runs on.

Only whoever sits at that machine may ask: the connection comes from this machine, the page was opened under
its local name, and the browser says that the page itself asks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from starlette.requests import Request

from ..contours.volumes import file_of
from ..errors import SketchseekError
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


def can_reveal() -> bool:
    """Whether there is a desktop here, with something that shows files."""
    if sys.platform == "darwin":
        return True
    desktop = os.environ.get("WAYLAND_DISPLAY") or os.environ.get("DISPLAY")
    return bool(desktop) and any(map(shutil.which, ("dbus-send", "xdg-open")))


def reveal(path: str) -> None:
    """Open the folder of a file, with the file selected where the file manager can."""
    path = file_of(path)
    for command in commands(path):
        if shutil.which(command[0]) and _runs(command):
            return
    raise SketchseekError("There is no file manager here that could show it.")


def commands(path: str) -> list[list[str]]:
    """Ways to do it, the best first. The path is absolute: it cannot be taken for an option."""
    if sys.platform == "darwin":
        return [["open", "-R", path]]
    manager = "org.freedesktop.FileManager1"
    show = ["dbus-send", "--session", "--print-reply", f"--dest={manager}", "--type=method_call"]
    select = [f"/{manager.replace('.', '/')}", f"{manager}.ShowItems"]
    return [
        [*show, *select, f"array:string:{Path(path).as_uri()}", "string:"],
        ["xdg-open", os.path.dirname(path)],
    ]


def _runs(command: list[str]) -> bool:
    """Whether the command ends well, or goes on."""
    nothing = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
        )
    except OSError:
        return False
    with suppress(subprocess.TimeoutExpired):
        return process.wait(SECONDS) == 0
    return True
