"""The page and its HTTP interface: the index, for people with a browser."""

from __future__ import annotations

import logging
import logging.handlers
import os
import queue
import secrets
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from .. import system
from ..errors import AddressError, SketchseekError

if TYPE_CHECKING:
    from ..index import Index

MISSING_EXTRA = "Serving needs the extra: pip install 'sketchseek[server]'."
FILES_WANTED, FILES_OF_A_CONNECTION = 4096, 2
FILES_KEPT_BACK = 64
"""Descriptors for everything but connections: the index, the child processes, the log."""
FEWEST_CONNECTIONS = 8


def serve(
    where: str | os.PathLike[str],
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    *,
    log: str | os.PathLike[str] | None = None,
    prefix: str = "",
    names: Sequence[str] = (),
    proxies: Sequence[str] = (),
    device: str = "auto",
    opened: Index | None = None,
) -> None:
    """Serve the page and the API until the process is told to stop; what is under way is finished first.

    where : the index's folder or URI. It may be made later: the page says how.
    host : anything but this machine's own address needs a token; one is made where none is given.
    port : 0 takes a free one.
    log : a file that gets a line of JSON for each request, "-" for standard error, None for neither.
    prefix, names, proxies, device, opened : see `create_app`.
    """
    try:
        import python_multipart  # noqa: F401
        import uvicorn

        from .app import create_app
        from .limits import Limits
        from .security import is_loopback, uvicorn_options
    except ModuleNotFoundError as error:
        raise SketchseekError(MISSING_EXTRA) from error

    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    limits = replace(Limits(), connections=min(Limits().connections, connections_possible()))
    lines = access_log(log) if log is not None else nullcontext()
    app = create_app(
        where,
        host=host,
        token=token,
        limits=limits,
        prefix=prefix,
        names=names,
        proxies=proxies,
        device=device,
        opened=opened,
    )
    listener = listen(host, port)
    with suppress(KeyboardInterrupt), lines:  # Ctrl+C is how one stops it
        print(f"sketchseek is at {address(host, listener.getsockname()[1], token, prefix)}", flush=True)
        uvicorn.Server(uvicorn.Config(app, **uvicorn_options(limits))).run(sockets=[listener])


def checked_token(token: str | None) -> str | None:
    """The token, or None for none; an error for one that is easily guessed or cannot be sent."""
    if token is None:
        return None
    if not token.strip():
        raise SketchseekError("The token is empty, which would let everybody in: give a word, or no token.")
    if not token.isprintable() or token != token.strip():
        raise SketchseekError(
            "The token may neither begin nor end with a space, nor hold a control character."
        )
    return token


def connections_possible() -> int:
    """How many connections the system's limit on open files leaves room for; it is raised if it may be."""
    now = system.open_files(FILES_WANTED)
    possible = (now - FILES_KEPT_BACK) // FILES_OF_A_CONNECTION
    if possible < FEWEST_CONNECTIONS:
        raise SketchseekError(
            f"Only {now} files may be open at once, which is too few to serve: allow more (ulimit -n 1024)."
        )
    return possible


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or a sentence that says why it cannot."""
    try:
        family, _, _, _, name = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(name[:2], family=family, backlog=512)
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None) or 0  # what it says itself repeats the address
        reason = os.strerror(number) if number > 0 else getattr(error, "strerror", None) or error
        raise AddressError(f"Cannot listen on {host}, port {port} ({reason}).") from None
    # Connections inherit it. Without it an answer ends 40 ms late, when the client has confirmed its start:
    # asyncio sets it only on sockets whose protocol number is given, and those of create_server have none.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def address(host: str, port: int, token: str | None, prefix: str = "") -> str:
    """What to open in a browser."""
    name = own_address() if host in ("0.0.0.0", "::") else host
    where = f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
    where += f"{prefix.rstrip('/')}/"
    return f"{where}?token={quote(token, safe='')}" if token is not None else where


def own_address() -> str:
    """This machine's number in its network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # a datagram socket sends nothing when it connects
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


class Patient(logging.handlers.QueueHandler):
    """Hands lines to a thread. Where they are not read, as in a stopped terminal, they are dropped."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Not even the news that the queue is full may wait for that reader."""


@contextmanager
def access_log(where: str | os.PathLike[str]) -> Iterator[None]:
    """One line of JSON for each request, at the end of a file; "-" is standard error."""
    try:
        handler = logging.FileHandler(where) if where != "-" else logging.StreamHandler(sys.stderr)
    except OSError as error:
        raise SketchseekError(f"Cannot write the log {os.fspath(where)}: {error.strerror}.") from None
    handler.setFormatter(logging.Formatter("%(message)s"))
    lines: queue.Queue[logging.LogRecord] = queue.Queue(10_000)
    writer = logging.handlers.QueueListener(lines, handler)
    access = logging.getLogger("sketchseek.access")
    access.handlers, access.propagate = [Patient(lines)], False
    access.setLevel(logging.INFO)
    writer.start()
    try:
        yield
    finally:
        writer.stop()
