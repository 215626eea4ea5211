"""Asking other people's servers: a few questions at once, with pauses, and again when they are busy."""

from __future__ import annotations

import ipaddress
import json
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from .. import __version__
from ..errors import SketchseekError
from .limits import MAX_BYTES

AT_ONCE = 4
PAUSE_S = 0.05
"""Between the beginnings of two questions to one server."""
PATIENCE_S = 30.0
ATTEMPTS = 4
LONGEST_WAIT_S = 30.0
MAX_DOCUMENT = 64 * 2**20
BUSY = (429, 500, 502, 503, 504)
AGENT = f"sketchseek/{__version__}"


@dataclass(frozen=True)
class Answer:
    """What a server gave; `data` is None where it says that nothing has changed."""

    data: bytes | None
    tags: dict[str, str]


class _SamePlace(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:  # noqa: PLR0917
        check_address(newurl)
        if not may_lead(req.full_url, newurl):
            raise SketchseekError(f"{req.full_url} leads to {newurl}, on this machine: it is not asked.")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Polite:
    """Gets documents and pictures. Safe to use from many threads; all of them wait for the same pauses."""

    def __init__(self, at_once: int = AT_ONCE, pause_s: float = PAUSE_S) -> None:
        self._places = threading.BoundedSemaphore(at_once)
        self._pause = pause_s
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}
        self._opener = urllib.request.build_opener(_SamePlace())

    def document(self, url: str, tags: dict[str, str] | None = None) -> tuple[Any, dict[str, str]]:
        """A document in JSON, None where it has not changed since `tags`; and its new tags."""
        answer = self.get(url, MAX_DOCUMENT, tags)
        if answer.data is None:
            return None, answer.tags
        try:
            return json.loads(answer.data), answer.tags
        except (ValueError, RecursionError) as error:
            raise SketchseekError(f"{url} is not JSON.") from error

    def get(
        self,
        url: str,
        limit: int = MAX_BYTES,
        tags: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """The bytes at an address. tags : `etag` and `last-modified` of what is known already."""
        check_address(url)
        asked = {"user-agent": AGENT, **(headers or {})}
        if tags and tags.get("etag"):
            asked["if-none-match"] = tags["etag"]
        if tags and tags.get("last-modified"):
            asked["if-modified-since"] = tags["last-modified"]
        with self._places:
            for attempt in range(ATTEMPTS):
                self._wait(urlsplit(url).netloc)
                try:
                    return self._once(url, limit, asked)
                except _AgainError as again:
                    if attempt == ATTEMPTS - 1:
                        raise SketchseekError(again.sentence) from again.__cause__
                    time.sleep(min(again.wait_s or 0.5 * 2**attempt, LONGEST_WAIT_S))
        raise AssertionError("unreachable")

    def _once(self, url: str, limit: int, headers: dict[str, str]) -> Answer:
        try:
            with self._opener.open(
                urllib.request.Request(url, headers=headers), timeout=PATIENCE_S
            ) as response:
                data = _read(response, limit, url)
                tags = {k: v for k in ("etag", "last-modified") if (v := response.headers.get(k))}
                return Answer(data, tags)
        except SketchseekError:
            raise
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 304:
                    return Answer(None, {})
                sentence = f"{url} answers with status {error.code} ({error.reason})."
                if error.code in BUSY:
                    wait = error.headers.get("retry-after", "")
                    raise _AgainError(sentence, float(wait) if wait.isdigit() else None) from error
                raise SketchseekError(sentence) from error
        except (OSError, ValueError, EOFError) as error:  # gone, too slow, cut off, no HTTP at all
            reason = str(getattr(error, "reason", error) or type(error).__name__).splitlines()[0]
            raise _AgainError(f"{url} can't be read: {reason.rstrip('.')}.", None) from error
        except Exception as error:  # http.client has errors of its own
            raise _AgainError(f"{url} can't be read: {type(error).__name__}.", None) from error

    def _wait(self, server: str) -> None:
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next.get(server, 0.0))
            self._next[server] = turn + self._pause
        time.sleep(max(0.0, turn - now))


class _AgainError(Exception):
    def __init__(self, sentence: str, wait_s: float | None) -> None:
        super().__init__(sentence)
        self.sentence, self.wait_s = sentence, wait_s


def _read(response: Any, limit: int, url: str) -> bytes:
    """At most so many bytes, in at most twice the patience: a server may send one a second."""
    parts, size, end = [], 0, time.monotonic() + 2 * PATIENCE_S
    while part := response.read1(1 << 16):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise SketchseekError(f"{url} is larger than {limit // 2**20} MB.")
        if time.monotonic() > end:
            raise SketchseekError(f"{url} comes too slowly.")
    if response.length:
        raise EOFError("it was cut short")
    return b"".join(parts)


def check_address(url: str) -> None:
    """Refuse what is not https; http is for this machine alone."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise SketchseekError(f"{url!r} is not an address.") from None
    if parts.scheme == "https" and host:
        return
    if parts.scheme == "http" and is_loopback(host):
        return
    raise SketchseekError(f"{url} is not asked: addresses begin with https://.")


def may_lead(before: str, after: str) -> bool:
    """Whether one address may lead to the other: the web never leads to this machine."""
    return is_loopback(_host(before)) or not is_loopback(_host(after))


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a name or number is this machine's own."""
    name = host.rstrip(".").lower()
    try:
        number = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    mapped = getattr(number, "ipv4_mapped", None) or number
    return bool(mapped.is_loopback or mapped.is_unspecified)
