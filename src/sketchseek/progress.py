"""A progress bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Progress = Callable[[int, int], None]
"""Called with (done, total)."""
BAR = 24
EVERY_S = 0.1  # in a terminal
LINE_EVERY_S = 10.0


@contextmanager
def shown(stream: TextIO) -> Iterator[Progress]:
    """A function to call with (done, total)."""
    started = time.monotonic()
    last = started - EVERY_S if stream.isatty() else started
    drawn = False

    def progress(done: int, total: int) -> None:
        nonlocal last, drawn
        now = time.monotonic()
        if stream.isatty():
            if now - last >= EVERY_S or done == total:
                line = progress_line(done, total, now - started, BAR)
                stream.write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1])
                stream.flush()
                last, drawn = now, True
        elif now - last >= LINE_EVERY_S:
            print(progress_line(done, total, now - started, 0), file=stream, flush=True)
            last = now

    try:
        yield progress
    finally:
        if drawn:
            stream.write("\r\x1b[K")
            stream.flush()


def progress_line(done: int, total: int, seconds: float, bar: int) -> str:
    """How far it is, how fast, and how much longer."""
    rate = done / seconds if seconds > 0 else 0.0
    parts = [f"{done:,} of {total:,} pictures"]
    if bar:
        full = round(bar * done / total) if total else bar
        parts.insert(0, "[" + "#" * full + "." * (bar - full) + "]")
    if done:
        parts.append(f"{rate:.1f}/s")
        if done < total:
            parts.append(f"{_words((total - done) / rate)} left")
    return "  ".join(parts)


def _words(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
