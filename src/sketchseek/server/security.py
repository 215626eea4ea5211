"""The gate before the application: who may ask, how much, for how long; what browsers may do with answers.

Written as plain ASGI, outside the framework, so that nothing is parsed before it has been let in.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import ipaddress
import socket
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from . import checked_token
from .limits import Limits
from .proxy import route

COOKIE = "sketchseek"
OPEN_TO_ALL = frozenset({"/api/health"})
"""Paths that need no token: they say that the server runs, and nothing else."""

HEADERS = {
    # Everything comes from this server; pictures imported into the drawing are blobs.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
DRAINED = 4
"""A body that is too large is read on and thrown away up to this many times its cap, so that the client
finishes sending and sees the answer instead of a broken connection."""
TICK_SECONDS = 1.0
SPARE = 0.25
"""Beyond the limit this share more are told to try again; others are cut off before they can ask."""

LOCKED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>sketchseek</title>
<h1>This sketchbook is locked</h1>
<p>Open the address that <code>sketchseek serve</code> printed: it ends in <code>?token=…</code> and unlocks
the page in this browser.</p>"""


class Gate:
    """Checks Host, origin, token and size of a request, and puts security headers on every answer."""

    def __init__(
        self, app: ASGIApp, *, host: str, token: str | None, limits: Limits, names: Sequence[str] = ()
    ) -> None:
        self.app = app
        self.names = allowed_names(host) | set(map(host_name, names))
        self.token = checked_token(token)
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or answer it here."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no web sockets here
            await send({"type": "websocket.close"})
            return

        started = False
        asked = Headers(scope=scope)
        stranger = self.token is not None and not self.knows(asked)

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if stranger or refusal is not None:
                    headers["connection"] = "close"  # those who may not come in may not stand in the door
            await send(message)

        refusal = self.refuse(scope, stranger)
        if refusal is not None:
            if "expect" not in asked:  # who asks before sending need not send
                await drain(receive, self.limits)
            await refusal(scope, receive, send_with_headers)
            return
        body = Body(receive, self.limits, asked.get("content-type", ""))
        try:
            async with asyncio.timeout(self.limits.request_seconds):
                await self.app(scope, body.receive, send_with_headers)
        except TimeoutError:
            if started:
                raise  # the connection is cut: half an answer must not look like a whole one
            await problem(503, "This took too long; try again.", {"retry-after": "5"})(
                scope, receive, send_with_headers
            )

    def refuse(self, scope: Scope, stranger: bool) -> ASGIApp | None:
        """The answer to a request that may not come in; None for one that may."""
        headers, path = Headers(scope=scope), route(scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy before us may believe the one and we the other: what is body to it is a request to us.
            return problem(400, "Content-Length and Transfer-Encoding may not both be sent.")
        if not self.is_ours(headers.getlist("host")):
            return problem(421, "This server does not answer under that name; use the address it printed.")
        origins = headers.getlist("origin")
        foreign = any(not is_origin_of(origin, headers["host"]) for origin in origins)
        if path not in ("", "/") and (foreign or headers.get("sec-fetch-site") == "cross-site"):
            return problem(403, "Other sites may not use this server.")
        home = f"{scope.get('root_path', '')}/"
        query = scope["query_string"].decode("latin-1")
        if path == "":  # the prefix without its slash, on which the page's links depend
            return RedirectResponse(f"{home}?{query}" if query else home, 307)
        if not stranger or path in OPEN_TO_ALL:
            return None
        if path != "/":
            return problem(401, "This server needs its token: open the address that it printed.")
        assert self.token is not None
        offered = parse_qs(query).get("token", [""])[0]
        if not same(offered.encode("utf-8", "surrogatepass"), self.token):
            return HTMLResponse(LOCKED, 401)
        welcome = RedirectResponse(home, 303, {"cache-control": "no-store"})
        welcome.set_cookie(
            COOKIE,
            proof(self.token),
            max_age=365 * 24 * 3600,
            path=home,
            httponly=True,
            samesite="strict",
            secure=scope.get("scheme") == "https",
        )
        return welcome

    def is_ours(self, hosts: list[str]) -> bool:
        """Whether the Host header names this server; with a token, any number will do."""
        if len(hosts) != 1:
            return False
        name = host_name(hosts[0])
        return name in self.names or (self.token is not None and is_address(name))

    def knows(self, headers: Headers) -> bool:
        """Whether the request carries the token, as the page's cookie or a script's bearer."""
        assert self.token is not None
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and same(bearer.strip().encode("latin-1"), self.token):
            return True
        # Taken apart by hand: a neighbour's cookie on the same host, odd as it may be, says nothing of ours.
        pairs = (pair.partition("=") for pair in ";".join(headers.getlist("cookie")).split(";"))
        values = [value.strip() for name, _, value in pairs if name.strip() == COOKIE]
        return any(same(value.encode("latin-1"), proof(self.token)) for value in values)


class Body:
    """`receive`, with a cap on bytes and on patience."""

    def __init__(self, receive: Receive, limits: Limits, content_type: str) -> None:
        self._receive = receive
        self._limits = limits
        upload = content_type.lower().startswith("multipart/")
        self._left = limits.upload_bytes if upload else limits.json_bytes
        self._cap = self._left
        self._deadline = time.monotonic() + limits.body_seconds
        self._complete = False

    async def receive(self) -> Message:
        """The next piece of the body; 413 when there is too much of it, 408 when it comes too slowly."""
        if self._complete:
            return await self._receive()
        message = await self._next()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            while not self._complete and self._left > -DRAINED * self._cap:
                self._left -= len((await self._next()).get("body", b""))
            raise HTTPException(413, f"Too much data: at most {self._cap:,} bytes are taken here.")
        return message

    async def _next(self) -> Message:
        patience = min(self._limits.chunk_seconds, self._deadline - time.monotonic())
        try:
            message = await asyncio.wait_for(self._receive(), max(patience, 0))
        except TimeoutError:
            raise HTTPException(408, "The request came too slowly.", {"connection": "close"}) from None
        self._complete = is_last(message)
        return message


def is_last(message: Message) -> bool:
    """Whether nothing of the body follows."""
    return message["type"] == "http.disconnect" or not message.get("more_body", False)


async def drain(receive: Receive, limits: Limits) -> None:
    """Take in the body of a request that is refused, for a moment, and throw it away.

    A connection that is closed while its client still sends is reset, and the client never sees why.
    """
    left = limits.upload_bytes
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limits.linger_seconds):
            while left > 0 and not is_last(message := await receive()):
                left -= len(message.get("body", b""))


class TimedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, and an end to connections that only hold a place, which uvicorn lacks.

    Once a second it looks at what a connection waits for: a request's first lines, the rest of a body that is
    not read because the answer has been sent, or a client that must fetch its answer before the connection
    closes. What happens inside a request has its limits in the gate.
    """

    limits: Limits
    _timer: asyncio.TimerHandle | None = None
    _waiting: tuple[str, object] = ("", None)
    _since: float = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock, unless there are so many connections that files could no longer be opened."""
        super().connection_made(transport)
        if len(self.connections) > (1 + SPARE) * self.limits.connections:
            transport.abort()
            return
        self._since = self.loop.time()
        self._watch()

    def _watch(self) -> None:
        waiting = self._waits_for()
        if waiting != self._waiting:
            self._waiting, self._since = waiting, self.loop.time()
        if self.loop.time() - self._since >= self._patience(waiting[0]):
            if waiting[0] == "closing":
                self.transport.abort()  # drops what the client does not fetch
            else:
                self.transport.close()
        self._timer = self.loop.call_later(TICK_SECONDS, self._watch)

    def _waits_for(self) -> tuple[str, object]:
        """What the client has to do next, "" for nothing, and in which of its requests."""
        if self.transport.is_closing():
            return "closing", None
        if self.conn.their_state is h11.IDLE:
            return "first lines", self.cycle
        answered = self.cycle is not None and self.cycle.response_complete
        return ("end of body" if answered else ""), self.cycle

    def _patience(self, what: str) -> float:
        times = {
            "first lines": self.limits.header_seconds,
            "end of body": self.limits.linger_seconds,
            "closing": self.limits.body_seconds,
        }
        return times.get(what, float("inf"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for any more."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)


def problem(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """An error as every endpoint answers it."""
    return JSONResponse({"detail": sentence}, status, headers)


def same(offered: bytes, token: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(offered, token.encode())


def proof(token: str) -> str:
    """What the cookie holds: it shows that its owner knew the token, and is not the token."""
    return hashlib.sha256(b"sketchseek cookie " + token.encode()).hexdigest()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on `host`."""
    if host == "localhost":
        return True
    return is_address(host) and ipaddress.ip_address(host).is_loopback


def is_address(name: str) -> bool:
    """Whether `name` is a number: an attacker's DNS cannot point one elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def allowed_names(host: str) -> frozenset[str]:
    """Names under which the server may be addressed: what stops DNS rebinding."""
    names = {"localhost", "127.0.0.1", "::1", host.lower()}
    if not is_loopback(host):
        machine = socket.gethostname().lower()
        names |= {machine, f"{machine}.local", socket.getfqdn().lower()}
    return frozenset(names)


def is_origin_of(origin: str, host: str) -> bool:
    """Whether a browser that shows a page of `host` would send this Origin header."""
    try:
        page, server = urlsplit(origin), urlsplit(f"//{host}")
        port = {"http": 80, "https": 443}[page.scheme]
        same_name = page.hostname == server.hostname and page.hostname is not None and "@" not in page.netloc
        return same_name and (page.port or port) == (server.port or port)
    except (ValueError, KeyError):
        return False


def host_name(header: str) -> str:
    """The name in a Host header, without its port and brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def uvicorn_options(limits: Limits) -> dict[str, Any]:
    """What uvicorn itself enforces."""
    return {
        "http": type("Protocol", (TimedProtocol,), {"limits": limits}),
        "proxy_headers": False,  # uvicorn believes every visitor from this machine; see proxy.py
        "ws": "none",
        "limit_concurrency": limits.connections,
        "backlog": limits.connections,  # also how many are accepted before the first one is looked at
        "timeout_keep_alive": int(limits.header_seconds),
        "timeout_graceful_shutdown": int(limits.search_seconds) + 5,
        "h11_max_incomplete_event_size": 32 << 10,
        "server_header": False,
        "access_log": False,
        "log_level": "warning",
    }
