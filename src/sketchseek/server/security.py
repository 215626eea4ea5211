"""The gate before the application: who may ask, how much, for how long; what browsers may do with answers.

Written as plain ASGI, outside the framework, so that nothing is parsed before it has been let in.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import socket
import time
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlsplit

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from .limits import Limits

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

LOCKED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>sketchseek</title>
<h1>This sketchbook is locked</h1>
<p>Open the address that <code>sketchseek serve</code> printed: it ends in <code>?token=…</code> and unlocks
the page in this browser.</p>"""


class Gate:
    """Checks Host, origin, token and size of a request, and puts security headers on every answer."""

    def __init__(self, app: ASGIApp, *, host: str, token: str | None, limits: Limits) -> None:
        self.app = app
        self.names = allowed_names(host)
        self.token = token
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

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self.refuse(scope)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        body = Body(receive, self.limits, Headers(scope=scope).get("content-type", ""))
        try:
            async with asyncio.timeout(self.limits.request_seconds):
                await self.app(scope, body.receive, send_with_headers)
        except TimeoutError:
            if started:
                raise  # the connection is cut: half an answer must not look like a whole one
            await problem(503, "This took too long; try again.", {"retry-after": "5"})(
                scope, receive, send_with_headers
            )

    def refuse(self, scope: Scope) -> ASGIApp | None:
        """The answer to a request that may not come in; None for one that may."""
        headers = Headers(scope=scope)
        if not self.is_ours(headers.getlist("host")):
            return problem(421, "This server does not answer under that name; use the address it printed.")
        origin = headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc != headers["host"]
        if scope["path"] != "/" and (foreign or headers.get("sec-fetch-site") == "cross-site"):
            return problem(403, "Other sites may not use this server.")
        if self.token is None or scope["path"] in OPEN_TO_ALL:
            return None
        if self.known(headers):
            return None
        if scope["path"] == "/":
            offered = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            if same(offered, self.token):
                welcome = RedirectResponse("/", 303, {"cache-control": "no-store"})
                year = 365 * 24 * 3600
                welcome.set_cookie(COOKIE, proof(self.token), max_age=year, httponly=True, samesite="strict")
                return welcome
            return HTMLResponse(LOCKED, 401)
        return problem(401, "This server needs its token: open the address that it printed.")

    def is_ours(self, hosts: list[str]) -> bool:
        """Whether the Host header names this server; with a token, any number will do."""
        if len(hosts) != 1:
            return False
        name = host_name(hosts[0])
        return name in self.names or (self.token is not None and is_address(name))

    def known(self, headers: Headers) -> bool:
        """Whether the request carries the token, as the page's cookie or a script's bearer."""
        assert self.token is not None
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and same(bearer.strip(), self.token):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and same(cookie.value, proof(self.token))


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
        self._complete = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message


class TimedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, and a time limit on a request's first lines, which uvicorn lacks."""

    header_seconds: float
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.header_seconds, transport.close)

    def data_received(self, data: bytes) -> None:
        """Stop it when the first lines are complete; start it when the next request's begin."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for any more."""
        self._stop()
        super().connection_lost(exc)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def problem(status: int, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """An error as every endpoint answers it."""
    return JSONResponse({"detail": sentence}, status, headers)


def same(offered: str, token: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(offered.encode("utf-8", "surrogatepass"), token.encode())


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


def host_name(header: str) -> str:
    """The name in a Host header, without its port and brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def uvicorn_options(limits: Limits) -> dict[str, Any]:
    """What uvicorn itself enforces."""
    return {
        "http": type("Protocol", (TimedProtocol,), {"header_seconds": limits.header_seconds}),
        "ws": "none",
        "limit_concurrency": limits.connections,
        "timeout_keep_alive": 15,
        "timeout_graceful_shutdown": int(limits.search_seconds) + 5,
        "h11_max_incomplete_event_size": 32 << 10,
        "server_header": False,
        "access_log": False,
        "log_level": "warning",
    }
