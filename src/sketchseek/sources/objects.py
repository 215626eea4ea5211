"""Pictures in an object store (S3 protocol): listed, looked at, and read with the limits that files have.

Paths are URIs, `s3://BUCKET/KEY`, the key as it is: nothing in it is decoded. Credentials, region and address
are taken from where others look for them, too: `AWS_ACCESS_KEY_ID`, `~/.aws`, `AWS_ENDPOINT_URL`.

FileNotFoundError says that there is no such object; everything else that goes wrong is a SketchseekError.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..errors import SketchseekError
from .limits import MAX_BYTES
from .volumes import file_of

SCHEME = "s3://"
CONNECT_S, ANSWER_S = 5.0, 30.0
ATTEMPTS = 4


@dataclass(frozen=True, slots=True)
class Stat:
    """What a look at a file or an object shows: bytes, and the time of modification in nanoseconds."""

    size: int
    modified: int


def is_object(path: str | bytes | os.PathLike[str]) -> bool:
    """Whether a path is the URI of an object, or of a folder of them."""
    return os.fsencode(path).startswith(SCHEME.encode())


def object_stat(path: str | bytes | os.PathLike[str]) -> Stat:
    """Size and time of an object, or of a file; of a page, those of its volume."""
    if not is_object(path):
        found = os.stat(file_of(os.fsencode(path)))
        return Stat(found.st_size, found.st_mtime_ns)
    with _in_words(path):
        info = _store().get_file_info(_key(path))
        if not info.is_file:
            raise FileNotFoundError(os.fsdecode(path))
        return _stat(info)


def fetch(path: str | bytes | os.PathLike[str], limit: int = MAX_BYTES) -> tuple[Stat, bytes]:
    """The content of an object of at most `limit` bytes, and what a look at it showed before."""
    found = object_stat(path)
    if found.size > limit:
        raise SketchseekError(f"The file is larger than {limit // 2**20} MB.")
    with _in_words(path), _store().open_input_stream(_key(path)) as stream:
        return found, stream.read(found.size + 1)  # no more, whatever has been put there meanwhile


def list_objects(path: bytes) -> list[tuple[bytes, Stat | None]]:
    """What lies in a folder: objects, and further folders (None)."""
    from pyarrow.fs import FileSelector

    with _in_words(path):
        found = _store().get_file_info(FileSelector(_key(path)))
    return [(SCHEME.encode() + info.path.encode(), _stat(info) if info.is_file else None) for info in found]


def _key(path: str | bytes | os.PathLike[str]) -> str:
    try:
        return os.fsencode(path).decode().removeprefix(SCHEME).rstrip("/")
    except UnicodeDecodeError:
        raise FileNotFoundError(os.fsdecode(path)) from None


def _stat(info: Any) -> Stat:
    return Stat(info.size, info.mtime_ns or 0)


def _store() -> Any:
    address = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return _store_at(address, os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"))


@lru_cache(maxsize=4)
def _store_at(address: str | None, region: str | None) -> Any:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    return S3FileSystem(
        endpoint_override=address,
        region=region,
        connect_timeout=CONNECT_S,
        request_timeout=ANSWER_S,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
    )


@contextmanager
def _in_words(path: str | bytes | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, SketchseekError):
        raise
    except (OSError, ValueError) as error:  # ValueError: a key that no path can be, with an empty part
        raise SketchseekError(_sentence(os.fsdecode(path), str(error))) from error


def _sentence(path: str, said: str) -> str:
    bucket = path.removeprefix(SCHEME).partition("/")[0]
    if "NO_SUCH_BUCKET" in said:
        return f"There is no bucket {bucket!r} in the object store."
    if re.search("ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|HTTP status 40[13]", said):
        return (
            f"The object store does not let one read {SCHEME}{bucket}: set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, or name a profile of ~/.aws with AWS_PROFILE."
        )
    if re.search("NETWORK_CONNECTION|REQUEST_TIMEOUT|SLOW_DOWN|SERVICE_UNAVAILABLE|HTTP status 5", said):
        return f"The object store of {SCHEME}{bucket} does not answer."
    first = (said.strip().splitlines() or ["no reason given"])[0]
    return f"{path} can't be read: {first[:200].rstrip('. ')}."
