"""A line of JSON for every request, and its time in the metrics."""

from __future__ import annotations

import json
import logging
import time
from datetime import UTC, datetime

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .metrics import Metrics

ACCESS = logging.getLogger("sketchseek.access")


class Journal:
    """Notes what was asked and how it was answered; never a query string, which may hold the token."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and note how it went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        status, sent = 499, 0  # as nginx counts a client that left before it was answered

        async def noting(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)
            sent += len(message.get("body", b""))

        try:
            await self.app(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if route != "other" else "any"
            self.metrics.request(method, route, status, seconds)
            client = scope.get("client")
            line = {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "client": client[0] if client else None,
                "method": scope["method"],
                "path": scope["path"][:200],
                "status": status,
                "bytes": sent,
                "ms": round(seconds * 1e3, 1),
            }
            ACCESS.info(json.dumps(line))
