"""An S3 server on this machine, and a proxy before it that is slow or fails."""

from __future__ import annotations

import http.client
import random
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEYS = {
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_SECRET_ACCESS_KEY": "something",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""What opens the server; it opens to all."""
_MOTO = """
import os, sys, threading
from moto.server import main

def end_with_the_tests():
    sys.stdin.read()
    os._exit(0)

threading.Thread(target=end_with_the_tests, daemon=True).start()
main(sys.argv[1:])
"""


@contextmanager
def s3_server() -> Iterator[str]:
    """Its address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", _MOTO, "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        ends = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > ends or server.poll() is not None:
                    raise
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


class Trouble(BaseHTTPRequestHandler):
    """Passes requests on. `fails` of them are answered 503, half of those after they were done."""

    port: int
    fails: float
    delay: float
    random: random.Random
    troubled: list[str]
    protocol_version = "HTTP/1.1"

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        time.sleep(self.delay * self.random.random())
        fate = self.random.random()
        status, fields, content = 503, [], b""
        if fate >= self.fails / 2:
            upstream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            upstream.request(self.command, self.path, body, dict(self.headers))
            answer = upstream.getresponse()
            status, fields, content = answer.status, answer.getheaders(), answer.read()
            upstream.close()
        if fate < self.fails:
            self.troubled.append(self.command)
            status, fields, content = 503, [], b""
        self.send_response_only(status)
        for name, value in fields:
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        length = {n.lower(): v for n, v in fields}.get("content-length", "0")
        self.send_header("content-length", length if self.command == "HEAD" else str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = pass_on  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def troubled(endpoint: str, fails: float = 0.0, delay: float = 0.0) -> Iterator[tuple[str, list[str]]]:
    """A proxy before a server: its address, and the requests that it failed."""
    met: list[str] = []
    port = int(endpoint.rpartition(":")[2])
    described = {"port": port, "fails": fails, "delay": delay, "random": random.Random(7), "troubled": met}
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Trouble,), described)) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_port}", met
        proxy.shutdown()
