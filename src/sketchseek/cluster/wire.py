"""Questions to a shard and its answers, over a socket: a tenth of what a call of Ray's takes.

Both ends prove that they know a secret, which Ray carries from one to the other, before anything that comes
is unpickled. One connection carries one question at a time.
"""

from __future__ import annotations

import pickle
import secrets
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

from ..errors import SketchseekError

CONNECT_S = 1.0
SILENCE_S = 10.0
"""In the middle of a message, or of an introduction, nobody is silent for longer."""


@dataclass(frozen=True)
class Address:
    """Where a shard listens, and what one must know to be heard."""

    host: str
    port: int
    secret: bytes


def packed(arguments: tuple[Any, ...]) -> bytes:
    """The arguments of a question after the key: to be packed once for all shards that are asked the same."""
    return pickle.dumps(arguments, protocol=pickle.HIGHEST_PROTOCOL)


def ask(line: Connection, name: str, key: str, arguments: bytes) -> None:
    """Send a question about the rows of a key; its answer, (True, it) or (False, why not), is received."""
    line.send((name, key, arguments))


class Server:
    """Answers everyone who knows the secret, each on a thread of its own.

    answer : (name of the question, its arguments, the first of them the key of the rows that it is about)
        -> the answer; what it raises is sent as a sentence.
    """

    def __init__(self, host: str, answer: Callable[[str, tuple[Any, ...]], Any]) -> None:
        self._answer = answer
        self._listener = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=64
        )
        self.address = Address(host, self._listener.getsockname()[1], secrets.token_bytes(32))
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(accepted,), daemon=True).start()

    def _serve(self, accepted: socket.socket) -> None:
        with suppress(Exception), _connection(accepted, SILENCE_S) as (connection, patience):
            deliver_challenge(connection, self.address.secret)
            answer_challenge(connection, self.address.secret)
            patience(0)  # a question may be long in coming
            while True:
                name, key, arguments = connection.recv()
                try:
                    reply = True, self._answer(name, (key, *pickle.loads(arguments)))
                except Exception as error:
                    said = str(error) if isinstance(error, SketchseekError) else repr(error)
                    reply = False, said
                connection.send(reply)


class _connection:  # noqa: N801
    """A connection on a socket, and what sets how long a read may wait (0: for ever)."""

    def __init__(self, opened: socket.socket, silence: float) -> None:
        self._opened = opened
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.setblocking(True)
        self._patience(silence)
        self._connection = Connection(opened.fileno())

    def _patience(self, seconds: float) -> None:
        whole = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
        self._opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, whole)

    def __enter__(self) -> tuple[Connection, Callable[[float], None]]:
        return self._connection, self._patience

    def __exit__(self, *_: object) -> None:
        self._opened.detach()
        self._connection.close()


def connect(address: Address) -> Connection:
    """A connection to a shard; OSError or EOFError where there is none."""
    opened = socket.create_connection((address.host, address.port), timeout=CONNECT_S)
    holder = _connection(opened, SILENCE_S)
    connection = holder._connection
    opened.detach()
    try:
        answer_challenge(connection, address.secret)
        deliver_challenge(connection, address.secret)
    except BaseException as error:
        connection.close()
        if isinstance(error, OSError | EOFError):
            raise
        raise OSError(f"The shard at {address.host} has another secret.") from error
    return connection
