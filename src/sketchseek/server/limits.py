"""What one request may cost. Requests are hostile until proven otherwise; every cap is in one place."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Caps of one server; the defaults suit a laptop with a household of visitors."""

    json_bytes: int = 1 << 20
    upload_bytes: int = 20 << 20
    upload_pixels: int = 32_000_000  # 300 MB while they are read
    strokes: int = 1_000
    points: int = 20_000
    coordinate: float = 1e6  # largest absolute value
    answer_bytes: int = 1_900_000  # of a search: outlines are drawn with as many points as fit
    results: int = 500  # how deep endless scrolling goes
    picked: int = 50
    archived: int = 200  # pictures in one zip
    folders: int = 500  # that are listed

    searches: int = max(2, os.cpu_count() or 1)  # running at once
    waiting: int = 100  # searches in the queue
    uploads: int = 4  # files being read at once
    decoding: int = 2  # processes that open files
    decoding_waiting: int = 32  # files being opened, or in line for it
    decoding_bytes: int = 2 << 30  # address space of such a process
    connections: int = 256

    header_seconds: float = 10.0  # to send the request's first lines
    linger_seconds: float = 2.0  # to take in, or give, what is not waited for any more
    chunk_seconds: float = 5.0  # between two pieces of a body
    body_seconds: float = 30.0  # for the whole body
    decoding_seconds: float = 10.0  # of a processor, for one file
    decoding_patience: float = 30.0  # for it by the clock
    search_seconds: float = 20.0  # in the queue and running
    request_seconds: float = 300.0  # everything, the answer's way to a slow reader included
