"""Behind another web server: under a path of its own, and with headers that say who asks.

Any client can send such headers. They are believed from the addresses that the owner names, and dropped
unread from all others.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import SketchseekError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
PREFIX = re.compile(r"(/[A-Za-z0-9._~-]{0,99}[A-Za-z0-9_~-]){1,9}")  # no part is empty, "." or ".."
OWN = ("api", "page", "metrics", "openapi.json")
"""First parts of the server's own paths: a prefix that began so could not be told from them."""


class ProxyHeaders:
    """Puts a request as the visitor made it in place of the one that the proxy made.

    Afterwards `scope` has the visitor's `client`, `scheme` and Host header, where a trusted proxy tells them;
    `root_path` is the prefix, and `path` begins with it whether or not the proxy had cut it off.
    """

    def __init__(self, app: ASGIApp, *, prefix: str = "", proxies: Sequence[str] = ()) -> None:
        self.app = app
        self.prefix = checked_prefix(prefix)
        self.trusted = [network(text) for text in proxies]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what was asked, by the one who asked it."""
        if scope["type"] == "http":
            scope = self.seen_from_outside(scope)
        await self.app(scope, receive, send)

    def seen_from_outside(self, scope: Scope) -> Scope:
        """The scope with what a trusted proxy says in it."""
        scope, prefix = dict(scope), self.prefix
        client = scope.get("client")
        if client is not None and self.trusts(client[0]):
            said = Headers(scope=scope)
            scope["client"] = (self.visitor(client[0], said.getlist("x-forwarded-for")), 0)
            if last(said, "x-forwarded-proto") in ("http", "https"):
                scope["scheme"] = last(said, "x-forwarded-proto")
            host = last(said, "x-forwarded-host")
            if host:
                others = [(name, value) for name, value in scope["headers"] if name != b"host"]
                scope["headers"] = [*others, (b"host", host.encode("latin-1"))]
            outer = last(said, "x-forwarded-prefix").rstrip("/")
            if outer and is_prefix(outer):
                prefix = outer
        path = scope["path"]
        stripped = path if prefix == "" or not f"{path}/".startswith(f"{prefix}/") else path[len(prefix) :]
        scope["root_path"] = prefix
        scope["path"] = prefix + stripped
        return scope

    def trusts(self, address: str) -> bool:
        """Whether a proxy speaks from this address."""
        found = parsed(address)
        return found is not None and any(found in trusted for trusted in self.trusted)

    def visitor(self, peer: str, forwarded: list[str]) -> str:
        """The nearest address that is not a trusted proxy's; left of it is what any client may write."""
        for text in reversed(",".join(forwarded).split(",")):
            found = parsed(text)
            if found is None:
                break
            peer = str(found)
            if not self.trusts(peer):
                break
        return peer


def route(scope: Scope) -> str:
    """A request's path without the prefix; "" for the prefix alone."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def is_prefix(text: str) -> bool:
    """Whether `text` is a path such as /draw, that cannot be taken for one of the server's own."""
    return PREFIX.fullmatch(text) is not None and text.split("/")[1] not in OWN


def checked_prefix(prefix: str) -> str:
    """The prefix without a slash at its end; an error if it is no plain path."""
    bare = prefix.rstrip("/")
    if bare and not is_prefix(bare):
        raise SketchseekError(
            f"The prefix {prefix!r} is not a path such as /draw: a slash, letters, digits and -._~ are "
            f"allowed, and not {', '.join('/' + name for name in OWN)}."
        )
    return bare


def network(text: str) -> Network:
    """An address or a network, such as 127.0.0.1 or 10.0.0.0/8."""
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise SketchseekError(f"A proxy is named by its address, or its network, not {text!r}.") from None


def parsed(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address as proxies write it: bare, or with a port, an IPv6 one in brackets."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def last(headers: Headers, name: str) -> str:
    """The last value of a header that proxies add to: the nearest one's."""
    values = headers.getlist(name)
    return values[-1].rpartition(",")[2].strip() if values else ""
