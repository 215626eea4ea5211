"""Joining a Ray cluster, or starting one on this machine; what goes wrong, in a sentence."""

from __future__ import annotations

import logging
import os
import re
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from ..errors import ClusterError

MISSING_EXTRA = "A cluster needs the extra: pip install 'sketchseek[cluster]'."
NAMESPACE = "sketchseek"
LOCAL = "local"
CONNECT_S = 5.0
_LOCAL_STORE_BYTES = 128 << 20  # rows are not kept in Ray's object store; large answers pass through it


def ray_or_sentence() -> Any:
    """The package, or the sentence that says how to get it."""
    if find_spec("ray") is None:
        raise ClusterError(MISSING_EXTRA)
    os.environ.setdefault("RAY_DISABLE_IMPORT_WARNING", "1")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    return ray


@contextmanager
def connect(address: str) -> Iterator[None]:
    """Be part of the cluster at an address (HOST:PORT, `auto` or `local`) for as long as the block runs.

    `local` starts one on this machine, which ends with the block. A cluster that this process is part of
    already is used, whatever the address.
    """
    ray = ray_or_sentence()
    if ray.is_initialized():
        yield
        return
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    _join(ray, address)
    try:
        if is_main:  # Ray's own would leave no time to send the shards away
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        yield
    finally:
        ray.shutdown()
        if is_main:
            signal.signal(signal.SIGTERM, before)


def _join(ray: Any, address: str) -> None:
    quiet: dict[str, Any] = {
        "namespace": NAMESPACE,
        "log_to_driver": False,
        "logging_level": logging.ERROR,
        "configure_logging": True,
    }
    try:
        if address == LOCAL:
            os.environ.setdefault("RAY_worker_niceness", "0")  # as if there were no cluster in between
            _have_token()
            ray.init(
                address=LOCAL,
                include_dashboard=False,
                object_store_memory=_LOCAL_STORE_BYTES,
                _node_ip_address="127.0.0.1",
                **quiet,
            )
        else:
            _knock(_found() if address == "auto" else address)
            ray.init(address=address, **quiet)
        with suppress(AttributeError):  # what it says of lost workers it prints on standard output
            ray._private.worker._worker_logs_enabled = False
    except ClusterError as error:
        raise ClusterError(_sentence(address, error)) if address == "auto" else error from None
    except Exception as error:
        ray.shutdown()
        raise ClusterError(_sentence(address, error)) from error


def _have_token() -> None:
    """Where Ray's processes have no secret to know each other by, one that ends with this process.

    Ray would make one itself, and keep it in the home for good.
    """
    given = {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()
    if not given and not os.path.exists(os.path.expanduser("~/.ray/auth_token")):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def _found() -> str:
    """The address that `auto` means to Ray, which keeps it in a file also after a cluster was killed."""
    from ray._private.services import get_ray_address_from_environment

    return str(get_ray_address_from_environment("auto", None))


def _knock(address: str) -> None:
    """Say at once that nothing listens there: Ray itself would try for a minute."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit() or not 0 < int(port) < 2**16:
        raise ClusterError(
            f"{address} is not the address of a Ray cluster: give HOST:PORT, `auto` for the one that this "
            "machine is part of, or `local` to start one here."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_S).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ClusterError(f"No Ray cluster answers at {address} ({reason}).") from None


def _sentence(address: str, error: BaseException) -> str:
    text = str(error)
    versions = re.findall(r"(Ray|Python): (\S+)", text)
    if "ersion mismatch" in text and len(versions) >= 4:
        there, here = dict(versions[:2]), dict(versions[2:4])
        return (
            f"The cluster at {address} runs Ray {there['Ray']} on Python {there['Python']}, and here is Ray "
            f"{here['Ray']} on Python {here['Python']}: they have to be the same."
        )
    if address == "auto":
        return "This machine is part of no Ray cluster: start one with `ray start --head`, or give HOST:PORT."
    first = (text.strip().splitlines() or [repr(error)])[0].rstrip(". ")
    if address == LOCAL:
        return f"Ray does not start on this machine: {first}."
    return f"The Ray cluster at {address} can't be joined: {first}."
